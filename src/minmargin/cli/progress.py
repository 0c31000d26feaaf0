"""Progress of a command: bars with speed and time left on a terminal, nothing in a pipe or with --quiet."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import ProgressColumn

from minmargin.cli.manners import manners
from minmargin.execution import Progress, silent
from minmargin.progress import terminal_bars


@contextmanager
def progress_bars(*columns: ProgressColumn) -> Iterator[Progress]:
    """Give a function that reports progress: one bar a stage, with `columns` in place of the usual amount."""
    if manners.quiet:
        yield silent
        return
    with terminal_bars(Console(stderr=True), *columns) as report:
        yield report

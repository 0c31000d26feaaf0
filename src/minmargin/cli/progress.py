"""A progress bar with speed and time left, on a terminal; nothing at all in a pipe."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from minmargin.learners import Progress as Report

_UNITS = {"training": "models", "scanning": "rows", "comparing": "steps"}


class _Speed(ProgressColumn):
    """How much is done, of how much, and how fast."""

    def render(self, task: Task) -> Text:
        unit = _UNITS.get(task.description, "")
        total = "" if task.total is None else f" of {task.total:,.0f}"
        speed = f", {task.speed:,.0f}/s" if task.speed else ""
        return Text(f"{task.completed:,.0f}{total} {unit}{speed}")


@contextmanager
def progress_bars() -> Iterator[Report]:
    """Give a function that reports progress: one bar a stage."""
    console = Console(stderr=True)
    bars = Progress(
        TextColumn("{task.description:>10}"),
        BarColumn(),
        _Speed(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
    )
    stages: dict[str, TaskID] = {}

    def report(stage: str, done: int, total: int | None) -> None:
        if stage not in stages:
            stages[stage] = bars.add_task(stage, total=total)
        bars.update(stages[stage], completed=done, total=total)

    with bars:
        yield report

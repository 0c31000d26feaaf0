"""What the commands print about a batch."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from minmargin.batch import Batch, cell_text
from minmargin.cli.manners import manners

_WIDE = 1000  # columns in a pipe or a file, where nothing needs to be wrapped
_N_SHOWN = 5
_WIDTH_WITH_KEPT = 160  # so far kept columns are added to a line, also where it could be longer


def make_console(*, quiet: bool | None = None) -> Console:
    """Return a console on standard output that wraps lines for people only.

    It is silent with --quiet. A command that is there to print something, a list say, passes `quiet=False`.
    """
    silenced = manners.quiet if quiet is None else quiet
    return Console(highlight=False, width=None if sys.stdout.isatty() else _WIDE, quiet=silenced)


def plain_table(title: str) -> Table:
    """Return a table without lines."""
    return Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))


def show_batch(batch: Batch, out: Path, console: Console, report: Path | None = None) -> None:
    """Print what was picked, why, and where it was written."""
    settings, pool = batch.manifest["settings"], batch.manifest["pool"]
    trained = f"{settings['n_models']} members" if settings["n_models"] else "one model"
    console.print(
        f"[bold]Picked {len(batch):,} of {pool['rows']:,} rows[/bold] by {escape(settings['strategy'])} "
        f"({trained}, {batch.manifest['labeled']['rows']:,} labeled rows, seed {settings['seed']}) "
        f"in {sum(batch.manifest['seconds'].values()):.1f} s."
    )
    _show_first(batch, console)
    contests = Counter("/".join(sorted(map(str, pair))) for pair in batch.top_classes.tolist())
    shares = ", ".join(f"{escape(pair)} ({n:,})" for pair, n in contests.most_common(5))
    more = f" and {len(contests) - 5:,} more pairs" if len(contests) > 5 else ""
    console.print(f"Torn between: {shares}{more}.")
    if settings["strategy"] == "min-margin":
        deciding = len({int(member) for member in batch.member})
        console.print(f"The picks lie on the boundaries of {deciding} of {settings['n_models']} members.")
    n_equal = int((batch.scores == batch.scores[-1]).sum())
    if n_equal > 1:
        console.print(f"{n_equal:,} of them have the same score as the last: among equals the seed decides.")
    excluded = batch.manifest.get("excluded")
    if excluded is not None:
        console.print(f"Excluded: {excluded['rows']:,} rows, by {excluded['asked']:,} ids or row numbers.")
    with_report = "" if report is None else f", with a report in {escape(str(report))}"
    console.print(f"Written to {escape(str(out))}{with_report}.")


def _show_first(batch: Batch, console: Console) -> None:
    """Print the first picks: our own columns whole, then as many kept ones as fit beside them, and no pictures."""
    first = batch.to_arrow().slice(0, _N_SHOWN)
    cells = {name: [name, *map(cell_text, first[name].to_pylist())] for name in first.column_names}
    n_ours = len(cells) - (0 if batch.kept is None else batch.kept.num_columns)
    room = min(console.width, _WIDTH_WITH_KEPT)
    shown, width = [], 0
    for place, (name, texts) in enumerate(cells.items()):
        wider = width + max(map(len, texts)) + 2
        is_bytes = any(isinstance(value, bytes) for value in first[name].to_pylist())
        if place < n_ours or (wider <= room and not is_bytes):
            shown.append(name)
            width = wider
    table = plain_table("The first five, and why")
    for name in shown:
        table.add_column(escape(name), justify=_side(first[name].to_pylist()), no_wrap=True)
    for row in zip(*(cells[name][1:] for name in shown), strict=True):
        table.add_row(*map(escape, row))
    narrow = console.width
    console.width = max(width, narrow)  # a terminal wraps long lines by itself, and cuts nothing
    console.print(table)
    console.width = narrow
    if len(shown) < len(cells):
        console.print(f"(and {len(cells) - len(shown)} more kept columns in the file)")


def _side(values: list[Any]) -> Any:
    return "right" if all(isinstance(value, (int, float)) for value in values) else "left"

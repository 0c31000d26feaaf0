"""What the commands print about a batch."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from minmargin.batch import Batch, cell_text
from minmargin.cli.manners import manners
from minmargin.cli.tables import show_table
from minmargin.errors import listing
from minmargin.inspection import Inspection
from minmargin.manifest import empty_classes

_WIDE = 1000  # columns in a pipe or a file, where nothing needs to be wrapped
_N_SHOWN = 5
_WIDTH_WITH_KEPT = 160  # so far kept columns are added to a line, also where it could be longer
_NARROWEST, _WIDEST = 12, 72  # characters of a kept text


def make_console(*, quiet: bool | None = None) -> Console:
    """Return a console on standard output that wraps lines for people only.

    It is silent with --quiet. A command that is there to print something, a list say, passes `quiet=False`.
    """
    silenced = manners.quiet if quiet is None else quiet
    return Console(highlight=False, width=None if sys.stdout.isatty() else _WIDE, quiet=silenced)


def tell_what_is_read(inspection: Inspection) -> None:
    """Print what columns are taken for, before anything is picked; what looks wrong comes as warnings."""
    make_console().print(escape(inspection.summary))


def show_batch(
    batch: Batch, out: Path, console: Console, report: Path | None = None, *, share: str = ""
) -> None:
    """Print what was picked, why, and where it was written; `share` is the part of the pool that was asked for."""
    n_audit = len(batch) - len(batch.picks)
    batch = batch.picks
    settings, pool = batch.manifest["settings"], batch.manifest["pool"]
    n_models = settings["n_models"]
    trained = f"{n_models} members" if n_models > 1 else "one model"
    labeled = batch.manifest["labeled"]
    rows = "no labeled set" if labeled is None else f"{labeled['rows']:,} labeled rows"
    excluded = batch.manifest.get("excluded")
    n_excluded = 0 if excluded is None else excluded["rows"]
    n_pool = pool["rows"] - (0 if excluded is None else excluded.get("labeled", 0))
    asked = f" ({escape(share)} of {n_pool:,})" if share else ""
    console.print(
        f"[bold]Picked {len(batch):,} of {pool['rows'] - n_excluded:,} rows[/bold]{asked} by "
        f"{escape(settings['strategy'])} "
        f"({trained}, {rows}, seed {settings['seed']}) "
        f"in {sum(batch.manifest['seconds'].values()):.1f} s."
    )
    _show_first(batch, console)
    contests = Counter("/".join(sorted(map(str, pair))) for pair in batch.top_classes.tolist())
    shares = ", ".join(f"{escape(pair)} ({n:,})" for pair, n in contests.most_common(5))
    more = f" and {len(contests) - 5:,} more pairs" if len(contests) > 5 else ""
    console.print(f"Torn between: {shares}{more}.")
    if settings["strategy"] == "min-margin" and n_models > 1:
        deciding = len({int(member) for member in batch.member})
        console.print(f"The picks lie on the boundaries of {deciding} of {n_models} members.")
    empty = empty_classes(batch.manifest)
    if empty:
        console.print(f"No labeled row has {escape(listing(empty))} yet.")
    n_equal = int((batch.scores == batch.scores[-1]).sum())
    if n_equal > 1:
        console.print(f"{n_equal:,} of them have the same score as the last: among equals the seed decides.")
    if excluded is not None and "labeled" in excluded:
        console.print(one_table(pool["rows"], excluded["labeled"], excluded["unlabeled_mark"]))
        n_excluded -= excluded["labeled"]
    if excluded is not None and excluded["asked"]:
        console.print(_excluded(n_excluded))
    elif excluded is not None and excluded.get("labeled_ids") and n_excluded:
        have = "row has" if n_excluded == 1 else "rows have"
        console.print(
            f"Left out: {n_excluded:,} {have} an id of the labeled set; --keep-labeled lets them be picked."
        )
    if copies := batch.manifest.get("copies_passed_over"):
        console.print(_copies(copies))
    if n_audit:
        rows = "1 row" if n_audit == 1 else f"{n_audit:,} rows"
        console.print(f"Audit: {rows} of the rest, drawn by chance, to measure the model by.")
    with_report = "" if report is None else f", with a report in {escape(str(report))}"
    console.print(f"Written to {escape(str(out))}{with_report}.")


def one_table(n_rows: int, n_labeled: int, mark: str) -> str:
    """Return which part of a table is the pool.

    >>> one_table(1000, 120, "None or NaN")
    'The pool is the 880 of 1,000 rows whose label is None or NaN.'
    """
    return f"The pool is the {n_rows - n_labeled:,} of {n_rows:,} rows whose label is {mark}."


def _excluded(n_rows: int) -> str:
    """Return how many rows were left out; a warning has told of ids that are not in the pool.

    >>> _excluded(30)
    'Excluded: 30 rows of the pool.'
    """
    rows = {0: "no row", 1: "1 row"}.get(n_rows, f"{n_rows:,} rows")
    return f"Excluded: {rows} of the pool."


def _copies(n_rows: int) -> str:
    """Return how many rows were passed over as copies; of those that tie with the last pick nobody knows.

    >>> _copies(1200)
    'Copies: at least 1,200 rows were passed over.'
    """
    return f"Copies: at least {n_rows:,} {'row was' if n_rows == 1 else 'rows were'} passed over."


def _show_first(batch: Batch, console: Console) -> None:
    """Print the first picks: our own columns whole, then kept ones as far as they fit beside them, and no pictures."""
    first = batch.to_arrow().slice(0, _N_SHOWN)
    n_ours = first.num_columns - (0 if batch.kept is None else batch.kept.num_columns)
    cells = {
        name: [
            name,
            *(cell_text(value) if place < n_ours else _one_line(value) for value in first[name].to_pylist()),
        ]
        for place, name in enumerate(first.column_names)
    }
    room = min(console.width, _WIDTH_WITH_KEPT)
    shown: dict[str, int] = {}
    for place, (name, texts) in enumerate(cells.items()):
        wanted, left = max(map(len, texts)), room - sum(shown.values()) - 2 * (len(shown) + 1)
        if place < n_ours:
            shown[name] = wanted
        elif left >= min(wanted, max(_NARROWEST, len(name))) and not _has_bytes(first[name].to_pylist()):
            shown[name] = min(wanted, left)
    console.print("The first five, and why")
    show_table(
        console,
        list(shown),
        list(
            zip(
                *([_cut(text, width) for text in cells[name][1:]] for name, width in shown.items()),
                strict=True,
            )
        ),
        right=[name for name in shown if _are_numbers(first[name].to_pylist())],
    )
    n_more = len(cells) - len(shown)
    if n_more:
        console.print(f"(and {n_more} more kept column{'' if n_more == 1 else 's'} in the file)")


def _one_line(value: Any) -> str:
    """Return a value of the pool as people want to read it: more of a text than of a number."""
    return _cut(" ".join(value.split()), _WIDEST) if isinstance(value, str) else cell_text(value)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _has_bytes(values: list[Any]) -> bool:
    return any(isinstance(value, bytes) for value in values)


def _are_numbers(values: list[Any]) -> bool:
    return all(isinstance(value, (int, float)) for value in values)

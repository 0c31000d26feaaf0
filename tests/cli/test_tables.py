"""Tables fit the terminal: prose is wrapped, and many columns go on below."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from rich.console import Console

from minmargin.cli.tables import show_table

WIDTHS = [60, 80, 120]
HEADINGS = ("strategy", "what it does", "cost")
ROWS = [
    ("min-margin", "The smallest margin under any member: picks lie around K boundaries.", "one pass"),
    ("random", "A uniform number.", "one pass over rows that no model has to look at, [whatever] they are"),
]


def shown(width: int, headings: tuple[str, ...], rows: list[tuple[str, ...]], **how: object) -> list[str]:
    console = Console(width=width, file=io.StringIO(), highlight=False)
    show_table(console, headings, rows, **how)  # type: ignore[arg-type]
    return [line.rstrip() for line in console.file.getvalue().splitlines()]  # type: ignore[attr-defined]


@pytest.mark.parametrize("width", WIDTHS)
def test_prose_is_wrapped_within_its_column(width: int) -> None:
    lines = shown(width, HEADINGS, ROWS, prose=HEADINGS[1:])
    assert max(map(len, lines)) <= width
    begins = lines[0].index("what it does")
    assert {line[:begins].strip() for line in lines} == {"strategy", "min-margin", "random", ""}
    assert " ".join(" ".join(lines).split()).count("[whatever]") == 1


def test_nothing_is_wrapped_where_there_is_room() -> None:
    assert shown(1000, ("a", "b"), [("1", "x" * 200)], prose=("b",)) == ["a  b", "1  " + "x" * 200]


def test_many_short_columns_go_on_below() -> None:
    headings = ("labels", *(f"strategy-{k}" for k in range(5)))
    rows = [("50", *("91.3% (+0.2 ± 0.4)",) * 5), ("100", *("92.3% (+0.2 ± 0.4)",) * 5)]
    assert shown(60, headings, rows, right=headings) == [
        "labels          strategy-0          strategy-1",
        "    50  91.3% (+0.2 ± 0.4)  91.3% (+0.2 ± 0.4)",
        "   100  92.3% (+0.2 ± 0.4)  92.3% (+0.2 ± 0.4)",
        "",
        "labels          strategy-2          strategy-3",
        "    50  91.3% (+0.2 ± 0.4)  91.3% (+0.2 ± 0.4)",
        "   100  92.3% (+0.2 ± 0.4)  92.3% (+0.2 ± 0.4)",
        "",
        "labels          strategy-4",
        "    50  91.3% (+0.2 ± 0.4)",
        "   100  92.3% (+0.2 ± 0.4)",
    ]
    for width in WIDTHS:
        assert max(map(len, shown(width, headings, rows))) <= width


def test_titles_in_a_pipe_stay_in_one_line(
    run_command: Callable[..., tuple[int, str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are longer than a small table, and were wrapped to its width."""
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"a": range(30), "y": ["a rather long name", "another long name"] * 15}).to_csv(
        "t.csv", index=False
    )
    _, out, _ = run_command("inspect", "t.csv", "--label-column", "y")
    assert out.splitlines()[0] == "30 labeled rows (a rather long name 15, another long name 15)."

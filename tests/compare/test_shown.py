"""What a comparison found, as people see it and as other libraries take it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from scipy import stats

import minmargin as mm
from minmargin.compare.played import SCHEMA

#: Scores of four draws by strategy, rounds and batch size: random is at 0.5, and its rivals a known amount ahead.
AHEAD = {("min-margin", 1): 0.10, ("min-margin", 2): 0.12, ("<b>", 1): -0.05, ("random", 1): 0.0}
NOISE = [0.001, -0.001, 0.002, -0.002]


def comparison(scoring: str = "accuracy") -> mm.Comparison:
    rows: list[dict[str, Any]] = []
    for draw, noise in enumerate(NOISE):
        played = {("none", 1, 0): 0.4}
        for (strategy, rounds), gain in AHEAD.items():
            played[strategy, rounds, 1000] = 0.5 + gain + (noise if gain else 0)
        rows += [
            {
                "draw": draw,
                "strategy": strategy,
                "rounds": rounds,
                "batch_size": size,
                "score": score,
                "seconds": 0.1,
            }
            for (strategy, rounds, size), score in played.items()
        ]
    return mm.Comparison(pa.Table.from_pylist(rows, schema=SCHEMA), {"scoring": scoring})


def adjusted(gain: float, times: int) -> str:
    """Return the p-value of noise around a gain, by scipy, times Holm's factor."""
    p_value = stats.ttest_1samp(np.array(NOISE) + gain, 0).pvalue
    return f"{times * p_value:.2g}"


def test_differences_print_as_a_table_for_people() -> None:
    assert repr(comparison().differences()).splitlines() == [
        "Ahead of random",
        "              strategy  labels  difference  95% interval  adjusted p  verdict",
        f"            min-margin   1,000       +10.0   9.7 to 10.3{adjusted(0.10, 2):>12}   better",
        f"min-margin in 2 rounds   1,000       +12.0  11.7 to 12.3{adjusted(0.12, 3):>12}   better",
        f"                   <b>   1,000        -5.0  -5.3 to -4.7{adjusted(-0.05, 1):>12}    worse",
        "Differences in points within the same draws; p-values after Holm's correction over all rows.",
    ]


def test_differences_of_a_score_that_is_no_share_have_no_unit() -> None:
    lines = repr(comparison("neg_log_loss").differences(to="random")).splitlines()
    assert lines[2].split() == [
        "min-margin",
        "1,000",
        "+0.100",
        "0.097",
        "to",
        "0.103",
        adjusted(0.10, 2),
        "better",
    ]
    assert lines[-1] == "Differences within the same draws; p-values after Holm's correction over all rows."


def test_gains_of_rounds_and_curves_print_as_tables() -> None:
    found = comparison()
    title, _, line, _ = repr(found.gains_of_rounds()).splitlines()
    assert title == "More rounds ahead of the fewest"
    assert line.startswith(
        "min-margin in 2 rounds   1,000        +2.0   -inf to inf        0.12  no clear difference"
    )
    assert repr(found.curves).splitlines() == [
        "Mean test accuracy, by the number of labels added",
        "              strategy  labels  draws   mean    95% interval",
        "                  none       0      4  40.0%  40.0% to 40.0%",
        "            min-margin   1,000      4  60.0%  59.7% to 60.3%",
        "min-margin in 2 rounds   1,000      4  62.0%  61.7% to 62.3%",
        "                   <b>   1,000      4  45.0%  44.7% to 45.3%",
        "                random   1,000      4  50.0%  50.0% to 50.0%",
    ]


def test_a_notebook_shows_a_table_without_tags_of_others() -> None:
    html = comparison().differences()._repr_html_()
    assert html.startswith("<p>Ahead of random</p><table><thead><tr><th>strategy</th><th>labels</th>")
    assert "<tr><td>&lt;b&gt;</td><td>1,000</td><td>-5.0</td><td>-5.3 to -4.7</td>" in html
    assert html.endswith("correction over all rows.</p>")
    assert comparison().curves._repr_html_().endswith("</table>")


def test_all_columns_and_digits_are_there_for_programs() -> None:
    table = comparison().differences()
    arrow = table.to_arrow()
    assert table.column_names == [
        "strategy", "rounds", "batch_size", "to", "difference", "low", "high", "p_value", "adjusted", "verdict"
    ]  # fmt: skip
    assert len(table) == 3
    assert table["difference"].to_pylist() == arrow["difference"].to_pylist()
    np.testing.assert_allclose(arrow["difference"], [0.10, 0.12, -0.05])
    assert table.to_pylist() == arrow.to_pylist()
    assert table.to_pandas().to_dict("list") == arrow.to_pydict()
    assert pa.table(table) == arrow
    assert pl.DataFrame(table).to_dicts() == arrow.to_pylist()


def test_without_pandas_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    class WithoutPandas:
        def to_pandas(self) -> None:
            raise ImportError

    table = comparison().curves
    monkeypatch.setitem(table.__dict__, "_arrow", WithoutPandas())
    with pytest.raises(mm.MissingExtraError) as caught:
        table.to_pandas()
    assert str(caught.value) == "to_pandas needs pandas, which is not installed. Use pip install pandas."


def test_a_picture_is_shown_in_a_notebook_and_is_the_file_that_a_path_gets(tmp_path: Path) -> None:
    found = comparison()
    picture = found.plot()
    png, about = picture._repr_png_()
    assert png == found.plot(tmp_path / "curves.png").read_bytes()
    width = int.from_bytes(png[16:20], "big")  # where the header of a PNG file has it
    assert about == {"width": 883}
    assert width > 1.5 * about["width"], "sharp on a fine screen"
    assert repr(picture) == "<Picture: a notebook shows it; plot('curves.png') writes it to a file>"


def test_a_picture_needs_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(mm.MissingExtraError) as caught:
        comparison().plot()
    assert str(caught.value) == (
        "Reports need matplotlib, which is not installed. Use pip install 'minmargin[report]'."
    )

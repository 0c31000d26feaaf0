"""The figures of a report: whatever the numbers, each is drawn, and says what it shows."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minmargin.report import figures


def label(svg: str) -> str:
    return re.findall(r'aria-label="([^"]*)"', svg)[0]


@settings(max_examples=12)
@given(
    scores=st.lists(st.floats(-1e6, 1e6, allow_subnormal=False), min_size=1, max_size=30),
    cut=st.floats(-1e6, 1e6, allow_subnormal=False),
)
def test_any_scores_can_be_drawn(scores: list[float], cut: float) -> None:
    svg = figures.draw_scores(np.array(scores), cut, "mine")
    assert label(svg) == (
        f"A histogram of {len(scores)} scores, with a line where the batch ends, at {cut:.3g}."
    )


@pytest.mark.parametrize(("cut", "logarithmic"), [(0.001, True), (0.5, False), (0.0, False), (-1.0, False)])
def test_scores_that_are_cut_close_to_zero_are_on_a_logarithmic_axis(cut: float, logarithmic: bool) -> None:
    svg = figures.draw_scores(np.linspace(0, 1, 200), cut, "mine")
    assert (">0.001</text>" in svg) == logarithmic


def test_bars_before_the_cut_have_the_color_of_picks() -> None:
    svg = figures.draw_scores(np.linspace(0.0, 1.0, 480), 0.5, "mine")
    bars = re.findall(r"<path [^>]*style=\"fill: var\(--(vermilion|faint)\)\"", svg)
    assert bars == ["vermilion"] * 25 + ["faint"] * 23  # the axis ends a little below 1


def test_shares_and_pairs_are_said() -> None:
    mix = figures.draw_mix({"labeled": {"cat": 0.5, "dog": 0.5}, "batch": {"cat": 0.25, "dog": 0.75}})
    assert label(mix) == "Predicted classes of the batch: cat 25.0%, dog 75.0%."
    pairs = figures.draw_pairs([(("cat", "dog"), 1200), (("cat", "x" * 30), 1)])
    assert label(pairs) == "Picks: cat / dog 1,200, cat / xxxxxxxxxxxxxxxxxxxxxxxxxxx… 1."


@pytest.mark.parametrize(
    "name",
    ["\N{FULLWIDTH LATIN CAPITAL LETTER W}" * 30, "\N{ARABIC LIGATURE BISMILLAH AR-RAHMAN AR-RAHEEM}" * 20],
)
def test_names_wider_than_the_figure_are_drawn(name: str) -> None:
    assert name[:19] in figures.draw_pairs([((name, name), 3)])
    assert name[:19] in figures.draw_mix({"batch": {name: 1.0}})


def test_only_the_first_classes_are_drawn() -> None:
    names = [f"class {place:02}" for place in range(40)]
    svg = figures.draw_mix({"batch": dict.fromkeys(names, 1 / 40)})
    assert names[figures.N_BARS - 1] in svg
    assert names[figures.N_BARS] not in svg


def test_margins_of_pool_and_picks_may_all_be_zero() -> None:
    assert "Two histograms" in label(figures.draw_margins(np.zeros(5), np.zeros(2)))


def test_members_are_counted() -> None:
    assert label(figures.draw_members([3, 0, 2])) == "A bar for each member: 3, 0, 2 picks."

"""Figures show what was measured, and the same results give the same file."""

from __future__ import annotations

import builtins
import re

import numpy as np
import pytest

from made_up_results import SIZES, angles, gaussian_draws, results, rows
from minmargin.errors import MissingExtraError
from minmargin.experiments.paper.claims import Measured
from minmargin.experiments.paper.claims.measured import BENCHMARK, GAUSSIAN, TUNED, Place
from minmargin.experiments.paper.figures import (
    APPENDIX,
    MAIN_TEXT,
    STROKES,
    accuracy_figure,
    difference_figure,
    gaussian_figure,
    panels_of,
    save,
    theorem_figure,
    tuning_figure,
)

GAINS = {"min-margin": 0.03, "margin": 0.01, "random": 0.0}


@pytest.fixture
def measured():
    parts = [rows(place, GAINS) for place in (*BENCHMARK, *GAUSSIAN)]
    for dataset in TUNED:
        place = Place("tuning", dataset, "reference")
        parts += [rows(place, {"margin": 0.0, "random": 0.0})]
        parts += [rows(place._replace(variant=f"K={k}"), {"min-margin": 0.001 * k}) for k in (2, 25)]
        parts += [rows(place._replace(variant=f"beta={b}"), {"min-margin": 0.01}) for b in ("0.5", "1", "4")]
    pairs = {(m, factor): (0.12, 0.01) for m in (10, 100) for factor in ("12Bm", "12Bm2")}
    return Measured(results(*parts), angles(pairs))


def lines(ax):
    return {line.get_label(): line for line in ax.get_lines()}


def test_every_strategy_of_the_paper_has_a_stroke_of_its_own():
    assert {*MAIN_TEXT, *APPENDIX, "true-margin"} == set(STROKES)
    assert len({stroke.color for stroke in STROKES.values()}) == len(STROKES)
    assert max(STROKES, key=lambda name: STROKES[name].width) == "min-margin"


def test_accuracy_is_drawn_in_percent_with_a_panel_per_dataset(measured):
    figure = accuracy_figure(panels_of(measured, "benchmark"))
    shown = [ax for ax in figure.axes if ax.get_title(loc="left")]
    assert [ax.get_title(loc="left") for ax in shown] == [place.dataset for place in BENCHMARK]
    line = lines(shown[0])["min-margin"]
    assert line.get_xdata() == pytest.approx(SIZES)
    expected = measured.curves(BENCHMARK[0]).accuracies[0].mean(axis=1)
    assert line.get_ydata() == pytest.approx(100 * expected)
    legend = next(ax.get_legend() for ax in figure.axes if ax.get_legend())
    assert [text.get_text() for text in legend.get_texts()] == list(GAINS)


def test_a_panel_shows_only_the_strategies_it_names(measured):
    figure = accuracy_figure(panels_of(measured, "benchmark", strategies=("margin", "k-centers"))[:1])
    assert list(lines(figure.axes[0])) == ["margin"]


@pytest.mark.parametrize("band", ["error", "deviation"])
def test_bands_are_as_wide_as_the_draws_vary(measured, band):
    panels = panels_of(measured, "gaussian", strategies=["min-margin"])[:1]
    (around,) = accuracy_figure(panels, band=band).axes[0].collections
    heights = panels[0].curves.accuracies[0][0]
    width = heights.std(ddof=1) / (np.sqrt(len(heights)) if band == "error" else 1)
    at_first = [y for x, y in around.get_paths()[0].vertices if x == SIZES[0]]
    assert max(at_first) - min(at_first) == pytest.approx(200 * width)


def test_differences_are_in_points_ahead(measured):
    figure = difference_figure(panels_of(measured, "benchmark"))
    drawn = lines(figure.axes[0])
    assert drawn["min-margin"].get_ydata() == pytest.approx(np.full(len(SIZES), 2.0))
    assert drawn["random"].get_ydata() == pytest.approx(np.full(len(SIZES), -1.0))
    assert figure.axes[0].get_ylabel() == "points ahead of margin"


def test_tuning_has_a_row_for_k_and_one_for_beta(measured):
    figure = tuning_figure(measured)
    legends = [
        [text.get_text() for text in ax.get_legend().get_texts()] for ax in figure.axes if ax.get_legend()
    ]
    assert legends == [
        ["K = 2", "K = 25", "margin", "random"],
        ["β = 0.5", "β = 1", "β = 4", "margin", "random"],
    ]


def test_the_theorem_is_drawn_in_units_of_its_bounds(measured):
    figure = theorem_figure(measured)
    near, _, whole, _ = figure.axes
    levels = [line.get_ydata()[0] for line in near.get_lines() if line.get_linestyle() == ":"]
    assert levels == [7 / 64, 13 / 128]
    means = [container.lines[0].get_ydata() for container in whole.containers]
    assert means[0] == pytest.approx([0.12, 0.12], rel=0.02)
    assert means[1] == pytest.approx([0.01, 0.01], rel=0.02)
    assert [ax.get_title(loc="left") for ax in figure.axes[:2]] == ["|Z| = 12Bm", "|Z| = 12Bm²"]


def test_the_gaussian_figure_draws_lines_where_the_models_are_torn(measured):
    (draw, *_) = gaussian_draws({"margin": 0.1, "committee": 0.2, "min-margin": 0.5})
    draw = draw._replace(base=np.array([1.0, 2.0, -3.0]))
    figure = gaussian_figure(draw, measured.curves(GAUSSIAN[1]))
    assert len(figure.axes) == 4
    line = lines(figure.axes[0])["learned boundary"]
    assert line.get_xdata() + 2 * line.get_ydata() == pytest.approx([3, 3])
    assert len(figure.axes[1].get_lines()) == 25 + 2
    picks = {each.get_label(): each for each in figure.axes[2].collections}
    np.testing.assert_array_equal(picks["min-margin"].get_offsets(), draw.picks["min-margin"])


@pytest.mark.parametrize("suffix", ["svg", "png"])
def test_the_same_results_give_the_same_file(measured, tmp_path, suffix):
    files = [
        save(accuracy_figure(panels_of(measured, "benchmark")), tmp_path / f"{name}.{suffix}").read_bytes()
        for name in ("first", "second")
    ]
    assert files[0] == files[1]


def test_text_stays_text_and_no_date_is_written(measured, tmp_path):
    svg = save(accuracy_figure(panels_of(measured, "benchmark")), tmp_path / "figure.svg").read_text()
    assert re.search(r"<text[^>]*>magic04</text>", svg)
    assert "dc:date" not in svg


def test_without_matplotlib_the_extra_is_named(measured, monkeypatch):
    real = builtins.__import__

    def refuse(name, *args):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *args)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(MissingExtraError) as caught:
        theorem_figure(measured)
    assert str(caught.value) == (
        "Figures need matplotlib, which is not installed. Use pip install 'minmargin[report]'."
    )

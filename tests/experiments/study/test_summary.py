"""What is said of strategies, against scipy and against numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from minmargin.experiments.study.cells import SCHEMA
from minmargin.experiments.study.grid import Cell, Grid
from minmargin.experiments.study.ranks import critical_difference, rank
from minmargin.experiments.study.summary import Count, estimate, gains_by_size, summarize_grid

SCORES = {  # by problem, strategy: one accuracy a draw
    ("magic04", "random"): [0.50, 0.60, 0.70],
    ("magic04", "margin"): [0.60, 0.70, 0.80],
    ("magic04", "min-margin"): [0.50, 0.60, 0.70],
    ("magic04", "committee"): [0.63, 0.71, 0.82],
    ("shuttle", "random"): [0.90, 0.90, 0.90],
    ("shuttle", "margin"): [0.70, 0.80, 0.75],
    ("shuttle", "min-margin"): [0.80, 0.80, 0.80],
    ("shuttle", "committee"): [0.85, 0.86, 0.87],
}


def table_of(scores, *, seconds=None, sizes=(100,)):
    rows = [
        {
            "way": "logistic",
            "problem": problem,
            "n_labeled": 100,
            "draw": draw,
            "strategy": strategy,
            "batch_size": size,
            "accuracy": value,
            "balanced_accuracy": value,
            "minus_log_loss": value - 1,
            "average_precision": None,
            "seconds": (seconds or {}).get(strategy, 1.0),
            "rules": "made up",
        }
        for (problem, strategy), values in scores.items()
        for draw, value in enumerate(values)
        for size in sizes
    ]
    rows += [{**rows[0], "strategy": "none", "batch_size": 0}]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def estimate_of(grid, number):
    return estimate(grid.gains[:, number], [cell.problem for cell in grid.cells])


@pytest.fixture(scope="module")
def grid():
    return Grid.of(table_of(SCORES, seconds={"committee": 3.0}), "logistic", "accuracy")


def test_gains_are_counted_from_the_best_of_three_in_the_same_cell(grid):
    assert grid.cells == [Cell("magic04", 100, 100), Cell("shuttle", 100, 100)]
    assert grid.references == ["margin", "random"]
    assert grid.strategies == ["committee", "random", "margin", "min-margin"]
    np.testing.assert_allclose(grid.gains[0, 0], [0.03, 0.01, 0.02], atol=1e-6)
    np.testing.assert_allclose(grid.gains[1, 3], [-0.1, -0.1, -0.1], atol=1e-6)


def test_a_summary_says_what_can_be_worked_out_by_hand(grid):
    summary = summarize_grid(grid)
    committee = summary.lines[0]
    assert committee.strategy == "committee"
    assert committee.n_cells == 2
    assert committee.gain == pytest.approx((0.02 - 0.04) / 2, abs=1e-6)
    assert committee.worst[0] == Cell("shuttle", 100, 100)
    assert committee.worst[1] == pytest.approx(-0.04, abs=1e-6)
    assert committee.of_worst == pytest.approx(-0.01, abs=1e-6)  # there are only two cells
    assert committee.seconds == pytest.approx(3)
    assert committee.rank == 1.5  # best, then second
    min_margin = next(line for line in summary.lines if line.strategy == "min-margin")
    assert min_margin.told == Count(0, 2, 0, 2)  # the same in each draw: there is no doubt
    assert summary.ranks.n_sets == 2


def test_the_interval_is_that_of_independent_draws(grid):
    errors = [stats.sem(grid.gains[cell, 0]) for cell in (0, 1)]
    reach = stats.norm.ppf(0.975) * np.hypot(*errors) / 2
    assert estimate_of(grid, 0) == pytest.approx((-0.01, -0.01 - reach, -0.01 + reach), abs=1e-6)


def test_cells_are_counted_after_holm_and_by_three_standard_errors():
    """A mean of 3.1 standard errors is beyond three, and of 20 cells not yet a finding."""
    draws = np.tile([1.0, -1.0], 10)
    error = stats.sem(draws)
    gains = np.stack([draws + shift * error for shift in (3.1, -3.1, -8, *[0] * 17)])
    assert Count.of(gains) == Count(0, 1, 1, 2)
    assert stats.ttest_1samp(gains[0], 0).pvalue * 20 > 0.05


def test_cells_of_one_problem_share_their_draws():
    """Two cells that are copies of each other say no more than one does."""
    two_sizes = Grid.of(table_of(SCORES, sizes=(100, 500)), "logistic", "accuracy")
    one_size = Grid.of(table_of(SCORES), "logistic", "accuracy")
    assert estimate_of(two_sizes, 0) == pytest.approx(estimate_of(one_size, 0))


def test_one_draw_leaves_everything_open():
    grid = Grid.of(table_of({key: values[:1] for key, values in SCORES.items()}), "logistic", "accuracy")
    assert estimate_of(grid, 0)[1:] == (-np.inf, np.inf)
    assert all(line.told == Count(0, 0, 0, 0) for line in summarize_grid(grid).lines)


def test_a_draw_that_one_strategy_lacks_takes_only_its_own_pair_along():
    scores = {**SCORES, ("shuttle", "committee"): [0.85, 0.86]}
    grid = Grid.of(table_of(scores), "logistic", "accuracy")
    committee = next(line for line in summarize_grid(grid).lines if line.strategy == "committee")
    assert committee.gain == pytest.approx((0.02 - 0.045) / 2, abs=1e-6)


def test_a_strategy_that_lacks_a_problem_leaves_it_out_of_the_ranks():
    scores = {key: values for key, values in SCORES.items() if key != ("shuttle", "committee")}
    summary = summarize_grid(Grid.of(table_of(scores), "logistic", "accuracy"))
    assert summary.ranks.n_sets == 1
    assert summary.lines[0].strategy == "committee"
    assert summary.lines[0].n_cells == 1


def test_a_metric_that_no_cell_has_gives_no_cells():
    assert Grid.of(table_of(SCORES), "logistic", "average_precision").cells == []
    assert Grid.of(table_of(SCORES), "networks", "accuracy").cells == []


def test_gains_by_size_are_means_over_problems(grid):
    (gains,) = gains_by_size(grid).values()
    assert gains[0] == pytest.approx(-0.01, abs=1e-6)
    assert list(gains_by_size(grid)) == [(100, 100)]


def test_ranks_and_friedman_are_those_of_scipy():
    gains = np.random.default_rng(1).normal(size=(5, 12)) + np.arange(5)[:, np.newaxis]
    ranks = rank(gains)
    np.testing.assert_allclose(ranks.mean, 6 - stats.rankdata(gains, axis=0).mean(axis=1))
    assert ranks.p_value == stats.friedmanchisquare(*gains).pvalue
    assert ranks.n_sets == 12


def test_equal_gains_share_their_rank():
    assert rank([[1.0, 1.0], [1.0, 0.0], [0.0, 2.0]]).mean.tolist() == [1.75, 2.25, 2.0]


@pytest.mark.parametrize(("n_strategies", "q"), [(2, 1.960), (3, 2.343), (4, 2.569), (5, 2.728), (10, 3.164)])
def test_critical_differences_are_those_of_demsars_table(n_strategies, q):
    expected = q * np.sqrt(n_strategies * (n_strategies + 1) / (6 * 20))
    assert critical_difference(n_strategies, 20) == pytest.approx(expected, rel=3e-4)


def test_what_cannot_be_ranked_is_not_a_number():
    assert np.isnan(rank(np.empty((3, 0))).mean).all()
    assert np.isnan(rank([[1.0], [2.0]]).p_value)
    assert np.isnan(critical_difference(1, 5))


def test_a_line_tells_how_many_draws_its_strategy_has_played():
    scores = {
        key: values[:1] if key == ("shuttle", "committee") else values for key, values in SCORES.items()
    }
    scores[("magic04", "bald")] = [0.5, 0.5]
    lines = summarize_grid(Grid.of(table_of(scores), "logistic", "accuracy")).lines
    drawn = {line.strategy: line.draws for line in lines}
    assert drawn == {
        "random": (3, 3),
        "margin": (3, 3),
        "min-margin": (3, 3),
        "committee": (1, 3),
        "bald": (2, 2),
    }

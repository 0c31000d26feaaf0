"""What `C="auto"` is worth: a strategy that plays with it against itself with C = 1, draw by draw.

The unit is a problem. In each draw of it, differences are averaged over strategies, numbers of labeled rows and batch
sizes, which share rows. `study/penalties.py` plays.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from minmargin.compare.outcome import NONE
from minmargin.compare.statistics import Difference, paired_difference
from minmargin.experiments.study.grid import Cell, Floats, Grid, mean_over_draws
from minmargin.experiments.study.summary import Count, Estimate, estimate

#: What results call the way in which penalties were compared: logistic regression, each draw played twice.
PENALTIES = "penalties"
#: What is added to the name of a strategy whose committee and final models choose C by themselves.
AUTO = "+auto"
#: Who played.
STRATEGIES = ("random", "min-margin", "spread")


class Compared(NamedTuple):
    """What `C="auto"` gains over C = 1 by one metric. Above 0 is better.

    Attributes:
        problems: P names, sorted.
        by_problem: (P,) the mean over all cells and strategies of a problem, from paired draws.
        worst: for each problem its cell and strategy with the lowest mean, and that mean.
        overall: the mean over all cells and strategies.
        told: for each strategy, in which cells the two are told apart.
        by_size: for each number of labeled rows and batch size, the mean over its cells and strategies.
    """

    problems: list[str]
    by_problem: Difference
    worst: list[tuple[Cell, str, float]]
    overall: Estimate
    told: dict[str, Count]
    by_size: dict[tuple[int, int], Estimate]


def compare_penalties(results: pa.Table, metric: str) -> Compared:
    """Return what `C="auto"` gains over C = 1, where strategies have played with both."""
    grid = Grid.of(results, PENALTIES, metric)
    gains = np.stack([_differences(grid, name) for name in STRATEGIES])
    problems = np.array([cell.problem for cell in grid.cells])
    sizes = np.array([(cell.n_labeled, cell.batch_size) for cell in grid.cells])
    of_draws = np.stack([gains[:, problems == name].mean(axis=(0, 1)) for name in grid.problems])
    by_size = {
        (n_labeled, size): _estimate(gains[:, there], problems[there])
        for n_labeled, size in sorted(set(map(tuple, sizes.tolist())))
        if (there := (sizes == (n_labeled, size)).all(axis=1)).any()
    }
    return Compared(
        grid.problems,
        paired_difference(of_draws, np.zeros(of_draws.shape[1])),
        [_worst(grid, gains, name) for name in grid.problems],
        _estimate(gains, problems),
        {name: Count.of(own) for name, own in zip(STRATEGIES, gains, strict=True)},
        by_size,
    )


def training_seconds(results: pa.Table, n_labeled: int) -> dict[str, tuple[float, float]]:
    """Return by problem how long training a committee took with C = 1 and with `C="auto"`: medians over draws."""
    found: dict[tuple[str, str], list[float]] = {}
    columns = [results[name].to_pylist() for name in ("way", "problem", "n_labeled", "strategy", "seconds")]
    for way, problem, n_rows, strategy, seconds in zip(*columns, strict=True):
        if (way, n_rows) == (PENALTIES, n_labeled) and strategy in {NONE, NONE + AUTO}:
            found.setdefault((problem, strategy), []).append(seconds)
    return {
        problem: (float(np.median(usual)), float(np.median(found[problem, NONE + AUTO])))
        for (problem, strategy), usual in found.items()
        if strategy == NONE
    }


def _differences(grid: Grid, name: str) -> Floats:
    """Return (M, R) "auto" minus 1: both have gains from the same reference, which cancels out."""
    auto, usual = (grid.strategies.index(each) for each in (name + AUTO, name))
    return np.asarray(grid.gains[:, auto] - grid.gains[:, usual])


def _estimate(gains: Floats, problems: np.ndarray) -> Estimate:
    """Return the mean of (S, M, R) gains over strategies and cells."""
    return estimate(gains.reshape(-1, gains.shape[-1]), np.tile(problems, len(gains)).tolist())


def _worst(grid: Grid, gains: Floats, problem: str) -> tuple[Cell, str, float]:
    """Return where the mean of (S, M, R) gains is lowest among the cells of a problem."""
    means = mean_over_draws(gains)
    of_problem = np.array([cell.problem == problem for cell in grid.cells])
    strategy, cell = np.unravel_index(np.where(of_problem, means, np.inf).argmin(), means.shape)
    return grid.cells[cell], STRATEGIES[strategy], float(means[strategy, cell])

"""What a study says of each strategy.

The unit is a cell: a problem, a number of labeled rows and a batch size. In each, a strategy's regret is what it falls
short of the reference: the one of random, margin and min-margin that is best there on average over the draws. The
reference is found from the same draws, so it is a little better than it deserves, and no strategy is flattered by it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from minmargin.compare.statistics import LEVEL, decide, paired_difference
from minmargin.experiments.study.grid import Cell, Floats, Grid, mean_over_draws
from minmargin.experiments.study.ranks import Ranks, rank

#: How many of the worst cells are averaged.
N_WORST = 5

_TIMED_AGAINST = "min-margin"


class Line(NamedTuple):
    """What is said of a strategy.

    Attributes:
        strategy: its name.
        n_cells: in how many cells it has played.
        regret: the mean over its cells.
        low, high: the ends of the 95% interval of that mean.
        worst: the cell with the largest regret, and that regret.
        of_worst: the mean of its `N_WORST` largest regrets.
        wins, losses: cells in which it is clearly better or worse than the reference, after Holm's correction over all
            of its cells.
        rank: its mean rank over problems; NaN where not all strategies have played.
        seconds: of picking, as a multiple of min-margin's.
    """

    strategy: str
    n_cells: int
    regret: float
    low: float
    high: float
    worst: tuple[Cell, float]
    of_worst: float
    wins: int
    losses: int
    rank: float
    seconds: float


class Summary(NamedTuple):
    """A line for each strategy, the lowest regret first, and how they rank."""

    lines: list[Line]
    ranks: Ranks


def summarize_grid(grid: Grid) -> Summary:
    """Return what a grid says of each strategy."""
    regrets = grid.by_problem()
    whole = np.isfinite(regrets).all(axis=0)
    ranks = rank(regrets[:, whole])
    means = mean_over_draws(grid.regrets)
    slowness = _relative_seconds(grid)
    lines = []
    for number, strategy in enumerate(grid.strategies):
        played = np.flatnonzero(np.isfinite(means[:, number]))
        if not len(played):
            continue
        own = means[played, number]
        low, high = interval(grid, number)
        decided = decide(paired_difference(-grid.regrets[played, number], np.zeros(grid.n_draws)))
        worst = int(own.argmax())
        lines.append(
            Line(
                strategy,
                len(played),
                float(own.mean()),
                low,
                high,
                (grid.cells[played[worst]], float(own[worst])),
                float(np.sort(own)[::-1][:N_WORST].mean()),
                int((decided == 1).sum()),
                int((decided == -1).sum()),
                float(ranks.mean[number]),
                float(slowness[number]),
            )
        )
    return Summary(sorted(lines, key=lambda line: line.regret), ranks)


def interval(grid: Grid, number: int, *, level: float = LEVEL) -> tuple[float, float]:
    """Return the ends of the normal interval of a strategy's mean regret.

    Draws are what chance has made. The cells of a problem share the rows of a draw, so their regrets are summed draw by
    draw first; sums of different draws, and of different problems, are independent. The interval tells how much other
    draws of these problems would change the mean, not how much other problems would.
    """
    problems = np.array([cell.problem for cell in grid.cells])
    variance, total, n_cells = 0.0, 0.0, 0
    for problem in grid.problems:
        own = grid.regrets[problems == problem, number]
        own = own[np.isfinite(own).any(axis=1)]
        of_draws = own.sum(axis=0)
        of_draws = of_draws[np.isfinite(of_draws)]
        if not len(own):
            continue
        if len(of_draws) < 2:
            return -np.inf, np.inf
        n_cells += len(own)
        total += float(mean_over_draws(own).sum())
        variance += float(of_draws.var(ddof=1) / len(of_draws))
    reach = float(special.ndtri(1 - level / 2)) * np.sqrt(variance)
    return (total - reach) / n_cells, (total + reach) / n_cells


def regrets_by_size(grid: Grid) -> dict[tuple[int, int], Floats]:
    """Return for each number of labeled rows and batch size (S,) the mean regrets over the cells that have them."""
    sizes = sorted({(cell.n_labeled, cell.batch_size) for cell in grid.cells})
    return {
        size: mean_over_draws(
            mean_over_draws(
                grid.only(lambda cell, size=size: (cell.n_labeled, cell.batch_size) == size).regrets  # type: ignore[misc]
            ).T
        )
        for size in sizes
    }


def _relative_seconds(grid: Grid) -> NDArray[np.float64]:
    """Return (S,) the geometric mean over cells of the seconds of picking, relative to min-margin's.

    In a cell, draws are summed up by their median: the first ones may have waited for a compiler.
    """
    if _TIMED_AGAINST not in grid.strategies or not grid.cells:
        return np.full(len(grid.strategies), np.nan)
    logarithms = np.log(np.maximum(_medians(grid.seconds), 1e-9))
    return np.exp(mean_over_draws((logarithms - logarithms[:, [grid.strategies.index(_TIMED_AGAINST)]]).T))


def _medians(values: Floats) -> Floats:
    """Return medians over the last axis of what is there; NaN where nothing is."""
    found = np.full(values.shape[:-1], np.nan)
    there = np.isfinite(values).any(axis=-1)
    found[there] = np.nanmedian(values[there], axis=-1)
    return found

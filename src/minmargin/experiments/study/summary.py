"""What a study says of each strategy.

The unit is a cell: a problem, a number of labeled rows and a batch size. In each, a strategy's gain is what it is ahead
of the reference: the one of random, margin and min-margin that is best there on average over the draws. The reference
is found from the same draws, so it is a little better than it deserves, and no strategy is flattered by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from minmargin.compare.statistics import LEVEL, decide, paired_difference, summarize
from minmargin.experiments.study.grid import Cell, Floats, Grid, mean_over_draws
from minmargin.experiments.study.ranks import Ranks, rank

#: How many of the worst cells are averaged.
N_WORST = 5
#: By how many standard errors a mean must differ from 0 to be called clear, where no family is corrected for.
CLEAR_ERRORS = 3

_TIMED_AGAINST = "min-margin"


class Count(NamedTuple):
    """How many cells differ from 0, counted in two ways.

    Attributes:
        wins, losses: by a paired t test, after Holm's correction over all cells that are counted.
        clear_wins, clear_losses: by a mean of more than `CLEAR_ERRORS` standard errors.
    """

    wins: int
    losses: int
    clear_wins: int
    clear_losses: int

    @classmethod
    def of(cls, gains: Floats) -> Count:
        """Return the counts of (M, R) paired gains."""
        decided = decide(paired_difference(gains, np.zeros(gains.shape[1])))
        bands = summarize(gains)
        with np.errstate(invalid="ignore"):
            clear = np.where(np.abs(bands.mean) > CLEAR_ERRORS * bands.error, np.sign(bands.mean), 0)
        return cls(*(int((each == sign).sum()) for each in (decided, clear) for sign in (1, -1)))


class Estimate(NamedTuple):
    """A mean over cells, and the ends of its 95% interval."""

    mean: float
    low: float
    high: float


class Line(NamedTuple):
    """What is said of a strategy.

    Attributes:
        strategy: its name.
        n_cells: in how many cells it has played.
        draws: the fewest draws of a problem that it has played, and the most.
        gain: the mean over its cells.
        low, high: the ends of the 95% interval of that mean.
        worst: the cell with the lowest gain, and that gain.
        of_worst: the mean of its `N_WORST` lowest gains.
        told: in which cells it is told from the reference.
        rank: its mean rank over problems; NaN where not all strategies have played.
        seconds: of picking, as a multiple of min-margin's.
    """

    strategy: str
    n_cells: int
    draws: tuple[int, int]
    gain: float
    low: float
    high: float
    worst: tuple[Cell, float]
    of_worst: float
    told: Count
    rank: float
    seconds: float


class Summary(NamedTuple):
    """A line for each strategy, the highest gain first, and how they rank."""

    lines: list[Line]
    ranks: Ranks


def summarize_grid(grid: Grid) -> Summary:
    """Return what a grid says of each strategy."""
    by_problem = grid.by_problem()
    whole = np.isfinite(by_problem).all(axis=0)
    ranks = rank(by_problem[:, whole])
    means = mean_over_draws(grid.gains)
    slowness = _relative_seconds(grid)
    draws = grid.count_draws()
    lines = []
    for number, strategy in enumerate(grid.strategies):
        played = np.flatnonzero(np.isfinite(means[:, number]))
        if not len(played):
            continue
        own = means[played, number]
        found = estimate(grid.gains[:, number], [cell.problem for cell in grid.cells])
        worst = int(own.argmin())
        lines.append(
            Line(
                strategy,
                len(played),
                _ends_of(draws[number]),
                *found,
                (grid.cells[played[worst]], float(own[worst])),
                float(np.sort(own)[:N_WORST].mean()),
                Count.of(grid.gains[played, number]),
                float(ranks.mean[number]),
                float(slowness[number]),
            )
        )
    return Summary(sorted(lines, key=lambda line: -line.gain), ranks)


def estimate(gains: Floats, problems: Sequence[str], *, level: float = LEVEL) -> Estimate:
    """Return the mean of (M, R) gains over cells, whose problems are given, with its normal interval.

    Draws are what chance has made. The cells of a problem share the rows of a draw, so their gains are summed draw by
    draw first; sums of different draws, and of different problems, are independent. The interval tells how much other
    draws of these problems would change the mean, not how much other problems would.
    """
    of_problem = np.array(problems)
    variance, total, n_cells = 0.0, 0.0, 0
    for problem in sorted(set(problems)):
        own = gains[of_problem == problem]
        own = own[np.isfinite(own).any(axis=1)]
        of_draws = own.sum(axis=0)
        of_draws = of_draws[np.isfinite(of_draws)]
        n_cells += len(own)
        total += float(mean_over_draws(own).sum())
        if len(own):
            variance += float(of_draws.var(ddof=1) / len(of_draws)) if len(of_draws) > 1 else np.inf
    reach = float(special.ndtri(1 - level / 2) * np.sqrt(variance))
    return Estimate(total / n_cells, (total - reach) / n_cells, (total + reach) / n_cells)


def gains_by_size(grid: Grid) -> dict[tuple[int, int], Floats]:
    """Return for each number of labeled rows and batch size (S,) the mean gains over the cells that have them."""
    sizes = sorted({(cell.n_labeled, cell.batch_size) for cell in grid.cells})
    return {
        size: mean_over_draws(
            mean_over_draws(
                grid.only(lambda cell, size=size: (cell.n_labeled, cell.batch_size) == size).gains  # type: ignore[misc]
            ).T
        )
        for size in sizes
    }


def _ends_of(draws: NDArray[np.intp]) -> tuple[int, int]:
    played = draws[draws > 0]
    return int(played.min()), int(played.max())


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

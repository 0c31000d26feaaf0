"""Areas of curves, by what was played, and comparisons of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import special

from minmargin.compare.statistics import LEVEL, Difference, paired_difference, summarize
from minmargin.experiments.published.curves import Curve

Floats = NDArray[np.float64]

#: "mean height" from the first labels to the last, or "theirs": as Lu et al. count.
AreaKind: TypeAlias = Literal["mean height", "theirs"]


class Cell(NamedTuple):
    """Where strategies are compared: a set, a learner and a batch size."""

    problem: str
    learner: str
    batch_size: int


class Interval(NamedTuple):
    """A difference of means, and the ends of its 95% interval."""

    mean: float
    low: float
    high: float


class Areas:
    """The areas of a table's curves."""

    def __init__(self, curves: Sequence[Curve], table: str, kind: AreaKind = "mean height") -> None:
        self._found: dict[tuple[Cell, str], dict[int, float]] = {}
        for curve in curves:
            task = curve.task
            if task.table == table:
                cell = Cell(task.problem, task.learner, task.batch_size)
                area = curve.area if kind == "mean height" else curve.their_area
                self._found.setdefault((cell, task.strategy), {})[task.draw] = area

    @property
    def cells(self) -> list[Cell]:
        """The cells that were played, sorted."""
        return sorted({cell for cell, _ in self._found})

    def strategies(self, cell: Cell) -> list[str]:
        """Return who has played in a cell."""
        return [strategy for each, strategy in self._found if each == cell]

    def of(self, cell: Cell, strategy: str) -> Floats:
        """Return (R,) the areas of a strategy in a cell, by draw; none where it has not played."""
        found = self.by_draw(cell, strategy)
        return np.array([found[draw] for draw in sorted(found)])

    def by_draw(self, cell: Cell, strategy: str) -> dict[int, float]:
        """Return the areas of a strategy in a cell, by the number of the draw."""
        return self._found.get((cell, strategy), {})

    def difference(self, first: tuple[Cell, str], second: tuple[Cell, str]) -> Difference:
        """Return the mean paired difference, over the draws that both have played."""
        ours, others = self._found.get(first, {}), self._found.get(second, {})
        draws = sorted(ours.keys() & others.keys())
        return paired_difference([ours[draw] for draw in draws], [others[draw] for draw in draws])


def compare_with_reported(areas: Floats, mean: float, deviation: float, n_draws: int) -> Interval:
    """Return how far the mean of areas lies above a reported one, by Welch's interval: nothing is paired."""
    ours = summarize(areas)
    parts = np.array([ours.error**2, deviation**2 / n_draws])
    freedom = parts.sum() ** 2 / (parts**2 / [ours.n_draws - 1, n_draws - 1]).sum()
    reach = special.stdtrit(freedom, 1 - LEVEL / 2) * np.sqrt(parts.sum())
    away = float(ours.mean) - mean
    return Interval(away, away - float(reach), away + float(reach))


def welch_p_value(first: Floats, second: Floats) -> float:
    """Return the p-value of Welch's t test, which ALPBench decides by; 1 where nothing can be told."""
    one, two = summarize(first), summarize(second)
    squares = np.array([one.error, two.error]) ** 2
    if min(one.n_draws, two.n_draws) < 2 or not squares.sum() > 0:
        return 1.0
    t = abs(one.mean - two.mean) / np.sqrt(squares.sum())
    freedom = squares.sum() ** 2 / (squares**2 / [one.n_draws - 1, two.n_draws - 1]).sum()
    return float(2 * special.stdtr(freedom, -t))

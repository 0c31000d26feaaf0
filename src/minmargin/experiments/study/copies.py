"""What passing over copies is worth: a strategy with distinct rows against itself, draw by draw."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from minmargin.experiments.study.grid import Floats, Grid
from minmargin.experiments.study.named import DISTINCT
from minmargin.experiments.study.summary import Count, Estimate, estimate


class Pair(NamedTuple):
    """What a strategy gains by passing over copies.

    Attributes:
        strategy: its name.
        overall: the mean over all cells that it played both ways.
        told: in which cells the two are told apart.
        by_problem: the mean over the cells of each problem.
        draws: the fewest and the most draws of a cell that were played both ways.
    """

    strategy: str
    overall: Estimate
    told: Count
    by_problem: dict[str, Estimate]
    draws: tuple[int, int]


def compare_copies(grid: Grid) -> list[Pair]:
    """Return what each strategy gains by passing over copies, for those that played both ways."""
    pairs = []
    for name in (name for name in grid.strategies if f"{name}{DISTINCT}" in grid.strategies):
        gains = _differences(grid, name)
        played = np.flatnonzero(np.isfinite(gains).any(axis=1))
        problems = [grid.cells[number].problem for number in played]
        if not len(played):
            continue
        gains = gains[played]
        of_problem = np.array(problems)
        by_problem = {
            problem: estimate(gains[of_problem == problem], [problem] * problems.count(problem))
            for problem in sorted(set(problems))
        }
        draws = np.isfinite(gains).sum(axis=1)
        ends = int(draws.min()), int(draws.max())
        pairs.append(Pair(name, estimate(gains, problems), Count.of(gains), by_problem, ends))
    return pairs


def _differences(grid: Grid, name: str) -> Floats:
    """Return (M, R) distinct minus not: both have gains from the same reference, which cancels out."""
    distinct, plain = (grid.strategies.index(each) for each in (f"{name}{DISTINCT}", name))
    return np.asarray(grid.gains[:, distinct] - grid.gains[:, plain])

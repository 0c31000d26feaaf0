"""What became of the hypotheses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from minmargin.compare.statistics import Tally, decide, join, tally
from minmargin.experiments.published import alpbench, rebenchmark
from minmargin.experiments.published.areas import Areas, Cell
from minmargin.experiments.published.curves import Curve
from minmargin.experiments.published.hypotheses import ALIKE, HYPOTHESES, NEAR
from minmargin.experiments.published.theirs import REBENCHMARK, REBENCHMARK_DRAWS

Outcome: TypeAlias = Literal["holds", "does not hold", "not played yet"]


class Verdict(NamedTuple):
    """What results say of a hypothesis, and the figures that it rests on."""

    outcome: Outcome
    figures: str


def judge(curves: Sequence[Curve]) -> dict[str, Verdict]:
    """Return what results say of each hypothesis, by its name; "not played yet" where too little was played."""
    return {each.name: _CHECKS[each.name](curves) for each in HYPOTHESES}


def their_draws(curves: Sequence[Curve]) -> list[Curve]:
    """Return the curves of the draws that their means are of."""
    return [curve for curve in curves if curve.task.draw < REBENCHMARK_DRAWS]


def _near(curves: Sequence[Curve]) -> Verdict:
    areas = Areas(their_draws(curves), rebenchmark.TABLE, "theirs")
    away = {}
    for (problem, strategy), reported in REBENCHMARK.items():
        found = areas.of(_cell(problem, 1), strategy)
        if strategy in ("random", "margin") and len(found):
            away[f"{problem}, {strategy}"] = found.mean() - reported.mean
    return _verdict(away, 4, lambda each: abs(each) <= NEAR)


def _margin_beats_random(curves: Sequence[Curve]) -> Verdict:
    areas = Areas(curves, rebenchmark.TABLE)
    found = [areas.difference((cell, "margin"), (cell, "random")) for cell in _cells(1)]
    decided = decide(join(found))
    gains = {
        cell.problem: float(each.mean)
        for cell, each in zip(_cells(1), found, strict=True)
        if each.n_draws > 1
    }
    return _verdict(gains, 2, lambda _: bool((decided > 0).all()))


def _members_add_nothing(curves: Sequence[Curve]) -> Verdict:
    areas = Areas(curves, rebenchmark.TABLE)
    found = {cell.problem: areas.difference((cell, "min-margin"), (cell, "margin")) for cell in _cells(1)}
    means = {name: float(each.mean) for name, each in found.items() if each.n_draws > 1}
    within = all(each.low > -ALIKE and each.high < ALIKE for each in found.values())
    return _verdict(means, 2, lambda _: within)


def _batches_cost_little(curves: Sequence[Curve]) -> Verdict:
    areas = Areas(curves, rebenchmark.TABLE)
    found = {
        problem: areas.difference((_cell(problem, 1), "margin"), (_cell(problem, 50), "margin"))
        for problem in rebenchmark.SETS
    }
    means = {name: float(each.mean) for name, each in found.items() if each.n_draws > 1}
    return _verdict(means, 2, lambda _: all(each.high < NEAR for each in found.values()))


def _spread_keeps_up(curves: Sequence[Curve]) -> Verdict:
    areas = Areas(curves, rebenchmark.TABLE)
    found = {cell.problem: areas.difference((cell, "spread"), (cell, "margin")) for cell in _cells(50)}
    means = {name: float(each.mean) for name, each in found.items() if each.n_draws > 1}
    return _verdict(means, 2, lambda _: all(each.low > -ALIKE for each in found.values()))


def _margin_wins(curves: Sequence[Curve]) -> Verdict:
    found = {
        f"{learner}, {size}": count
        for learner in alpbench.LEARNERS
        for size in alpbench.SIZES
        if (count := _count(curves, "margin", "random", learner, (size,)))
    }
    return _of_counts(found, len(alpbench.LEARNERS) * len(alpbench.SIZES), lambda wins, losses: wins > losses)


def _members_of_its_own(curves: Sequence[Curve]) -> Verdict:
    count = _count(curves, "min-margin", alpbench.THEIR_MIN_MARGIN, "forest", tuple(alpbench.SIZES))
    return _of_counts({"forest": count} if count else {}, 1, lambda wins, losses: wins > losses)


def _spread_does_not_lose(curves: Sequence[Curve]) -> Verdict:
    count = _count(curves, "spread", "margin", "logistic", tuple(alpbench.SIZES))
    return _of_counts({"logistic": count} if count else {}, 1, lambda wins, losses: wins >= losses)


_CHECKS: dict[str, Callable[[Sequence[Curve]], Verdict]] = {
    "near": _near,
    "margin beats random": _margin_beats_random,
    "members add nothing": _members_add_nothing,
    "batches cost little": _batches_cost_little,
    "spread keeps up": _spread_keeps_up,
    "margin wins": _margin_wins,
    "members of its own": _members_of_its_own,
    "spread does not lose": _spread_does_not_lose,
}


def _cell(problem: str, batch_size: int) -> Cell:
    return Cell(problem, rebenchmark.LEARNER, batch_size)


def _cells(batch_size: int) -> list[Cell]:
    return [_cell(problem, batch_size) for problem in rebenchmark.SETS]


def _verdict(figures: dict[str, float], n_wanted: int, holds: Callable[[float], bool]) -> Verdict:
    """Return a verdict on figures that all have to hold; one that is not there leaves it open."""
    told = "; ".join(f"{name} {value:+.4f}" for name, value in figures.items())
    if len(figures) < n_wanted:
        return Verdict("not played yet", told)
    return Verdict("holds" if all(map(holds, figures.values())) else "does not hold", told)


def _count(
    curves: Sequence[Curve], first: str, second: str, learner: str, sizes: Sequence[int]
) -> Tally | None:
    """Return the wins, ties and losses of paired t tests, corrected over all cells; None where nobody has played."""
    areas = Areas(curves, alpbench.TABLE)
    found = [
        areas.difference((cell, first), (cell, second))
        for cell in areas.cells
        if cell.learner == learner and cell.batch_size in sizes
    ]
    found = [each for each in found if each.n_draws > 1]
    return tally(np.ravel(decide(join(found)))) if found else None


def _of_counts(counts: dict[str, Tally], n_wanted: int, holds: Callable[[int, int], bool]) -> Verdict:
    told = "; ".join(f"{name} {'-'.join(map(str, count))}" for name, count in counts.items())
    if len(counts) < n_wanted:
        return Verdict("not played yet", told)
    every = all(holds(wins, losses) for wins, _, losses in counts.values())
    return Verdict("holds" if every else "does not hold", told)

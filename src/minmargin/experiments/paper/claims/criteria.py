"""The few tests that claims are built from: each looks at the curves of one dataset and gives a verdict.

Three notions do most of the work. *Better* is a paired difference that stands after Holm's correction, over all the
comparisons of the test. *As good* is a 95% interval that stays above minus `TOLERANCE`: not having found a difference
is not enough, or few draws would prove anything. (Where every one of several such intervals has to stay above it, they
need no correction.) *Small* and *large* batches are the smaller and the larger third of the sizes that were tried.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from minmargin.compare.statistics import Difference, area, decide, paired_difference, slope, summarize
from minmargin.experiments.paper.claims.base import Outcome, Verdict, combine, graded, unmeasured
from minmargin.experiments.paper.claims.measured import Measured, Place
from minmargin.experiments.paper.results import Curves

Criterion: TypeAlias = Callable[[Curves], Verdict]
Sizes: TypeAlias = Callable[[Sequence[int]], list[int]]

#: Accuracy that counts as no loss worth speaking of: half a percentage point.
TOLERANCE = 0.005
#: Accuracy that counts as a substantial gain: a percentage point.
SUBSTANTIAL = 0.01


# Which sizes


def every(sizes: Sequence[int]) -> list[int]:
    """Return the places of all sizes."""
    return list(range(len(sizes)))


def small(sizes: Sequence[int]) -> list[int]:
    """Return the places of the smaller third of ascending sizes."""
    return every(sizes)[: _third(sizes)]


def large(sizes: Sequence[int]) -> list[int]:
    """Return the places of the larger third of ascending sizes."""
    return every(sizes)[-_third(sizes) :]


def _third(sizes: Sequence[int]) -> int:
    return -(-len(sizes) // 3)


# Numbers


def points(value: float) -> str:
    """Return a difference of accuracies in percentage points.

    >>> points(0.0123)
    '+1.23'
    """
    return f"{100 * value:+.2f}"


def interval(difference: Difference) -> str:
    """Return one difference with its interval, in percentage points."""
    return f"{points(float(difference.mean))} [{points(float(difference.low))}, {points(float(difference.high))}]"


def height(curves: Curves, name: str) -> NDArray[np.float64]:
    """Return (B, R) the accuracies of a strategy."""
    return np.asarray(curves.accuracies[curves.strategies.index(name)])


def differences(curves: Curves, name: str, rivals: Sequence[str], where: Sequence[int]) -> Difference:
    """Return (rivals, sizes) the paired differences of a strategy to each of its rivals."""
    others = np.stack([height(curves, rival)[where] for rival in rivals])
    return paired_difference(height(curves, name)[where], others)


def present(curves: Curves, rivals: Sequence[str] | None, name: str) -> list[str]:
    """Return those of the rivals that have results; None means every other strategy but the oracle."""
    if rivals is None:
        rivals = [rival for rival in curves.strategies if rival != "true-margin"]
    return [rival for rival in rivals if rival in curves.strategies and rival != name]


def _worst(difference: Difference, rivals: Sequence[str], sizes: Sequence[int], where: Sequence[int]) -> str:
    """Return the lowest of the differences, in words."""
    row, column = np.unravel_index(int(np.nanargmin(difference.mean)), difference.mean.shape)
    cell = interval(difference.cell(int(row), int(column)))
    return f"lowest difference {cell}, to {rivals[int(row)]} at {sizes[where[int(column)]]:,}"


# Criteria


def best(name: str, rivals: Sequence[str] | None = None) -> Criterion:
    """No rival is better at any size, and at most sizes the mean is the highest.

    In part: it is the highest at most sizes, or no rival is better at most sizes.
    """

    def judge(curves: Curves) -> Verdict:
        found = _compared(curves, name, rivals, every)
        if found is None:
            return unmeasured("too few results")
        others, where, difference = found
        beaten = int((decide(difference) < 0).any(axis=0).sum())
        top = int((difference.mean >= 0).all(axis=0).sum())
        n_sizes = len(where)
        words = (
            f"highest mean at {top} of {n_sizes} sizes, a rival better at {beaten} "
            f"({_worst(difference, others, curves.sizes, where)})"
        )
        if beaten == 0 and 2 * top > n_sizes:
            return Verdict(Outcome.HOLDS, words)
        return Verdict(Outcome.PART if 2 * top > n_sizes or 2 * beaten < n_sizes else Outcome.FAILS, words)

    return judge


def as_good_as(name: str, rivals: Sequence[str] | None = None, at: Sizes = every) -> Criterion:
    """At each size, the interval of the difference to each rival stays above -`TOLERANCE`.

    In part: it is worse (after correction, by more than the tolerance) than one of them at no more than half of the
    sizes, and as good as all at some size. If it is worse nowhere and as good nowhere, the draws are too few to tell.
    """

    def judge(curves: Curves) -> Verdict:
        found = _compared(curves, name, rivals, at)
        if found is None:
            return unmeasured("too few results")
        others, where, difference = found
        kept = int((difference.low >= -TOLERANCE).all(axis=0).sum())
        lost = int(((decide(difference) < 0) & (difference.mean < -TOLERANCE)).any(axis=0).sum())
        words = (
            f"as good at {kept} of {_sizes(curves, where)}, worse at {lost} "
            f"({_worst(difference, others, curves.sizes, where)})"
        )
        if kept == len(where):
            return Verdict(Outcome.HOLDS, words)
        if lost == 0 and kept == 0:
            return unmeasured(f"too few draws to tell: {words}")
        return Verdict(Outcome.PART if kept and 2 * lost <= len(where) else Outcome.FAILS, words)

    return judge


def better_than(name: str, rivals: Sequence[str] | None = None, at: Sizes = large) -> Criterion:
    """It is better than each rival at each size. In part: it is better more often than worse."""

    def judge(curves: Curves) -> Verdict:
        found = _compared(curves, name, rivals, at)
        if found is None:
            return unmeasured("too few results")
        others, where, difference = found
        decided = decide(difference)
        wins, losses = int((decided > 0).sum()), int((decided < 0).sum())
        words = (
            f"better in {wins} and worse in {losses} of {decided.size} comparisons at {_sizes(curves, where)} "
            f"({_worst(difference, others, curves.sizes, where)})"
        )
        return graded(wins if wins > losses else 0, decided.size, words)

    return judge


def falls_behind(name: str, at: Sizes = large) -> Criterion:
    """At each size some other strategy is better by more than `TOLERANCE`. In part: at some of the sizes."""

    def judge(curves: Curves) -> Verdict:
        found = _compared(curves, name, None, at)
        if found is None:
            return unmeasured("too few results")
        others, where, difference = found
        behind = ((decide(difference) < 0) & (difference.mean < -TOLERANCE)).any(axis=0)
        words = (
            f"behind at {int(behind.sum())} of {_sizes(curves, where)} "
            f"({_worst(difference, others, curves.sizes, where)})"
        )
        return graded(int(behind.sum()), len(where), words)

    return judge


def gap_changes(first: str, second: str, sign: int) -> Criterion:
    """The difference of two strategies rises (sign 1) or falls (sign -1) with the batch size.

    It is a slope over the logarithm of the size that differs from 0 in that direction.
    """

    def judge(curves: Curves) -> Verdict:
        if len(present(curves, (first, second), "")) < 2 or len(curves.sizes) < 2:
            return unmeasured("too few results")
        gaps = height(curves, first) - height(curves, second)
        per_doubling = slope(gaps, np.log2(curves.sizes))
        difference = paired_difference(per_doubling, np.zeros_like(per_doubling))
        ends = summarize(gaps).mean
        words = (
            f"{first} minus {second} {points(ends[0])} at {curves.sizes[0]:,} and {points(ends[-1])} at "
            f"{curves.sizes[-1]:,}, {interval(difference)} per doubling"
        )
        moved = int(decide(difference)) == sign
        return Verdict(Outcome.HOLDS if moved else Outcome.FAILS, words)

    return judge


def lower_area(name: str, rivals: Sequence[str]) -> Criterion:
    """The area under its curve is lower than those of more than half of the rivals. In part: than some of them."""

    def judge(curves: Curves) -> Verdict:
        others = present(curves, rivals, name)
        if not present(curves, (name,), "") or not others:
            return unmeasured("too few results")
        areas = np.stack([area(height(curves, rival), curves.sizes) for rival in others])
        difference = paired_difference(area(height(curves, name), curves.sizes), areas)
        below = int((decide(difference) < 0).sum())
        words = f"{name} lower than {below} of {len(others)}"
        if 2 * below > len(others):
            return Verdict(Outcome.HOLDS, words)
        return Verdict(Outcome.PART if below else Outcome.FAILS, words)

    return judge


def together(*criteria: Criterion) -> Criterion:
    """Return the criterion that all of these make up: it holds in part where they do not agree."""
    return lambda curves: combine([criterion(curves) for criterion in criteria], separator=", ")


# Claims over several datasets


def on(places: Sequence[Place], criterion: Criterion) -> Callable[[Measured], Verdict]:
    """Return the test that a criterion holds at each of these places."""

    def decide_all(measured: Measured) -> Verdict:
        findings, missing = [], []
        for place in places:
            curves = measured.curves(place)
            if curves is None:
                missing.append(place.label)
                continue
            outcome, evidence = criterion(curves)
            findings.append(Verdict(outcome, f"{place.label} ({outcome}): {evidence}"))
        if missing:
            findings.append(unmeasured(f"no results of {', '.join(missing)}"))
        return combine(findings)

    return decide_all


def grouped(places: Sequence[Place], criterion: Criterion, what: str) -> Callable[[Measured], Verdict]:
    """Return the same test as `on`, with the datasets by how they came out as evidence: for many of them."""

    def decide_all(measured: Measured) -> Verdict:
        names: dict[Outcome, list[str]] = {outcome: [] for outcome in Outcome}
        for place in places:
            curves = measured.curves(place)
            outcome = Outcome.UNMEASURED if curves is None else criterion(curves).outcome
            names[outcome].append(place.label)
        words = ", ".join(f"{outcome} on {', '.join(group)}" for outcome, group in names.items() if group)
        return combine([Verdict(outcome, "") for outcome, group in names.items() if group])._replace(
            evidence=f"{what}: {words}"
        )

    return decide_all


def _compared(
    curves: Curves, name: str, rivals: Sequence[str] | None, at: Sizes
) -> tuple[list[str], list[int], Difference] | None:
    """Return the rivals that have results, the places of the sizes, and the differences; None if there are none."""
    others = present(curves, rivals, name)
    if name not in curves.strategies or not others:
        return None
    where = at(curves.sizes)
    difference = differences(curves, name, others, where)
    return (others, where, difference) if (difference.n_draws > 1).all() else None


def _sizes(curves: Curves, where: Sequence[int]) -> str:
    sizes = [curves.sizes[place] for place in where]
    if len(sizes) == 1:
        return f"1 size ({sizes[0]:,})"
    return f"{len(sizes)} sizes ({sizes[0]:,} to {sizes[-1]:,})"

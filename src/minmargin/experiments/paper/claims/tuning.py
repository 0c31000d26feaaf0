"""Claims of section 4.3, about K and beta. All variants of a dataset share its draws, so they are paired too."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from minmargin.compare.statistics import area, decide, paired_difference, slope
from minmargin.experiments.paper.claims.base import Claim, Outcome, Verdict, combine, graded, unmeasured
from minmargin.experiments.paper.claims.criteria import TOLERANCE, height, interval, large, points, small
from minmargin.experiments.paper.claims.measured import (
    FRACTIONS,
    MEMBER_COUNTS,
    TUNED,
    Floats,
    Measured,
    Place,
)

DEFAULT_MEMBERS, DEFAULT_FRACTION = 25, 1


class Variants(NamedTuple):
    """The curves of min-margin for several values of a setting, over the draws that all of them have.

    Attributes:
        values: of the setting, ascending.
        sizes: B batch sizes.
        heights: (values, B, R).
    """

    values: list[float]
    sizes: list[int]
    heights: Floats


def variants(measured: Measured, dataset: str, setting: str, values: Sequence[float]) -> Variants | None:
    """Return the curves of those values that have results, or None if there are fewer than two."""
    found = {
        value: curves
        for value in values
        if (curves := measured.curves(Place("tuning", dataset, f"{setting}={value:g}"))) is not None
        and "min-margin" in curves.strategies
    }
    if len(found) < 2:
        return None
    paired = _paired(
        [(curves.draws, curves.sizes, height(curves, "min-margin")) for curves in found.values()]
    )
    return Variants(list(found), *paired) if paired is not None else None


def reference(measured: Measured, dataset: str, name: str, like: Variants) -> Floats | None:
    """Return (B, R) the curve of margin or random that goes with the variants of a dataset, or None."""
    curves = measured.curves(Place("tuning", dataset, "reference"))
    if curves is None or name not in curves.strategies or curves.sizes != like.sizes:
        return None
    heights = height(curves, name)
    return heights if heights.shape == like.heights.shape[1:] else None


def _paired(parts: list[tuple[list[int], list[int], Floats]]) -> tuple[list[int], Floats] | None:
    """Return the sizes, and the heights at the draws that all parts have; None if their sizes differ."""
    sizes = parts[0][1]
    shared = sorted(set.intersection(*(set(draws) for draws, _, _ in parts)))
    if any(part[1] != sizes for part in parts) or len(shared) < 2:
        return None
    return sizes, np.stack([heights[:, np.searchsorted(draws, shared)] for draws, _, heights in parts])


def _each(
    datasets: Sequence[str],
    setting: str,
    values: Sequence[float],
    judge: Callable[[Measured, str, Variants], Verdict],
) -> Callable[[Measured], Verdict]:
    """Return the test that a judgement holds on each of these datasets."""

    def decide_all(measured: Measured) -> Verdict:
        findings = []
        for dataset in datasets:
            found = variants(measured, dataset, setting, values)
            if found is None:
                findings.append(unmeasured(f"no results of {dataset}"))
                continue
            outcome, words = judge(measured, dataset, found)
            findings.append(Verdict(outcome, f"{dataset} ({outcome}): {words}"))
        return combine(findings)

    return decide_all


def _stable(measured: Measured, dataset: str, found: Variants) -> Verdict:
    """From the default K on, areas differ from the default's by less than the tolerance."""
    del measured, dataset
    if DEFAULT_MEMBERS not in found.values or found.values[-1] == DEFAULT_MEMBERS:
        return unmeasured("no results of K = 25 and more")
    areas = area(found.heights, found.sizes)
    base = found.values.index(DEFAULT_MEMBERS)
    difference = paired_difference(areas[base + 1 :], areas[base])
    kept = int(((difference.low >= -TOLERANCE) & (difference.high <= TOLERANCE)).sum())
    shifts = ", ".join(
        f"K = {value:g} {points(mean)}"
        for value, mean in zip(found.values, paired_difference(areas, areas[base]).mean, strict=True)
        if value != DEFAULT_MEMBERS
    )
    return graded(kept, len(difference.mean), f"area against K = 25: {shifts}")


def _can_be_tuned(measured: Measured, dataset: str, found: Variants) -> Verdict:
    """Some other beta has a higher area than the default."""
    del measured, dataset
    if DEFAULT_FRACTION not in found.values:
        return unmeasured("no results of beta = 1")
    areas = area(found.heights, found.sizes)
    base = found.values.index(DEFAULT_FRACTION)
    others = [place for place in range(len(areas)) if place != base]
    difference = paired_difference(areas[others], areas[base])
    words = ", ".join(
        f"beta = {found.values[place]:g} {points(mean)}"
        for place, mean in zip(others, difference.mean, strict=True)
    )
    improved = bool((decide(difference) > 0).any())
    return Verdict(Outcome.HOLDS if improved else Outcome.FAILS, f"area against beta = 1: {words}")


def _trend(heights: Floats, values: Sequence[float]) -> tuple[int, str]:
    """Return the direction of (values, R) heights with the setting, and the slope per doubling in words."""
    per_doubling = slope(heights, np.log2(np.asarray(values)))
    difference = paired_difference(per_doubling, np.zeros_like(per_doubling))
    return int(decide(difference)), f"{interval(difference)} per doubling of beta"


def _prefers(sign: int) -> Callable[[Measured, str, Variants], Verdict]:
    """Return the judgement that the area rises (1) or falls (-1) with beta, and is highest at that end."""

    def judge(measured: Measured, dataset: str, found: Variants) -> Verdict:
        del measured, dataset
        areas = area(found.heights, found.sizes)
        direction, words = _trend(areas, found.values)
        top = found.values[int(np.nanargmax(np.nanmean(areas, axis=1)))]
        words = f"area {words}, highest at beta = {top:g}"
        at_the_end = top == found.values[-1 if sign > 0 else 0]
        return graded(int(direction == sign) + int(direction == sign and at_the_end), 2, words)

    return judge


def _trade_off(measured: Measured, dataset: str, found: Variants) -> Verdict:
    """Small batches gain from a large beta, large batches from a small one."""
    del measured, dataset
    at_small, small_words = _trend(found.heights[:, small(found.sizes)].mean(axis=1), found.values)
    at_large, large_words = _trend(found.heights[:, large(found.sizes)].mean(axis=1), found.values)
    words = f"small batches {small_words}, large batches {large_words}"
    return graded(int(at_small > 0) + int(at_large < 0), 2, words)


def _closest_to(name: str, *, end: int) -> Callable[[Measured, str, Variants], Verdict]:
    """Return the judgement that of all values the one at this end has the curve closest to a reference's."""

    def judge(measured: Measured, dataset: str, found: Variants) -> Verdict:
        other = reference(measured, dataset, name, found)
        if other is None:
            return unmeasured(f"no results of {name}")
        away = np.abs(found.heights - other).mean(axis=1)
        means: Mapping[float, float] = dict(zip(found.values, np.nanmean(away, axis=1).tolist(), strict=True))
        closest = found.values[end]
        rest = [place for place, value in enumerate(found.values) if value != closest]
        closer = int((decide(paired_difference(away[end], away[rest])) < 0).sum())
        words = ", ".join(f"beta = {value:g} {100 * mean:.2f}" for value, mean in means.items())
        words = f"mean distance to {name} in points: {words}"
        return graded(closer, len(rest), words)

    return judge


def _random_does_best_on_shuttle(measured: Measured) -> Verdict:
    """Random's area, less margin's, is highest on shuttle."""
    leads = {}
    for dataset in TUNED:
        curves = measured.curves(Place("tuning", dataset, "reference"))
        if curves is not None and {"margin", "random"} <= set(curves.strategies):
            areas = area(curves.accuracies, curves.sizes)
            rows = [areas[curves.strategies.index(name)] for name in ("random", "margin")]
            leads[dataset] = paired_difference(*rows)
    if "shuttle" not in leads or len(leads) < 2:
        return unmeasured("no results of the references")
    words = "area of random minus margin: " + ", ".join(
        f"{name} {interval(lead)}" for name, lead in leads.items()
    )
    # Draws of different datasets are no pairs: intervals that do not overlap are clear enough.
    others = [lead for name, lead in leads.items() if name != "shuttle"]
    clear = all(leads["shuttle"].low > lead.high for lead in others)
    highest = all(leads["shuttle"].mean > lead.mean for lead in others)
    return Verdict(Outcome.HOLDS if clear else Outcome.PART if highest else Outcome.FAILS, words)


_FIGURE = "4.3 and caption of Figure 4"

CLAIMS = (
    Claim(
        "tuning-members",
        "Once there are enough bootstrapped models, their number hardly matters.",
        _FIGURE,
        ("tuning",),
        "With 50 and 100 models, the area under the curve differs from that with 25 by less than half a point (95% "
        "interval).",
        _each(TUNED, "K", MEMBER_COUNTS, _stable),
    ),
    Claim(
        "tuning-beta-helps",
        "Min-margin can be improved by choosing the size of the bootstrap draws.",
        _FIGURE,
        ("tuning",),
        "Some beta other than 1 has a larger area under the curve.",
        _each(TUNED, "beta", FRACTIONS, _can_be_tuned),
    ),
    Claim(
        "tuning-beta-shuttle",
        "Shuttle wants small bootstrap draws.",
        _FIGURE,
        ("tuning",),
        "The area falls with beta and is highest at the smallest; in part, if it only falls.",
        _each(("shuttle",), "beta", FRACTIONS, _prefers(-1)),
    ),
    Claim(
        "tuning-beta-cod-rna",
        "Cod-rna wants large bootstrap draws.",
        "caption of Figure 4",
        ("tuning",),
        "The area rises with beta and is highest at the largest; in part, if it only rises.",
        _each(("cod-rna",), "beta", FRACTIONS, _prefers(1)),
    ),
    Claim(
        "tuning-beta-magic04",
        "On magic04, large bootstrap draws suit small batches and small draws suit large batches.",
        "caption of Figure 4",
        ("tuning",),
        "The accuracy at the small sizes rises with beta, and at the large sizes it falls.",
        _each(("magic04",), "beta", FRACTIONS, _trade_off),
    ),
    Claim(
        "tuning-large-like-margin",
        "With the largest bootstrap draws, min-margin acts most like margin on magic04.",
        "4.3",
        ("tuning",),
        "Of all values of beta, the curve of the largest is closest to margin's (mean absolute difference, paired).",
        _each(("magic04",), "beta", FRACTIONS, _closest_to("margin", end=-1)),
    ),
    Claim(
        "tuning-small-like-random",
        "The smaller the bootstrap draws, the closer min-margin comes to random.",
        "4.3",
        ("tuning",),
        "Of all values of beta, the curve of the smallest is closest to random's (mean absolute difference, paired).",
        _each(TUNED, "beta", FRACTIONS, _closest_to("random", end=0)),
    ),
    Claim(
        "tuning-shuttle-random",
        "Of the three tables, shuttle is the one on which random does comparatively best.",
        "4.3",
        ("tuning",),
        "The area of random less that of margin is highest on shuttle, beyond the 95% intervals.",
        _random_does_best_on_shuttle,
    ),
)

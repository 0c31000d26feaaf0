"""Claims of section 3 and its proof, about angles on the half-circle.

Mean squared angles are given in units of pi^2 / ((m + 1)(m + 2)), in which the paper's bounds are plain numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from scipy import special

from minmargin.compare.statistics import LEVEL, decide, paired_difference
from minmargin.experiments.paper.claims.base import Claim, Outcome, Verdict, combine, graded, unmeasured
from minmargin.experiments.paper.claims.measured import Floats, Measured

#: In the proof, margin's mean squared angle stays above the first, min-margin's below the second.
MARGIN_BOUND, MIN_MARGIN_BOUND = 7 / 64, 13 / 128
#: From this many labeled rows per class on, the theorem makes its statement.
SMALLEST_M = 100


def scale(m: int) -> float:
    """Return what squared angles are multiplied by."""
    return (m + 1) * (m + 2) / np.pi**2


def closed_form(m: int) -> float:
    """Return the mean square of the angle of margin's boundary (the proof's first display), in these units."""
    return m / (8 * (m + 1))


def pool_words(factor: str) -> str:
    """Return the size of the pool that a factor stands for."""
    return {"12Bm": "|Z| = 12Bm", "12Bm2": "|Z| = 12Bm²"}.get(factor, factor)


Judge: TypeAlias = Callable[[Measured, int, str], Verdict]


def _in_regime(judge: Judge, factors: tuple[str, ...]) -> Callable[[Measured], Verdict]:
    """Return the test that a judgement of m and the pool's factor holds wherever the theorem makes its statement."""

    def decide_all(measured: Measured) -> Verdict:
        findings = []
        for m, factor in measured.regimes():
            if m < SMALLEST_M or factor not in factors or measured.angles(m, factor) is None:
                continue
            outcome, words = judge(measured, m, factor)
            findings.append(Verdict(outcome, f"m = {m}, {pool_words(factor)} ({outcome}): {words}"))
        return (
            combine(findings) if findings else unmeasured(f"no results of the theorem with m >= {SMALLEST_M}")
        )

    return decide_all


def scaled_angles(measured: Measured, m: int, factor: str) -> tuple[Floats, Floats]:
    """Return the squared angles of margin and of min-margin by draw, in these units."""
    angles = measured.angles(m, factor)
    assert angles is not None
    return angles[0] * scale(m), angles[1] * scale(m)


def _closer(measured: Measured, m: int, factor: str) -> Verdict:
    margin, min_margin = scaled_angles(measured, m, factor)
    words = (
        f"{margin.mean():.4f} for margin, {min_margin.mean():.2g} for min-margin over {len(margin):,} draws"
    )
    closer = int(decide(paired_difference(margin, min_margin))) > 0
    return Verdict(Outcome.HOLDS if closer else Outcome.FAILS, words)


def margin_mean(measured: Measured, m: int, factor: str) -> tuple[float, float, float]:
    """Return margin's mean squared angle and the ends of its 95% interval.

    Where the experiment wrote down the mean that uses the known mean of the base, that is it: it varies less.
    """
    for setting in measured.notes.get("theorem", {}).get("settings", ()):
        if (setting["m"], setting["pool_factor"]) == (m, factor) and "margin_with_known_base" in setting:
            estimate = setting["margin_with_known_base"]
            mean, error = estimate["mean"] * scale(m), estimate["error"] * scale(m)
            reach = float(special.ndtri(1 - LEVEL / 2)) * error
            return mean, mean - reach, mean + reach
    return mean_and_interval(scaled_angles(measured, m, factor)[0])


def _margin_is_above(measured: Measured, m: int, factor: str) -> Verdict:
    return _against(*margin_mean(measured, m, factor), MARGIN_BOUND, 1)


def _min_margin_is_below(measured: Measured, m: int, factor: str) -> Verdict:
    return _against(*mean_and_interval(scaled_angles(measured, m, factor)[1]), MIN_MARGIN_BOUND, -1)


def mean_and_interval(values: Floats) -> tuple[float, float, float]:
    """Return a mean and the ends of its 95% interval."""
    found = paired_difference(values, np.zeros_like(values))
    return float(found.mean), float(found.low), float(found.high)


def _against(mean: float, low: float, high: float, bound: float, sign: int) -> Verdict:
    """Judge whether a mean is above (1) or below (-1) a bound; an interval that holds the bound leaves it open."""
    words = f"{mean:.4g} [{low:.4g}, {high:.4g}] against {bound:.4f}"
    if low <= bound <= high:
        return unmeasured(f"too few draws to tell, {words}")
    return Verdict(Outcome.HOLDS if (mean > bound) == (sign > 0) else Outcome.FAILS, words)


def _lemmas(measured: Measured) -> Verdict:
    """Judge by both sides of the lemmas, which the experiment computes, at each m that a lemma speaks of."""
    checks = measured.notes.get("theorem", {}).get("proof", {})
    findings = []
    for key, name, smallest in (("lemma_1", "Lemma 1", 20), ("lemma_2", "Lemma 2", SMALLEST_M)):
        held = {line["m"]: bool(line["holds"]) for line in checks.get(key, ()) if line["m"] >= smallest}
        if not held:
            findings.append(unmeasured(f"{name} not computed for m >= {smallest}"))
            continue
        words = f"{name} at {sum(held.values())} of {len(held)} values of m from {min(held)} to {max(held)}"
        findings.append(graded(sum(held.values()), len(held), words))
    return combine(findings)


_BOTH = ("12Bm", "12Bm2")
_UNITS = "Mean squared angles in units of π²/((m+1)(m+2))."

CLAIMS = (
    Claim(
        "theorem",
        "With a large pool and batch, the pick closest to the true boundary is closer, in the mean, for min-margin.",
        "Theorem 1",
        ("theorem",),
        f"The paired difference of squared angles, with |Z| = 12Bm and m from {SMALLEST_M} on. {_UNITS}",
        _in_regime(_closer, ("12Bm",)),
    ),
    Claim(
        "theorem-margin-bound",
        "Margin's mean squared angle stays above 7/64.",
        "proof of Theorem 1",
        ("theorem",),
        f"The 95% interval of the mean is above it, for the pool of the theorem and that of its proof. {_UNITS}",
        _in_regime(_margin_is_above, _BOTH),
    ),
    Claim(
        "theorem-min-margin-bound",
        "Min-margin's mean squared angle stays below 13/128.",
        "proof of Theorem 1",
        ("theorem",),
        f"The 95% interval of the mean is below it, for the pool of the theorem and that of its proof. {_UNITS}",
        _in_regime(_min_margin_is_below, _BOTH),
    ),
    Claim(
        "lemmas",
        "Lemma 1 and Lemma 2 bound what they say they bound.",
        "appendix",
        ("theorem",),
        "Both sides computed for many m.",
        _lemmas,
    ),
)

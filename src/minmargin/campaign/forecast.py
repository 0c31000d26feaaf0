"""Forecasts: how many more labels one more point of accuracy takes, as far as the measured accuracies can tell.

The accuracy of a model with n labels is taken to be a - b n^-c, with b >= 0 and c between 0.01 and 1: learning curves
mostly look so, once there are some labels (Cortes et al. 1994; Viering and Loog 2023). With the smallest c the curve
rises with the logarithm of n. Such a curve would leave 100% behind some day, and describes the next labels well all the
same, so a may be more than 1; only the point to be gained must be below it. `now` being the labels of now, and
B = b now^-c what can still be gained, m more labels gain

    B (1 - (1 + m / now)^-c).

So for every m and c there is one B with which m labels gain just one point, and the best a for it is a mean. How well
the curve then fits is a sum of squares, over the variances of the measured accuracies. Its least over c is the profile
of m. The forecast is the m that fits best, and its interval holds every m that fits nearly as well: the profile
likelihood interval. If the points scatter more than their rows explain, it is widened accordingly. That no number of
labels may be enough, B being too small, is one of the curves that are compared.

With few rows, chance alone makes some curves steep, and just these would look certain. So the upper end stays open
until all measured rows together tell accuracy with a standard error of a point: that does not depend on what they say.

Accuracies measured on the same held-out rows err alike, which moves a curve and hardly bends it. They are taken as
independent, and the interval is then too wide rather than too narrow.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from minmargin.tables import to_two_digits

#: One point.
GAIN = 0.01
#: How often a forecast's interval should hold the truth.
CONFIDENCE = 0.8
#: A curve has three numbers: with fewer points than this, any curve fits.
LEAST_POINTS = 4

_MOST_SPREAD = 10.0  # between the ends of an interval that is worth telling
_EXPONENTS = np.linspace(0.01, 1.0, 100)
_SHARES = np.geomspace(1e-3, 1e3, 1381)  # m / now, in steps of one percent


class Point(NamedTuple):
    """A measured accuracy: how many rows were right with so many labels, and how many were tried."""

    labels: int
    correct: int
    tested: int


class Curve(NamedTuple):
    """a - b n^-c: the accuracy with n labels."""

    a: float
    b: float
    c: float

    def at(self, labels: float) -> float:
        """Return the accuracy with so many labels."""
        return float(self.a - self.b * labels**-self.c)


@dataclass(frozen=True)
class Forecast:
    """How many more labels one more point of accuracy takes.

    Attributes:
        now: how many labels there are.
        labels: how many more it takes, at best guess; None if no number of them, by the curve that fits best.
        low: it takes at least so many.
        high: and at most so many; None if there is no telling, or none are enough.
    """

    now: int
    labels: int | None
    low: int
    high: int | None

    @property
    def tells(self) -> bool:
        """Whether the interval is narrow enough to go by."""
        return self.high is not None and self.high <= _MOST_SPREAD * self.low

    @property
    def far(self) -> bool:
        """Whether one more point takes more labels than there are, even at best."""
        return self.low >= self.now

    @property
    def sentence(self) -> str:
        """The forecast in words."""
        if self.tells and self.labels is not None and self.high is not None:
            low, high = to_two_digits(self.low), to_two_digits(self.high)
            return (
                f"Forecast: about {to_two_digits(self.labels):,} more labels for one more point of accuracy "
                f"({low:,} to {high:,}, {CONFIDENCE:.0%} interval)."
            )
        if self.far:
            return f"Forecast: one more point of accuracy takes more than {to_two_digits(self.low):,} more labels."
        return "Forecast: cannot tell yet how many labels one more point of accuracy takes."

    def to_dict(self) -> dict[str, Any]:
        """Return all of it, ready for JSON."""
        return {
            "gain": GAIN,
            "level": CONFIDENCE,
            "labels": self.labels,
            "low": self.low,
            "high": self.high,
            "tells": self.tells,
            "sentence": self.sentence,
        }


def fit_curve(points: Sequence[Point]) -> Curve:
    """Return the curve that fits measured accuracies best, each weighted by how exact it is."""
    from scipy.optimize import lsq_linear  # noqa: PLC0415 - slow to import

    labels, accuracies, weights = _arrays(points)
    scale = labels.max()
    best, curve = math.inf, Curve(0.0, 0.0, 1.0)
    for c in _EXPONENTS:
        design = np.column_stack([np.ones(len(labels)), -((labels / scale) ** -c)])
        root = np.sqrt(weights)
        found = lsq_linear(design * root[:, np.newaxis], accuracies * root, ([0.0, 0.0], [np.inf, np.inf]))
        if found.cost < best:
            a, b = found.x
            best, curve = float(found.cost), Curve(float(a), float(b * scale**c), float(c))
    return curve


def make_forecast(points: Sequence[Point], now: int) -> Forecast | None:
    """Return how many labels beyond `now` one more point takes; None if there are too few points to tell."""
    known = [each for each in points if each.tested]
    if len({each.labels for each in known}) < LEAST_POINTS:
        return None
    labels, accuracies, weights = _arrays(known)
    misfits, never = _profile(labels / now, accuracies, weights)
    least = min(float(misfits.min()), never)
    scatter = max(1.0, least / (len(known) - 3))
    most = least + scatter * NormalDist().inv_cdf((1 + CONFIDENCE) / 2) ** 2
    fit = np.flatnonzero(misfits <= most)
    # If only curves fit that never gain a point, it takes more labels than any that were tried.
    low, high = (fit[0], fit[-1]) if len(fit) else (len(_SHARES) - 1, len(_SHARES) - 1)
    exact = float(weights.sum()) ** -0.5 <= GAIN
    bounded = exact and len(fit) > 0 and never > most and high < len(_SHARES) - 1
    best = None if never < misfits.min() else _more(now, int(misfits.argmin()))
    return Forecast(now, best, _more(now, int(low)), _more(now, int(high)) if bounded else None)


def _profile(
    shares: NDArray[np.float64], accuracies: NDArray[np.float64], weights: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float]:
    """Return how badly the best curve fits that gains a point with each number of labels, and the best that never does.

    `shares` are the labels of each point, as parts of those of now.
    """
    misfits, never = np.full(len(_SHARES), np.inf), math.inf
    for c in _EXPONENTS:
        falls = shares**-c  # what each point lacks, in units of what can still be gained
        gained = 1.0 - (1.0 + _SHARES) ** -c
        misfits = np.minimum(misfits, _misfit(GAIN / gained, falls, accuracies, weights))
        never = min(never, float(_misfit(np.linspace(0.0, GAIN, 101), falls, accuracies, weights).min()))
    return misfits, never


def _misfit(
    to_gain: NDArray[np.float64],
    falls: NDArray[np.float64],
    accuracies: NDArray[np.float64],
    weights: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the weighted squares by which a - to_gain * falls misses the accuracies, with the best a for each.

    By now such a curve is at a - to_gain, from where it must have room for a point, or to its end if that is nearer.
    """
    limits = accuracies + to_gain[:, np.newaxis] * falls
    best = np.minimum(limits @ weights / weights.sum(), 1.0 + np.maximum(to_gain - GAIN, 0.0))
    return np.asarray(((limits - best[:, np.newaxis]) ** 2) @ weights)


def _arrays(
    points: Sequence[Point],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the labels, the accuracies, and one over the variance of each of these."""
    labels, correct, tested = np.array(points, dtype=np.float64).T
    # One more row of either kind: a variance of zero would be a certainty that nobody has.
    likely = (correct + 1) / (tested + 2)
    return labels, correct / tested, tested / (likely * (1 - likely))


def _more(now: int, place: int) -> int:
    return max(1, round(now * float(_SHARES[place])))

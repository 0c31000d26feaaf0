"""The formulas, in plain numpy: the reference for every fast path in this package.

`scores` is an array of class scores whose last axis is C, the classes; `members` is (K, n, C), one
such block per member. Class scores are probabilities, or the values of a `decision_function`.

Two rules keep the results equal to the bit on every machine. Sums over members or classes are
written as loops, because the order in which numpy adds along an axis is its own business. And the
exponential is made here of + - * / only, because libm's differs from one CPU to the next.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LOG2_E = 1.4426950408889634
# ln 2 in two parts: the first has 21 trailing zero bits, so that n * LN2_HIGH is exact for |n| < 2^20.
LN2_HIGH = 0.6931471803691238
LN2_LOW = 1.9082149292705877e-10
EXP_UNDERFLOW = -708.0  # below this the canonical exponential is zero: no denormals
# 1/13!, 1/12!, ... 1/2!: the Taylor series of (exp(r) - 1 - r) / r^2 on |r| <= ln(2)/2.
EXP_COEFFICIENTS = (
    1.6059043836821613e-10,
    2.08767569878681e-09,
    2.505210838544172e-08,
    2.755731922398589e-07,
    2.7557319223985893e-06,
    2.48015873015873e-05,
    0.0001984126984126984,
    0.001388888888888889,
    0.008333333333333333,
    0.041666666666666664,
    0.16666666666666666,
    0.5,
)


def exp_nonpositive(x: Floats) -> Floats:
    """Return exp(x) for x <= 0, within 1 ulp, by the same rounding steps on every machine."""
    clipped = np.maximum(x, EXP_UNDERFLOW)
    halvings = np.floor(clipped * LOG2_E + 0.5)
    r = (clipped - halvings * LN2_HIGH) - halvings * LN2_LOW
    series = np.full_like(x, EXP_COEFFICIENTS[0])
    for coefficient in EXP_COEFFICIENTS[1:]:
        series = series * r + coefficient
    mantissa = 1.0 + (r + r * r * series)
    power = ((halvings.astype(np.int64) + 1023) << 52).view(np.float64)
    return np.where(x < EXP_UNDERFLOW, 0.0, mantissa * power)


def softmax(logits: Floats) -> Floats:
    """Return the probabilities of (..., C) logits."""
    weights = exp_nonpositive(logits - logits.max(axis=-1, keepdims=True))
    total = weights[..., 0].copy()
    for c in range(1, weights.shape[-1]):
        total += weights[..., c]
    return np.asarray(weights / total[..., np.newaxis])


def sigmoid_pair(logit: Floats) -> Floats:
    """Return (..., 2): the probabilities of both classes of a binary model, from its one logit."""
    ratio = exp_nonpositive(-np.abs(logit))
    winner, loser = 1.0 / (1.0 + ratio), ratio / (1.0 + ratio)
    positive = logit > 0
    return np.stack([np.where(positive, loser, winner), np.where(positive, winner, loser)], axis=-1)


def top_two(scores: Floats) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the classes with the highest and second-highest score; the earlier class wins a tie."""
    first = scores.argmax(axis=-1)
    rest = scores.copy()
    np.put_along_axis(rest, first[..., np.newaxis], -np.inf, axis=-1)
    return first, rest.argmax(axis=-1)


def margin(scores: Floats) -> Floats:
    """Return the highest minus the second-highest class score (Definition 1)."""
    highest = np.partition(scores, -2, axis=-1)
    return np.asarray(highest[..., -1] - highest[..., -2])


def min_margin(members: Floats) -> Floats:
    """Return the smallest margin under any member (Algorithm 1)."""
    return np.asarray(margin(members).min(axis=0))


def closest_member(members: Floats) -> NDArray[np.intp]:
    """Return which member has the smallest margin; the earlier member wins a tie."""
    closest: NDArray[np.intp] = margin(members).argmin(axis=0)
    return closest


def mean_margin(members: Floats) -> Floats:
    """Return the mean of the members' margins (section 4)."""
    return _mean(margin(members))


def margin_of_mean(members: Floats) -> Floats:
    """Return the margin of the members' mean class scores (section 2.3)."""
    return margin(mean_scores(members))


def mean_scores(members: Floats) -> Floats:
    """Return (n, C): the class scores averaged over the members."""
    return _mean(members)


def votes(members: Floats) -> Floats:
    """Return (n, C): how many members give each class their highest score."""
    _, n, n_classes = members.shape
    counts = np.zeros((n, n_classes))
    for scores in members:
        counts[np.arange(n), scores.argmax(axis=-1)] += 1.0
    return counts


def vote_margin(members: Floats) -> Floats:
    """Return query by bagging: (votes of the top class - votes of the second) / K (Abe 1998)."""
    return margin(votes(members)) / len(members)


def negative_variance(members: Floats) -> Floats:
    """Return minus the sum over classes of the variance over members (section 4)."""
    deviation = members - mean_scores(members)
    variance = _mean(deviation * deviation)
    total = variance[:, 0].copy()
    for c in range(1, variance.shape[1]):
        total += variance[:, c]
    return np.asarray(-total)


def _mean(per_member: Floats) -> Floats:
    """Return the mean over the first axis, adding the members in order."""
    total = per_member[0].copy()
    for values in per_member[1:]:
        total += values
    return np.asarray(total / len(per_member))

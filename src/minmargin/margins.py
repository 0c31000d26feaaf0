"""The formulas, in plain numpy: the reference for every fast path in this package.

`scores` is an array of class scores whose last axis is C, the classes; `members` is (K, n, C), one
such block per member. Class scores are probabilities, or the values of a `decision_function`. Where
`members` may be any iterable of (n, C) blocks, members are taken in one at a time, and none is kept.

Two rules keep the results equal to the bit on every machine. Sums over members or classes are
written as loops, because the order in which numpy adds along an axis is its own business. And the
exponential and the logarithm are made here of + - * / only, because libm's differ from one CPU to the next.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from minmargin.data.rows import Matrix

Floats = NDArray[np.float64]

#: The scores that are defined here, by the names of their strategies; a scorer may know a fast screen for them.
ScoreName: TypeAlias = Literal[
    "min-margin",
    "margin",
    "mean-margin",
    "margin-of-mean",
    "committee",
    "var-softmax",
    "entropy",
    "least-confident",
]

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
SQRT_HALF = 0.7071067811865476
# 2/23, 2/21, ... 2/3: the series of log((1 + s) / (1 - s)) / s - 2, in powers of s^2, on |s| <= 0.172.
LOG_COEFFICIENTS = (
    0.08695652173913043,
    0.09523809523809523,
    0.10526315789473684,
    0.11764705882352941,
    0.13333333333333333,
    0.15384615384615385,
    0.18181818181818182,
    0.2222222222222222,
    0.2857142857142857,
    0.4,
    0.6666666666666666,
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


def log(x: Floats) -> Floats:
    """Return the natural logarithm of finite x >= 0, within 1 ulp, by the same rounding steps on every machine.

    log(0) is -inf, and of a number below 0 it is NaN; neither warns. A share p of 0 therefore needs a word of its own
    in p log(p): `np.where(p > 0, p, 1.0)` before the logarithm makes the product 0, which is its limit.
    """
    # x = (1 + f) * 2^k with 1 + f between sqrt(1/2) and sqrt(2); frexp only takes the bits apart.
    fraction, power = np.frexp(np.where(x > 0, x, 1.0))
    low = fraction < SQRT_HALF
    f = np.where(low, 2.0 * fraction, fraction) - 1.0
    k = power - low.astype(np.float64)
    s = f / (2.0 + f)
    square = s * s
    series = np.full_like(square, LOG_COEFFICIENTS[0])
    for coefficient in LOG_COEFFICIENTS[1:]:
        series = series * square + coefficient
    # log(1 + f) = f - f^2/2 + s * (f^2/2 + series): the large parts are exact, and are added last.
    half = 0.5 * f * f
    found = k * LN2_HIGH - ((half - (s * (half + square * series) + k * LN2_LOW)) - f)
    return np.where(x > 0, found, np.where(x == 0, -np.inf, np.nan))


def gumbel(bits: NDArray[np.uint64]) -> Floats:
    """Return the standard Gumbel noise -log(-log(u)) that 64 random bits stand for; more bits never give less noise.

    u = (the first 52 bits + 1/2) / 2^52 is exact, and neither 0 nor 1, so the noise is finite. (With 53 bits, the last
    u would round to 1.) A step of u moves the noise by at least e / 2^52. Where it moves it by so little, u is near
    1/e and the noise near 0, and two logarithms within 1 ulp are off by less; elsewhere steps outgrow errors.
    """
    u = ((bits >> np.uint64(12)).astype(np.float64) + 0.5) / (1 << 52)
    return -log(-log(u))


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


def class_scores_of(logits: Floats, *, probabilistic: bool) -> Floats:
    """Return (n, C): the class scores of (n, O) logits, one per class or a single one for two classes.

    They are the softmax of the logits. If not probabilistic, they are the logits themselves, and -logit and logit for
    two classes.
    """
    if not probabilistic:
        return np.hstack([-logits, logits]) if logits.shape[1] == 1 else logits
    return sigmoid_pair(logits[:, 0]) if logits.shape[1] == 1 else softmax(logits)


def linear_class_scores(X: Matrix, weights: Floats, intercepts: Floats, *, probabilistic: bool) -> Floats:
    """Return (K, n, C): the class scores under K linear models, each logit summed over the features in order.

    Args:
        X: (n, D) rows, dense of any float type or CSR with sorted indices.
        weights: (D, K, O) with one output O per class, or a single one for two classes.
        intercepts: (K, O).
        probabilistic: as for `class_scores_of`.
    """
    n_features, n_models, n_outputs = weights.shape
    logits = np.tile(intercepts.ravel(), (X.shape[0], 1))
    with np.errstate(over="ignore", invalid="ignore"):
        for rows, features, values in in_feature_order(X):
            logits[rows] += values[:, np.newaxis] * weights.reshape(n_features, -1)[features]
        of_models = np.split(logits, n_models, axis=1) if n_models else []
        scores = [class_scores_of(each, probabilistic=probabilistic) for each in of_models]
    return np.array(scores).reshape(n_models, X.shape[0], max(n_outputs, 2))


def in_feature_order(X: Matrix) -> Iterator[tuple[Any, Any, Floats]]:
    """Return, again and again, a feature of each row, in feature order: which rows, which features, and the values."""
    if not isinstance(X, sparse.csr_array):
        for feature in range(X.shape[1]):
            yield slice(None), feature, X[:, feature].astype(np.float64)
        return
    counts = np.diff(X.indptr)
    for place in range(counts.max(initial=0)):
        rows = np.flatnonzero(counts > place)
        at = X.indptr[rows] + place
        yield rows, X.indices[at], X.data[at].astype(np.float64)


def norms(X: Matrix) -> Floats:
    """Return (n,) the Euclidean length of each row, summed in feature order."""
    squares = np.zeros(X.shape[0])
    with np.errstate(over="ignore", invalid="ignore"):
        for rows, _, values in in_feature_order(X):
            squares[rows] += values * values
    return np.sqrt(squares)


def raise_to_cosines(X: Matrix, lengths: Floats, center: Floats, length: float, closest: Floats) -> None:
    """Raise closest[i] to cos(X[i], center) where that is higher; a zero vector's cosine is 0."""
    dots = np.zeros(X.shape[0])
    with np.errstate(over="ignore", invalid="ignore"):
        for rows, features, values in in_feature_order(X):
            dots[rows] += values * center[features]
        products = lengths * length
        cosines = np.divide(dots, products, out=np.zeros_like(dots), where=products > 0.0)
    closest[:] = np.where(cosines > closest, cosines, closest)  # what is no number raises nothing


def among_all(scores: Floats, places: NDArray[np.intp], n_classes: int, *, probabilistic: bool) -> Floats:
    """Return (n, C) class scores at their places among C classes, of which some have none.

    Nothing is known to be less likely than those: they have 0, or 1 less than the row's lowest where scores are no
    probabilities.
    """
    lowest = np.zeros(len(scores)) if probabilistic else scores.min(axis=1) - 1.0
    every = np.repeat(lowest[:, np.newaxis], n_classes, axis=1)
    every[:, places] = scores
    return every


def top_two(scores: Floats) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the classes with the highest and second-highest score; the earlier class wins a tie."""
    first = scores.argmax(axis=-1)
    rest = scores.copy()
    np.put_along_axis(rest, first[..., np.newaxis], -np.inf, axis=-1)
    return first, rest.argmax(axis=-1)


def margin(scores: Floats) -> Floats:
    """Return the highest minus the second-highest class score (Definition 1)."""
    if scores.shape[-1] == 2:
        return np.abs(scores[..., 1] - scores[..., 0])
    highest = np.partition(scores, -2, axis=-1)
    return np.asarray(highest[..., -1] - highest[..., -2])


def min_margin(members: Floats) -> Floats:
    """Return the smallest margin under any member (Algorithm 1)."""
    return np.asarray(margin(members).min(axis=0))


class MemberMargins(NamedTuple):
    """The margins (K, n) under every member, and the class scores (n, C) under the closest one."""

    margins: Floats
    contested: Floats


def member_margins(members: Iterable[Floats]) -> MemberMargins:
    """Return the members' margins, and the class scores of the one with the smallest."""
    if isinstance(members, np.ndarray):
        all_margins = margin(members)
        return MemberMargins(all_margins, members[all_margins.argmin(axis=0), np.arange(members.shape[1])])
    found: list[Floats] = []
    lowest = contested = np.empty(0)
    for scores in members:
        found.append(margin(scores))
        if len(found) == 1:
            lowest, contested = found[0], scores.copy()
        closer = found[-1] < lowest
        lowest = np.where(closer, found[-1], lowest)
        contested[closer] = scores[closer]
    return MemberMargins(np.stack(found), contested)


def mean_margin(members: Floats) -> Floats:
    """Return the mean of the members' margins (section 4)."""
    return ordered_mean(margin(members))


def margin_of_mean(members: Floats) -> Floats:
    """Return the margin of the members' mean class scores (section 2.3)."""
    return margin(mean_scores(members))


def mean_scores(members: Iterable[Floats]) -> Floats:
    """Return (n, C): the class scores averaged over the members."""
    return ordered_mean(members)


def votes(members: Iterable[Floats]) -> Floats:
    """Return (n, C): how many members give each class their highest score."""
    counts = np.empty(0)
    for k, scores in enumerate(members):
        if k == 0:
            counts = np.zeros(scores.shape)
        counts[np.arange(len(scores)), scores.argmax(axis=-1)] += 1.0
    return counts


def highest_of_mean(members: Iterable[Floats]) -> Floats:
    """Return the highest of the members' mean class scores."""
    return np.asarray(mean_scores(members).max(axis=-1))


def negative_entropy(scores: Floats) -> Floats:
    """Return minus the entropy of probabilities, in nats: the sum of p log(p) over the classes."""
    total = np.zeros(scores.shape[:-1])
    for c in range(scores.shape[-1]):
        p = scores[..., c]
        total = total + p * log(np.where(p > 0, p, 1.0))
    return total


def negative_variance(members: Floats) -> Floats:
    """Return minus the sum over classes of the variance over members (section 4)."""
    deviation = members - mean_scores(members)
    variance = ordered_mean(deviation * deviation)
    total = variance[:, 0].copy()
    for c in range(1, variance.shape[1]):
        total += variance[:, c]
    return np.asarray(-total)


def ordered_mean(per_member: Iterable[Floats]) -> Floats:
    """Return the mean of one array per member, adding them in order."""
    remaining = iter(per_member)
    total, n_members = next(remaining).copy(), 1
    for values in remaining:
        total += values
        n_members += 1
    return np.asarray(total / n_members)

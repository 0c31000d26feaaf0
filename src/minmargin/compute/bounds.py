"""What a rough look may conclude: how far a score can be from the value that rough logits give it.

A screen computes every logit of a row roughly and knows how far each can be from the canonical one. What follows from
that for a score is the same for any committee, and for any machine that multiplies.

**From logits to the lowest margin, without an exponential.** Let d be a member's highest minus second-highest logit
and C the number of classes. Every other class weighs no more than the second, so

    margin = (1 - e^-d) / sum_c e^(z_c - z_1)  >=  (1 - e^-d) / (1 + (C - 1) e^-d),

which exceeds a threshold t if d exceeds log((1 + (C - 1) t) / (1 - t)). For two classes this is an equality, and d is
the size of the one logit. A row is dismissed by comparisons alone if every member's d lies above that value by more
than the errors of two logits. A softmax margin itself moves by no more than the largest change of a logit.

**The other scores** are computed as they are defined. Let e bound the error of every logit. The derivatives of p_c by
all logits add up to 2 p_c (1 - p_c) in size, so p_c errs by at most e / 2, and all classes together by 2 e. Hence the
mean margin and the margin of the mean err by at most e, and the summed variance by 4 e + e^2. Votes are certain where
two logits differ by more than 2 e; those in doubt are counted against the leader.

**A threshold of its own.** Since the other classes also weigh something, a margin is at most (1 - e^-d) / (1 + e^-d) =
tanh(d / 2). If B rows of a block are certain to have scores no higher than some value, no row above it is needed. The
first blocks, for which no threshold is known yet, are screened by that.

The kinds of scores are those of `KINDS`. `n_outputs` is one per class, or a single one for two classes.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from minmargin.margins import ScoreName

#: Half the distance from 1 to the next float32, and to the next float64: what one rounding may change, as a share.
UNIT, SMALL_UNIT = 2.0**-24, 2.0**-53
TINY = 2.0**-126  # float32 may lose what is smaller
HUGE = 1e30  # a product this size might leave float32's range on the way
EXP_ERROR = 2.0**-21  # of `lanes`' float32 exponential, as a share of its value; a test measures it
SLACK = 1e-12  # more than float64 loses between canonical logits and a canonical score

#: What is reduced to one number a row: the lowest gap between two logits, or one of the scores.
LOWEST_GAP, LOWEST_MARGIN, MEAN_MARGIN, MARGIN_OF_MEAN, VOTES, VARIANCE = range(6)
#: What is looked at for each score; that of a gap costs no exponential.
KINDS: dict[ScoreName, int] = {
    "min-margin": LOWEST_GAP,
    "margin": LOWEST_GAP,
    "mean-margin": MEAN_MARGIN,
    "margin-of-mean": MARGIN_OF_MEAN,
    "committee": VOTES,
    "var-softmax": VARIANCE,
}


def gamma(n_roundings: int, unit: float) -> float:
    """Return how much of its size a term can lose or gain in so many roundings (Higham, 3.1)."""
    return n_roundings * unit / (1.0 - n_roundings * unit)


def allowed(threshold: float, kind: int, *, n_models: int, n_outputs: int, softmax: bool = True) -> float:
    """Return the rough score above which, by more than its error, a score is above the threshold."""
    if threshold == math.inf:
        return math.inf
    if kind == VOTES:
        return round(threshold * n_models) + 0.25
    if kind != LOWEST_GAP:
        return threshold + SLACK
    if not softmax:
        return (0.5 if n_outputs == 1 else 1.0) * threshold * (1.0 + SLACK)
    threshold = max(threshold, 0.0) + SLACK
    if threshold >= 1.0:
        return math.inf
    n_classes = max(n_outputs, 2)
    return math.log1p((n_classes - 1) * threshold) - math.log1p(-threshold)


def error_factor(kind: int, *, n_outputs: int, softmax: bool = True) -> float:
    """Return how many times the error of a logit the error of a score can be; that of votes is counted instead."""
    if kind == VOTES:
        return 0.0
    if kind == LOWEST_GAP:
        return 1.0 if n_outputs == 1 else 2.0
    if not softmax:
        return 2.0
    return 5.0 if kind == VARIANCE else 1.0


def score_bounds(
    values: NDArray[np.float64],
    errors: NDArray[np.float64],
    kind: int,
    *,
    n_models: int,
    n_outputs: int,
    softmax: bool = True,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return (n,) numbers that no score is below, and that none is above.

    Args:
        values: (n,) rough scores; for votes, by how many of them the top class leads at least.
        errors: (n,) how far these may be from what canonical logits would give.
        kind: which of the scores above.
        n_models: K.
        n_outputs: of each model.
        softmax: whether class scores are the softmax of the logits, and not the logits themselves.
    """
    if kind == VOTES:
        return values / n_models, np.full(len(values), np.inf)
    lower, upper = values - errors, values + errors
    if kind != LOWEST_GAP:
        return lower - SLACK, upper + SLACK
    lower = np.maximum(lower, 0.0)
    if not softmax:
        scale = 2.0 if n_outputs == 1 else 1.0
        return scale * lower * (1.0 - SLACK), scale * upper * (1.0 + SLACK)
    others = max(n_outputs, 2) - 1
    with np.errstate(over="ignore"):
        ratio = np.exp(-lower)
    return (1.0 - ratio) / (1.0 + others * ratio) - SLACK, np.tanh(0.5 * upper) + SLACK


def lowest(
    lower: NDArray[np.float64], upper: NDArray[np.float64], threshold: float, size: int | None
) -> tuple[NDArray[np.intp], float]:
    """Return the rows that may be among the `size` lowest, given numbers below and above their scores.

    Also return the threshold that they meet: if `size` rows are certain to be no higher than some value, that value.
    """
    if size is not None and len(upper) > size:
        threshold = min(threshold, float(np.partition(upper, size - 1)[size - 1]))
    return np.flatnonzero(~(lower > threshold)), threshold  # written so that NaN stays


def two_looks(
    lower: NDArray[np.float64],
    upper: NDArray[np.float64],
    look_closer: Callable[[NDArray[np.intp]], tuple[NDArray[np.float64], NDArray[np.float64]]],
    *,
    threshold: float,
    size: int | None,
    at_least: int = 1,
) -> tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.float64]]:
    """Return the rows that may be among the `size` lowest, and numbers that their scores are not below and not above.

    Args:
        lower: (n,) numbers that no score is below, from a first look.
        upper: (n,) numbers that none is above.
        look_closer: given rows that are in doubt, the same for them, closer.
        threshold: rows above it are not needed.
        size: as many rows are needed.
        at_least: for fewer rows in doubt it is not worth looking closer.
    """
    index, threshold = lowest(lower, upper, threshold, size)
    lower, upper = lower[index], upper[index]
    in_doubt = np.flatnonzero(upper > threshold)
    if size is not None and len(index) > size:
        in_doubt = np.arange(len(index))  # which of them are the lowest is open too
    if len(in_doubt) >= at_least:
        closer = look_closer(index[in_doubt])
        lower[in_doubt] = np.maximum(lower[in_doubt], closer[0])
        upper[in_doubt] = np.minimum(upper[in_doubt], closer[1])
        near, _ = lowest(lower, upper, threshold, size)
        index, lower, upper = index[near], lower[near], upper[near]
    return index, lower, upper

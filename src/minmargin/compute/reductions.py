"""The one table of reductions: how the logits of all models become one number a row, and what it tells of a score.

A screen computes every logit of a row roughly, and knows how far each can be from the canonical one. It then *reduces*
the logits to one number. What that number tells of a score is the same for any committee, and for any machine that
multiplies. It is told here once, for each reduction; the proofs follow.

**The lowest gap.** It tells of the lowest margin, without an exponential. Let d be a model's highest minus
second-highest logit and C the number of classes. Every other class weighs no more than the second, so

    margin = (1 - e^-d) / sum_c e^(z_c - z_1)  >=  (1 - e^-d) / (1 + (C - 1) e^-d),

which exceeds a threshold t if d exceeds log((1 + (C - 1) t) / (1 - t)). For two classes this is an equality, and d is
the size of the one logit. A row is dismissed by comparisons alone if every model's d lies above that value by more
than the errors of two logits. Since the other classes also weigh something, a margin is at most
(1 - e^-d) / (1 + e^-d) = tanh(d / 2).

**The scores themselves.** Let e bound the error of every logit. A softmax margin moves by no more than the largest
change of a logit, so the lowest margin errs by at most e. The derivatives of p_c by all logits add up to
2 p_c (1 - p_c) in size, so p_c errs by at most e / 2, and all classes together by 2 e. Hence the mean margin and the
margin of the mean err by at most e, and the summed variance by 4 e + e^2. That is at most 5 e, since e^2 exceeds e only
where 5 e exceeds all variances. The highest mean probability errs by at most e / 2: none errs by more, and the highest
of several numbers moves no further than one of them does. Where class scores are the logits themselves, a margin errs
by the errors of two, and the highest mean by that of one.

**The entropy** H is flat where it is highest, which is where rows are picked. There an error that is the same for all
rows would leave far too many of them near. So the value is w, the root of g = log C - H: how far p, the mean of the
members, is from having all classes alike. Let every logit move by no more than 1 a second. Of member k, dg/dt is at
most sum_c p_kc |log(C p_c) - m_k| in size, where m_k is the mean of log(C p_c) by p_k; so of all it is at most
2 sum_c p_c |log(C p_c)|. That sum is g, plus twice the sum of p_c log(1 / (C p_c)) over the classes with C p_c < 1.
Since log x <= x - 1, the latter is at most the sum of 1/C - p_c over these classes, and so at most sqrt(g / 2)
(Pinsker). Hence

    |dg/dt| <= 2 g + 4 sqrt(g / 2),   and   |dw/dt| = |dg/dt| / (2 w) <= w + sqrt(2) <= sqrt(log C) + sqrt(2).

Of two classes, let m be the difference of the mean probabilities. It moves by at most (1 - m^2) / 2 for each unit that
differences of logits do, and dg/dm = atanh m. The square of (1 - m^2) atanh m is at most 2 g: both are 0 at m = 0, and
it grows no faster. So w moves by at most 1 / sqrt(8) a unit.

w is made without cancellation, as the root of sum_c f(C p_c) / C, where f(x) = x log x - x + 1 >= 0. It is the length
of a vector with the parts s(C p_c) / sqrt(C), where s is the root of f, taken as negative below 1. Let rounding change
every p_c by a share r at most. Then s(x) changes by r x |log x| / (2 |s|), to first order. Below x = 1 that is at most
r / sqrt(2), since f(x) >= (1 - x)^2 / 2 and x |log x| <= 1 - x. Above, with d = x - 1, it is at most
r (sqrt(2 + 2 d / 3) + s) / 2, since f(x) >= d^2 / (2 + 2 d / 3) (Bennett). So w changes by no more than
r (1 + sqrt(log C)); four times that also covers the logarithm's own rounding. Where two classes come from one logit,
only m is known, and r is its absolute error: s is concave, so it changes by no more than s(r) - s(0), and so does w.

**Votes** are certain where two logits differ by more than 2 e, and by more than a softmax can lose, so that no rounding
makes two classes alike. Those in doubt are counted: each may go to the leader or to the second. If there are none, the
score is known exactly: it is a whole number, divided by K as in the reference.

Nothing heavy is imported here: compiled code for any machine reads the codes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from minmargin.compute.rounding import SLACK
from minmargin.margins import ScoreName

Floats: TypeAlias = NDArray[np.float64]

#: What compiled code calls the reductions.
LOWEST_GAP, LOWEST_MARGIN, MEAN_MARGIN, MARGIN_OF_MEAN, VOTES, VARIANCE, HIGHEST_OF_MEAN, ENTROPY_GAP = range(
    8
)


class Shape(NamedTuple):
    """What has to be known of models besides their weights.

    Attributes:
        n_models: K.
        n_outputs: O of each model: one per class, or a single one for two classes.
        softmax: whether class scores are the softmax of the logits, and not the logits themselves.
    """

    n_models: int
    n_outputs: int
    softmax: bool = True

    @property
    def n_classes(self) -> int:
        """C."""
        return max(self.n_outputs, 2)


class Bounds(NamedTuple):
    """Numbers around the scores of n rows.

    Attributes:
        lower: (n,) numbers that no score is below.
        upper: (n,) numbers that none is above.
    """

    lower: Floats
    upper: Floats

    def take(self, index: NDArray[np.intp]) -> Bounds:
        """Return the bounds of some of the rows."""
        return Bounds(self.lower[index], self.upper[index])


# A value that is the score itself.
def _error_of_score(shape: Shape) -> float:
    return 1.0 if shape.softmax else 2.0


def _same_score(threshold: float, _: Shape) -> float:
    return threshold + SLACK


def _same_bounds(least: Floats, most: Floats, _: Shape) -> Bounds:
    return Bounds(least - SLACK, most + SLACK)


def _same(values: Floats, _: Shape) -> Floats:
    return values


def _lost_of_score(rounding: float, _: Shape) -> float:
    return 4.0 * rounding


@dataclass(frozen=True, eq=False, kw_only=True)
class Reduction:
    """How logits become one number a row, and what this *value* tells of a score. By default it is the score.

    Attributes:
        code: what compiled code calls it.
        error_factor: how many times the error of a logit the error of a value can be.
        lost: how far a value is off by rounding alone, given the share that exponentials and sums can lose of a mean
            probability.
        allowed: the value above which, by more than its error, a score is above a threshold.
        bounds_of: the bounds of scores, given (n,) what their values are not below, and what they are not above.
        scores_of: the scores, given (n,) values that are as good as exact.
        counts_doubt: whether a value is exact but for models that are in doubt, and these are counted.
        shortcut: a reduction that costs less and tells nearly as much of the same score, if there is one.
    """

    code: int
    error_factor: Callable[[Shape], float] = _error_of_score
    lost: Callable[[float, Shape], float] = _lost_of_score
    allowed: Callable[[float, Shape], float] = _same_score
    bounds_of: Callable[[Floats, Floats, Shape], Bounds] = _same_bounds
    scores_of: Callable[[Floats, Shape], Floats] = _same
    counts_doubt: bool = False
    shortcut: Reduction | None = None

    def bounds(self, values: Floats, errors: Floats, shape: Shape) -> Bounds:
        """Return the bounds of scores, from (n,) values and how far these may be off; infinite if not known."""
        with np.errstate(invalid="ignore"):
            return self.bounds_of(values - errors, values + errors, shape)


def _error_of_gap(shape: Shape) -> float:
    return 1.0 if shape.n_outputs == 1 else 2.0


def _allowed_gap(threshold: float, shape: Shape) -> float:
    if not shape.softmax:
        return (0.5 if shape.n_outputs == 1 else 1.0) * threshold * (1.0 + SLACK)
    threshold = max(threshold, 0.0) + SLACK
    if threshold >= 1.0:
        return math.inf
    return math.log1p((shape.n_classes - 1) * threshold) - math.log1p(-threshold)


def _bounds_of_gaps(least: Floats, most: Floats, shape: Shape) -> Bounds:
    least = np.maximum(least, 0.0)
    if not shape.softmax:
        scale = 2.0 if shape.n_outputs == 1 else 1.0
        return Bounds(scale * least * (1.0 - SLACK), scale * most * (1.0 + SLACK))
    with np.errstate(over="ignore"):
        ratio = np.exp(-least)
    lower = (1.0 - ratio) / (1.0 + (shape.n_classes - 1) * ratio)
    return Bounds(lower - SLACK, np.tanh(0.5 * most) + SLACK)


def _allowed_votes(threshold: float, shape: Shape) -> float:
    # A whole number of votes, and so much more that rounding cannot make it one less.
    return math.inf if threshold == math.inf else round(threshold * shape.n_models) + 0.25


def _bounds_of_votes(least: Floats, most: Floats, shape: Shape) -> Bounds:
    return Bounds(np.maximum(least, 0.0) / shape.n_models, most / shape.n_models)


def _error_of_entropy(shape: Shape) -> float:
    if shape.n_classes == 2:
        return shape.n_outputs / math.sqrt(8.0)
    return math.sqrt(math.log(shape.n_classes)) + math.sqrt(2.0)


def _lost_of_entropy(rounding: float, shape: Shape) -> float:
    if shape.n_outputs == 1:
        return 1.0 - math.sqrt(rounding * math.log(rounding) - rounding + 1.0)
    return 4.0 * rounding * (1.0 + math.sqrt(math.log(shape.n_classes)))


def _entropy_slack(shape: Shape) -> float:
    return SLACK * (1.0 + math.log(shape.n_classes))


def _allowed_entropy(threshold: float, shape: Shape) -> float:
    if not shape.softmax:  # there is no entropy of what are no probabilities
        return math.inf
    return math.sqrt(max(threshold + math.log(shape.n_classes), 0.0) + 2.0 * _entropy_slack(shape))


def _bounds_of_entropies(least: Floats, most: Floats, shape: Shape) -> Bounds:
    if not shape.softmax:
        return Bounds(np.full(len(least), -np.inf), np.full(len(most), np.inf))
    slack = _entropy_slack(shape)
    lower = _negative_entropies(np.maximum(least, 0.0), shape) - slack
    # Of a row whose numbers may not be finite, nothing is known, not even that it has an entropy.
    return Bounds(np.where(least > -np.inf, lower, -np.inf), _negative_entropies(most, shape) + slack)


def _negative_entropies(values: Floats, shape: Shape) -> Floats:
    return values * values - math.log(shape.n_classes)


_lowest_gap = Reduction(
    code=LOWEST_GAP,
    error_factor=_error_of_gap,
    allowed=_allowed_gap,
    bounds_of=_bounds_of_gaps,
)
_lowest_margin = Reduction(code=LOWEST_MARGIN, shortcut=_lowest_gap)

#: The reduction that gives each score. `margin` is that of the base alone.
OF_SCORE: dict[ScoreName, Reduction] = {
    "min-margin": _lowest_margin,
    "margin": _lowest_margin,
    "mean-margin": Reduction(code=MEAN_MARGIN),
    "margin-of-mean": Reduction(code=MARGIN_OF_MEAN),
    "committee": Reduction(
        code=VOTES,
        error_factor=lambda _: 0.0,
        allowed=_allowed_votes,
        bounds_of=_bounds_of_votes,
        scores_of=lambda values, shape: values / shape.n_models,
        counts_doubt=True,
    ),
    "var-softmax": Reduction(
        code=VARIANCE,
        error_factor=lambda shape: 5.0 if shape.softmax else 2.0,
    ),
    "entropy": Reduction(
        code=ENTROPY_GAP,
        error_factor=_error_of_entropy,
        lost=_lost_of_entropy,
        allowed=_allowed_entropy,
        bounds_of=_bounds_of_entropies,
        scores_of=_negative_entropies,
    ),
    "least-confident": Reduction(
        code=HIGHEST_OF_MEAN,
        error_factor=lambda shape: 0.5 if shape.softmax else 1.0,
    ),
}

#: Every reduction by its code.
REDUCTIONS: dict[int, Reduction] = {
    each.code: each for each in (_lowest_gap, *dict.fromkeys(OF_SCORE.values()))
}

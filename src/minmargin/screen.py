"""The fast screen of linear committees: float32 products that may only ever dismiss rows.

The canonical kernel adds float64 numbers in one order and is slow; a screen computes every logit roughly, in the
fastest way there is, and drops the rows that, even allowing for the largest possible error, cannot be among the
lowest. The rest is scored canonically, and only those scores order a batch.

**The error of a logit.** A float32 product of D features and a constant errs by at most gamma * |x| |w|, where |.| is
the Euclidean length, constant included, and gamma = m u / (1 - m u) with u = 2^-24 and m the number of roundings that
a term can meet: those of the additions, a product, and of x and w themselves (Higham, Accuracy and Stability of
Numerical Algorithms, 3.1). Where there are many features, 64 at a time are summed and then the sums, so that m stays
small. What float32 loses below 2^-126 is added; a row whose logits might leave float32's range above is always kept.
Since the constant makes every row at least 1 long, all errors are written as a slope times the length of the row.

**From logits to the lowest margin, without an exponential.** Let d be a member's highest minus second-highest logit
and C the number of classes. Every other class weighs no more than the second, so

    margin = (1 - e^-d) / sum_c e^(z_c - z_1)  >=  (1 - e^-d) / (1 + (C - 1) e^-d),

which exceeds a threshold t if d exceeds log((1 + (C - 1) t) / (1 - t)). For two classes this is an equality, and d is
the size of the one logit. A row is dismissed by comparisons alone if every member's d lies above that value by more
than the errors of two logits. Gaps do not change if all logits of a member are taken relative to those of one class,
so that class costs no product. What is left lies close to a boundary, closer than float32 can tell, or, with more than
two classes, within the slack of the inequality: it gets a second look, a float64 product, with u = 2^-53, and
the normalizer. A softmax margin moves by no more than the largest change of a logit.

**The other scores** are computed as they are defined, with a float32 exponential. Let e bound the error of every
logit. The derivatives of p_c by all logits add up to 2 p_c (1 - p_c) in size, so p_c errs by at most e / 2, and
all classes together by 2 e. Hence the mean margin and the margin of the mean err by at most e, and the summed variance
by 4 e + e^2. Votes are certain where two logits differ by more than 2 e; those in doubt are counted against the leader.

**A threshold of its own.** Since the other classes also weigh something, a margin is at most (1 - e^-d) / (1 + e^-d) =
tanh(d / 2). If B rows of a block are certain to have scores no higher than some value, no row above it is needed. The
first blocks, for which no threshold is known yet, are screened by that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy import sparse

from minmargin import rough
from minmargin.lanes import EXP_ERROR
from minmargin.margins import ScoreName
from minmargin.rows import ColumnBlock, Matrix
from minmargin.simd import pack
from minmargin.topb import Near

_SPAN = 64  # features that are summed at a time
_UNIT, _SMALL_UNIT = 2.0**-24, 2.0**-53
_TINY = 2.0**-126  # float32 may lose what is smaller
_HUGE = 1e30  # a product this size might leave float32's range on the way
_SLACK = 1e-12  # more than float64 loses between canonical logits and a canonical score

_ROUGH_SCORES: dict[ScoreName, int] = {
    "min-margin": rough.LOWEST_GAP,
    "margin": rough.LOWEST_GAP,
    "mean-margin": rough.MEAN_MARGIN,
    "margin-of-mean": rough.MARGIN_OF_MEAN,
    "committee": rough.VOTES,
    "var-softmax": rough.VARIANCE,
}


@dataclass(frozen=True)
class _Models:
    """K models with O outputs each: weights (K * O, D), constants (K * O,), and the largest length of both together."""

    weights: NDArray[np.float64]
    constants: NDArray[np.float64]
    n_outputs: int

    @cached_property
    def length(self) -> float:
        """Rounded up."""
        return float(np.sqrt((self.weights**2).sum(axis=1) + self.constants**2).max()) * (1.0 + 1e-6)

    @cached_property
    def dense(self) -> NDArray[np.float32]:
        """As products with dense rows read them."""
        return pack(self.weights, self.constants, np.float32)

    @cached_property
    def csr(self) -> NDArray[np.float32]:
        """As products with CSR rows read them."""
        return np.vstack([self.constants, self.weights.T]).astype(np.float32)

    def relative(self) -> _Models:
        """Return the same models with all outputs relative to the first, which is left out: gaps stay the same."""
        if self.n_outputs == 1:
            return self
        weights = self.weights.reshape(-1, self.n_outputs, self.weights.shape[1])
        constants = self.constants.reshape(-1, self.n_outputs)
        weights, constants = weights[:, 1:] - weights[:, :1], constants[:, 1:] - constants[:, :1]
        return _Models(weights.reshape(-1, self.weights.shape[1]), constants.ravel(), self.n_outputs - 1)


@dataclass(frozen=True)
class LinearScreen:
    """The models of a linear committee, rounded for screening.

    Attributes:
        models: one output per class, or a single one for two classes.
        looked_at: what the rough look multiplies with: these, or for gaps the same relative to the first class.
        softmax: whether class scores are the softmax of the logits, and not the logits themselves.
        kind: which of the scores in `rough` is looked at.
    """

    models: _Models
    looked_at: _Models
    softmax: bool
    kind: int

    @classmethod
    def of(
        cls,
        weights: NDArray[np.float64],
        intercepts: NDArray[np.float64],
        score: ScoreName = "min-margin",
        *,
        softmax: bool = True,
    ) -> LinearScreen | None:
        """Return the screen of (D, K, O) weights and (K, O) intercepts; None if float32 cannot hold them."""
        n_features, n_models, n_outputs = weights.shape
        flat = np.ascontiguousarray(weights.reshape(n_features, n_models * n_outputs).T)
        models, kind = _Models(flat, intercepts.ravel(), n_outputs), _ROUGH_SCORES[score]
        if not n_models or not models.length < _HUGE:
            return None
        return cls(models, models.relative() if kind == rough.LOWEST_GAP else models, softmax, kind)

    @property
    def n_models(self) -> int:
        """K: how many models there are."""
        return len(self.models.constants) // self.models.n_outputs

    def near(self, X: Matrix | ColumnBlock, *, threshold: float | None, size: int | None) -> Near:
        """Return the rows whose score may be `threshold` or lower, and may be among the `size` lowest."""
        allowed = math.inf if threshold is None else self._allowed(threshold)
        slope = self._slope(X)
        logit_slope = _logit_slope(X, self.looked_at, _UNIT)
        index, values, squares, finite = self._keep(X, self.looked_at, self.kind, allowed, slope, logit_slope)
        if not finite:
            return Near(index, np.full(len(index), -np.inf), finite=False)
        errors = slope * np.sqrt(squares.astype(np.float64))
        lower, upper = self._score_bounds(values.astype(np.float64), errors)
        near, threshold = _lowest(lower, upper, threshold, size)
        index, lower, squares = index[near], lower[near], squares[near]
        if self.kind == rough.LOWEST_GAP and threshold is not None and len(index):
            lower, upper = self._second_look(X[index], squares)
            near, _ = _lowest(lower, upper, threshold, size)
            index, lower = index[near], lower[near]
        return Near(index, lower)

    def scores(self, X: Matrix | ColumnBlock) -> NDArray[np.float64]:
        """Return (n,) the scores as float32 gives them."""
        kind = rough.LOWEST_MARGIN if self.kind == rough.LOWEST_GAP else self.kind
        _, values, _, _ = self._keep(X, self.models, kind, math.inf, 0.0, 0.0)
        scores = values.astype(np.float64)
        return scores / self.n_models if kind == rough.VOTES else scores

    def _keep(
        self,
        X: Matrix | ColumnBlock,
        models: _Models,
        kind: int,
        allowed: float,
        slope: float,
        logit_slope: float,
    ) -> tuple[NDArray[np.intp], NDArray[np.float32], NDArray[np.float32], bool]:
        return rough.keep(
            X,
            models.csr if isinstance(X, sparse.csr_array) else models.dense,
            n_models=self.n_models,
            n_outputs=models.n_outputs,
            span=_SPAN,
            score=kind,
            softmax=self.softmax,
            allowed=allowed,
            slope=slope,
            logit_slope=logit_slope,
            longest=_HUGE / max(models.length, 1.0),
        )

    def _slope(self, X: Matrix | ColumnBlock) -> float:
        """Return how far a rough score may be from its true value, per length of the row."""
        of_logit = _logit_slope(X, self.looked_at, _UNIT)
        if self.kind == rough.VOTES:
            return 0.0
        if self.kind == rough.LOWEST_GAP:
            # Canonical logits are not relative: what all classes have in common costs them digits.
            canonical = 2.0 * _logit_slope(X, self.models, _SMALL_UNIT)
            return canonical + (of_logit if self.models.n_outputs == 1 else 2.0 * of_logit)
        if not self.softmax:
            return 2.0 * of_logit + 2.0 * (self.n_models + 8) * _UNIT * self.models.length
        arithmetic = 4.0 * (2.0 * EXP_ERROR + (self.models.n_outputs + self.n_models + 12) * _UNIT)
        return (5.0 if self.kind == rough.VARIANCE else 1.0) * of_logit + arithmetic

    def _allowed(self, threshold: float) -> float:
        """Return the rough score above which, by more than its error, a score is above the threshold."""
        if self.kind == rough.VOTES:
            return round(threshold * self.n_models) + 0.25
        if self.kind != rough.LOWEST_GAP:
            return threshold + _SLACK
        if not self.softmax:
            return (0.5 if self.models.n_outputs == 1 else 1.0) * threshold * (1.0 + _SLACK)
        threshold = max(threshold, 0.0) + _SLACK
        if threshold >= 1.0:
            return math.inf
        n_classes = max(self.models.n_outputs, 2)
        return math.log1p((n_classes - 1) * threshold) - math.log1p(-threshold)

    def _score_bounds(
        self, values: NDArray[np.float64], errors: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return (n,) numbers that no score is below, and that none is above."""
        if self.kind == rough.VOTES:
            return values / self.n_models, np.full(len(values), np.inf)
        lower, upper = values - errors, values + errors
        if self.kind != rough.LOWEST_GAP:
            return lower - _SLACK, upper + _SLACK
        lower = np.maximum(lower, 0.0)
        if not self.softmax:
            scale = 2.0 if self.models.n_outputs == 1 else 1.0
            return scale * lower * (1.0 - _SLACK), scale * upper * (1.0 + _SLACK)
        others = max(self.models.n_outputs, 2) - 1
        with np.errstate(over="ignore"):
            ratio = np.exp(-lower)
        return (1.0 - ratio) / (1.0 + others * ratio) - _SLACK, np.tanh(0.5 * upper) + _SLACK

    def _second_look(
        self, X: Matrix, squares: NDArray[np.float32]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return (n,) numbers just below and above the lowest margin of any model, from float64 logits."""
        with np.errstate(over="ignore", invalid="ignore"):
            if isinstance(X, sparse.csr_array):
                logits = np.ascontiguousarray((X.astype(np.float64) @ self.models.weights.T).T)
            else:
                logits = self.models.weights @ X.T.astype(np.float64)
            margins = _lowest_margins(logits, self.models.constants, self.models.n_outputs, self.softmax)
            lengths = np.sqrt(squares.astype(np.float64))
        doubt = 2.0 * _logit_slope(X, self.models, _SMALL_UNIT) * lengths + _SLACK * (1.0 + margins)
        return margins - doubt, margins + doubt


def _logit_slope(X: Matrix | ColumnBlock, models: _Models, unit: float) -> float:
    """Return how far a logit may be from its true value, per length of the row."""
    n_features = int(X.shape[1])
    if isinstance(X, sparse.csr_array):
        n_terms = int(np.diff(X.indptr).max(initial=0))
    elif unit == _UNIT:
        n_terms = min(n_features, _SPAN) + -(-n_features // _SPAN)
    else:
        n_terms = n_features
    n_roundings = n_terms + 8  # a few more than can occur
    gamma = n_roundings * unit / (1.0 - n_roundings * unit)
    lost = (n_features + 2) * _TINY * (2.0 + models.length)
    # The length itself is a float32 sum of squares.
    return (gamma * models.length + lost) * (1.0 + 1e-5 + (n_features + 16) * _UNIT)


def _lowest(
    lower: NDArray[np.float64], upper: NDArray[np.float64], threshold: float | None, size: int | None
) -> tuple[NDArray[np.intp], float | None]:
    """Return the rows that may be among the `size` lowest, given numbers below and above their scores.

    Also return the threshold that they meet: if `size` rows are certain to be no higher than some value, that value.
    """
    if size is not None and len(upper) > size:
        certain = float(np.partition(upper, size - 1)[size - 1])
        threshold = certain if threshold is None else min(threshold, certain)
    if threshold is None:
        return np.arange(len(lower)), None
    return np.flatnonzero(~(lower > threshold)), threshold  # written so that NaN stays


@njit(nogil=True, cache=True)
def _lowest_margins(logits, constants, n_outputs, softmax):  # type: ignore[no-untyped-def]
    """Return (n,) the lowest margin of any model."""
    width, n = logits.shape
    margins = np.full(n, np.inf)
    gaps, tops = np.empty(width), np.empty(width)
    for i in range(n):
        closest = 0
        for start in range(0, width, n_outputs):
            if n_outputs == 1:
                gaps[start] = abs(logits[start, i] + constants[start])
            else:
                first = second = -np.inf
                for o in range(start, start + n_outputs):
                    z = logits[o, i] + constants[o]
                    second = max(second, min(first, z))
                    first = max(first, z)
                gaps[start], tops[start] = first - second, first
            if gaps[start] < gaps[closest]:
                closest = start
        if n_outputs == 1:
            margins[i] = math.tanh(0.5 * gaps[closest]) if softmax else 2.0 * gaps[closest]
        elif not softmax:
            margins[i] = gaps[closest]
        else:
            # From the model with the smallest gap on, hardly any other can have a lower margin.
            for k in range(width // n_outputs):
                start = (closest + k * n_outputs) % width
                difference = 1.0 - math.exp(-gaps[start])
                if not difference > margins[i] * n_outputs:  # the sum below is at most the number of classes
                    total = 0.0
                    for o in range(start, start + n_outputs):
                        total += math.exp(logits[o, i] + constants[o] - tops[start])
                    margins[i] = min(margins[i], difference / total)
    return margins

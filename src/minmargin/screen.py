"""The fast screen of linear committees: float32 products that may only ever dismiss rows.

The canonical kernel adds float64 numbers in one order and is slow; a matrix library adds float32 numbers in whatever
order is fast. So a screen computes every logit roughly and drops the rows that, even allowing for the largest
possible error, cannot be among the lowest. The rest is scored canonically, and only those scores order a batch.

**The error of a logit.** A float32 product of D features and a constant errs by at most gamma * |x| |w|, where |.| is
the Euclidean length, constant included, and gamma = m u / (1 - m u) with u = 2^-24 and m the number of roundings that
a term can meet: up to D + 1 additions, a product, and the roundings of x and w themselves (Higham, Accuracy and
Stability of Numerical Algorithms, 3.1). That holds for any order of summation. Where there are many features, they are
multiplied 64 at a time and the parts added in float64, so that m stays small. What float32 loses below 2^-126 is added;
a row whose logits might leave float32's range above is always kept.

**From logits to margins, without an exponential.** Let d be a member's highest minus second-highest logit and C the
number of classes. Every other class weighs no more than the second, so

    margin = (1 - e^-d) / sum_c e^(z_c - z_1)  >=  (1 - e^-d) / (1 + (C - 1) e^-d),

which exceeds a threshold t if d exceeds log((1 + (C - 1) t) / (1 - t)). For two classes this is an equality, and d is
the size of the one logit. A row is dismissed by comparisons alone if every member's d lies above that value by more
than the errors of two logits.

**A second look.** What is left lies close to a boundary, closer than float32 can tell, or, with more than two classes,
within the slack of the inequality. These rows get a float64 product, with u = 2^-53, and the normalizer: a softmax
margin moves by no more than the largest change of a logit (the absolute values of its derivatives add up to 1 at most).

**A threshold of its own.** Since the other classes also weigh something, a margin is at most (1 - e^-d) / (1 + e^-d) =
tanh(d / 2). If B rows of a block are certain to have margins no higher than some value, no row above it is needed. The
first blocks, for which no threshold is known yet, are screened by that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy import sparse

from minmargin.rows import Matrix

_TILE = 1024  # rows whose logits stay in the cache between the product and the reduction
_SPAN, _ONE_SPAN = 64, 128  # features that are multiplied at a time, if there are more than fit in one
_UNIT, _SMALL_UNIT = 2.0**-24, 2.0**-53
_TINY = 2.0**-126  # float32 may lose what is smaller
_HUGE = 1e30  # a product this size might leave float32's range on the way
_SLACK = 1e-12  # more than float64 loses between canonical logits and a canonical margin


@dataclass(frozen=True)
class LinearScreen:
    """The models of a linear committee whose lowest margin is the score, rounded for screening.

    Attributes:
        weights: (K * O, D) float64, for the second look.
        spans: (S, K * O, 64) float32: the weights of 64 features at a time, the last filled up with zeros; or all
            of them at once, if they are few.
        intercepts: (K * O, 1) float64.
        n_outputs: O, one per class, or a single one for two classes.
        weight_length: the largest length of a model's weights, intercept included.
    """

    weights: NDArray[np.float64]
    spans: NDArray[np.float32]
    intercepts: NDArray[np.float64]
    n_outputs: int
    weight_length: float

    @classmethod
    def of(cls, weights: NDArray[np.float64], intercepts: NDArray[np.float64]) -> LinearScreen | None:
        """Return the screen of (D, K, O) weights and (K, O) intercepts; None if float32 cannot hold them."""
        n_features, n_models, n_outputs = weights.shape
        flat = np.ascontiguousarray(weights.reshape(n_features, n_models * n_outputs).T)
        constants = intercepts.reshape(-1, 1)
        lengths = np.sqrt((flat**2).sum(axis=1) + constants[:, 0] ** 2)
        if not n_models or not lengths.max() < _HUGE:
            return None
        span = n_features if n_features <= _ONE_SPAN else _SPAN
        n_spans = -(-n_features // span)
        spans = np.zeros((n_spans, len(flat), span), dtype=np.float32)
        for place in range(n_spans):
            part = flat[:, place * span : (place + 1) * span]
            spans[place, :, : part.shape[1]] = part
        return cls(flat, spans, constants, n_outputs, float(lengths.max()) * (1.0 + 1e-6))

    def survivors(self, X: Matrix, threshold: float | None, size: int | None = None) -> NDArray[np.intp]:
        """Return the rows whose score may be `threshold` or lower, and may be among the `size` lowest."""
        lengths = self._lengths(X)
        gaps, errors = self._rough_gaps(X), self._errors(X, lengths, _UNIT)
        near = self._within(gaps, errors, threshold)
        if size is not None and len(near) > 2 * size:
            certain = float(np.partition(gaps[near] + errors[near], size - 1)[size - 1])
            own = math.tanh(0.5 * certain) if math.isfinite(certain) else 1.0
            threshold = own if threshold is None else min(threshold, own)
            near = near[self._within(gaps[near], errors[near], threshold)]
        if threshold is None or not len(near):
            return near
        margins = self._margins(X[near])
        doubt = self._errors(X, lengths[near], _SMALL_UNIT) + _SLACK
        return near[~(margins > threshold + doubt)]  # written so that NaN stays

    def _lengths(self, X: Matrix) -> NDArray[np.float64]:
        """Return (n,) the lengths of the rows, the constant's 1 included, rounded up."""
        with np.errstate(over="ignore"):
            if isinstance(X, sparse.csr_array):
                squares = np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64)
            else:
                squares = _squared_lengths(X)
            return np.asarray(np.sqrt(squares + 1.0) * (1.0 + 1e-6))

    def _errors(self, X: Matrix, lengths: NDArray[np.float64], unit: float) -> NDArray[np.float64]:
        """Return (n,) how far a gap may be from its true value; infinite if it might leave float32's range."""
        in_spans = unit == _UNIT and not isinstance(X, sparse.csr_array)
        n_terms = self.spans.shape[2] if in_spans else X.shape[1]
        n_roundings = n_terms + 8  # a few more than can occur
        gamma = n_roundings * unit / (1.0 - n_roundings * unit)
        products = self.weight_length * lengths
        lost = (X.shape[1] + 2) * _TINY * (1.0 + self.weight_length + lengths)
        of_logit = np.where(products < _HUGE, gamma * products + lost, np.inf)
        # With one output the gap is a logit; with more it is the difference of two.
        return of_logit if self.n_outputs == 1 else 2.0 * of_logit

    def _rough_gaps(self, X: Matrix) -> NDArray[np.float64]:
        """Return (n,) the lowest gap of any model between its two highest logits."""
        gaps = np.empty(X.shape[0])
        with np.errstate(over="ignore", invalid="ignore"):
            if isinstance(X, sparse.csr_array):
                _reduce(self._logits(X.astype(np.float32)), self.intercepts, self.n_outputs, gaps)
            else:
                rows = np.ascontiguousarray(X, dtype=np.float32)
                reduce_tiles = _gaps_in_one_span if len(self.spans) == 1 else _gaps_in_spans
                reduce_tiles(rows, self.spans, self.intercepts, self.n_outputs, gaps)
        return gaps

    def _within(
        self, gaps: NDArray[np.float64], errors: NDArray[np.float64], threshold: float | None
    ) -> NDArray[np.intp]:
        threshold = 1.0 if threshold is None else max(threshold, 0.0) + _SLACK
        if threshold >= 1.0:
            return np.arange(len(gaps))
        n_classes = max(self.n_outputs, 2)
        allowed = math.log1p((n_classes - 1) * threshold) - math.log1p(-threshold)
        return np.flatnonzero(~(gaps > allowed + errors))  # written so that NaN stays

    def _margins(self, X: Matrix) -> NDArray[np.float64]:
        """Return (n,) the lowest margin of any model, from float64 logits."""
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(
                _lowest_margins(self._logits(X.astype(np.float64)), self.intercepts, self.n_outputs)
            )

    def _logits(self, X: Matrix) -> NDArray[np.float64]:
        """Return (K * O, n) the logits without their constants."""
        weights = self.weights.astype(X.dtype, copy=False)
        if isinstance(X, sparse.csr_array):
            return np.ascontiguousarray((X @ weights.T).T, dtype=np.float64)
        return np.asarray(weights @ X.T, dtype=np.float64)


@njit(nogil=True, cache=True)
def _gaps_in_one_span(X, spans, intercepts, n_outputs, gaps):  # type: ignore[no-untyped-def]
    for start in range(0, X.shape[0], _TILE):
        logits = np.dot(spans[0], X[start : start + _TILE].T)
        _reduce(logits, intercepts, n_outputs, gaps[start : start + _TILE])


@njit(nogil=True, cache=True)
def _gaps_in_spans(X, spans, intercepts, n_outputs, gaps):  # type: ignore[no-untyped-def]
    n_spans, width, span = spans.shape
    part = np.zeros((_TILE, span), np.float32)
    for start in range(0, X.shape[0], _TILE):
        stop = min(start + _TILE, X.shape[0])
        logits = np.zeros((width, stop - start))
        for s in range(n_spans):
            first, last = s * span, min((s + 1) * span, X.shape[1])
            # The last part may be narrower: zeros in `spans` meet what the same rows' part before left here.
            part[: stop - start, : last - first] = X[start:stop, first:last]
            logits += np.dot(spans[s], part[: stop - start].T)
        _reduce(logits, intercepts, n_outputs, gaps[start:stop])


@njit(nogil=True, cache=True)
def _reduce(logits, intercepts, n_outputs, gaps):  # type: ignore[no-untyped-def]
    """Set gaps to the lowest gap of any model; inner loops run over rows, in vectors of the logits' type."""
    width, n = logits.shape
    constants = intercepts.astype(logits.dtype)
    lowest = np.full(n, np.inf).astype(logits.dtype)
    first, second = np.empty_like(lowest), np.empty_like(lowest)
    for start in range(0, width, n_outputs):
        if n_outputs == 1:
            constant = constants[start, 0]
            for i in range(n):
                size = abs(logits[start, i] + constant)
                lowest[i] = min(lowest[i], size)
            continue
        first[:] = -np.inf
        second[:] = -np.inf
        for o in range(start, start + n_outputs):
            constant = constants[o, 0]
            for i in range(n):
                z = logits[o, i] + constant
                loser = min(first[i], z)
                second[i] = max(second[i], loser)
                first[i] = max(first[i], z)
        for i in range(n):
            gap = first[i] - second[i]
            lowest[i] = min(lowest[i], gap)
    gaps[:] = lowest


# Reassociation is allowed here, and only here: these lengths bound an error and decide nothing.
@njit(nogil=True, cache=True, fastmath={"reassoc"})
def _squared_lengths(X):  # type: ignore[no-untyped-def]
    out = np.empty(X.shape[0])
    for i in range(X.shape[0]):
        total = 0.0
        for j in range(X.shape[1]):
            x = np.float64(X[i, j])
            total += x * x
        out[i] = total
    return out


@njit(nogil=True, cache=True)
def _lowest_margins(logits, intercepts, n_outputs):  # type: ignore[no-untyped-def]
    """Return (n,) the lowest softmax margin of any model."""
    width, n = logits.shape
    margins = np.ones(n)
    for i in range(n):
        for start in range(0, width, n_outputs):
            if n_outputs == 1:
                margins[i] = min(margins[i], math.tanh(0.5 * abs(logits[start, i] + intercepts[start, 0])))
                continue
            first = second = -np.inf
            for o in range(start, start + n_outputs):
                z = logits[o, i] + intercepts[o, 0]
                second = max(second, min(first, z))
                first = max(first, z)
            difference = 1.0 - math.exp(second - first)
            # The sum below is at most the number of classes: skip it where the margin cannot be the lowest.
            if difference < margins[i] * n_outputs:
                total = 0.0
                for o in range(start, start + n_outputs):
                    total += math.exp(logits[o, i] + intercepts[o, 0] - first)
                margins[i] = min(margins[i], difference / total)
    return margins

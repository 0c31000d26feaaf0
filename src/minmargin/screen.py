"""The fast screen of linear committees: float32 products that may only ever dismiss rows.

The canonical kernel adds float64 numbers in one order and is slow; a matrix library adds float32 numbers in whatever
order is fast. So a screen computes every logit roughly and drops the rows that, even allowing for the largest
possible error, cannot be among the lowest. The rest is scored canonically, and only those scores order a batch.

**The error of a logit.** A float32 product of D features and a constant errs by at most gamma * |x| |w|, where |.| is
the Euclidean length, constant included, and gamma = m u / (1 - m u) with u = 2^-24 and m the number of roundings that
a term can meet: up to D + 1 additions, a product, and the roundings of x and w themselves (Higham, Accuracy and
Stability of Numerical Algorithms, 3.1). That holds for any order of summation. What float32 loses below 2^-126 is
added; a row whose logits might leave float32's range above is always kept.

**From logits to margins, without an exponential.** Let d be a member's highest minus second-highest logit and C the
number of classes. Every other class weighs no more than the second, so

    margin = (1 - e^-d) / sum_c e^(z_c - z_1)  >=  (1 - e^-d) / (1 + (C - 1) e^-d),

which exceeds a threshold t if d exceeds log((1 + (C - 1) t) / (1 - t)). For two classes this is an equality, and d is
the size of the one logit. A row is dismissed by comparisons alone if every member's d lies above that value by more
than the errors of two logits.

**With the normalizer, where that helps.** For more than two classes the inequality is loose. The rows that it leaves
are looked at again, with the sum of exponentials, under just the members that kept them. A softmax margin moves by no
more than the largest change of a logit (the absolute values of its derivatives add up to 1 at most).
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
_UNIT = 2.0**-24
_TINY = 2.0**-126  # float32 may lose what is smaller
_HUGE = 1e30  # a product this size might leave float32's range on the way
_SLACK = 1e-12  # more than float64 loses between canonical logits and a canonical margin


@dataclass(frozen=True)
class LinearScreen:
    """The models of a linear committee whose lowest margin is the score, rounded for screening.

    Attributes:
        weights: (K * O, D) float32.
        intercepts: (K * O, 1) float32.
        n_outputs: O, one per class, or a single one for two classes.
        gamma: the relative error of a logit.
        weight_length: the largest length of a model's weights, intercept included.
    """

    weights: NDArray[np.float32]
    intercepts: NDArray[np.float32]
    n_outputs: int
    gamma: float
    weight_length: float

    @classmethod
    def of(cls, weights: NDArray[np.float64], intercepts: NDArray[np.float64]) -> LinearScreen | None:
        """Return the screen of (D, K, O) weights and (K, O) intercepts; None if float32 cannot hold them."""
        n_features, n_models, n_outputs = weights.shape
        flat = weights.reshape(n_features, n_models * n_outputs)
        n_roundings = n_features + 8  # a few more than can occur
        lengths = np.sqrt((flat**2).sum(axis=0) + intercepts.reshape(-1) ** 2)
        if (
            not n_models
            or not lengths.max(initial=0.0) < np.finfo(np.float32).max
            or n_roundings * _UNIT > 0.01
        ):
            return None
        return cls(
            np.ascontiguousarray(flat.T, dtype=np.float32),
            intercepts.reshape(-1, 1).astype(np.float32),
            n_outputs,
            n_roundings * _UNIT / (1.0 - n_roundings * _UNIT),
            float(lengths.max()) * (1.0 + 1e-6),
        )

    def survivors(self, X: Matrix, threshold: float) -> NDArray[np.intp]:
        """Return the rows whose score may be `threshold` or lower."""
        threshold = max(threshold, 0.0) + _SLACK
        if threshold >= 1.0:
            return np.arange(X.shape[0])
        n_classes = max(self.n_outputs, 2)
        gap = math.log1p((n_classes - 1) * threshold) - math.log1p(-threshold)
        keep = np.empty(X.shape[0], dtype=np.bool_)
        with np.errstate(over="ignore", invalid="ignore"):  # such rows are kept
            rows = X.astype(np.float32, copy=False)
            if isinstance(rows, sparse.csr_array):
                logits = np.ascontiguousarray((rows @ self.weights.T).T)
                squares = np.asarray(rows.multiply(rows).sum(axis=1), dtype=np.float64)
                errors = _errors(squares, X.shape[1], self.gamma, self.weight_length)
                _screen(logits, self.intercepts, errors, gap, threshold, self.n_outputs, keep)
            else:
                settings = (self.gamma, self.weight_length, gap, threshold, self.n_outputs)
                _screen_dense(np.ascontiguousarray(rows), self.weights, self.intercepts, *settings, keep)
        return np.flatnonzero(keep)


@njit(nogil=True, cache=True)
def _screen_dense(X, weights, intercepts, gamma, weight_length, gap, threshold, n_outputs, keep):  # type: ignore[no-untyped-def]
    for start in range(0, X.shape[0], _TILE):
        tile = X[start : start + _TILE]
        errors = _errors(_squared_lengths(tile), X.shape[1], gamma, weight_length)
        logits = np.dot(weights, tile.T)
        _screen(logits, intercepts, errors, gap, threshold, n_outputs, keep[start : start + _TILE])


@njit(nogil=True, cache=True)
def _errors(squares, n_features, gamma, weight_length):  # type: ignore[no-untyped-def]
    """Return the largest possible error of a logit of each row; infinite if it might leave float32's range."""
    errors = np.empty(len(squares))
    for i in range(len(squares)):
        length = math.sqrt(squares[i] + 1.0) * (1.0 + 1e-6)
        product = weight_length * length
        lost = (n_features + 2) * _TINY * (1.0 + weight_length + length)
        errors[i] = gamma * product + lost if product < _HUGE else np.inf
    return errors


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
def _screen(logits, intercepts, errors, gap, threshold, n_outputs, keep):  # type: ignore[no-untyped-def]
    if n_outputs == 1:
        _screen_two_classes(logits, intercepts, errors, gap, keep)
    else:
        _screen_many_classes(logits, intercepts, errors, gap, threshold, n_outputs, keep)


@njit(nogil=True, cache=True)
def _screen_two_classes(logits, intercepts, errors, gap, keep):  # type: ignore[no-untyped-def]
    n_models, n = logits.shape
    lowest = np.full(n, np.float32(np.inf))
    for k in range(n_models):
        intercept = intercepts[k, 0]
        for i in range(n):
            size = abs(logits[k, i] + intercept)
            lowest[i] = min(lowest[i], size)
    for i in range(n):
        # An infinite error, of logits beyond float32, keeps the row.
        keep[i] = not np.float64(lowest[i]) > gap + errors[i]


@njit(nogil=True, cache=True)
def _screen_many_classes(logits, intercepts, errors, gap, threshold, n_outputs, keep):  # type: ignore[no-untyped-def]
    width, n = logits.shape
    lowest = np.full(n, np.float32(np.inf))
    first, second = np.empty(n, np.float32), np.empty(n, np.float32)
    for start in range(0, width, n_outputs):
        first[:] = np.float32(-np.inf)
        second[:] = np.float32(-np.inf)
        for o in range(start, start + n_outputs):
            intercept = intercepts[o, 0]
            for i in range(n):
                z = logits[o, i] + intercept
                loser = min(first[i], z)
                second[i] = max(second[i], loser)
                first[i] = max(first[i], z)
        for i in range(n):
            d = first[i] - second[i]
            lowest[i] = min(lowest[i], d)
    for i in range(n):
        allowed = gap + 2.0 * errors[i]
        if np.float64(lowest[i]) > allowed:
            keep[i] = False
        elif errors[i] > 0.1:  # too rough for a second look
            keep[i] = True
        else:
            keep[i] = _lowest_margin(logits, intercepts, i, allowed, n_outputs) - 2.0 * errors[i] <= threshold


@njit(nogil=True, cache=True)
def _lowest_margin(logits, intercepts, i, allowed, n_outputs):  # type: ignore[no-untyped-def]
    """Return the lowest margin of row i under the members whose gap is within what is allowed."""
    lowest = 1.0
    for start in range(0, logits.shape[0], n_outputs):
        first = second = -np.inf
        for o in range(start, start + n_outputs):
            z = np.float64(logits[o, i] + intercepts[o, 0])
            second = max(second, min(first, z))
            first = max(first, z)
        if first - second <= allowed:
            total = 0.0
            for o in range(start, start + n_outputs):
                total += math.exp(np.float64(logits[o, i] + intercepts[o, 0]) - first)
            lowest = min(lowest, (1.0 - math.exp(second - first)) / total)
    return lowest

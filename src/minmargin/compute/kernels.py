"""Compiled kernels: the canonical class scores of linear models, and cosines for greedy picking.

Canonical means: float64, every logit summed over the features in order, no fused multiply-add, no
fast-math. Vectors run over rows (or over outputs), never over the sum, so however wide the machine's
vectors are, each sum is made of the same additions in the same order. The results are
equal to the bit to the formulas in `margins`, and tests hold them to that.

Importing this module imports numba, so it is imported only where a kernel is about to run.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from minmargin.compute.compiled import compiled
from minmargin.compute.cpu.llvm import DOUBLE_LANES
from minmargin.compute.cpu.simd import (
    GROUP,
    SQUARE,
    aligned,
    multiply_in_order,
    pack,
    sigmoid_in_order,
    softmax_in_order,
    turn,
)
from minmargin.data.rows import Matrix
from minmargin.properties import cached_property


@dataclass(frozen=True)
class LinearKernel:
    """The weights of K linear models, packed for the kernels that make canonical class scores."""

    weights: NDArray[np.float64]
    intercepts: NDArray[np.float64]
    softmax: bool

    @cached_property
    def _packed(self) -> NDArray[np.float64]:
        n_features = len(self.weights)
        return pack(self.weights.reshape(n_features, -1).T, self.intercepts.ravel(), np.float64)

    def class_scores(self, X: Matrix) -> NDArray[np.float64]:
        """Return (K, n, C): the class scores under each model."""
        n_features, n_models, n_outputs = self.weights.shape
        scores = np.empty((n_models, X.shape[0], max(n_outputs, 2)))
        if isinstance(X, sparse.csr_array):
            models = self.weights.reshape(n_features, -1), self.intercepts.ravel()
            _score_sparse(X.indptr, X.indices, X.data, *models, n_outputs, self.softmax, scores)
        else:
            flat = np.ascontiguousarray(X).reshape(-1)
            _score_dense(flat, n_features, self._packed, n_outputs, self.softmax, scores)
        return scores


@compiled
def to_class_scores(panel, n_outputs, softmax, first, scratch, scores):  # type: ignore[no-untyped-def]
    """Write the class scores of a panel's rows under each model, made of their logits.

    Args:
        panel: (K * n_outputs, DOUBLE_LANES) logits, flat.
        n_outputs: of a model.
        softmax: whether class scores are the softmax of the logits.
        first: the number of the panel's first row.
        scratch: room for (C, DOUBLE_LANES) class scores, flat.
        scores: (K, n, C) what is written. Rows of the panel beyond the last are left out.
    """
    n_models, n, n_classes = scores.shape
    for k in range(n_models):
        at = k * n_outputs * DOUBLE_LANES
        if not softmax:
            own = (n_classes - n_outputs) * DOUBLE_LANES  # of two classes, the first has no logit of its own
            for i in range(own):
                scratch[i] = -panel[at + i]
            for i in range(n_outputs * DOUBLE_LANES):
                scratch[own + i] = panel[at + i]
        elif n_outputs == 1:
            sigmoid_in_order(panel, at, scratch)
        else:
            softmax_in_order(panel, at, n_outputs, scratch)
        for i in range(min(DOUBLE_LANES, n - first)):
            for c in range(n_classes):
                scores[k, first + i, c] = scratch[c * DOUBLE_LANES + i]


def class_scores_of(logits: NDArray[np.float64], *, softmax: bool) -> NDArray[np.float64]:
    """Return (K, n, C): the class scores under K models, made of their (K, O, n) canonical logits."""
    n_models, n_outputs, n = logits.shape
    scores = np.empty((n_models, n, max(n_outputs, 2)))
    _score_logits(logits, softmax, scores)
    return scores


@compiled
def _score_logits(logits, softmax, scores):  # type: ignore[no-untyped-def]
    n_models, n_outputs, n = logits.shape
    panel, scratch = np.zeros(n_models * n_outputs * DOUBLE_LANES), np.empty(scores.shape[2] * DOUBLE_LANES)
    for first in range(0, n, DOUBLE_LANES):
        for k in range(n_models):
            for o in range(n_outputs):
                for i in range(min(DOUBLE_LANES, n - first)):
                    panel[(k * n_outputs + o) * DOUBLE_LANES + i] = logits[k, o, first + i]
        to_class_scores(panel, n_outputs, softmax, first, scratch, scores)


@compiled
def _score_dense(flat, n_features, weights, n_outputs, softmax, scores):  # type: ignore[no-untyped-def]
    n_models, n, n_classes = scores.shape
    width = n_models * n_outputs
    group_size = GROUP * (n_features + 1)
    panel = aligned(np.zeros((n_features + 1) * DOUBLE_LANES))
    logits = aligned(np.empty((width + GROUP + 1) * DOUBLE_LANES))
    scratch = np.empty(n_classes * DOUBLE_LANES)
    for first in range(0, n, DOUBLE_LANES):
        n_rows = min(DOUBLE_LANES, n - first)
        n_turned = n_features - n_features % SQUARE if n_rows == DOUBLE_LANES else 0
        for d in range(0, n_turned, SQUARE):
            turn(flat, first * n_features + d, n_features, panel, d * DOUBLE_LANES)
        for d in range(n_turned, n_features):
            for i in range(n_rows):
                panel[d * DOUBLE_LANES + i] = flat[(first + i) * n_features + d]
        for group in range(-(-width // GROUP)):
            at = group * GROUP * DOUBLE_LANES
            multiply_in_order(panel, n_features, weights, group * group_size, logits, at)
        to_class_scores(logits, n_outputs, softmax, first, scratch, scores)


@compiled
def _score_sparse(indptr, indices, data, weights, intercepts, n_outputs, softmax, scores):  # type: ignore[no-untyped-def]
    n, width = scores.shape[1], weights.shape[1]
    of_row = np.empty(width)
    logits, scratch = np.zeros(width * DOUBLE_LANES), np.empty(scores.shape[2] * DOUBLE_LANES)
    for first in range(0, n, DOUBLE_LANES):
        for i in range(min(DOUBLE_LANES, n - first)):
            for o in range(width):  # written out: to copy a slice would take two more seconds to compile
                of_row[o] = intercepts[o]
            for place in range(indptr[first + i], indptr[first + i + 1]):
                x = np.float64(data[place])
                d = indices[place]
                for o in range(width):
                    of_row[o] += x * weights[d, o]
            for o in range(width):
                logits[o * DOUBLE_LANES + i] = of_row[o]
        to_class_scores(logits, n_outputs, softmax, first, scratch, scores)


def norms(X: Matrix) -> NDArray[np.float64]:
    """Return (n,) the Euclidean length of each row, summed in feature order."""
    out = np.empty(X.shape[0])
    if isinstance(X, sparse.csr_array):
        _norms_sparse(X.indptr, X.data, out)
    else:
        _norms_dense(X, out)
    return out


@compiled
def _norms_dense(X, out):  # type: ignore[no-untyped-def]
    for row in range(X.shape[0]):
        total = 0.0
        for d in range(X.shape[1]):
            x = np.float64(X[row, d])
            total += x * x
        out[row] = math.sqrt(total)


@compiled
def _norms_sparse(indptr, data, out):  # type: ignore[no-untyped-def]
    for row in range(len(indptr) - 1):
        total = 0.0
        for i in range(indptr[row], indptr[row + 1]):
            x = np.float64(data[i])
            total += x * x
        out[row] = math.sqrt(total)


def raise_to_cosines(
    X: Matrix,
    lengths: NDArray[np.float64],
    center: NDArray[np.float64],
    length: float,
    closest: NDArray[np.float64],
) -> None:
    """Raise closest[i] to cos(X[i], center) where that is higher; a zero vector's cosine is 0.

    This is the running update of the greedy strategies: one pass over the rows per pick.
    """
    if isinstance(X, sparse.csr_array):
        _raise_sparse(X.indptr, X.indices, X.data, lengths, center, length, closest)
    else:
        _raise_dense(X, lengths, center, length, closest)


@compiled
def _cosine(dot, length_a, length_b):  # type: ignore[no-untyped-def]
    product = length_a * length_b
    return dot / product if product > 0.0 else 0.0


@compiled
def _raise_dense(X, lengths, center, length, closest):  # type: ignore[no-untyped-def]
    n, n_features = X.shape
    # Eight rows at a time: eight independent sums hide the latency of an ordered one.
    whole = n - n % 8
    for row in range(0, whole, 8):
        s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
        for d in range(n_features):
            c = center[d]
            s0 += np.float64(X[row, d]) * c
            s1 += np.float64(X[row + 1, d]) * c
            s2 += np.float64(X[row + 2, d]) * c
            s3 += np.float64(X[row + 3, d]) * c
            s4 += np.float64(X[row + 4, d]) * c
            s5 += np.float64(X[row + 5, d]) * c
            s6 += np.float64(X[row + 6, d]) * c
            s7 += np.float64(X[row + 7, d]) * c
        for i, dot in enumerate((s0, s1, s2, s3, s4, s5, s6, s7)):
            closest[row + i] = max(closest[row + i], _cosine(dot, lengths[row + i], length))
    for row in range(whole, n):
        dot = 0.0
        for d in range(n_features):
            dot += np.float64(X[row, d]) * center[d]
        closest[row] = max(closest[row], _cosine(dot, lengths[row], length))


@compiled
def _raise_sparse(indptr, indices, data, lengths, center, length, closest):  # type: ignore[no-untyped-def]
    for row in range(len(indptr) - 1):
        dot = 0.0
        for i in range(indptr[row], indptr[row + 1]):
            dot += np.float64(data[i]) * center[indices[i]]
        closest[row] = max(closest[row], _cosine(dot, lengths[row], length))

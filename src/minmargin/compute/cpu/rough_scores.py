"""Rough scores of many rows: all models' logits in float32, reduced while they are in the nearest cache.

One call goes over a block of rows, panel by panel (see `simd`), and keeps the rows that may matter: those whose rough
score is not above `allowed` by more than its error may be. What an error may be is for `screen` to know; here it is a
slope, times the length of the row. No (K, n, C) array is made, and the interpreter's lock is not held.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from minmargin.compute.bounds import (
    LOWEST_GAP,
    LOWEST_MARGIN,
    MARGIN_OF_MEAN,
    MEAN_MARGIN,
    VARIANCE,
    VOTES,
)
from minmargin.compute.compiled import compiled
from minmargin.compute.cpu.llvm import LANES
from minmargin.compute.cpu.simd import (
    GROUP,
    SQUARE,
    add_margins,
    add_scores,
    aligned,
    count_votes,
    doubtful,
    gather,
    lowest_gap,
    lowest_size,
    multiply,
    roots,
    squared_lengths,
    turn,
)
from minmargin.data.rows import ColumnBlock

Dense: TypeAlias = NDArray[Any] | ColumnBlock

_ONE, _HALF, _ZERO, _INFINITY = np.float32(1.0), np.float32(0.5), np.float32(0.0), np.float32(np.inf)


def keep(
    X: Dense | sparse.csr_array,
    weights: NDArray[np.float32],
    *,
    n_models: int,
    n_outputs: int,
    span: int,
    score: int,
    softmax: bool,
    allowed: float,
    slope: float,
    logit_slope: float,
    longest: float,
) -> tuple[NDArray[np.intp], NDArray[np.float32], NDArray[np.float32], bool]:
    """Return the rows that may matter, their rough scores and squared lengths, and whether all numbers are finite.

    Args:
        X: (n, D) rows.
        weights: as `pack` gives them; for CSR, (D + 1, outputs), the constants first.
        n_models: K.
        n_outputs: O, one per class, or a single one for two classes; for gaps, one per class but the first.
        span: how many features are summed at a time.
        score: which of the scores in `bounds`.
        softmax: whether class scores are the softmax of the logits, and not the logits themselves.
        allowed: the rough score up to which a row matters.
        slope: the error of a rough score, per length of the row.
        logit_slope: the error of a logit, per length of the row.
        longest: the length from which on nothing is known of a row.
    """
    n, n_features = X.shape
    index, values, squares = np.empty(n, np.intp), np.empty(n, np.float32), np.empty(n, np.float32)
    with np.errstate(over="ignore"):  # a limit that becomes infinite keeps every row
        limits = np.array([allowed, slope**2, min(longest**2, 1e38), logit_slope], dtype=np.float32)
    # What float32 makes of a limit must not be on the wrong side of it.
    limits = np.nextafter(limits, np.array([np.inf, np.inf, -np.inf, np.inf], dtype=np.float32))
    shape, kept = (n_models, n_outputs, score, softmax), (index, values, squares)
    if isinstance(X, sparse.csr_array):
        n_kept, finite = _keep_sparse(X.indptr, X.indices, X.data, weights, *shape, limits, *kept)
    else:
        flat, addresses = _in_memory(X if n >= LANES else _padded(X))
        n_kept, finite = _keep_dense(
            flat, addresses, max(n, LANES), n_features, weights, span, *shape, limits, *kept
        )
    return index[:n_kept], values[:n_kept], squares[:n_kept], finite


def _padded(X: Dense) -> NDArray[Any]:
    """Return rows with as many zeros below them as a panel needs."""
    rows = np.asarray(X)
    return np.vstack([rows, np.zeros((LANES - len(rows), rows.shape[1]), dtype=rows.dtype)])


def _in_memory(X: Dense) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return an array that begins where rows do, and no addresses; or, if columns lie together, their addresses."""
    if isinstance(X, ColumnBlock):
        return X.columns[0], np.array([column.ctypes.data for column in X.columns], dtype=np.int64)
    if X.strides[0] == X.itemsize and not X.flags.c_contiguous:
        return X[:, 0], X.ctypes.data + np.arange(X.shape[1]) * X.strides[1]
    return np.ascontiguousarray(X).reshape(-1), np.empty(0, np.int64)


@compiled
def _keep_dense(  # type: ignore[no-untyped-def]
    flat,
    addresses,
    n,
    n_features,
    weights,
    span,
    n_models,
    n_outputs,
    score,
    softmax,
    limits,
    index,
    values,
    squares,
):
    n_logits = n_models * n_outputs
    n_groups, group_size = -(-n_logits // GROUP), GROUP * (n_features + 1)
    panel = aligned(np.empty((n_features + 1) * LANES, np.float32))
    logits = aligned(np.empty((n_groups * GROUP + 1) * LANES, np.float32))
    lengths, rough, work = np.empty(LANES, np.float32), np.empty(LANES, np.float32), _workspace(n_outputs)
    n_kept, finite = 0, True
    for start in range(0, n, LANES):
        # The last panel is filled up with rows that were in the one before.
        first = min(start, n - LANES)
        _fill_panel(flat, addresses, n_features, first, panel)
        squared_lengths(panel, n_features, lengths)
        for d in range(0, n_features, span):
            for group in range(n_groups):
                stop, at, to = min(d + span, n_features), group * group_size, group * GROUP * LANES
                multiply(panel, d, stop, weights, at, logits, to)
        _reduce(logits, n_models, n_outputs, score, softmax, limits[3:], lengths, work, rough)
        doubt = doubtful(rough, lengths, limits)
        if doubt != 0:
            last = min(first + LANES, len(index))
            n_kept = _append(doubt, rough, lengths, first, start, last, n_kept, index, values, squares)
            for i in range(LANES):
                finite &= bool(lengths[i] < _INFINITY)
    return n_kept, finite


@compiled
def _keep_sparse(  # type: ignore[no-untyped-def]
    indptr, indices, data, weights, n_models, n_outputs, score, softmax, limits, index, values, squares
):
    n, n_logits = len(indptr) - 1, n_models * n_outputs
    sums = np.empty(n_logits, np.float32)
    logits = np.zeros(n_logits * LANES, np.float32)
    lengths, rough, work = np.ones(LANES, np.float32), np.empty(LANES, np.float32), _workspace(n_outputs)
    n_kept, finite = 0, True
    for first in range(0, n, LANES):
        n_rows = min(LANES, n - first)
        for i in range(n_rows):
            for o in range(n_logits):  # written out: to copy a slice would take two more seconds to compile
                sums[o] = weights[0, o]
            length = _ONE
            for place in range(indptr[first + i], indptr[first + i + 1]):
                x, row = np.float32(data[place]), indices[place] + 1
                length += x * x
                for o in range(n_logits):
                    sums[o] += x * weights[row, o]
            lengths[i] = length
            finite &= bool(length < _INFINITY)
            for o in range(n_logits):
                logits[o * LANES + i] = sums[o]
        _reduce(logits, n_models, n_outputs, score, softmax, limits[3:], lengths, work, rough)
        doubt = doubtful(rough, lengths, limits)
        last = first + n_rows
        n_kept = _append(doubt, rough, lengths, first, first, last, n_kept, index, values, squares)
    return n_kept, finite


@compiled
def _fill_panel(flat, addresses, n_features, first, panel):  # type: ignore[no-untyped-def]
    if len(addresses):
        gather(flat, addresses, first, n_features, panel)
        return
    n_turned = n_features - n_features % SQUARE
    for d in range(0, n_turned, SQUARE):
        turn(flat, first * n_features + d, n_features, panel, d * LANES)
    for d in range(n_turned, n_features):
        for i in range(LANES):
            panel[d * LANES + i] = flat[(first + i) * n_features + d]


@compiled
def _append(doubt, rough, lengths, first, start, last, n_kept, index, values, squares):  # type: ignore[no-untyped-def]
    """Append the rows from `start` to `last` that have a bit in `doubt`, which begins with row `first`."""
    for row in range(start, last):
        i = row - first
        if (doubt >> i) & 1:
            index[n_kept], values[n_kept], squares[n_kept] = row, rough[i], lengths[i]
            n_kept += 1
    return n_kept


@compiled
def _workspace(n_outputs):  # type: ignore[no-untyped-def]
    """Return room for the class scores of one model, and two sums over models; or for votes and doubts."""
    return np.empty((3 * n_outputs + 3) * LANES, np.float32)


@compiled
def _reduce(logits, n_models, n_outputs, score, softmax, logit_slope, lengths, work, rough):  # type: ignore[no-untyped-def]
    """Set rough[row] to the score of each row of a panel."""
    if score == LOWEST_GAP:
        if n_outputs == 1:
            lowest_size(logits, n_models, rough)
        else:
            lowest_gap(logits, n_models * n_outputs, n_outputs, True, rough)
    elif score == VOTES:
        _reduce_votes(logits, n_models, n_outputs, logit_slope, lengths, work, rough)
    elif n_outputs == 1:
        _reduce_two_classes(logits, n_models, score, softmax, work, rough)
    else:
        _reduce_classes(logits, n_models, n_outputs, score, softmax, work, rough)


@compiled
def _reduce_two_classes(logits, n_models, score, softmax, work, rough):  # type: ignore[no-untyped-def]
    add_margins(logits, n_models, softmax, work)
    signed, squares = work[:LANES], work[LANES : 2 * LANES]
    sizes, least = work[2 * LANES : 3 * LANES], work[3 * LANES : 4 * LANES]
    for i in range(LANES):
        mean = signed[i] / n_models
        if score == LOWEST_MARGIN:
            rough[i] = least[i]
        elif score == MEAN_MARGIN:
            rough[i] = sizes[i] / n_models
        elif score == MARGIN_OF_MEAN:
            rough[i] = abs(mean)
        else:
            # Each class's probability is half of 1 -+ margin, so both variances are a quarter of the margin's.
            rough[i] = _HALF * (mean * mean - squares[i] / n_models)


@compiled
def _reduce_classes(logits, n_models, n_outputs, score, softmax, work, rough):  # type: ignore[no-untyped-def]
    size = n_outputs * LANES
    scores, sums, gap = work[:size], work[size : 3 * size], work[3 * size : 3 * size + LANES]
    sums[:] = _ZERO
    rough[:] = _INFINITY if score == LOWEST_MARGIN else _ZERO
    for k in range(n_models):
        add_scores(logits, k * size, n_outputs, softmax, scores, sums)
        if score == LOWEST_MARGIN or score == MEAN_MARGIN:  # noqa: PLR1714, SIM109 - compiled
            lowest_gap(scores, n_outputs, n_outputs, False, gap)
            for i in range(LANES):
                rough[i] = min(rough[i], gap[i]) if score == LOWEST_MARGIN else rough[i] + gap[i]
    if score == MARGIN_OF_MEAN:
        lowest_gap(sums, n_outputs, n_outputs, False, rough)
    if score == MEAN_MARGIN or score == MARGIN_OF_MEAN:  # noqa: PLR1714, SIM109 - compiled
        for i in range(LANES):
            rough[i] /= n_models
    elif score == VARIANCE:
        for j in range(size):
            mean = sums[j] / n_models
            rough[j % LANES] += mean * mean - sums[size + j] / n_models


@compiled
def _reduce_votes(logits, n_models, n_outputs, logit_slope, lengths, work, rough):  # type: ignore[no-untyped-def]
    """Set rough[row] to the least that the top class can lead by: votes in doubt count against it."""
    doubt, in_doubt = work[:LANES], work[LANES : 2 * LANES]
    roots(lengths, logit_slope, doubt)
    in_doubt[:] = _ZERO
    if n_outputs == 1:
        rough[:] = _ZERO
        for k in range(n_models):
            for i in range(LANES):
                logit = logits[k * LANES + i]
                in_doubt[i] += not abs(logit) > doubt[i]
                rough[i] += _ONE if logit > _ZERO else -_ONE
        for i in range(LANES):
            # A vote in doubt was counted for one class, and may have gone to the other.
            rough[i] = max(abs(rough[i]) - in_doubt[i] - in_doubt[i], _ZERO)
        return
    votes = work[2 * LANES : (2 + n_outputs) * LANES]
    votes[:] = _ZERO
    for i in range(LANES):
        doubt[i] += doubt[i]
    count_votes(logits, n_models * n_outputs, n_outputs, doubt, votes, in_doubt)
    lowest_gap(votes, n_outputs, n_outputs, False, rough)
    for i in range(LANES):
        rough[i] = max(rough[i] - in_doubt[i], _ZERO)


@compiled
def lowest_margins(logits, softmax):  # type: ignore[no-untyped-def]
    """Return (n,) the lowest margin of any model, from (K, n, O) logits, all else in float64."""
    n_models, n, n_outputs = logits.shape
    margins = np.full(n, np.inf)
    gaps, tops = np.empty(n_models), np.empty(n_models)
    for i in range(n):
        closest = 0
        for k in range(n_models):
            if n_outputs == 1:
                gaps[k] = abs(np.float64(logits[k, i, 0]))
            else:
                first = second = -np.inf
                for o in range(n_outputs):
                    z = np.float64(logits[k, i, o])
                    second = max(second, min(first, z))
                    first = max(first, z)
                gaps[k], tops[k] = first - second, first
            if gaps[k] < gaps[closest]:
                closest = k
        if n_outputs == 1:
            margins[i] = math.tanh(0.5 * gaps[closest]) if softmax else 2.0 * gaps[closest]
        elif not softmax:
            margins[i] = gaps[closest]
        else:
            # From the model with the smallest gap on, hardly any other can have a lower margin.
            for step in range(n_models):
                k = (closest + step) % n_models
                difference = 1.0 - math.exp(-gaps[k])
                if not difference > margins[i] * n_outputs:  # the sum below is at most the number of classes
                    total = 0.0
                    for o in range(n_outputs):
                        total += math.exp(np.float64(logits[k, i, o]) - tops[k])
                    margins[i] = min(margins[i], difference / total)
    return margins

"""The CPU's first look at linear models: all logits in float32, reduced while they are in the nearest cache.

One call goes over a block of rows, panel by panel (see `simd`), and writes down the rows that are near: those whose
value is not above what is allowed by more than its error may be. What an error may be is for `screen` to know; here it
is a slope, times the length of the row. No (K, n, C) array is made, and the interpreter's lock is not held.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from minmargin.compute.compiled import compiled
from minmargin.compute.cpu.llvm import LANES
from minmargin.compute.cpu.reductions import (
    add_margins,
    add_scores,
    count_sides,
    count_votes,
    doubtful,
    lowest_gap,
    lowest_margin,
    lowest_size,
    roots,
)
from minmargin.compute.cpu.rounded import SPAN, Limits, Look, RoundedModels
from minmargin.compute.cpu.simd import GROUP, SQUARE, aligned, gather, multiply, squared_lengths, turn
from minmargin.compute.reductions import (
    ENTROPY_GAP,
    HIGHEST_OF_MEAN,
    LOWEST_GAP,
    LOWEST_MARGIN,
    MARGIN_OF_MEAN,
    MEAN_MARGIN,
    VARIANCE,
    VOTES,
    Reduction,
)
from minmargin.data.rows import ColumnBlock, Matrix

Dense: TypeAlias = NDArray[Any] | ColumnBlock

_ONE, _HALF, _ZERO, _INFINITY = np.float32(1.0), np.float32(0.5), np.float32(0.0), np.float32(np.inf)


def look(X: Matrix | ColumnBlock, models: RoundedModels, reduction: Reduction, limits: Limits) -> Look:
    """Return the rows of (n, D) X that are near. Relative models have gaps and lowest margins, and nothing else."""
    n, n_features = X.shape
    n_models, n_outputs, softmax = models.shape
    places, values, squares = np.empty(n, np.intp), np.empty(n, np.float32), np.empty(n, np.float32)
    written = places, values, squares
    asked = n_models, n_outputs, reduction.code, softmax, models.relative, limits.as_float32()
    if isinstance(X, sparse.csr_array):
        n_near, finite = _look_sparse(X.indptr, X.indices, X.data, models.csr, *asked, *written)
    else:
        flat, addresses = _in_memory(X if n >= LANES else _padded(X))
        n_near, finite = _look_dense(
            flat, addresses, max(n, LANES), n_features, models.dense, SPAN, *asked, *written
        )
    return Look(places[:n_near], values[:n_near], squares[:n_near], finite)


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
def _look_dense(  # type: ignore[no-untyped-def]
    flat,
    addresses,
    n,
    n_features,
    weights,
    span,
    n_models,
    n_outputs,
    code,
    softmax,
    relative,
    limits,
    places,
    values,
    squares,
):
    n_logits = n_models * n_outputs
    n_groups, group_size = -(-n_logits // GROUP), GROUP * (n_features + 1)
    panel = aligned(np.empty((n_features + 1) * LANES, np.float32))
    logits = aligned(np.empty((n_groups * GROUP + 1) * LANES, np.float32))
    lengths, reduced, work = np.empty(LANES, np.float32), np.empty(LANES, np.float32), _workspace(n_outputs)
    n_near, finite = 0, True
    for start in range(0, n, LANES):
        # The last panel is filled up with rows that were in the one before.
        first = min(start, n - LANES)
        _fill_panel(flat, addresses, n_features, first, panel)
        squared_lengths(panel, n_features, lengths)
        for d in range(0, n_features, span):
            for group in range(n_groups):
                stop, at, to = min(d + span, n_features), group * group_size, group * GROUP * LANES
                multiply(panel, d, stop, weights, at, logits, to)
        _reduce(logits, n_models, n_outputs, code, softmax, relative, limits[3:], lengths, work, reduced)
        doubt = doubtful(reduced, lengths, limits)
        if doubt != 0:
            last = min(first + LANES, len(places))
            n_near = _append(doubt, reduced, lengths, first, start, last, n_near, places, values, squares)
            for i in range(LANES):
                finite &= bool(lengths[i] < _INFINITY)
    return n_near, finite


@compiled
def _look_sparse(  # type: ignore[no-untyped-def]
    indptr,
    indices,
    data,
    weights,
    n_models,
    n_outputs,
    code,
    softmax,
    relative,
    limits,
    places,
    values,
    squares,
):
    n, n_logits = len(indptr) - 1, n_models * n_outputs
    sums = np.empty(n_logits, np.float32)
    logits = np.zeros(n_logits * LANES, np.float32)
    lengths, reduced, work = np.ones(LANES, np.float32), np.empty(LANES, np.float32), _workspace(n_outputs)
    n_near, finite = 0, True
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
        _reduce(logits, n_models, n_outputs, code, softmax, relative, limits[3:], lengths, work, reduced)
        doubt = doubtful(reduced, lengths, limits)
        last = first + n_rows
        n_near = _append(doubt, reduced, lengths, first, first, last, n_near, places, values, squares)
    return n_near, finite


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
def _append(doubt, reduced, lengths, first, start, last, n_near, places, values, squares):  # type: ignore[no-untyped-def]
    """Append the rows from `start` to `last` that have a bit in `doubt`, which begins with row `first`."""
    for row in range(start, last):
        i = row - first
        if (doubt >> i) & 1:
            places[n_near], values[n_near], squares[n_near] = row, reduced[i], lengths[i]
            n_near += 1
    return n_near


@compiled
def _workspace(n_outputs):  # type: ignore[no-untyped-def]
    """Return room for the class scores of one model, and two sums over models; or for votes and doubts."""
    return np.empty((3 * n_outputs + 3) * LANES, np.float32)


@compiled
def _reduce(  # type: ignore[no-untyped-def]
    logits, n_models, n_outputs, code, softmax, relative, logit_slope, lengths, work, reduced
):
    """Set reduced[row] to what the logits of each row of a panel are reduced to."""
    if code == LOWEST_GAP and n_outputs == 1:
        lowest_size(logits, n_models, reduced)
    elif code == LOWEST_GAP or (code == LOWEST_MARGIN and n_outputs > 1 and not softmax):
        lowest_gap(logits, n_models * n_outputs, n_outputs, relative, reduced)
    elif code == LOWEST_MARGIN and n_outputs > 1:
        lowest_margin(logits, n_models * n_outputs, n_outputs, relative, reduced)
    elif code == VOTES:
        _reduce_votes(logits, n_models, n_outputs, logit_slope, lengths, work, reduced)
    elif n_outputs == 1:
        _reduce_two_classes(logits, n_models, code, softmax, work, reduced)
    else:
        _reduce_classes(logits, n_models, n_outputs, code, softmax, work, reduced)


@compiled
def _reduce_two_classes(logits, n_models, code, softmax, work, reduced):  # type: ignore[no-untyped-def]
    add_margins(logits, n_models, softmax, work)
    signed, squares = work[:LANES], work[LANES : 2 * LANES]
    sizes, least = work[2 * LANES : 3 * LANES], work[3 * LANES : 4 * LANES]
    for i in range(LANES):
        mean = signed[i] / n_models
        if code == LOWEST_MARGIN:
            reduced[i] = least[i]
        elif code == MEAN_MARGIN:
            reduced[i] = sizes[i] / n_models
        elif code == MARGIN_OF_MEAN:
            reduced[i] = abs(mean)
        elif code == VARIANCE:
            # Each class's probability is half of 1 -+ margin, so both variances are a quarter of the margin's.
            reduced[i] = _HALF * (mean * mean - squares[i] / n_models)
        elif code == HIGHEST_OF_MEAN:
            # The two mean probabilities add up to 1, and the values -logit and logit to 0.
            reduced[i] = _HALF * ((_ONE if softmax else _ZERO) + abs(mean))
        elif code == ENTROPY_GAP:
            reduced[i] = math.sqrt(0.5 * (_from_even(1.0 + mean) + _from_even(1.0 - mean)))


@compiled
def _reduce_classes(logits, n_models, n_outputs, code, softmax, work, reduced):  # type: ignore[no-untyped-def]
    size = n_outputs * LANES
    scores, sums, gap = work[:size], work[size : 3 * size], work[3 * size : 3 * size + LANES]
    sums[:] = _ZERO
    reduced[:] = _ZERO
    for k in range(n_models):
        add_scores(logits, k * size, n_outputs, softmax, scores, sums)
        if code == MEAN_MARGIN:
            lowest_gap(scores, n_outputs, n_outputs, False, gap)
            for i in range(LANES):
                reduced[i] += gap[i]
    if code == MARGIN_OF_MEAN:
        lowest_gap(sums, n_outputs, n_outputs, False, reduced)
    if code == MEAN_MARGIN or code == MARGIN_OF_MEAN:  # noqa: PLR1714, SIM109 - compiled
        for i in range(LANES):
            reduced[i] /= n_models
    else:
        _reduce_sums(sums, n_models, n_outputs, code, reduced)


@compiled
def _reduce_sums(sums, n_models, n_outputs, code, reduced):  # type: ignore[no-untyped-def]
    """Set reduced[row] to what is made of the sums over models of class scores, and of their squares."""
    size = n_outputs * LANES
    if code == VARIANCE:
        for j in range(size):
            mean = sums[j] / n_models
            reduced[j % LANES] += mean * mean - sums[size + j] / n_models
    elif code == HIGHEST_OF_MEAN:
        reduced[:] = -_INFINITY
        for j in range(size):
            reduced[j % LANES] = max(reduced[j % LANES], sums[j] / n_models)
    elif code == ENTROPY_GAP:
        for i in range(LANES):
            total = 0.0
            for o in range(n_outputs):
                total += _from_even(n_outputs * np.float64(sums[o * LANES + i]) / n_models)
            reduced[i] = math.sqrt(total / n_outputs)


@compiled
def _from_even(x):  # type: ignore[no-untyped-def]
    """Return x log(x) - x + 1, where x is C times a probability: 0 if all classes are alike."""
    d = x - 1.0
    return max(x * math.log1p(d) - d, 0.0) if d > -1.0 else 1.0


@compiled
def _reduce_votes(logits, n_models, n_outputs, logit_slope, lengths, work, reduced):  # type: ignore[no-untyped-def]
    """Set reduced[row] to the least that the top class can lead by, and half a vote less if any vote is in doubt.

    Votes in doubt count against the top class. A whole number says that there are none, and is what it leads by.
    """
    doubt, in_doubt = work[:LANES], work[LANES : 2 * LANES]
    roots(lengths, logit_slope, doubt)
    if n_outputs == 1:
        count_sides(logits, n_models, doubt, reduced, in_doubt)
    else:
        votes = work[2 * LANES : (2 + n_outputs) * LANES]
        votes[:] = _ZERO
        in_doubt[:] = _ZERO
        for i in range(LANES):
            doubt[i] += doubt[i]
        count_votes(logits, n_models * n_outputs, n_outputs, doubt, votes, in_doubt)
        lowest_gap(votes, n_outputs, n_outputs, False, reduced)
    for i in range(LANES):
        reduced[i] = max(reduced[i] - in_doubt[i], _ZERO) - (_HALF if in_doubt[i] > _ZERO else _ZERO)


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

"""Triton kernels for stacked networks: a hidden layer, and the last layer with the reduction over all members.

The last layer's outputs are reduced to one number a row while they are in registers: no (n, K, C) array is written.
Linear models are networks without hidden layers, whose members share their inputs.
"""

from __future__ import annotations

import triton
import triton.language as tl

from minmargin.compute import reductions

_LOWEST_GAP = tl.constexpr(reductions.LOWEST_GAP)
_LOWEST_MARGIN = tl.constexpr(reductions.LOWEST_MARGIN)
_MEAN_MARGIN = tl.constexpr(reductions.MEAN_MARGIN)
_MARGIN_OF_MEAN = tl.constexpr(reductions.MARGIN_OF_MEAN)
_VOTES = tl.constexpr(reductions.VOTES)
_VARIANCE = tl.constexpr(reductions.VARIANCE)
_HIGHEST_OF_MEAN = tl.constexpr(reductions.HIGHEST_OF_MEAN)
_ENTROPY_GAP = tl.constexpr(reductions.ENTROPY_GAP)


@triton.jit(do_not_specialize=["n"])
def hidden_layer(  # type: ignore[no-untyped-def]
    input_ptr, weight_ptr, bias_ptr, out_ptr, n, input_stride, n_in: tl.constexpr, n_out: tl.constexpr,
    precision: tl.constexpr, block: tl.constexpr, block_out: tl.constexpr, span: tl.constexpr,
):  # fmt: skip
    """Write (networks, n, out) the positive part of input @ weight + bias.

    `input_stride` is how far apart the inputs of two networks lie: 0 if they share them.
    """
    network = tl.program_id(2).to(tl.int64)
    rows = tl.program_id(0) * block + tl.arange(0, block)
    inside = (rows < n)[:, None]
    o = tl.program_id(1) * block_out + tl.arange(0, block_out)
    known = (o < n_out)[None, :]
    from_row = input_ptr + network * input_stride + rows.to(tl.int64)[:, None] * n_in
    acc = tl.zeros((block, block_out), tl.float32)
    for first in range(0, n_in, span):
        i = first + tl.arange(0, span)
        inputs = tl.load(from_row + i[None, :], mask=inside & (i < n_in)[None, :], other=0.0)
        at = (network * n_in + i)[:, None] * n_out + o[None, :]
        weights = tl.load(weight_ptr + at, mask=(i < n_in)[:, None] & known, other=0.0)
        acc = tl.dot(inputs, weights, acc, input_precision=precision)
    acc += tl.load(bias_ptr + network * n_out + o, mask=o < n_out, other=0.0)[None, :]
    to_row = out_ptr + (network * n + rows.to(tl.int64))[:, None] * n_out
    tl.store(to_row + o[None, :], tl.maximum(acc, 0.0), mask=inside & known)


@triton.jit
def _two_highest(values):  # type: ignore[no-untyped-def]
    """Return the highest value of each row, the next, which may be as high, and where the highest is."""
    first = tl.max(values, 1)
    is_first = values == first[:, None]
    others = tl.max(tl.where(is_first, float("-inf"), values), 1)
    twice = tl.sum(is_first.to(tl.int32), 1) > 1
    return first, tl.where(twice, first, others), is_first


@triton.jit
def _from_even(x):  # type: ignore[no-untyped-def]
    """Return x log(x) - x + 1 of numbers that are not negative, with its own digits near x = 1.

    There it is the sum of (-d)^i / (i (i - 1)) for i >= 2, where d = x - 1; what is left out is less than 1e-7 of it.
    """
    d = x - 1.0
    near = tl.minimum(tl.maximum(d, -0.25), 0.25)
    series = 1.0 / 110.0 - near * (1.0 / 132.0)
    series = 1.0 / 90.0 - near * series
    series = 1.0 / 72.0 - near * series
    series = 1.0 / 56.0 - near * series
    series = 1.0 / 42.0 - near * series
    series = 1.0 / 30.0 - near * series
    series = 1.0 / 20.0 - near * series
    series = 1.0 / 12.0 - near * series
    series = 1.0 / 6.0 - near * series
    series = 0.5 - near * series
    apart = x * tl.log(tl.where(x > 0.0, x, 1.0)) - d
    return tl.where(d == near, d * d * series, apart)


@triton.jit(do_not_specialize=["n"])
def reduce_members(  # type: ignore[no-untyped-def]
    input_ptr, weight_ptr, bias_ptr, doubt_ptr, out_ptr, n, input_stride, n_members, n_in: tl.constexpr,
    code: tl.constexpr, softmax: tl.constexpr, precision: tl.constexpr,
    block: tl.constexpr, width: tl.constexpr, n_classes: tl.constexpr, span: tl.constexpr,
):  # fmt: skip
    """Write (n,) the values of the reduction that `code` stands for, over all members.

    Weights are (members, in, width) and biases (members, width), -inf for outputs that only fill up. `doubt_ptr` is
    (n,) how far two outputs must differ for a vote to be certain. Only certain votes count, and it then is how many are
    not.
    """
    rows = tl.program_id(0) * block + tl.arange(0, block)
    inside = rows < n
    o = tl.arange(0, width)
    doubt = tl.load(doubt_ptr + rows, mask=inside, other=0.0)
    result = tl.full((block,), float("inf"), tl.float32)
    if code == _MEAN_MARGIN or code == _VOTES:  # noqa: PLR1714 - compiled
        result = tl.zeros((block,), tl.float32)
    sums = tl.zeros((block, width), tl.float32)
    squares = tl.zeros((block, width), tl.float32)
    from_row = input_ptr + rows.to(tl.int64)[:, None] * n_in
    for member in range(n_members):
        acc = tl.zeros((block, width), tl.float32)
        for start in range(0, n_in, span):
            i = start + tl.arange(0, span)
            inputs = tl.load(from_row + i[None, :], mask=inside[:, None] & (i < n_in)[None, :], other=0.0)
            at = (member * n_in + i)[:, None] * width + o[None, :]
            weights = tl.load(weight_ptr + at, mask=(i < n_in)[:, None], other=0.0)
            acc = tl.dot(inputs, weights, acc, input_precision=precision)
        from_row += input_stride
        acc += tl.load(bias_ptr + member * width + o)[None, :]
        first, second, is_first = _two_highest(acc)
        if code == _LOWEST_GAP:
            result = tl.minimum(result, first - second)
        elif code == _VOTES:
            certain = first - second > doubt
            sums += tl.where(is_first & certain[:, None], 1.0, 0.0)
            result += tl.where(certain, 0.0, 1.0)
        else:
            scores = acc
            margin = first - second
            if softmax:
                weights_of = tl.exp(acc - first[:, None])
                total = tl.sum(weights_of, 1)
                scores = weights_of / total[:, None]
                margin = (1.0 - tl.exp(second - first)) / total
            if code == _LOWEST_MARGIN:
                result = tl.minimum(result, margin)
            elif code == _MEAN_MARGIN:
                result += margin
            else:
                sums += scores
                squares += scores * scores
    if code == _MEAN_MARGIN:
        result /= n_members
    elif code == _MARGIN_OF_MEAN:
        first, second, _ = _two_highest(sums)
        result = (first - second) / n_members
    elif code == _VOTES:
        # What only fills up gets no vote, like a class that nobody votes for.
        tl.store(doubt_ptr + rows, result, mask=inside)
        first, second, _ = _two_highest(sums)
        result = first - second
    elif code == _HIGHEST_OF_MEAN:
        result = tl.max(sums, 1) / n_members
    elif code == _ENTROPY_GAP:
        from_even = tl.where((o < n_classes)[None, :], _from_even(sums * (n_classes / n_members)), 0.0)
        result = tl.sqrt(tl.sum(from_even, 1) / n_classes)
    elif code == _VARIANCE:
        mean = sums / n_members
        result = tl.sum(mean * mean - squares / n_members, 1)
    tl.store(out_ptr + rows, result, mask=inside)

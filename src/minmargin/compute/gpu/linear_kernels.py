"""Triton kernels for linear committees: product, lowest gap over the members and judgment in one pass over the rows.

Matrix units multiply numbers of few digits. A float32 number is the sum of two of those and a negligible rest, so three
products (high * high, low * high, high * low) give float32 accuracy; `split` is 0 where one is enough. `splits` cuts
the weights up, and says how large the error can be. Nothing is written but the rows that are near.

Columns of the weights are ordered by output and then by member: the highest and second-highest output of a member then
stay within a thread.

Triton compiles a kernel anew for numbers of rows that are no multiples of 16, which takes a second, unless it is told
not to. It is, but for `short_rows`, which would be slower then.
"""

from __future__ import annotations

import triton
import triton.language as tl

_LIMIT = tl.constexpr(65504.0 * 65504.0)  # squares of rows that half precision is certain to hold


@triton.jit
def _append(rows, near, gaps, squares, counter_ptr, index_ptr, gap_ptr, square_ptr):  # type: ignore[no-untyped-def]
    """Write down the rows that are near, in any order, behind those of other programs."""
    n_near = tl.sum(near.to(tl.int32), 0)
    if n_near > 0:
        places = tl.atomic_add(counter_ptr, n_near) + tl.cumsum(near.to(tl.int32), 0) - 1
        tl.store(index_ptr + places, rows, mask=near)
        tl.store(gap_ptr + places, gaps, mask=near)
        tl.store(square_ptr + places, squares, mask=near)


@triton.jit
def _as_tf32(x):  # type: ignore[no-untyped-def]
    """Return x rounded to the 11 digits that a matrix unit reads of a float32."""
    return ((x.to(tl.uint32, bitcast=True) + 0x1000) & 0xFFFFE000).to(tl.float32, bitcast=True)


@triton.jit
def short_rows(  # type: ignore[no-untyped-def]
    x_ptr, n, n_features: tl.constexpr, high_ptr, low_ptr, ones_ptr, bias_ptr, allowed, tilt,
    counter_ptr, index_ptr, gap_ptr, square_ptr,
    split: tl.constexpr, n_columns: tl.constexpr, block: tl.constexpr, span: tl.constexpr, stages: tl.constexpr,
):  # fmt: skip
    """Write down the rows of (n, D) x whose lowest |logit| may be `allowed` or less, by `tilt` times a squared length.

    For two classes and rows of at most one span: weights stay where they are while rows stream by, as fast as memory
    can give them. Squared lengths are a product with ones, so that nothing has to change threads; they have 11 digits.
    Nothing more is done with a tile of which no row is near.
    """
    columns = tl.arange(0, n_columns)
    d = tl.arange(0, span)
    at = d[:, None] * n_columns + columns[None, :]
    w_high = tl.load(high_ptr + at)
    w_low = tl.load(low_ptr + at)
    ones = tl.load(ones_ptr + at)
    bias = tl.load(bias_ptr + columns)[None, :]
    for tile in tl.range(tl.program_id(0), tl.cdiv(n, block), tl.num_programs(0), num_stages=stages):
        rows = tile * block + tl.arange(0, block)
        at_row = rows.to(tl.int64)[:, None] * n_features
        if n_features == span:
            x = tl.load(x_ptr + at_row + d[None, :], mask=(rows < n)[:, None], other=0.0)
        else:
            known = (rows < n)[:, None] & (d < n_features)[None, :]
            x = tl.load(x_ptr + at_row + d[None, :], mask=known, other=0.0)
        if split:
            high = _as_tf32(x)
            acc = tl.dot(x - high, w_high, input_precision="tf32")
            acc = tl.dot(high, w_low, acc, input_precision="tf32")
            acc = tl.dot(high, w_high, acc, input_precision="tf32")
        else:
            acc = tl.dot(x, w_high, input_precision="tf32")
        squares = tl.dot(x * x, ones, input_precision="tf32")
        sizes = tl.abs(acc + bias)
        # Comparisons are written so that NaN is near. Squares that are not finite make the difference NaN or -inf.
        far = tl.min(sizes - tilt * squares, 1) > allowed
        if tl.sum(far.to(tl.int32), 0) < block:
            near = (rows < n) & ~far
            _append(
                rows, near, tl.min(sizes, 1), tl.max(squares, 1), counter_ptr, index_ptr, gap_ptr, square_ptr
            )


@triton.jit
def _append_near(rows, inside, gaps, squares, allowed, slope, counter_ptr, index_ptr, gap_ptr, square_ptr):  # type: ignore[no-untyped-def]
    """Write down the rows whose gap may be allowed, by `slope` times their length, or that are out of range."""
    far = gaps > allowed + slope * tl.sqrt(squares + 1.0)  # written so that NaN is near
    near = inside & ~(far & (squares < _LIMIT))
    _append(rows, near, gaps, squares, counter_ptr, index_ptr, gap_ptr, square_ptr)


@triton.jit
def _add_product(x, high_ptr, low_ptr, at, acc, split: tl.constexpr):  # type: ignore[no-untyped-def]
    """Return acc + x @ w, w being the sum of two half-precision arrays."""
    high = x.to(tl.float16)
    w_high = tl.load(high_ptr + at)
    if split:
        acc = tl.dot((x - high.to(tl.float32)).to(tl.float16), w_high, acc)
        acc = tl.dot(high, tl.load(low_ptr + at), acc)
    return tl.dot(high, w_high, acc)


@triton.jit
def _scaled_span(x_ptr, at_row, inside, first, scale_ptr, n_features: tl.constexpr, span: tl.constexpr):  # type: ignore[no-untyped-def]
    """Return the features first, first + 1, ... of some rows, each times its power of two."""
    d = first + tl.arange(0, span)
    x = tl.load(x_ptr + at_row + d[None, :], mask=inside[:, None] & (d < n_features)[None, :], other=0.0)
    return x * tl.load(scale_ptr + d)[None, :]


@triton.jit(do_not_specialize=["n"])
def two_classes(  # type: ignore[no-untyped-def]
    x_ptr, n, n_features: tl.constexpr, scale_ptr, high_ptr, low_ptr, bias_ptr, allowed, slope,
    counter_ptr, index_ptr, gap_ptr, square_ptr,
    n_groups: tl.constexpr, split: tl.constexpr, n_columns: tl.constexpr, block: tl.constexpr, span: tl.constexpr,
):  # fmt: skip
    """Write down the rows of (n, D) x whose lowest |logit| may be `allowed` or less, by `slope` times their length.

    Weights are (groups, D padded to whole spans, n_columns) and biases (groups, n_columns), a column a member.
    """
    rows = tl.program_id(0) * block + tl.arange(0, block)
    inside = rows < n
    at_row = rows.to(tl.int64)[:, None] * n_features
    columns = tl.arange(0, n_columns)
    gaps = tl.full((block,), float("inf"), tl.float32)
    squares = tl.zeros((block,), tl.float32)
    n_padded = tl.cdiv(n_features, span) * span
    for group in tl.static_range(n_groups):
        acc = tl.zeros((block, n_columns), tl.float32)
        for first in range(0, n_padded, span):
            x = _scaled_span(x_ptr, at_row, inside, first, scale_ptr, n_features, span)
            if group == 0:
                squares += tl.sum(x * x, 1)
            at = (group * n_padded + first + tl.arange(0, span))[:, None] * n_columns + columns[None, :]
            acc = _add_product(x, high_ptr, low_ptr, at, acc, split)
        acc += tl.load(bias_ptr + group * n_columns + columns)[None, :]
        gaps = tl.minimum(gaps, tl.min(tl.abs(acc), 1))
    _append_near(rows, inside, gaps, squares, allowed, slope, counter_ptr, index_ptr, gap_ptr, square_ptr)


@triton.jit
def _higher_two(first_a, second_a, first_b, second_b):  # type: ignore[no-untyped-def]
    """Return the two highest of two pairs, each in order."""
    first = tl.maximum(first_a, first_b)
    return first, tl.maximum(tl.minimum(first_a, first_b), tl.maximum(second_a, second_b))


@triton.jit
def _top_two(acc, first, second, block: tl.constexpr, n_outputs: tl.constexpr, n_columns: tl.constexpr):  # type: ignore[no-untyped-def]
    """Return (block, n_columns) the two highest of what was seen and of n_outputs more."""
    outputs = tl.reshape(acc, (block, n_outputs, n_columns))
    lowest = tl.full((block, n_outputs, n_columns), float("-inf"), tl.float32)
    higher, next_to = tl.reduce((outputs, lowest), 1, _higher_two)
    return _higher_two(first, second, higher, next_to)


@triton.jit(do_not_specialize=["n"])
def classes(  # type: ignore[no-untyped-def]
    x_ptr, n, n_features: tl.constexpr, scale_ptr, high_ptr, low_ptr, bias_ptr, allowed, slope,
    counter_ptr, index_ptr, gap_ptr, square_ptr,
    n_groups: tl.constexpr, split: tl.constexpr, n_columns: tl.constexpr, n_full: tl.constexpr,
    n_outputs: tl.constexpr, rest: tl.constexpr, block: tl.constexpr, span: tl.constexpr,
):  # fmt: skip
    """Write down the rows of (n, D) x whose lowest difference of two highest outputs may be `allowed` or less.

    Outputs are relative to the first class, whose own is 0 and costs nothing. Weights are (groups, D padded, width)
    with width = (n_full * n_outputs + rest) * n_columns: `n_full` times `n_outputs` outputs at once, the last time
    with `rest` more, so that rows are read as seldom as possible. Outputs that only fill up have bias -inf.
    """
    rows = tl.program_id(0) * block + tl.arange(0, block)
    inside = rows < n
    at_row = rows.to(tl.int64)[:, None] * n_features
    gaps = tl.full((block,), float("inf"), tl.float32)
    squares = tl.zeros((block,), tl.float32)
    n_padded = tl.cdiv(n_features, span) * span
    width: tl.constexpr = (n_full * n_outputs + rest) * n_columns
    more: tl.constexpr = max(rest, 1)
    many = tl.arange(0, n_outputs * n_columns)
    few = n_outputs * n_columns + tl.arange(0, more * n_columns)
    for group in tl.static_range(n_groups):
        best = tl.zeros((block, n_columns), tl.float32)
        next_best = tl.full((block, n_columns), float("-inf"), tl.float32)
        for full in tl.static_range(n_full):
            acc = tl.zeros((block, n_outputs * n_columns), tl.float32)
            acc_rest = tl.zeros((block, more * n_columns), tl.float32)
            for first in range(0, n_padded, span):
                x = _scaled_span(x_ptr, at_row, inside, first, scale_ptr, n_features, span)
                if group == 0 and full == 0:
                    squares += tl.sum(x * x, 1)
                at = (group * n_padded + first + tl.arange(0, span))[:, None] * width
                at += full * n_outputs * n_columns
                acc = _add_product(x, high_ptr, low_ptr, at + many[None, :], acc, split)
                if rest > 0 and full == n_full - 1:
                    acc_rest = _add_product(x, high_ptr, low_ptr, at + few[None, :], acc_rest, split)
            at_bias = bias_ptr + group * width + full * n_outputs * n_columns
            best, next_best = _top_two(
                acc + tl.load(at_bias + many)[None, :], best, next_best, block, n_outputs, n_columns
            )
            if rest > 0 and full == n_full - 1:
                best, next_best = _top_two(
                    acc_rest + tl.load(at_bias + few)[None, :], best, next_best, block, rest, n_columns
                )
        gaps = tl.minimum(gaps, tl.min(best - next_best, 1))
    _append_near(rows, inside, gaps, squares, allowed, slope, counter_ptr, index_ptr, gap_ptr, square_ptr)


@triton.jit(do_not_specialize=["first", "n"])
def near_gaps(  # type: ignore[no-untyped-def]
    logits_ptr, squares_ptr, first, n, n_members: tl.constexpr, n_outputs: tl.constexpr, allowed, slope,
    counter_ptr, index_ptr, value_ptr, square_ptr, margins: tl.constexpr, n_columns: tl.constexpr,
    block: tl.constexpr,
):  # fmt: skip
    """Write down the rows of (n, outputs, members) float64 logits whose lowest gap may be `allowed` or less.

    With their lowest gaps, or with `margins` the lowest margins of the logits' softmax. The first one is row `first`.
    """
    rows = tl.program_id(0) * block + tl.arange(0, block)
    inside = rows < n
    columns = tl.arange(0, n_columns)
    known = inside[:, None] & (columns < n_members)[None, :]
    at = logits_ptr + rows.to(tl.int64)[:, None] * (n_outputs * n_members) + columns[None, :]
    best = tl.load(at, mask=known, other=0.0)
    if n_outputs == 1:
        gaps = tl.abs(best)
    else:
        next_best = tl.full((block, n_columns), float("-inf"), tl.float64)
        for output in tl.static_range(1, n_outputs):
            other = tl.load(at + output * n_members, mask=known, other=0.0)
            next_best = tl.maximum(next_best, tl.minimum(best, other))
            best = tl.maximum(best, other)
        gaps = best - next_best
    lowest = tl.min(tl.where(known, gaps, float("inf")), 1)
    squares = tl.load(squares_ptr + rows, mask=inside, other=0.0)
    far = lowest > allowed + slope * tl.sqrt(squares + 1.0)  # written so that NaN is near
    near = inside & ~far
    if tl.sum(near.to(tl.int32)) > 0:
        if margins:
            total = tl.zeros((block, n_columns), tl.float64)
            for output in tl.static_range(n_outputs):
                total += tl.exp(tl.load(at + output * n_members, mask=known, other=0.0) - best)
            lowest = tl.min(tl.where(known, (1.0 - tl.exp(-gaps)) / total, float("inf")), 1)
        _append(
            first + rows,
            near,
            lowest.to(tl.float32),
            squares.to(tl.float32),
            counter_ptr,
            index_ptr,
            value_ptr,
            square_ptr,
        )

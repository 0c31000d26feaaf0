"""Triton kernels for canonical layers and distances: the CPU's additions and multiplications, in the CPU's order.

Float64 addition and multiplication round alike on every machine. What makes sums differ is their order, and products
that are added without having been rounded first. Here every sum belongs to one thread, begins with the bias or
with zero, and takes the inputs one by one; the launch has to forbid fused multiply-add (`enable_fp_fusion=False`).
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit(do_not_specialize=["n", "input_stride"])
def layer_in_order(  # type: ignore[no-untyped-def]
    input_ptr, weight_ptr, bias_ptr, out_ptr, n, input_stride, n_in, n_out,
    hidden: tl.constexpr, block: tl.constexpr, block_out: tl.constexpr,
):  # fmt: skip
    """Write (networks, out, n) bias + input * weight of (networks, in, n) inputs.

    `input_stride` is how far apart the inputs of two networks lie: 0 if they share them. Of inputs that come from
    `hidden` units the positive part is taken.
    """
    network = tl.program_id(2).to(tl.int64)
    rows = (tl.program_id(0) * block + tl.arange(0, block))[None, :]
    o = (tl.program_id(1) * block_out + tl.arange(0, block_out))[:, None]
    inside, known = rows < n, o < n_out
    bias = tl.load(bias_ptr + network * n_out + o, mask=known, other=0.0)
    sums = bias + tl.zeros((block_out, block), tl.float64)
    from_input = input_ptr + network * input_stride + rows
    from_weight = weight_ptr + network * n_in * n_out + o
    for _ in range(n_in):
        x = tl.load(from_input, mask=inside, other=0.0)
        if hidden:
            x = tl.where(x <= 0.0, 0.0, x)  # NaN stays, and is found
        sums = sums + x * tl.load(from_weight, mask=known, other=0.0)
        from_input += n
        from_weight += n_out
    tl.store(out_ptr + (network * n_out + o) * n + rows, sums, mask=inside & known)


@triton.jit
def _dots_in_order(rows_ptr, rows, inside, n, centers_ptr, centers, known, n_centers, n_features):  # type: ignore[no-untyped-def]
    dots = tl.zeros((centers.shape[0], rows.shape[1]), tl.float64)
    from_rows, from_centers = rows_ptr + rows, centers_ptr + centers
    for _ in range(n_features):
        x = tl.load(from_rows, mask=inside, other=0.0)
        dots = dots + x * tl.load(from_centers, mask=known, other=0.0)
        from_rows += n
        from_centers += n_centers
    return dots


@triton.jit(do_not_specialize=["n", "n_centers"])
def lower_to_nearest(  # type: ignore[no-untyped-def]
    left_ptr, right_ptr, square_ptr, left_center_ptr, right_center_ptr, center_square_ptr, bound_ptr,
    n, n_centers, n_left, n_right, block: tl.constexpr, block_centers: tl.constexpr,
):  # fmt: skip
    """Lower (n,) bounds to the squared distance from the nearest center, as `compute.apart` defines it.

    Left and right factors are (features, n), and those of centers (features, n_centers).
    """
    rows = (tl.program_id(0).to(tl.int64) * block + tl.arange(0, block))[None, :]
    inside = rows < n
    squares = tl.load(square_ptr + rows, mask=inside, other=0.0)
    bounds = tl.load(bound_ptr + rows, mask=inside, other=0.0)
    for first in range(0, n_centers, block_centers):
        centers = (first + tl.arange(0, block_centers))[:, None]
        known = centers < n_centers
        left = _dots_in_order(left_ptr, rows, inside, n, left_center_ptr, centers, known, n_centers, n_left)
        right = _dots_in_order(
            right_ptr, rows, inside, n, right_center_ptr, centers, known, n_centers, n_right
        )
        others = tl.load(center_square_ptr + centers, mask=known, other=0.0)
        distances = (squares + others) - 2.0 * (left * right)
        distances = tl.where(distances > 0.0, distances, 0.0)  # what is no number is 0
        lowest = tl.min(tl.where(known, distances, float("inf")), axis=0)[None, :]
        bounds = tl.where(lowest < bounds, lowest, bounds)
    tl.store(bound_ptr + rows, bounds, mask=inside)

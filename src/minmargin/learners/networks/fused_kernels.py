"""Triton kernels for training stacked networks on a GPU: a layer's gradient and Adam's update in one pass.

A step of a small network is bound by memory: weights and two moments are read and written, and little is computed.
Gradients are therefore never written down: each program multiplies one tile of a gradient and at once updates that
tile.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def update_weights(  # type: ignore[no-untyped-def]
    input_ptr, delta_ptr, weight_ptr, first_ptr, second_ptr, n_rows: tl.constexpr, n_in: tl.constexpr,
    n_out: tl.constexpr, rate, root, beta1, beta2, eps, decay,
    precision: tl.constexpr, block_rows: tl.constexpr, block_in: tl.constexpr, block_out: tl.constexpr,
):  # fmt: skip
    """Update one tile of the (networks, in, out) weights and their moments.

    The gradient is input^T delta, with (networks, rows, in) inputs and (networks, rows, out) deltas. `rate` is the
    learning rate with the correction of the first moment, `root` the square root of that of the second.
    """
    network = tl.program_id(1).to(tl.int64)
    n_across = tl.cdiv(n_out, block_out)
    i = tl.program_id(0) // n_across * block_in + tl.arange(0, block_in)
    o = tl.program_id(0) % n_across * block_out + tl.arange(0, block_out)
    at = network * n_in * n_out + i[:, None] * n_out + o[None, :]
    within = (i < n_in)[:, None] & (o < n_out)[None, :]
    weight = tl.load(weight_ptr + at, mask=within, other=0.0)
    first = tl.load(first_ptr + at, mask=within, other=0.0)
    second = tl.load(second_ptr + at, mask=within, other=0.0)
    gradient = tl.zeros((block_in, block_out), tl.float32)
    for start in tl.static_range(0, n_rows, block_rows):
        rows = start + tl.arange(0, block_rows)
        known = (rows < n_rows)[:, None]
        inputs = tl.load(
            input_ptr + (network * n_rows + rows)[:, None] * n_in + i[None, :],
            mask=known & (i < n_in)[None, :],
            other=0.0,
        )
        deltas = tl.load(
            delta_ptr + (network * n_rows + rows)[:, None] * n_out + o[None, :],
            mask=known & (o < n_out)[None, :],
            other=0.0,
        )
        gradient = tl.dot(tl.trans(inputs), deltas, gradient, input_precision=precision)
    gradient += decay * weight
    first = beta1 * first + (1.0 - beta1) * gradient
    second = beta2 * second + (1.0 - beta2) * gradient * gradient
    weight -= rate * first / (tl.sqrt(second) / root + eps)
    tl.store(weight_ptr + at, weight, mask=within)
    tl.store(first_ptr + at, first, mask=within)
    tl.store(second_ptr + at, second, mask=within)

"""A Triton kernel for canonical layers: the CPU's additions and multiplications, in the CPU's order.

Float64 addition and multiplication round alike on every machine. What makes sums differ is their order, and products
that are added without having been rounded first. Here every sum belongs to one thread, begins with the bias and takes
the inputs one by one; the launch has to forbid fused multiply-add (`enable_fp_fusion=False`).
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

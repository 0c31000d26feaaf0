"""The same in plain torch: the reference for the Triton kernels, and what is used where Triton is missing."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from minmargin import rough


def network_logits(
    rows: Tensor, weights: Sequence[Tensor], biases: Sequence[Tensor]
) -> tuple[Tensor, list[Tensor]]:
    """Return (K, n, C) logits of (n, D) rows, and per layer (n,) its inputs' largest sum of squares of any member.

    Weights are per layer (K, in, out) and biases (K, out), of the rows' own float type.
    """
    values = rows.unsqueeze(0).expand(len(weights[0]), -1, -1)
    squares = [squared_lengths(rows)]
    for place, (layer, bias) in enumerate(zip(weights, biases, strict=True)):
        if place:
            values = values.relu_()
            squares.append(squared_lengths(values).amax(0))
        values = torch.baddbmm(bias.unsqueeze(1), values, layer)
    return values, squares


def squared_lengths(values: Tensor) -> Tensor:
    """Return (..., n) the sum of squares of (..., n, D) values."""
    return torch.linalg.vecdot(values, values)


def reduced(logits: Tensor, kind: int, *, softmax: bool, doubt: Tensor) -> Tensor:
    """Return (n,) one number a row, of the `kind` that `rough` defines, from (K, n, C) logits.

    `doubt` is (n,) how far two logits must differ for a vote to be certain. Only certain votes count, and it then is
    how many are not.
    """
    n_members = len(logits)
    first, second = logits.topk(2, dim=2).values.unbind(2)
    if kind == rough.LOWEST_GAP:
        return (first - second).amin(0)
    if kind == rough.VOTES:
        certain = first - second > doubt
        is_first = logits == first.unsqueeze(2)
        highest = (is_first & certain.unsqueeze(2)).sum(0).to(logits.dtype).topk(2, dim=1).values
        doubt.copy_((~certain).sum(0))
        return highest[:, 0] - highest[:, 1]
    scores = torch.softmax(logits, 2) if softmax else logits
    if kind in {rough.LOWEST_MARGIN, rough.MEAN_MARGIN}:
        highest = scores.topk(2, dim=2).values
        margins = highest[..., 0] - highest[..., 1]
        return margins.amin(0) if kind == rough.LOWEST_MARGIN else margins.mean(0)
    mean = scores.sum(0) / n_members
    if kind == rough.MARGIN_OF_MEAN:
        highest = mean.topk(2, dim=1).values
        return highest[:, 0] - highest[:, 1]
    return (mean * mean - (scores * scores).sum(0) / n_members).sum(1)

"""What the Triton kernels compute, in plain torch: their reference, and what is used where Triton is missing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

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


def network_logits(
    rows: Tensor, weights: Sequence[Tensor], biases: Sequence[Tensor]
) -> tuple[Tensor, list[Tensor]]:
    """Return (K, n, C) logits of (n, D) rows, and per layer (n,) its inputs' largest sum of squares of any member.

    Weights are per layer (K, in, out) and biases (K, out), of the rows' own float type.
    """
    squares = [squared_lengths(rows)]
    if len(weights) == 1:  # linear models: one product for all of them
        n_models, n_features, n_outputs = weights[0].shape
        flat = weights[0].permute(1, 0, 2).reshape(n_features, -1)
        logits = torch.addmm(biases[0].reshape(-1), rows, flat)
        return logits.view(len(rows), n_models, n_outputs).permute(1, 0, 2), squares
    values = rows.unsqueeze(0).expand(len(weights[0]), -1, -1)
    for place, (layer, bias) in enumerate(zip(weights, biases, strict=True)):
        if place:
            values = values.relu_()
            squares.append(squared_lengths(values).amax(0))
        values = torch.baddbmm(bias.unsqueeze(1), values, layer)
    return values, squares


def squared_lengths(values: Tensor) -> Tensor:
    """Return (..., n) the sum of squares of (..., n, D) values."""
    return torch.linalg.vecdot(values, values)


def reduced(logits: Tensor, reduction: Reduction, *, softmax: bool, doubt: Tensor) -> Tensor:
    """Return (n,) the values of (K, n, C) logits.

    `doubt` is (n,) how far two logits must differ for a vote to be certain. Only certain votes count, and it then is
    how many are not.
    """
    if reduction.code in _OF_LOGITS:
        return _OF_LOGITS[reduction.code](logits, doubt)
    return _OF_SCORES[reduction.code](torch.softmax(logits, 2) if softmax else logits)


def _lowest_margin(scores: Tensor, _: Tensor | None = None) -> Tensor:
    first, second = _two_highest(scores)
    return (first - second).amin(0)


def _mean_margin(scores: Tensor) -> Tensor:
    first, second = _two_highest(scores)
    return (first - second).mean(0)


def _margin_of_mean(scores: Tensor) -> Tensor:
    first, second = _two_highest(scores.sum(0) / len(scores))
    return first - second


def _highest_of_mean(scores: Tensor) -> Tensor:
    return scores.sum(0).amax(1) / len(scores)


def _entropy_gap(scores: Tensor) -> Tensor:
    x = scores.sum(0) * (scores.shape[2] / len(scores))
    d = x - 1.0
    from_even = x * torch.log1p(torch.where(d > -1.0, d, 0.0)) - d  # 1 where x is next to nothing
    return from_even.clamp_min(0.0).mean(1).sqrt()


def _variance(scores: Tensor) -> Tensor:
    mean = scores.sum(0) / len(scores)
    return (mean * mean - (scores * scores).sum(0) / len(scores)).sum(1)


def _votes(logits: Tensor, doubt: Tensor) -> Tensor:
    first, second = _two_highest(logits)
    certain = first - second > doubt
    is_first = logits == first.unsqueeze(2)
    most, next_to_most = _two_highest((is_first & certain.unsqueeze(2)).sum(0).to(logits.dtype))
    doubt.copy_((~certain).sum(0))
    return most - next_to_most


#: What reduces (K, n, C) logits, or class scores, by the reduction's code.
_OF_LOGITS: dict[int, Callable[[Tensor, Tensor], Tensor]] = {LOWEST_GAP: _lowest_margin, VOTES: _votes}
_OF_SCORES: dict[int, Callable[[Tensor], Tensor]] = {
    LOWEST_MARGIN: _lowest_margin,
    MEAN_MARGIN: _mean_margin,
    MARGIN_OF_MEAN: _margin_of_mean,
    VARIANCE: _variance,
    HIGHEST_OF_MEAN: _highest_of_mean,
    ENTROPY_GAP: _entropy_gap,
}


def _two_highest(values: Tensor) -> tuple[Tensor, Tensor]:
    """Return (...) the highest of (..., C) values and the next, which may be as high: faster than to sort them."""
    first = values.amax(-1)
    is_first = values == first.unsqueeze(-1)
    others = torch.where(is_first, -torch.inf, values).amax(-1)
    return first, torch.where(is_first.sum(-1) > 1, first, others)


def layer_in_order(turned: Tensor, weights: Tensor, biases: Tensor, *, hidden: bool) -> Tensor:
    """Return (K, out, n) the outputs of a layer, summed canonically: the bias, then the inputs one by one.

    Inputs are (K, in, n), or (in, n) if networks share them; of hidden units the positive part is taken. A product is
    rounded before it is added, since these are two steps here.
    """
    inputs = torch.where(turned <= 0.0, 0.0, turned) if hidden else turned
    sums = biases.unsqueeze(2).expand(-1, -1, turned.shape[-1])
    for i in range(weights.shape[1]):
        sums = sums + weights[:, i, :, None] * inputs[..., i, None, :]
    return sums


def lower_to_nearest(
    candidates: tuple[Tensor, Tensor, Tensor], centers: Sequence[Tensor], bounds: Tensor
) -> Tensor:
    """Return (m,) bounds, lowered to the squared distance from the nearest center, as `compute.apart` defines it.

    Candidates and centers are given by left and right factors, features first, and by squared lengths.
    """
    left, right, squares = candidates
    for center, square in enumerate(centers[2]):
        of_left, of_right = (
            _dots_in_order(rows, of_centers[:, center])
            for rows, of_centers in ((left, centers[0]), (right, centers[1]))
        )
        distances = (squares + square) - 2.0 * (of_left * of_right)
        distances = torch.where(distances > 0.0, distances, 0.0)
        bounds = torch.minimum(bounds, distances)
    return bounds


def _dots_in_order(turned: Tensor, vector: Tensor) -> Tensor:
    """Return (m,) dot products of (D, m) rows; each product is rounded before it is added."""
    dots = torch.zeros(turned.shape[1], dtype=turned.dtype, device=turned.device)
    for values, x in zip(turned, vector, strict=True):
        dots = dots + values * x
    return dots

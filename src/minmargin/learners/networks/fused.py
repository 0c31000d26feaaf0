"""One training step of a stack of networks on a GPU: as `steps.plain_step`, with gradients that are never written."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from minmargin.learners.networks.fused_kernels import update_weights
from minmargin.learners.networks.steps import AdamSettings, DenseState, forward, move, output_slopes

_ROWS, _INPUTS, _OUTPUTS = 32, 16, 128  # of a tile


def fused_step(state: DenseState, inputs: Tensor, codes: Tensor, weights: Tensor, adam: AdamSettings) -> None:
    """Make one step of every network on its own batch. The arguments are those of `plain_step`."""
    *layers, logits = forward(state, inputs)
    slope = output_slopes(logits, codes, weights)
    state.n_steps += 1
    bias_slopes: list[Tensor] = []
    for place in reversed(range(len(layers))):
        bias_slopes.append(slope.sum(1))
        before = None
        if place:  # from the weights as they are before their own update
            before = torch.bmm(slope, state.weights[place].transpose(1, 2))
            before *= layers[place] > 0
        _update(state, place, layers[place], slope, adam)
        if before is not None:
            slope = before
    n_layers = len(state.weights)
    moments = state.first[n_layers:], state.second[n_layers:]
    move(state.biases, list(reversed(bias_slopes)), *moments, state.n_steps, adam)


def _update(state: DenseState, place: int, inputs: Tensor, slope: Tensor, adam: AdamSettings) -> None:
    """Move one layer's weights against their slopes, inputs^T slope."""
    n_networks, n_in, n_out = state.weights[place].shape
    n_rows = inputs.shape[1]
    block_out = min(_OUTPUTS, max(16, 1 << (n_out - 1).bit_length()))
    grid = (-(-n_in // _INPUTS) * -(-n_out // block_out), n_networks)
    update_weights[grid](
        inputs, slope, state.weights[place], state.first[place], state.second[place], n_rows, n_in, n_out,
        adam.lr / (1.0 - adam.beta1**state.n_steps), math.sqrt(1.0 - adam.beta2**state.n_steps),
        adam.beta1, adam.beta2, adam.eps, adam.weight_decay,
        precision="tf32x3", block_rows=min(_ROWS, max(16, 1 << (n_rows - 1).bit_length())),
        block_in=_INPUTS, block_out=block_out, num_warps=4,
    )  # fmt: skip

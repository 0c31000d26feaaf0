"""One training step of a stack of networks: forward, backward and Adam, for all of them at once. Imports torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from minmargin.compute import DenseNetworks
from minmargin.device import Device


class AdamSettings(NamedTuple):
    """How Adam steps; the defaults are those of the paper's framework.

    `weight_decay` times a parameter is added to its gradient, as `torch.optim.Adam` does.
    """

    lr: float = 1e-3
    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-7
    weight_decay: float = 0.0


@dataclass
class DenseState:
    """A networks in training, as tensors of one device. A step changes them in place.

    Attributes:
        weights: per layer (A, in, out).
        biases: per layer (A, out).
        first: Adam's running means of the gradients, of all weights, then of all biases.
        second: the same of the squared gradients.
        n_steps: how many steps have been made.
    """

    weights: list[Tensor]
    biases: list[Tensor]
    first: list[Tensor]
    second: list[Tensor]
    n_steps: int = 0

    @classmethod
    def of(cls, networks: DenseNetworks, device: Device) -> DenseState:
        """Return the state of networks before their first step."""
        weights = [torch.tensor(layer, device=device) for layer in networks.weights]
        biases = [torch.tensor(layer, device=device) for layer in networks.biases]
        first, second = ([torch.zeros_like(each) for each in (*weights, *biases)] for _ in range(2))
        return cls(weights, biases, first, second)

    @property
    def parameters(self) -> list[Tensor]:
        """All weights, then all biases."""
        return [*self.weights, *self.biases]

    def take(self, index: Any) -> DenseState:
        """Return a copy of the state of some networks, in the order of an array of their numbers."""
        chosen = torch.as_tensor(index, device=self.weights[0].device)
        weights, biases, first, second = (
            [each.index_select(0, chosen) for each in tensors]
            for tensors in (self.weights, self.biases, self.first, self.second)
        )
        return DenseState(weights, biases, first, second, self.n_steps)

    def networks(self, index: Any = None) -> DenseNetworks:
        """Return a copy of some networks, or of all, as they are now, as numpy arrays."""
        numbers = range(len(self.weights[0])) if index is None else index
        chosen = torch.as_tensor(numbers, device=self.weights[0].device)
        weights, biases = (
            tuple(each.index_select(0, chosen).cpu().numpy() for each in tensors)
            for tensors in (self.weights, self.biases)
        )
        return DenseNetworks(weights, biases)


def plain_step(state: DenseState, inputs: Tensor, codes: Tensor, weights: Tensor, adam: AdamSettings) -> None:
    """Make one step of every network on its own batch.

    Args:
        state: the A networks.
        inputs: (A, b, D) the rows of each batch.
        codes: (A, b) int64, their classes.
        weights: (A, b) what each row's loss is multiplied by before the sum; 0 for padding.
        adam: how to step.
    """
    *layers, logits = forward(state, inputs)
    slope = output_slopes(logits, codes, weights)
    weight_slopes: list[Tensor] = []
    bias_slopes: list[Tensor] = []
    for place in reversed(range(len(layers))):
        weight_slopes.append(torch.bmm(layers[place].transpose(1, 2), slope))
        bias_slopes.append(slope.sum(1))
        if place:
            slope = torch.bmm(slope, state.weights[place].transpose(1, 2))
            slope *= layers[place] > 0
    slopes = [*reversed(weight_slopes), *reversed(bias_slopes)]
    state.n_steps += 1
    move(state.parameters, slopes, state.first, state.second, state.n_steps, adam)


def forward(state: DenseState, inputs: Tensor) -> list[Tensor]:
    """Return what each layer is given, (A, b, in) from `inputs` on, and last the logits (A, b, C)."""
    layers = [inputs]
    for weights, biases in zip(state.weights, state.biases, strict=True):
        if len(layers) > 1:
            layers[-1].relu_()
        layers.append(torch.baddbmm(biases.unsqueeze(1), layers[-1], weights))
    return layers


def output_slopes(logits: Tensor, codes: Tensor, weights: Tensor) -> Tensor:
    """Return (A, b, C) the slopes of the weighted losses at the logits."""
    # Of the cross-entropy: the probabilities, less 1 at the row's own class.
    slopes = torch.softmax(logits, 2)
    slopes.scatter_add_(2, codes.unsqueeze(2), slopes.new_full((*codes.shape, 1), -1.0))
    slopes *= weights.unsqueeze(2)
    return slopes


def mean_losses(state: DenseState, inputs: Tensor, codes: Tensor, weights: Tensor) -> Tensor:
    """Return (A,) the sum of each network's weighted losses. The arguments are those of `plain_step`."""
    logits = forward(state, inputs)[-1]
    own = logits.gather(2, codes.unsqueeze(2)).squeeze(2)
    return ((logits.logsumexp(2) - own) * weights).sum(1)


def move(
    parameters: list[Tensor],
    slopes: list[Tensor],
    first: list[Tensor],
    second: list[Tensor],
    n_steps: int,
    adam: AdamSettings,
) -> None:
    """Move parameters against their slopes, and bring their moments up to date; `n_steps` counts this step too.

    This is what `torch.optim.Adam(fused=True)` calls: one pass over the parameters and their moments, where a formula
    of torch's operations makes a dozen. The public class would want a new optimizer, and its moments moved there,
    each time that networks leave the stack.
    """
    count = torch.full((), float(n_steps), device=slopes[0].device)
    torch._fused_adam_(
        parameters,
        slopes,
        first,
        second,
        [],
        [count] * len(slopes),
        lr=adam.lr,
        beta1=adam.beta1,
        beta2=adam.beta2,
        weight_decay=adam.weight_decay,
        eps=adam.eps,
        amsgrad=False,
        maximize=False,
    )

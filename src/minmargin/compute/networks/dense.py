"""Fully connected ReLU networks of one shape, stacked: one array per layer holds that layer of all of them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class DenseNetworks:
    """G networks: each layer multiplies, adds a bias and, but for the last, takes the positive part.

    Attributes:
        weights: per layer (G, in, out), float32 as trained, or float64.
        biases: per layer (G, out), of the same type.
    """

    weights: tuple[NDArray[Any], ...]
    biases: tuple[NDArray[Any], ...]

    @property
    def n_networks(self) -> int:
        """G."""
        return int(self.weights[0].shape[0])

    @property
    def widths(self) -> tuple[int, ...]:
        """The inputs, the units of each hidden layer, and the outputs."""
        return (int(self.weights[0].shape[1]), *(int(layer.shape[2]) for layer in self.weights))

    def take(self, index: Any) -> DenseNetworks:
        """Return some of the networks: a slice or an array of their numbers."""
        return DenseNetworks(
            tuple(layer[index] for layer in self.weights), tuple(layer[index] for layer in self.biases)
        )

    def scaled(self, scale: NDArray[np.float64]) -> DenseNetworks:
        """Return the float64 networks that take inputs not yet divided by (D,) `scale`."""
        first, *others = (layer.astype(np.float64) for layer in self.weights)
        biases = tuple(layer.astype(np.float64) for layer in self.biases)
        return DenseNetworks((first / scale[:, np.newaxis], *others), biases)


def glorot(widths: Sequence[int], rng: np.random.Generator) -> DenseNetworks:
    """Return one network with Glorot-uniform weights and zero biases, as the paper's framework made them."""
    weights = []
    for n_in, n_out in itertools.pairwise(widths):
        limit = np.sqrt(6.0 / (n_in + n_out))
        weights.append(rng.uniform(-limit, limit, size=(1, n_in, n_out)).astype(np.float32))
    return DenseNetworks(tuple(weights), tuple(np.zeros((1, n), np.float32) for n in widths[1:]))


def join(networks: Sequence[DenseNetworks]) -> DenseNetworks:
    """Return all networks of several stacks, in order, as one."""
    return DenseNetworks(
        tuple(np.concatenate(layers) for layers in zip(*(one.weights for one in networks), strict=True)),
        tuple(np.concatenate(layers) for layers in zip(*(one.biases for one in networks), strict=True)),
    )

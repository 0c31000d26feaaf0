"""The canonical class scores of stacked networks.

Canonical means what it means for linear models (see `kernels`): float64, every sum begins with the bias and adds the
inputs in order, no fused multiply-add. What a layer leaves of a panel of rows is itself a panel, so the next layer
multiplies it where it lies. Networks are gone through one at a time: the weights of one stay in the cache for all rows.

Importing this module imports numba, so it is imported only where class scores are about to be made.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minmargin.compute.compiled import compiled
from minmargin.compute.cpu.llvm import DOUBLE_LANES
from minmargin.compute.cpu.simd import GROUP, SQUARE, aligned, multiply_in_order, pack, turn
from minmargin.compute.kernels import to_class_scores
from minmargin.compute.networks.dense import DenseNetworks
from minmargin.properties import cached_property

_PANELS = 8  # of rows, that go through a layer together


@dataclass(frozen=True)
class NetworkModels:
    """K networks, ready to be asked for canonical class scores many times.

    Attributes:
        networks: float64.
        center: (D,) what is subtracted from rows before the first layer.
        softmax: whether class scores are the softmax of what the last layer gives, or that itself.
    """

    networks: DenseNetworks
    center: NDArray[Any]
    softmax: bool = True

    def class_scores(self, X: NDArray[Any]) -> NDArray[np.float64]:
        """Return (K, n, C): the class scores of (n, D) rows under each network."""
        scores = np.empty((self.networks.n_networks, len(X), self.networks.widths[-1]))
        for k, of_network in enumerate(self.each(X)):
            scores[k] = of_network
        return scores

    def each(self, X: NDArray[Any]) -> Iterator[NDArray[np.float64]]:
        """Return (n, C): the class scores under each network, one after the other."""
        widths = np.array(self.networks.widths)
        flat = np.ascontiguousarray(X).reshape(-1)
        center = self.center.astype(np.float64)
        room = np.zeros(2 * (_PANELS * _panel_size(widths) + DOUBLE_LANES))
        for packed in self._packed:
            scores = np.empty((1, len(X), widths[-1]))
            _score(flat, center, packed, widths, self.softmax, room, scores)
            yield scores[0]

    @cached_property
    def _packed(self) -> list[NDArray[np.float64]]:
        """Per network, its layers as the kernel reads them, one after the other."""
        layers = list(zip(self.networks.weights, self.networks.biases, strict=True))
        return [
            np.concatenate([pack(weights[k].T, biases[k], np.float64) for weights, biases in layers])
            for k in range(self.networks.n_networks)
        ]


def last_hidden_layer(networks: DenseNetworks, center: NDArray[Any], X: NDArray[Any]) -> NDArray[np.float64]:
    """Return (n, H): what the last layer of the first network is given of (n, D) rows, canonically."""
    layers = tuple(layer[:1] for layer in networks.weights[:-1])
    before = DenseNetworks(layers, tuple(layer[:1] for layer in networks.biases[:-1]))
    outputs = NetworkModels(before, center, softmax=False).class_scores(X)[0]
    return np.where(outputs <= 0.0, 0.0, outputs)  # written so that NaN stays


@compiled
def _panel_size(widths):  # type: ignore[no-untyped-def]
    """Return how many numbers a panel of rows may hold in any layer: outputs are filled up to whole groups."""
    return (widths.max() + GROUP) * DOUBLE_LANES


@compiled
def _score(flat, center, packed, widths, softmax, scratch, scores):  # type: ignore[no-untyped-def]
    _, n, n_classes = scores.shape
    of_classes = np.empty(n_classes * DOUBLE_LANES)
    # Several panels for each group of outputs: weights of a large network come from memory, and that is slow.
    room = _panel_size(widths)
    both = aligned(scratch)
    panels, sums = both[: _PANELS * room], both[_PANELS * room : 2 * _PANELS * room]
    for start in range(0, n, _PANELS * DOUBLE_LANES):
        n_panels = min(_PANELS, -(-(n - start) // DOUBLE_LANES))
        for p in range(n_panels):
            first = start + p * DOUBLE_LANES
            _fill_panel(flat, center, first, min(DOUBLE_LANES, n - first), panels[p * room : (p + 1) * room])
        at = 0
        for layer in range(len(widths) - 1):
            n_inputs, n_outputs = widths[layer], widths[layer + 1]
            if layer > 0:
                _take_positive_part(panels, n_panels * room)
            for output in range(0, n_outputs, GROUP):
                for p in range(n_panels):
                    panel, of_panel = panels[p * room : (p + 1) * room], sums[p * room : (p + 1) * room]
                    multiply_in_order(panel, n_inputs, packed, at, of_panel, output * DOUBLE_LANES)
                at += GROUP * (n_inputs + 1)
            panels, sums = sums, panels
        for p in range(n_panels):
            logits = panels[p * room : (p + 1) * room]
            to_class_scores(logits, n_classes, softmax, start + p * DOUBLE_LANES, of_classes, scores)


@compiled
def _fill_panel(flat, center, first, n_rows, panel):  # type: ignore[no-untyped-def]
    n_features = len(center)
    n_turned = n_features - n_features % SQUARE if n_rows == DOUBLE_LANES else 0
    for d in range(0, n_turned, SQUARE):
        turn(flat, first * n_features + d, n_features, panel, d * DOUBLE_LANES)
    for d in range(n_turned, n_features):
        for i in range(n_rows):
            panel[d * DOUBLE_LANES + i] = flat[(first + i) * n_features + d]
    for d in range(n_features):
        for i in range(DOUBLE_LANES):
            panel[d * DOUBLE_LANES + i] -= center[d]


@compiled
def _take_positive_part(panel, size):  # type: ignore[no-untyped-def]
    for j in range(size):
        if panel[j] <= 0.0:  # noqa: PLR1730 - written so that NaN stays, and is found
            panel[j] = 0.0

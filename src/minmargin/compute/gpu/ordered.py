"""Canonical logits made on a device: the same to the bit as those of the CPU's kernels (see `ordered_kernels`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor

from minmargin.compute.gpu import plain
from minmargin.compute.gpu.looks import has_triton
from minmargin.compute.kernels import class_scores_of
from minmargin.properties import cached_property

_ACTIVATIONS = 1 << 25  # doubles of a layer that may be in memory at a time: 256 MB
_WORTH_A_TRIP = 1 << 26  # multiplications that a CPU makes in some milliseconds


class Models(Protocol):
    """Models that the CPU can ask for canonical class scores."""

    def class_scores(self, X: Any) -> NDArray[np.float64]:
        """Return (K, n, C): the class scores under each model."""
        ...


@dataclass(frozen=True)
class DeviceModels:
    """Models whose canonical class scores are made on a device, if there are enough rows for that to pay.

    Attributes:
        models: the same on the CPU.
        layers: what makes their logits.
        shape: K and O: how many models, and outputs of each.
        softmax: whether class scores are the softmax of the logits.
    """

    models: Models
    layers: OrderedLayers
    shape: tuple[int, int]
    softmax: bool

    def class_scores(self, X: Any) -> NDArray[np.float64]:
        """Return (K, n, C): the class scores under each model."""
        if sparse.issparse(X) or len(X) * self.layers.multiplications < _WORTH_A_TRIP:
            return self.models.class_scores(X)
        logits = self.layers.logits(X).reshape(*self.shape, len(X))
        return class_scores_of(logits, softmax=self.softmax)


@dataclass(frozen=True)
class OrderedLayers:
    """Layers of K networks on a device.

    Attributes:
        weights: per layer (K, in, out), float64.
        biases: per layer (K, out), float64.
        center: (D,) what is subtracted from rows before the first layer; None for nothing.
        device: where.
    """

    weights: Sequence[NDArray[np.float64]]
    biases: Sequence[NDArray[np.float64]]
    center: NDArray[Any] | None
    device: str

    @property
    def multiplications(self) -> int:
        """How many a row costs."""
        return sum(layer.size for layer in self.weights)

    def logits(self, X: NDArray[Any]) -> NDArray[np.float64]:
        """Return (K, out, n): the outputs of the last layer for (n, D) rows."""
        logits = np.empty((*self.biases[-1].shape, len(X)))
        n_networks, widest = len(self.biases[0]), max(each.shape[1] for each in self.biases)
        step = max(_ACTIVATIONS // (n_networks * widest), 64)
        for start in range(0, len(X), step):
            logits[:, :, start : start + step] = self._of_some(X[start : start + step]).cpu().numpy()
        return logits

    def _of_some(self, X: NDArray[Any]) -> Tensor:
        rows = torch.from_numpy(np.ascontiguousarray(X)).to(self.device).double()
        center, layers = self._on_device
        turned = (rows if center is None else rows - center).T.contiguous()
        for place, (weights, biases) in enumerate(layers):
            turned = _layer(turned, weights, biases, hidden=place > 0)
        return turned

    @cached_property
    def _on_device(self) -> tuple[Tensor | None, list[tuple[Tensor, Tensor]]]:
        def put(values: NDArray[Any]) -> Tensor:
            return torch.from_numpy(np.ascontiguousarray(values, dtype=np.float64)).to(self.device)

        center = None if self.center is None else put(self.center)
        return center, [
            (put(weights), put(biases)) for weights, biases in zip(self.weights, self.biases, strict=True)
        ]


def _layer(turned: Tensor, weights: Tensor, biases: Tensor, *, hidden: bool) -> Tensor:
    if not has_triton(turned.device.type):
        return plain.layer_in_order(turned, weights, biases, hidden=hidden)
    from minmargin.compute.gpu.ordered_kernels import layer_in_order  # noqa: PLC0415 - imports Triton

    n_networks, n_in, n_out = weights.shape
    n, block, block_out = turned.shape[-1], 64, 32
    out = torch.empty((n_networks, n_out, n), dtype=torch.float64, device=turned.device)
    grid = (-(-n // block), -(-n_out // block_out), n_networks)
    layer_in_order[grid](
        turned, weights, biases, out, n, n * n_in if turned.dim() == 3 else 0, n_in, n_out,
        hidden=hidden, block=block, block_out=block_out, num_warps=4, enable_fp_fusion=False,
    )  # fmt: skip
    return out

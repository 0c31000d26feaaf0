"""Squared distances for `compute.apart`, many at a time on a device: equal to the bit to those of the CPU.

Only the comparison of all candidates with many centers is worth a trip. Single ones stay on the CPU.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from minmargin.compute.apart import Embedding, Floats
from minmargin.compute.cpu.apart import DenseDistances
from minmargin.compute.gpu import plain
from minmargin.compute.gpu.looks import has_triton


class DeviceDistances:
    """Squared distances of candidates, whose right factors (m, D) are dense, from centers."""

    def __init__(self, left: Floats, right: Floats, device: str) -> None:
        self._on_cpu = DenseDistances(left, right)
        self._device = device
        self._left, self._right = (self._put(rows.T) for rows in (left, right))
        self._squares = self._put(self.squares)

    @property
    def squares(self) -> Floats:
        """(m,) the squared length of each candidate."""
        return self._on_cpu.squares

    @property
    def n_held(self) -> int:
        """How many centers are held."""
        return self._on_cpu.n_held

    def hold(self, embedding: Embedding, row: int, square: float) -> None:
        """Make one row of an embedding, with its squared length, the next center."""
        self._on_cpu.hold(embedding, row, square)

    def nearest(self, candidate: int, first: int) -> float:
        """Return the distance of one candidate from the nearest center, from the held one number `first` on."""
        return self._on_cpu.nearest(candidate, first)

    def forget(self) -> None:
        """Hold no center any more."""
        self._on_cpu.forget()

    def lower(self, bounds: Floats) -> None:
        """Lower each bound (m,) to the distance of its candidate from the nearest center held."""
        centers = [self._put(part) for part in self._on_cpu.centers]
        lowered = _lower((self._left, self._right, self._squares), centers, self._put(bounds))
        bounds[:] = lowered.cpu().numpy()

    def _put(self, values: NDArray[np.float64]) -> Tensor:
        return torch.tensor(np.ascontiguousarray(values), device=self._device)


def _lower(candidates: tuple[Tensor, Tensor, Tensor], centers: list[Tensor], bounds: Tensor) -> Tensor:
    """Return the (m,) bounds, lowered; factors have features first, and squared lengths come last."""
    if not has_triton(bounds.device.type):
        return plain.lower_to_nearest(candidates, centers, bounds)
    from minmargin.compute.gpu.ordered_kernels import lower_to_nearest  # noqa: PLC0415 - imports Triton

    block, block_centers = 64, 32
    lower_to_nearest[-(-len(bounds) // block),](
        *candidates, *centers, bounds, len(bounds), len(centers[2]), len(centers[0]), len(centers[1]),
        block=block, block_centers=block_centers, num_warps=4, enable_fp_fusion=False,
    )  # fmt: skip
    return bounds

"""Rows on their way to the device: through page-locked memory, in small pieces, while others are looked at.

A GPU copies from page-locked memory several times as fast as from any other, and without waiting. Rows have a lane to
themselves: a stream of device work and two pieces of page-locked memory. While the device copies one, the thread fills
the other; while one thread's rows are looked at, others' are on their way. Lanes are kept for the next rows, since
page-locked memory, and memory on the device, take long to get.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from minmargin.rows import ColumnBlock

_PIECE = 1 << 21  # floats: 8 MB


class Staging:
    """Hands rows to a device."""

    def __init__(self, device: str) -> None:
        self._device = device

    @contextmanager
    def rows(
        self, X: NDArray[Any] | ColumnBlock, center: NDArray[np.float32] | None = None
    ) -> Iterator[Tensor]:
        """Give (n, D) float32 rows on the device, less `center` if there is one; work on them is in order.

        A number is rounded once at most: float64 rows are centered before they become float32.
        """
        if self._device == "cpu":
            yield torch.from_numpy(_filled(np.empty(X.shape, np.float32), np.asarray(X), center))
            return
        try:
            lane = _idle_lanes.pop()
        except IndexError:
            lane = _Lane(self._device)
        try:
            with torch.cuda.stream(lane.stream):
                yield lane.put_columns(X, center) if isinstance(X, ColumnBlock) else lane.put(X, center)
        finally:
            _idle_lanes.append(lane)


class _Lane:
    def __init__(self, device: str) -> None:
        self.stream = torch.cuda.Stream(device)
        self._device = device
        self._pieces = [torch.empty(_PIECE, dtype=torch.float32, pin_memory=True) for _ in range(2)]
        self._copied = [torch.cuda.Event() for _ in range(2)]
        self._turn = 0

    def put(self, X: NDArray[Any], center: NDArray[np.float32] | None) -> Tensor:
        n, n_features = X.shape
        rows = torch.empty((n, n_features), dtype=torch.float32, device=self._device)
        step = max(_PIECE // n_features, 1)
        for start in range(0, n, step):
            self._copy(X[start : start + step], center, rows[start : start + step])
        return rows

    def put_columns(self, X: ColumnBlock, center: NDArray[np.float32] | None) -> Tensor:
        """Copy columns as they lie, and turn them into rows on the device."""
        n, n_features = X.shape
        columns = torch.empty((n_features, n), dtype=torch.float32, device=self._device)
        for place, column in enumerate(X.columns):
            shift = None if center is None else center[place]
            for start in range(0, n, _PIECE):
                self._copy(column[start : start + _PIECE], shift, columns[place, start : start + _PIECE])
        return columns.T.contiguous()

    def _copy(self, values: NDArray[Any], center: Any, target: Tensor) -> None:
        if values.size > _PIECE:  # a single row longer than a piece
            target.copy_(torch.from_numpy(_filled(np.empty(values.shape, np.float32), values, center)))
            return
        turn = self._turn = 1 - self._turn
        self._copied[turn].synchronize()
        piece = self._pieces[turn][: values.size].view(values.shape)
        _filled(piece.numpy(), values, center)
        target.copy_(piece, non_blocking=True)
        self._copied[turn].record()


def _filled(target: NDArray[np.float32], values: NDArray[Any], center: Any) -> NDArray[np.float32]:
    with np.errstate(over="ignore", invalid="ignore"):
        if center is None:
            np.copyto(target, values, casting="unsafe")
        else:
            np.subtract(
                values, center, out=target, casting="unsafe", dtype=np.result_type(values, np.float32)
            )
    return target


# All threads' lanes that wait for rows: to take or add the last item of a list is safe in any thread.
_idle_lanes: list[_Lane] = []

"""Rows on their way to the device: through page-locked memory, while others are looked at.

A GPU copies from page-locked memory several times as fast as from any other, and without waiting. Rows have a lane to
themselves: a stream of device work and some pieces of page-locked memory (see `pump`). A few lanes at a time keep the
way to the device busy; other threads meanwhile look at rows that have arrived. Lanes are kept for the next rows, since
page-locked memory, and memory on the device, take long to get.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from minmargin.gpu import pump
from minmargin.rows import ColumnBlock

_N_PIECES = 4
_under_way = BoundedSemaphore(10)


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
            values = np.asarray(X)
            with np.errstate(over="ignore", invalid="ignore"):
                yield torch.from_numpy((values if center is None else values - center).astype(np.float32))
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
        self._pieces = torch.empty((_N_PIECES, pump.PIECE), dtype=torch.float32, pin_memory=True).numpy()
        self._events = [torch.cuda.Event() for _ in range(_N_PIECES)]
        for event in self._events:  # which exist only once they were recorded
            event.record(self.stream)
        self._handles = np.array([event.cuda_event for event in self._events], np.uint64)

    def put(self, X: NDArray[Any], center: NDArray[np.float32] | None) -> Tensor:
        rows = torch.empty(X.shape, dtype=torch.float32, device=self._device)
        with _under_way:
            self._move(X, center, rows)
        return rows

    def put_columns(self, X: ColumnBlock, center: NDArray[np.float32] | None) -> Tensor:
        """Copy columns as they lie, and turn them into rows on the device."""
        n, n_features = X.shape
        columns = torch.empty((n_features, n), dtype=torch.float32, device=self._device)
        with _under_way:
            for place, column in enumerate(X.columns):
                self._move(column, None if center is None else center[place : place + 1], columns[place])
        return columns.T.contiguous()

    def _move(self, values: NDArray[Any], center: NDArray[np.float32] | None, target: Tensor) -> None:
        self.stream.query()  # the driver asks that its own interface has been called from this thread
        flat = np.ascontiguousarray(values).reshape(-1)
        subtracted = np.empty(0, np.float32) if center is None else center
        trouble = pump.driver_pump()(
            flat, subtracted, self._pieces, target.data_ptr(), self._handles, self.stream.cuda_stream
        )
        if trouble:
            raise RuntimeError(f"Rows could not be copied to the GPU: its driver reports error {trouble}.")


# All threads' lanes that wait for rows: to take or add the last item of a list is safe in any thread.
_idle_lanes: list[_Lane] = []

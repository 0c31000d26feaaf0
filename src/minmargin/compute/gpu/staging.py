"""Rows on their way to the device: through page-locked memory, while others are looked at.

A GPU copies from page-locked memory several times as fast as from any other, and without waiting. Blocks go one after
the other, and several threads move each of them. So a block arrives early and whole, and is looked at while the next
one is on its way. Every thread has pieces of page-locked memory to itself (see `pump`), and every block under way has a
stream of device work. Both take long to get, and are used again.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import BoundedSemaphore, local
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from minmargin.compute.gpu import pump
from minmargin.data.rows import ColumnBlock

_N_PIECES = 2
_N_MOVERS = 10  # threads, with a share of each block: as many as it takes to keep the way to the device busy
_under_way = BoundedSemaphore(3)  # blocks: threads that are done with one begin the next


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
            stream = _idle_streams.pop()
        except IndexError:
            stream = torch.cuda.Stream(self._device)
        try:
            with torch.cuda.stream(stream):
                with _under_way:
                    rows = self._put(X, center, stream)
                stream.synchronize()  # whoever looks at the rows need not wait for them
                yield rows
        finally:
            _idle_streams.append(stream)

    def _put(
        self, X: NDArray[Any] | ColumnBlock, center: NDArray[np.float32] | None, stream: torch.cuda.Stream
    ) -> Tensor:
        if not isinstance(X, ColumnBlock):
            rows = torch.empty(X.shape, dtype=torch.float32, device=self._device)
            _move_all([[_Move(X[part], center, rows[part])] for part in _shares(len(X))], stream)
            return rows
        # Columns are copied as they lie, and turned into rows on the device.
        n, n_features = X.shape
        columns = torch.empty((n_features, n), dtype=torch.float32, device=self._device)
        moves = [
            _Move(column, None if center is None else center[place : place + 1], columns[place])
            for place, column in enumerate(X.columns)
        ]
        _move_all([moves[part] for part in _shares(n_features)], stream)
        return columns.T.contiguous()


class _Move(NamedTuple):
    values: NDArray[Any]
    center: NDArray[np.float32] | None
    target: Tensor


def _shares(n: int) -> list[slice]:
    size = max(-(-n // _N_MOVERS), 1)
    return [slice(start, start + size) for start in range(0, n, size)]


def _move_all(shares: list[list[_Move]], stream: torch.cuda.Stream) -> None:
    for _ in _movers().map(functools.partial(_move, stream=stream), shares):
        pass


def _move(moves: list[_Move], stream: torch.cuda.Stream) -> None:
    if not hasattr(_own, "pieces"):
        _own.pieces = _Pieces(stream)
    for values, center, target in moves:
        flat = np.ascontiguousarray(values).reshape(-1)
        subtracted = np.empty(0, np.float32) if center is None else center
        trouble = pump.driver_pump()(
            flat, subtracted, _own.pieces.memory, target.data_ptr(), _own.pieces.handles, stream.cuda_stream
        )
        if trouble:
            raise RuntimeError(f"Rows could not be copied to the GPU: its driver reports error {trouble}.")


class _Pieces:
    """Page-locked memory, and an event for each piece of it."""

    def __init__(self, stream: torch.cuda.Stream) -> None:
        self.memory = torch.empty((_N_PIECES, pump.PIECE), dtype=torch.float32, pin_memory=True).numpy()
        self._events = [torch.cuda.Event() for _ in range(_N_PIECES)]
        # Events exist only once they were recorded. That also tells the driver of this thread, before it is called
        # past torch.
        for event in self._events:
            event.record(stream)
        self.handles = np.array([event.cuda_event for event in self._events], np.uint64)


@functools.cache
def _movers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(min(_N_MOVERS, os.cpu_count() or 1), thread_name_prefix="minmargin-to-gpu")


_own = local()  # of each mover: its pieces
# Streams that no block uses: to take or add the last item of a list is safe in any thread.
_idle_streams: list[torch.cuda.Stream] = []

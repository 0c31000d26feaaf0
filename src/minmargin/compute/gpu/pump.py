"""The compiled loop that moves numbers to a GPU: into a piece of page-locked memory, and from there on by the driver.

Pieces are so small that they stay in the processor's cache: the driver reads them there, and a number travels through
memory once, not three times. To hand over so many pieces from Python would take longer than to copy them, so the loop
calls the driver itself, and holds no lock of the interpreter.
"""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from minmargin.compute.compiled import compiled

PIECE = 1 << 20  # floats: 4 MB


@functools.cache
def driver_pump() -> Callable[..., int]:
    """Return the pump that calls the GPU's driver."""
    driver = ctypes.CDLL("nvcuda.dll" if os.name == "nt" else "libcuda.so.1")
    number = ctypes.c_uint64  # addresses, sizes and handles
    prototypes = {
        "cuMemcpyHtoDAsync_v2": [number, number, number, number],
        "cuEventSynchronize": [number],
        "cuEventRecord": [number, number],
    }
    for name, types in prototypes.items():
        getattr(driver, name).argtypes, getattr(driver, name).restype = types, ctypes.c_int
    return make_pump(*(getattr(driver, name) for name in prototypes))


def make_pump(copy: Any, wait: Any, mark: Any) -> Callable[..., int]:
    """Return the pump.

    Args:
        copy: copies (to, from, bytes) in the order of a stream.
        wait: waits until the device has come to an event.
        mark: places an event into a stream.
    """
    move = ctypes.CDLL("msvcrt.dll" if os.name == "nt" else None).memcpy
    move.argtypes, move.restype = [ctypes.c_uint64] * 3, ctypes.c_uint64

    @njit(nogil=True)
    def pump(flat, center, pieces, target, events, stream):  # type: ignore[no-untyped-def]
        """Copy numbers to the address `target` as float32, less the center that repeats along them.

        Return 0 if all went well. The pieces take turns: while the device copies one, the next is filled.
        """
        trouble, turn = 0, 0
        n_pieces, size = pieces.shape
        as_they_are = flat.itemsize == 4 and len(center) == 0
        for start in range(0, len(flat), size):
            some = flat[start : start + size]
            piece = pieces[turn, : len(some)]
            trouble |= wait(events[turn])
            if as_they_are:
                move(piece.ctypes.data, some.ctypes.data, 4 * len(some))
            else:
                _fill(some, start, center, piece)
            trouble |= copy(target + 4 * start, piece.ctypes.data, 4 * len(some), stream)
            trouble |= mark(events[turn], stream)
            turn = (turn + 1) % n_pieces
        return trouble

    return pump  # type: ignore[no-any-return]


@compiled
def _fill(some, start, center, piece):  # type: ignore[no-untyped-def]
    """Set a piece to numbers that stand at `start` in their rows, less the center."""
    if len(center) < 2:
        shift = center[0] if len(center) else center.dtype.type(0.0)
        for i in range(len(some)):
            piece[i] = np.float32(some[i] - shift)
        return
    at = 0
    while at < len(some):
        first = (start + at) % len(center)
        run = min(len(center) - first, len(some) - at)
        source, shifts, target = some[at : at + run], center[first : first + run], piece[at : at + run]
        for i in range(run):
            target[i] = np.float32(source[i] - shifts[i])
        at += run

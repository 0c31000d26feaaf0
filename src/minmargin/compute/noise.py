"""Rows with much noise: found by their numbers alone, whatever is in them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from minmargin.compute import models
from minmargin.hashes import hash_rows

_HASH = 16  # multiplications that take as long as numpy takes to hash a row
_TILE = 1 << 15  # rows whose hashes are made at a time: they stay in the cache


def noisy_rows(
    key: np.uint64, run: range, *, least: int, below: int
) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """Return which rows of a run have hashes from `least` up to, not including, `below`.

    Also return the hashes. They are those of `hashes.hash_rows` with this key.
    """
    first, last = np.uint64(least), np.uint64(below - 1)
    write = _write_rows_between
    # A pool has as many rows as the number of its last: runs of a large one are short, but many.
    if run.stop * _HASH > models.SMALL_WORK:
        from minmargin.compute.cpu.noise import hashes_between  # noqa: PLC0415 - imports numba

        write = hashes_between
    found, places = [np.empty(0, dtype=np.int64)], np.empty(_TILE, dtype=np.int64)
    for start in run[::_TILE]:
        n_found = write(key, start, min(start + _TILE, run.stop), first, last, places)
        found.append(places[:n_found].copy())
    rows = np.concatenate(found)
    return rows, hash_rows(key, rows)


def _write_rows_between(
    key: np.uint64, start: int, stop: int, least: np.uint64, most: np.uint64, rows: NDArray[np.int64]
) -> int:
    """Do what `cpu.noise.hashes_between` does, in numpy."""
    bits = hash_rows(key, np.arange(start, stop))
    near = np.flatnonzero((bits >= least) & (bits <= most))
    rows[: len(near)] = start + near
    return len(near)

"""Rows with much noise: found by their numbers alone, whatever is in them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from minmargin.compute import models
from minmargin.hashes import hash_rows

_HASH = 16  # multiplications that take as long as numpy takes to hash a row
_TILE = 1 << 16  # rows whose hashes are made at a time


def noisy_rows(
    key: np.uint64, run: range, *, least: int, below: int
) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """Return which rows of a run have hashes from `least` up to, not including, `below`.

    Also return the hashes. They are those of `hashes.hash_rows` with this key.
    """
    first, last = np.uint64(least), np.uint64(below - 1)
    if len(run) * _HASH <= models.SMALL_WORK:
        rows = np.arange(run.start, run.stop)
        bits = hash_rows(key, rows)
        near = np.flatnonzero((bits >= first) & (bits <= last))
        return rows[near], bits[near]
    from minmargin.compute.cpu.noise import hashes_between  # noqa: PLC0415 - imports numba

    found, places = [], np.empty(_TILE, dtype=np.int64)
    for start in run[::_TILE]:
        n_found = hashes_between(key, start, min(start + _TILE, run.stop), first, last, places)
        found.append(places[:n_found].copy())
    rows = np.concatenate(found)
    return rows, hash_rows(key, rows)

"""The hash that gives every pool row, and every column, a number of its own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: Weyl sequence step of splitmix64
MIX_FIRST, MIX_SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)  # and how it mixes bits


def hash_rows(key: np.uint64, rows: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return a 64-bit hash of (key, row) for each row: the splitmix64 generator, by counter."""
    with np.errstate(over="ignore"):  # arithmetic modulo 2^64 is meant
        z = key + (rows.astype(np.uint64) + np.uint64(1)) * GOLDEN
        z = (z ^ (z >> np.uint64(30))) * MIX_FIRST
        z = (z ^ (z >> np.uint64(27))) * MIX_SECOND
        return np.asarray(z ^ (z >> np.uint64(31)), dtype=np.uint64)

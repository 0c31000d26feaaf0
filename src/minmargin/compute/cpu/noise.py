"""The hashes of many rows, compiled. Importing this module imports numba."""

from __future__ import annotations

import numpy as np

from minmargin.compute.compiled import compiled
from minmargin.hashes import GOLDEN, MIX_FIRST, MIX_SECOND

_ONE, _30, _27, _31 = np.uint64(1), np.uint64(30), np.uint64(27), np.uint64(31)


@compiled
def hashes_between(key, start, stop, least, most, rows):  # type: ignore[no-untyped-def]
    """Write the rows start..stop-1 whose hashes are not below `least` or above `most`. Return how many they are."""
    n = 0
    for row in range(start, stop):
        z = key + (np.uint64(row) + _ONE) * GOLDEN
        z = (z ^ (z >> _30)) * MIX_FIRST
        z = (z ^ (z >> _27)) * MIX_SECOND
        z = z ^ (z >> _31)
        rows[n] = row  # without a branch: the next row is written over it if this one is not wanted
        n += (z >= least) & (z <= most)
    return n

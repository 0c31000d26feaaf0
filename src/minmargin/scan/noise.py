"""Noise first: most rows are dismissed by their noise alone, before anybody looks at them.

A score with noise is something minus a row's Gumbel noise, and that something has a floor: a number that it is never
below, whatever the models say. So a row whose noise is less than the floor minus the cut is not among the lowest. Its
noise is a hash of its number, which costs a nanosecond, where a look costs a microsecond and more.

Of a pool at hand, rows are visited in the order of their noise. The lowest scores are found early that way, the cut
falls at once, and when the noise that is left cannot reach it, no further row is touched at all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from minmargin.compute import noisy_rows
from minmargin.seeds import SeedTree

_FIRST_BAND = 8  # times the rows that are wanted: mostly they are among so many of the noisiest
_WIDENED = 4  # times as many rows in the next band
_SLACK = 1e-9  # far more than all roundings here


def least_bits(noise: float) -> int:
    """Return bits below which there is less noise than this, for certain.

    The share of rows with more noise g is 1 - exp(-exp(-g)), and bits are spread evenly.
    """
    share = -math.expm1(-math.exp(min(-noise, 700.0)) * (1.0 + _SLACK)) * (1.0 + _SLACK)
    return max((1 << 64) - math.ceil(share * (1 << 64)) - (1 << 14), 0)


def noisiest_first(
    seeds: SeedTree, n_rows: int, size: int, *, block_size: int, reach: Callable[[], float]
) -> Iterator[NDArray[np.int64]]:
    """Return the rows of a pool, those with the most noise first, in blocks, as long as they can be needed.

    Args:
        seeds: where the noise comes from.
        n_rows: of the pool.
        size: how many rows are wanted.
        block_size: how many rows are returned at a time.
        reach: returns the least noise that a row must have to be among the lowest, as far as is known.
    """
    n_expected, above = _FIRST_BAND * size, 1 << 64
    while above > 0:
        least = (1 << 64) - (n_expected << 64) // n_rows if n_expected < n_rows // 2 else 0
        rows, bits = noisy_rows(seeds.noise_key, n_rows, least=least, below=above)
        order = np.lexsort((rows, ~bits))
        rows, bits = rows[order], bits[order]
        for start in range(0, len(rows), block_size):
            if int(bits[start]) < least_bits(reach()):
                return
            yield rows[start : start + block_size]
        n_expected, above = _WIDENED * n_expected, least
        if above and above <= least_bits(reach()):
            return

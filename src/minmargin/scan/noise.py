"""Noise first: most rows are dismissed by their noise alone, before anybody looks at them.

A score with noise is something minus a row's Gumbel noise, and that something has a floor: a number that it is never
below, whatever the models say. So a row whose noise is less than the floor minus the cut is not among the lowest. Its
noise is a hash of its number, which costs a nanosecond, where a look costs a microsecond and more.

Rows are visited in the order of their noise: all of a pool at hand, or of each run of a pool as it is read. The lowest
scores are found early that way, the cut falls at once, and when the noise that is left cannot reach it, no further row
is touched at all.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from minmargin.compute import noisy_rows
from minmargin.data.rows import Block, Rows, blocks, count_rows, take_rows
from minmargin.pools.exclusion import Exclusion
from minmargin.scan import sizes
from minmargin.seeds import SeedTree

_FIRST_BAND = 8  # times the rows that are wanted: mostly they are among so many of the noisiest
_WIDENED = 4  # times as many rows in the next band
_SLACK = 1e-9  # far more than all roundings here
_SHORTEST_RUN = 1 << 16  # rows: of a few, most would have to be visited


def least_bits(noise: float) -> int:
    """Return bits below which there is less noise than this, for certain.

    The share of rows with more noise g is 1 - exp(-exp(-g)), and bits are spread evenly.
    """
    share = -math.expm1(-math.exp(min(-noise, 700.0)) * (1.0 + _SLACK)) * (1.0 + _SLACK)
    return max((1 << 64) - math.ceil(share * (1 << 64)) - (1 << 14), 0)


def noisiest_first(
    seeds: SeedTree, run: range, size: int, *, block_size: int, reach: Callable[[], float]
) -> Iterator[NDArray[np.int64]]:
    """Return the rows of a run, those with the most noise first, in blocks, as long as they can be needed.

    Args:
        seeds: where the noise comes from.
        run: the rows.
        size: how many rows are wanted.
        block_size: how many rows are returned at a time.
        reach: returns the least noise that a row must have to be among the lowest, as far as is known.
    """
    n_expected, above = _FIRST_BAND * size, 1 << 64
    while above > 0:
        least = (1 << 64) - (n_expected << 64) // len(run) if n_expected < len(run) // 2 else 0
        least = max(least, least_bits(reach()))
        if least >= above:
            return
        rows, bits = noisy_rows(seeds.noise_key, run, least=least, below=above)
        order = np.lexsort((rows, ~bits))
        rows, bits = rows[order], bits[order]
        for start in range(0, len(rows), block_size):
            if int(bits[start]) < least_bits(reach()):
                return
            yield rows[start : start + block_size]
        n_expected, above = _WIDENED * n_expected, least


class NoisyBlocks:
    """The rows of a pool as it is read, those of each run with the most noise first, as long as they can be needed.

    Args:
        seeds: where the noise comes from.
        size: how many rows are wanted.
        reach: returns the least noise that a row must have to be among the lowest, as far as is known.
        exclusion: rows that are out, which are counted here; None if there are none.

    Attributes:
        n_rows: how many rows were read so far.
        n_excluded: how many of them are out.
    """

    def __init__(
        self, seeds: SeedTree, size: int, *, reach: Callable[[], float], exclusion: Exclusion | None
    ) -> None:
        self._seeds = seeds
        self._size = size
        self._reach = reach
        self._exclusion = exclusion
        self.n_rows = 0
        self.n_excluded = 0

    def of(self, chunks: Iterable[Rows], first_row: int = 0) -> Iterator[Block]:
        """Return blocks of rows from chunks, the first of which begins with the row `first_row`."""
        block_size = min(max(self._size // 4, sizes.SMALLEST), sizes.FIRST)
        for run in blocks(chunks, itertools.repeat(sys.maxsize), least=_SHORTEST_RUN, first_row=first_row):
            if self._exclusion is not None:
                self.n_excluded += len(self._exclusion.places(run))
            start, n_rows = run.first_row, count_rows(run.data)
            for rows in noisiest_first(
                self._seeds,
                range(start, start + n_rows),
                self._size,
                block_size=block_size,
                reach=self._reach,
            ):
                yield Block(start, take_rows(run.data, rows - start), rows)
            self.n_rows += n_rows
            del run  # so that its memory is free when the next one is read

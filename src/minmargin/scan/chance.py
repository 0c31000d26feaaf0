"""Chance: rows whose scores are hashes of their numbers are chosen before any of them is read.

How many rows a pool has, and which of them are out, is all that it takes. The chosen rows alone are then read: their
ids and kept columns, and their features for what a batch tells of them. Of a pool in memory these are single rows; of a
file, the units that hold any of them (see `pools.fragments`). If rows must be distinct, those that are first in line
are read until enough of them are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from minmargin.compute import noisy_rows
from minmargin.data.rows import Block, Rows, concat_rows, count_rows, slice_rows, take_rows
from minmargin.errors import InputError
from minmargin.execution import one_thread_each
from minmargin.learners import RowChecker, Scorer
from minmargin.pools import MatchedPool
from minmargin.pools.base import Pool, Wanted
from minmargin.pools.fragments import Divisible, Fragment, read
from minmargin.pools.memory import MemoryPool
from minmargin.scan import sizes
from minmargin.scan.engines import run_locally
from minmargin.scan.found import Counts
from minmargin.scan.shortlisting import Shortlisting
from minmargin.seeds import SeedTree, hashes_below
from minmargin.strategies import Shortlist
from minmargin.topb import TopB

_WIDENED = 4  # times as many rows in the next band


def can_choose(shortlists: Sequence[Shortlist], pool: Pool, scorer: Scorer) -> bool:
    """Return whether rows can be chosen before any of them is read.

    That takes models that score each row by itself, and a pool that knows its length and can be read in parts. Class
    scores that somebody has given are looked at anyhow.
    """
    by_chance = len(shortlists) == 1 and shortlists[0].chance and shortlists[0].size is not None
    can_be_read = bool(pool.n_rows) and isinstance(pool, Divisible)
    return by_chance and can_be_read and scorer.rowwise and not isinstance(scorer, RowChecker)


def take_in_chosen(
    making: Shortlisting,
    chosen: ChosenRows,
    seeds: SeedTree,
    *,
    work: Callable[[Block], Counts],
    check: Callable[[Iterable[Block]], None],
    n_threads: int,
) -> Counts:
    """Let a shortlist take in the rows that are first in line by chance.

    Args:
        making: the shortlist.
        chosen: reads rows by their numbers.
        seeds: where chance comes from.
        work: lets the shortlist take in a block.
        check: raises the error of the first of some blocks that cannot be scored.
        n_threads: how many threads there may be.
    """
    excluded = np.concatenate([np.empty(0, np.int64), *chosen.excluded()])
    n_decided = 0
    for rows, edge in _in_line(making, chosen.run, seeds, excluded):
        blocks = chosen.blocks(rows)
        try:
            with one_thread_each():
                alone = n_threads == 1 or len(rows) <= sizes.FIRST  # which is one block
                parts = map(work, blocks) if alone else run_locally(work, blocks, n_threads)
                n_decided += sum(part.decided for part in parts)
        except InputError:  # it names a row by its place among these
            check(_one_by_one(chosen.blocks(rows)))
            raise
        if making.top.last_place is not None and making.top.last_place.score < edge:
            break
    return Counts(len(chosen.run), len(excluded), n_decided)


def _in_line(
    making: Shortlisting, run: range, seeds: SeedTree, excluded: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.int64], float]]:
    """Return rows by their uniform numbers, the lowest first, until they cannot be needed any more.

    They come in bands, each in the order of the pool, and with a number that those of all later rows are not below. If
    rows need not be distinct, there is one band, and no row of it is needless.
    """
    size, distinct, last_place = making.shortlist.size or 0, making.shortlist.distinct, making.top.last_place
    end = hashes_below(1.0 if last_place is None else np.nextafter(last_place.score, math.inf))
    lowest = TopB(size, seeds, last_place)
    # So many that the wanted ones are nearly always among them: a count strays by about its root.
    share = (size + 6.0 * math.sqrt(size) + 16.0) / max(len(run) - len(excluded), 1)
    least = 0
    while least < end:
        edge = min(share, 1.0)
        below = min(hashes_below(edge), end)
        rows, _ = noisy_rows(seeds.uniform_key, run, least=least, below=below)
        rows = rows[~np.isin(rows, excluded)] if len(excluded) else rows
        least, share = below, _WIDENED * share
        if distinct:
            yield rows, edge
            continue
        lowest.update(rows, seeds.uniform(rows))
        if lowest.is_full:
            break
    if not distinct:
        yield np.sort(lowest.finish().rows), 1.0


@dataclass(frozen=True)
class ChosenRows:
    """Some rows of a pool, or of a fragment of it, read by themselves.

    Attributes:
        matched: the pool.
        fragment: where in it the rows are.
        chunk_size: how many rows are read at a time.
    """

    matched: MatchedPool
    fragment: Fragment
    chunk_size: int

    @classmethod
    def of(cls, matched: MatchedPool, part: Fragment | None, chunk_size: int) -> ChosenRows:
        """Return rows of a part of a pool that can be read in parts; of all of it if that is None."""
        if part is None:
            units = cast("Divisible", matched.pool).units()
            part = Fragment(0, 0, sum(units), 0, len(units))
        return cls(matched, part, chunk_size)

    @property
    def run(self) -> range:
        """The numbers of all rows."""
        return range(self.fragment.first_row, self.fragment.first_row + self.fragment.n_rows)

    def excluded(self) -> Iterator[NDArray[np.int64]]:
        """Return the rows that are out, chunk by chunk; of the pool, ids alone are read, and only if they tell."""
        exclusion = self.matched.exclusion
        if exclusion is None:
            return
        if exclusion.column is None:
            out = np.asarray(exclusion.values.to_numpy(), dtype=np.int64)
            yield out[slice(*np.searchsorted(out, [self.run.start, self.run.stop]))]
            return
        first_row = self.run.start
        ids = {exclusion.column: (self.matched.kinds or {}).get(exclusion.column)}
        for chunk in read(self._pool, self.fragment, ids, self.chunk_size):
            yield first_row + exclusion.places(Block(first_row, chunk)).astype(np.int64)
            first_row += count_rows(chunk)

    def blocks(self, rows: NDArray[np.int64]) -> Iterator[Block]:
        """Return rows by their numbers, which are in order, in blocks."""
        held: list[Rows] = []
        numbers: list[NDArray[np.int64]] = []
        for some, data in self._read(rows):
            held.append(data)
            numbers.append(some)
            if sum(map(len, numbers)) >= sizes.FIRST:
                yield _joined(numbers, held)
                held, numbers = [], []
        if held:
            yield _joined(numbers, held)

    @property
    def _pool(self) -> Divisible:
        return cast("Divisible", self.matched.pool)

    def _read(self, rows: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.int64], Rows]]:
        pool, wanted = self.matched.pool, self.matched.kinds
        if isinstance(pool, MemoryPool):
            for start in range(0, len(rows), sizes.FIRST):
                some = rows[start : start + sizes.FIRST]
                yield some, pool.take(some, wanted)
            return
        ends = np.cumsum(self._pool.units()[self.fragment.first_unit : self.fragment.stop_unit])
        ends += self.run.start - self.fragment.skip
        units = np.unique(np.searchsorted(ends, rows, side="right"))
        # Units that follow each other are read together: to open a file costs something.
        for together in np.split(units, np.flatnonzero(np.diff(units) > 1) + 1):
            first, last = int(together[0]), int(together[-1])
            first_row = int(ends[first - 1]) if first else self.run.start - self.fragment.skip
            yield from self._among(rows, first_row, first, last + 1, wanted)

    def _among(
        self, rows: NDArray[np.int64], first_row: int, first: int, stop: int, wanted: Wanted
    ) -> Iterator[tuple[NDArray[np.int64], Rows]]:
        """Return those of the rows that stand in some units of the fragment, the first of which begins at a row."""
        of_pool = self.fragment.first_unit
        for chunk in self._pool.read_units(of_pool + first, of_pool + stop, wanted, self.chunk_size):
            n = count_rows(chunk)
            some = rows[slice(*np.searchsorted(rows, [first_row, first_row + n]))]
            if len(some):
                yield some, take_rows(chunk, some - first_row)
            first_row += n


def _joined(numbers: list[NDArray[np.int64]], held: list[Rows]) -> Block:
    rows = np.concatenate(numbers)
    return Block(int(rows[0]), concat_rows(held), rows)


def _one_by_one(blocks: Iterable[Block]) -> Iterator[Block]:
    """Return the rows of blocks one at a time, each as a run of its own: a fault in it is named by its number."""
    for block in blocks:
        for place, row in enumerate(block.rows):
            yield Block(int(row), slice_rows(block.data, place, place + 1))

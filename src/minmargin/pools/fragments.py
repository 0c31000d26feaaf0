"""Pools cut into fragments: small addresses of runs of rows, that any process can read by itself.

What a pool can be read in without the rows before it are its *units*: row groups of Parquet files, batches of Feather
files, whole CSV files. A fragment is some units that follow each other, or, for models that must see rows in blocks
of a fixed grid, a run of that grid and the units which hold it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

from minmargin.data.rows import Rows, count_rows, slice_rows
from minmargin.errors import InputError
from minmargin.pools.base import Wanted


class Fragment(NamedTuple):
    """The address of the pool rows first_row, first_row + 1, ...

    Attributes:
        number: among the fragments of the pool.
        first_row: the number of its first row.
        n_rows: how many rows it has.
        first_unit: the unit that holds the first row.
        stop_unit: the unit after the one that holds the last.
        skip: how many rows of the first unit come before the first row.
    """

    number: int
    first_row: int
    n_rows: int
    first_unit: int
    stop_unit: int
    skip: int = 0


@runtime_checkable
class Divisible(Protocol):
    """A pool that can be read from the middle."""

    def units(self) -> Sequence[int]:
        """Return how many rows each unit has, in the order of the pool."""
        ...

    def read_units(self, first: int, stop: int, wanted: Wanted, chunk_size: int) -> Iterator[Rows]:
        """Return the rows of units first..stop-1 in order, in runs of about `chunk_size`."""
        ...


def check_divisible(pool: Any, why: str) -> Divisible:
    """Return a pool that can be read from the middle, or say what asks for one."""
    if isinstance(pool, Divisible):
        return pool
    raise InputError(
        f"{why} needs a pool that can be read in parts, and {pool.name} can be read once, from its beginning. "
        "Use files, an array or a data frame."
    )


def cut(pool: Divisible, size: int, *, grid: int | None) -> list[Fragment]:
    """Return the fragments of a pool, in its order.

    Args:
        pool: what to cut.
        size: how many rows a fragment should have at least.
        grid: fragments begin at whole multiples of it; None: where units do.
    """
    counts = pool.units()
    ends = list(itertools.accumulate(counts))
    total = ends[-1] if ends else 0
    starts: list[int] = []
    if grid is None:
        first = 0
        for end in ends:
            if end - first >= size or end == total:
                starts += [first] if end > first else []
                first = end
    else:
        starts = list(range(0, total, -(-size // grid) * grid))
    fragments, unit = [], 0
    for number, (first, stop) in enumerate(itertools.pairwise([*starts, total])):
        while ends[unit] <= first:
            unit += 1
        stop_unit = unit
        while ends[stop_unit] < stop:
            stop_unit += 1
        skip = first - (ends[unit] - counts[unit])
        fragments.append(Fragment(number, first, stop - first, unit, stop_unit + 1, skip))
    return fragments


def read(pool: Divisible, fragment: Fragment, wanted: Wanted, chunk_size: int) -> Iterator[Rows]:
    """Return the rows of a fragment in order, in runs of about `chunk_size`."""
    to_skip, to_come = fragment.skip, fragment.n_rows
    for chunk in pool.read_units(fragment.first_unit, fragment.stop_unit, wanted, chunk_size):
        n = count_rows(chunk)
        start, stop = min(to_skip, n), min(to_skip + to_come, n)
        to_skip -= start
        to_come -= stop - start
        if stop > start:
            yield chunk if stop - start == n else slice_rows(chunk, start, stop)
        if not to_come:
            return

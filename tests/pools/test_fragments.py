"""Fragments: together they are the pool, each can be read by itself, and they begin where they must."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minmargin.errors import InputError
from minmargin.pools.fragments import check_divisible, cut, read


class Numbers:
    """A pool whose rows are their own numbers."""

    def __init__(self, counts):
        self._counts = counts
        self._ends = np.cumsum([0, *counts])

    def units(self):
        return self._counts

    def read_units(self, first, stop, wanted, chunk_size):
        for unit in range(first, stop):
            rows = np.arange(self._ends[unit], self._ends[unit + 1])[:, np.newaxis]
            for start in range(0, len(rows), chunk_size):
                yield rows[start : start + chunk_size]


@given(
    counts=st.lists(st.integers(0, 40), max_size=12),
    size=st.integers(1, 60),
    grid=st.none() | st.integers(1, 30),
    chunk_size=st.integers(1, 50),
)
def test_fragments_hold_every_row_once_in_order(counts, size, grid, chunk_size):
    pool, total = Numbers(counts), sum(counts)
    fragments = cut(pool, size, grid=grid)
    rows = [list(read(pool, fragment, None, chunk_size)) for fragment in fragments]
    joined = [int(row) for chunks in rows for chunk in chunks for row in chunk[:, 0]]
    assert joined == list(range(total))
    for number, (fragment, chunks) in enumerate(zip(fragments, rows, strict=True)):
        assert fragment.number == number
        assert chunks[0][0, 0] == fragment.first_row
        assert sum(map(len, chunks)) == fragment.n_rows > 0
        if grid is not None:
            assert fragment.first_row % grid == 0
    assert all(fragment.n_rows >= size for fragment in fragments[:-1])


def test_large_units_stay_whole_and_small_ones_are_joined():
    fragments = cut(Numbers([5, 5, 100, 3, 3]), 10, grid=None)
    assert [(fragment.first_row, fragment.n_rows) for fragment in fragments] == [(0, 10), (10, 100), (110, 6)]


def test_a_stream_cannot_be_cut():
    class Stream:
        name = "the stream"

    with pytest.raises(InputError, match=r"engine='dask' needs a pool .* the stream can be read once"):
        check_divisible(Stream(), "engine='dask'")

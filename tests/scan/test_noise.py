"""Noise first: rows are dismissed by their noise alone, and visited in its order."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minmargin.compute import noisy_rows
from minmargin.margins import gumbel
from minmargin.scan.noise import least_bits, noisiest_first
from minmargin.seeds import SeedTree

ROWS = np.arange(5000)


@given(st.integers(0, 2**64 - 1), st.floats(-1e-9, 1e-9))
def test_bits_below_the_least_have_less_noise(bits, off):
    """Whatever a row's noise is: asked for that much of it, or a hair less, its own bits are enough."""
    noise = float(gumbel(np.array([bits], dtype=np.uint64))[0])
    assert least_bits(noise - abs(off)) <= bits


@pytest.mark.parametrize("noise", [-2.0, 0.0, 3.0, 12.0])
def test_hardly_more_bits_than_needed_are_let_through(noise):
    found = float(gumbel(np.array([least_bits(noise)], dtype=np.uint64))[0])
    assert found == pytest.approx(noise, abs=1e-6)


def test_all_rows_can_be_needed_as_long_as_nothing_is_known():
    assert least_bits(-math.inf) == 0


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("n_rows", [1, 7, 200_000])
def test_noisy_rows_are_those_whose_hashes_lie_between(n_rows):
    seeds = SeedTree(4)
    bits = seeds.noise_bits(np.arange(n_rows))
    least, below = 1 << 62, 3 << 62
    rows, found = noisy_rows(seeds.noise_key, n_rows, least=least, below=below)
    expected = [row for row, each in enumerate(bits.tolist()) if least <= each < below]
    assert rows.tolist() == expected
    assert found.tolist() == bits[expected].tolist()


@given(st.integers(1, 5000), st.integers(1, 3000), st.integers(1, 700))
def test_every_row_comes_once_and_the_noisiest_first(n_rows, size, block_size):
    seeds = SeedTree(4)
    blocks = list(noisiest_first(seeds, n_rows, size, block_size=block_size, reach=lambda: -math.inf))
    assert max(map(len, blocks)) <= block_size
    visited = np.concatenate(blocks)
    noise = seeds.gumbel(visited)
    assert sorted(visited.tolist()) == list(range(n_rows))
    assert (np.diff(noise) <= 0).all()


@given(st.floats(-3, 12), st.integers(1, 300))
def test_no_row_is_left_out_that_is_within_reach(reach, size):
    seeds = SeedTree(4)
    blocks = [
        np.empty(0, np.int64),
        *noisiest_first(seeds, len(ROWS), size, block_size=64, reach=lambda: reach),
    ]
    needed = ROWS[seeds.gumbel(ROWS) >= reach]
    assert np.isin(needed, np.concatenate(blocks)).all()
    assert sum(map(len, blocks)) < len(needed) + 64, "and hardly any that is not"

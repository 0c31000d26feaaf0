"""Noise first: rows are dismissed by their noise alone, and visited in its order."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minmargin.compute import noisy_rows
from minmargin.margins import gumbel
from minmargin.pools.exclusion import Exclusion
from minmargin.scan import noise
from minmargin.scan.noise import NoisyBlocks, least_bits, noisiest_first
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
@pytest.mark.parametrize("run", [range(1), range(7), range(200_000), range(70_001, 270_000)])
def test_noisy_rows_are_those_whose_hashes_lie_between(run):
    seeds = SeedTree(4)
    bits = dict(zip(run, seeds.noise_bits(np.array(run)).tolist(), strict=True))
    least, below = 1 << 62, 3 << 62
    rows, found = noisy_rows(seeds.noise_key, run, least=least, below=below)
    expected = [row for row in run if least <= bits[row] < below]
    assert rows.tolist() == expected
    assert found.tolist() == [bits[row] for row in expected]


@given(st.integers(1, 5000), st.integers(1, 3000), st.integers(1, 700))
def test_every_row_comes_once_and_the_noisiest_first(n_rows, size, block_size):
    seeds = SeedTree(4)
    blocks = list(noisiest_first(seeds, range(n_rows), size, block_size=block_size, reach=lambda: -math.inf))
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
        *noisiest_first(seeds, range(len(ROWS)), size, block_size=64, reach=lambda: reach),
    ]
    needed = ROWS[seeds.gumbel(ROWS) >= reach]
    assert np.isin(needed, np.concatenate(blocks)).all()
    assert sum(map(len, blocks)) < len(needed) + 64, "and hardly any that is not"


@pytest.fixture
def short_runs(monkeypatch):
    monkeypatch.setattr(noise, "_SHORTEST_RUN", 300)


@pytest.mark.usefixtures("short_runs")
def test_rows_of_chunks_come_with_their_numbers_and_each_run_by_itself():
    seeds, pool, first_row = SeedTree(4), np.arange(1000)[:, None] * 10, 40
    noisy = NoisyBlocks(seeds, 5, reach=lambda: -math.inf, exclusion=Exclusion.by_row([41, 700], 1040))
    parts = [pool[:200], pool[200:320], pool[320:990], pool[990:]]
    found = [(block.first_row, block.scattered, block.data) for block in noisy.of(parts, first_row)]
    rows = np.concatenate([rows for _, rows, _ in found])
    assert sorted(rows.tolist()) == list(range(40, 1040))
    assert np.concatenate([data for *_, data in found])[:, 0].tolist() == ((rows - 40) * 10).tolist()
    starts = [start for start, *_ in found]
    assert starts == sorted(starts)
    assert set(starts) == {40, 360, 1030}, "short chunks are joined, long ones are not cut"
    for start in set(starts):
        of_run = np.concatenate([rows for each, rows, _ in found if each == start])
        assert (np.diff(seeds.gumbel(of_run)) <= 0).all()
    assert (noisy.n_rows, noisy.n_excluded) == (1000, 2)


def test_later_runs_have_fewer_rows_within_reach():
    """Once something is known, only rows with more noise are taken out of a run at all."""
    seeds, reach = SeedTree(4), [-math.inf, 3.0]
    noisy = NoisyBlocks(seeds, 5, reach=lambda: reach[noisy.n_rows > 0], exclusion=None)
    n_rows = noise._SHORTEST_RUN
    chunks = [np.zeros((n_rows, 1))] * 2
    later = np.concatenate([block.scattered for block in noisy.of(chunks) if block.first_row])
    second = np.arange(n_rows, 2 * n_rows)
    assert sorted(later.tolist()) == second[seeds.gumbel(second) >= 3.0].tolist()

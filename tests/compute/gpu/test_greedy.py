"""Greedy picking on a device gives what the CPU's loop gives, to the bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import minmargin as mm

pytest.importorskip("torch")

from minmargin.compute.gpu.greedy import pick_greedily
from minmargin.strategies.greedy import _Aim, _pick_on_cpu


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_centers=st.sampled_from([0, 1, 7]),
    digits=st.sampled_from([0, 1, None]),
    factor=st.sampled_from([0.0, 0.5, 1.0]),
    nothing_yet=st.sampled_from([0.0, -1.0]),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_the_device_picks_what_the_cpu_picks(seed, n_centers, digits, factor, nothing_yet, dtype, device):
    """Few digits make many rows equal, or equally far: then exact cosines and the line of ties decide."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 3)).astype(dtype)
    centers = rng.normal(size=(n_centers, 3)).astype(dtype) if n_centers else None
    offsets = rng.normal(size=80)
    if digits is not None:
        X, offsets = np.round(X, digits), np.round(offsets, digits)
    line = rng.permutation(80)
    aim = _Aim(offsets, factor, nothing_yet)

    def first_in_line(level):
        return int(level[np.argmin(line[level])])

    expected = _pick_on_cpu(X, aim, centers, first_in_line, 30)
    found = pick_greedily(X, centers, **aim._asdict(), precedes=first_in_line, batch_size=30, device=device)
    assert found[0].tolist() == expected[0].tolist()
    assert found[1].tobytes() == expected[1].tobytes()


@pytest.mark.gpu
@pytest.mark.parametrize("strategy", ["k-centers", "balanced-margin"])
def test_a_greedy_batch_from_a_gpu_is_that_of_the_cpu(strategy):
    rng = np.random.default_rng(0)
    X, pool = rng.normal(size=(60, 20)), rng.normal(size=(2000, 20))
    committee = mm.fit_committee(X, X[:, 0] > 0, n_models=0, random_state=0)
    on_cpu, on_gpu = (committee.select(pool, 100, strategy=strategy, device=on) for on in ("cpu", "cuda"))
    assert on_gpu.rows.tolist() == on_cpu.rows.tolist()
    assert on_gpu.scores.tobytes() == on_cpu.scores.tobytes()

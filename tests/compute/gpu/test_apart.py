"""Distances that a device makes are those of the CPU, to the bit, and so are the picks."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import minmargin as mm
from minmargin.compute import Embedding, apart, pick_apart
from minmargin.compute.apart import PlainDistances
from minmargin.seeds import SeedTree

pytest.importorskip("torch")

from minmargin.compute.gpu import apart as on_device
from minmargin.compute.gpu import greedy


def factors(seed, n, n_left, n_right, scale=1.0):
    """Numbers whose sums depend on the order in which they are added."""
    rng = np.random.default_rng(seed)
    left, right = (rng.normal(size=(n, d)) * 10.0 ** rng.integers(-6, 6, (n, d)) for d in (n_left, n_right))
    return Embedding(left, right * scale)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(
    ("n", "n_left", "n_right", "n_held", "scale"),
    [(1, 1, 1, 1, 1.0), (130, 3, 17, 70, 1.0), (64, 2, 5, 32, 1.0), (90, 10, 3, 40, 1e160)],
)
def test_bounds_are_lowered_as_numpy_lowers_them(device, n, n_left, n_right, n_held, scale):
    """With products beyond the range of float64, too: a distance that is no number is 0."""
    embedding, others = factors(0, n, n_left, n_right, scale), factors(1, n_held, n_left, n_right, scale)
    squares = apart.squared_lengths(others)
    lowered = []
    for distances in (PlainDistances(embedding), on_device.DeviceDistances(*embedding, device)):
        for row in range(n_held):
            distances.hold(others, row, squares[row])
        bounds = np.where(np.arange(n) % 3, np.inf, 1e-9)
        one_by_one = np.minimum([distances.nearest(i, 0) for i in range(n)], bounds)
        with np.errstate(over="ignore", invalid="ignore"):  # Triton's interpreter is numpy
            distances.lower(bounds)
        assert bounds.tobytes() == one_by_one.tobytes()
        lowered.append(bounds)
        distances.forget()
        assert distances.n_held == 0
    assert lowered[1].tobytes() == lowered[0].tobytes()


@pytest.fixture
def pretended(device, monkeypatch):
    """Pretend that there is a GPU, and return the list of what is started there; what is at hand stands in for it."""
    started = []
    made = on_device.DeviceDistances.__init__

    def on_what_is_at_hand(self, left, right, _):
        started.append(len(left))
        made(self, left, right, device)

    monkeypatch.setattr(on_device.DeviceDistances, "__init__", on_what_is_at_hand)
    monkeypatch.setattr(greedy, "fits", lambda *_: True)
    monkeypatch.setattr(apart, "resolve_device", lambda _: "cuda")
    return started


def picks(embedding, device, seed=0):
    seeds = SeedTree(seed)
    ties = seeds.ties(np.arange(len(embedding.left)))
    return pick_apart(embedding, 60, ties=ties, chance=seeds.proposals, device=device)


def assert_equal(found, expected):
    assert found[0].tolist() == expected[0].tolist()
    assert found[1].tobytes() == expected[1].tobytes()


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("seed", range(3))
def test_the_device_picks_what_the_cpu_picks(pretended, seed):
    embedding = factors(seed, 150, 3, 7)
    assert_equal(picks(embedding, "cuda", seed), picks(embedding, "cpu", seed))
    assert pretended == [150]


def test_a_gpu_is_started_only_where_it_pays(pretended, monkeypatch):
    embedding = factors(0, 150, 3, 7)
    expected = picks(embedding, "cpu")
    monkeypatch.setattr("minmargin.compute.models.SMALL_WORK", 0)
    monkeypatch.setattr(apart, "_WORTH_A_GPU", 150 * 10 * 60 + 1)
    assert_equal(picks(embedding, "auto"), expected)
    assert pretended == []
    monkeypatch.setattr(apart, "_WORTH_A_GPU", 150 * 10 * 60)
    assert_equal(picks(embedding, "auto"), expected)
    assert pretended == [150]


def test_sparse_rows_and_rows_that_do_not_fit_stay_on_the_cpu(pretended, monkeypatch):
    embedding = factors(0, 150, 3, 7)
    expected = picks(embedding, "cpu")
    assert_equal(picks(Embedding(embedding.left, sparse.csr_array(embedding.right)), "cuda"), expected)
    monkeypatch.setattr(greedy, "fits", lambda *_: False)
    said = "^150 candidates do not fit into the GPU's memory, so the CPU compares them.$"
    with pytest.warns(UserWarning, match=said):
        assert_equal(picks(embedding, "cuda"), expected)
    assert pretended == []


@pytest.mark.gpu
@pytest.mark.parametrize("strategy", ["badge", "spread"])
def test_a_batch_from_a_gpu_is_that_of_the_cpu(strategy):
    rng = np.random.default_rng(0)
    X, pool = rng.normal(size=(60, 20)), rng.normal(size=(3000, 20))
    committee = mm.fit_committee(X, np.arange(60) % 3, n_models=5, random_state=0)
    on_cpu, on_gpu = (committee.select(pool, 800, strategy=strategy, device=on) for on in ("cpu", "cuda"))
    assert on_gpu.rows.tolist() == on_cpu.rows.tolist()
    assert on_gpu.scores.tobytes() == on_cpu.scores.tobytes()

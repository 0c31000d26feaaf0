"""A network screen never dismisses a row that belongs, and no way of reading a pool changes a batch of networks."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import brute_force
from fixed_network_committee import STRATEGIES, contents, fixed_committee, pool_rows
from minmargin.compute.networks.dense import DenseNetworks, join
from minmargin.compute.networks.forward import NetworkModels
from minmargin.compute.networks.screen import NetworkScreen, ScreenedNetworks
from minmargin.errors import TooFewDistinctError
from random_networks import random_networks, rows_on_a_boundary
from soundness import SCORES, assert_keeps_what_belongs

HIDDEN = st.lists(st.integers(1, 40), max_size=3)


def assert_logits_within_their_error(X, networks, center):
    models = ScreenedNetworks.of(networks, center)
    with np.errstate(all="ignore"):
        exact = brute_force.network_logits(X, networks, center)
    for products in (models.coarse, models.fine):
        logits, errors, _ = models.logits(X, products)
        known = errors < np.inf
        off = np.abs(logits - exact).max(axis=(0, 2), initial=0.0)
        assert (off[known] <= errors[known]).all()


def assert_sound(X, networks, center, *, at=(0, 0.2, 1)):
    models = ScreenedNetworks.of(networks, center)
    with np.errstate(all="ignore"):
        class_scores = NetworkModels(networks, center).class_scores(X)
    for score, formula in SCORES.items():
        screen = NetworkScreen.of(models, score)
        with np.errstate(all="ignore"):
            exact = formula(class_scores)
        finite = np.isfinite(exact)
        for products in (models.coarse, models.fine):
            (lower, upper), _ = screen._look(X, products)
            assert (lower[finite] <= exact[finite]).all()
            assert (upper[finite] >= exact[finite]).all()
        assert_keeps_what_belongs(screen, X, exact, at=at)


@settings(max_examples=100)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_features=st.sampled_from([1, 2, 17, 300]),
    hidden=HIDDEN,
    n_classes=st.sampled_from([2, 3, 10]),
    row_scale=st.sampled_from([1e-45, 1e-20, 1e-3, 1.0, 1e3, 1e15, 1e38]),
    weight_scale=st.sampled_from([1e-40, 1e-10, 0.1, 1.0, 1e4, 1e27]),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_no_scale_of_rows_or_weights_loses_a_row(
    seed, n_features, hidden, n_classes, row_scale, weight_scale, dtype
):
    rng = np.random.default_rng(seed)
    networks = random_networks(rng, 4, (n_features, *hidden, n_classes), weight_scale)
    with np.errstate(over="ignore"):
        X = (rng.normal(size=(40, n_features)) * row_scale).astype(dtype)
    X = np.nan_to_num(X, posinf=1e38, neginf=-1e38)
    X[:5] = 0
    center = np.zeros(n_features, np.float32)
    assert_logits_within_their_error(X, networks, center)
    assert_sound(X, networks, center)


@settings(max_examples=50)
@given(
    seed=st.integers(0, 2**32 - 1),
    scales=st.lists(st.sampled_from([1e-42, 1e-39, 1e-20, 1.0, 1e6, 1e25, 1e28]), min_size=1, max_size=4),
    width=st.integers(1, 10),
)
def test_logits_stay_within_their_error_when_layers_differ_in_scale(seed, scales, width):
    """What one layer loses below float32's range, the next ones may raise to any size."""
    rng = np.random.default_rng(seed)
    networks = random_networks(rng, 2, (5, *[width] * (len(scales) - 1), 3), scales)
    weightless = DenseNetworks(networks.weights, tuple(np.zeros_like(layer) for layer in networks.biases))
    for each in (networks, weightless):
        assert_logits_within_their_error(rng.normal(size=(20, 5)), each, np.zeros(5, np.float32))


@settings(max_examples=50)
@given(
    seed=st.integers(0, 2**32 - 1),
    hidden=HIDDEN,
    n_classes=st.sampled_from([2, 4]),
    offset=st.sampled_from([0.0, 1e2, 1e6]),
)
def test_rows_that_a_network_can_hardly_decide_are_kept(seed, hidden, n_classes, offset):
    """Margins so small that float32 knows nothing of them, for features far from zero, under members that agree."""
    rng = np.random.default_rng(seed)
    different = random_networks(rng, 3, (6, *hidden, n_classes))
    networks = join([different, different.take(slice(0, 2))])
    center = (offset * rng.normal(size=6)).astype(np.float32)
    X = rows_on_a_boundary(rng, networks, center.astype(np.float64), 30)
    assert_logits_within_their_error(X, networks, center)
    assert_sound(X, networks, center)
    with np.errstate(over="ignore"):
        assert_sound(X.astype(np.float32), networks, center)


@settings(max_examples=50)
@given(seed=st.integers(0, 2**32 - 1), gain=st.sampled_from([1.0, 1e3, 1e8]))
def test_what_cancels_in_the_first_layer_and_is_raised_by_the_next_loses_no_row(seed, gain):
    """Long rows almost at right angles to the weights: what float32 leaves of them is mostly error."""
    rng = np.random.default_rng(seed)
    networks = random_networks(rng, 2, (30, 1, 3), [1.0, gain])
    for bias in networks.biases:
        bias[:] = 0.0
    normal = networks.weights[0][0, :, 0]
    X = rng.normal(size=(50, 30)) * 1e3
    X -= np.outer(X @ normal / (normal @ normal) - 1e-6, normal)
    center = np.zeros(30, np.float32)
    assert_logits_within_their_error(X, networks, center)
    assert_sound(X, networks, center)


@settings(max_examples=50)
@given(seed=st.integers(0, 2**32 - 1), common=st.sampled_from([1e3, 1e6, 1e10]))
def test_a_bias_that_all_classes_have_in_common_loses_no_row(seed, common):
    """It costs every logit digits, and no class gains by it."""
    rng = np.random.default_rng(seed)
    networks = random_networks(rng, 3, (5, 4, 3), [1.0, 1e-2])
    networks.biases[-1][:] += common * rng.normal(size=(3, 1))
    X, center = rng.normal(size=(50, 5)), np.zeros(5, np.float32)
    assert_logits_within_their_error(X, networks, center)
    assert_sound(X, networks, center)


committee = functools.cache(fixed_committee)


def found(committee, pool, batch_size, strategy, **how):
    """Return the bytes of a batch; or, where too few rows are distinct, that there is none."""
    try:
        return contents(committee.select(pool, batch_size, strategy=strategy, **how))
    except TooFewDistinctError as error:
        return str(error)


@functools.cache
def plain(strategy, n_classes, batch_size, repeated):
    pool = pool_rows(repeated)
    return found(committee(n_classes), pool, batch_size, strategy, n_jobs=1)


@pytest.mark.usefixtures("small_blocks", "large_work")
@settings(max_examples=60)
@given(
    strategy=st.sampled_from(STRATEGIES),
    n_classes=st.sampled_from([2, 3]),
    batch_size=st.sampled_from([1, 7, 30]),
    repeated=st.sampled_from([0, 150, 400]),
    chunk_size=st.integers(1, 500),
    n_jobs=st.sampled_from([1, 2, 5]),
)
def test_no_way_of_reading_the_pool_changes_the_batch(
    strategy, n_classes, batch_size, repeated, chunk_size, n_jobs
):
    pool = pool_rows(repeated)
    batch = found(committee(n_classes), pool, batch_size, strategy, chunk_size=chunk_size, n_jobs=n_jobs)
    assert batch == plain(strategy, n_classes, batch_size, repeated)


@pytest.mark.usefixtures("small_blocks", "large_work")
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_batch_is_what_a_full_sort_of_the_pool_gives(strategy, n_classes):
    trained, pool = committee(n_classes), pool_rows(100)
    scorer = trained.scorer
    members = np.stack(list(scorer.each_member(pool)))
    vectors = scorer.vectors(pool), scorer.vectors(trained.training.labeled.rows)
    seen = brute_force.last_hidden_layer(pool, scorer.base.scaled(scorer.scale), scorer.center)
    rows, scores = brute_force.pick(
        strategy, scorer.base_scores(pool), members, *vectors, 12, 0, embedding=seen, distinct=True
    )
    batch = trained.select(pool, 12, strategy=strategy, distinct=True)
    np.testing.assert_array_equal(batch.rows, rows)
    np.testing.assert_array_equal(batch.scores, scores)


_OTHER_PROCESS = Path(__file__).parents[1] / "fixed_network_committee.py"
_GOLDEN = Path(__file__).parents[1] / "golden" / "batches_of_a_fixed_network_committee.json"


@functools.cache
def batches_under(core_type):
    """Return what another process picks, with OpenBLAS told to use the kernels of a type of CPU."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "2"}
    if core_type:
        environment["OPENBLAS_CORETYPE"] = core_type
    done = subprocess.run(
        [sys.executable, str(_OTHER_PROCESS)], env=environment, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("core_type", ["", "Haswell", "Sandybridge"])
def test_every_blas_gives_the_batch_of_every_other(core_type):
    digests = batches_under(core_type)
    assert digests.items() >= json.loads(_GOLDEN.read_text()).items()
    assert digests == batches_under(""), "also where no digest is recorded yet"
    assert len(set(digests.values())) == len(digests), "each strategy picks its own"

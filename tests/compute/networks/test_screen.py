"""What a network screen knows of its own errors, how closely it looks, and what it does with odd input."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import brute_force
from minmargin import margins
from minmargin.compute.networks.dense import DenseNetworks
from minmargin.compute.networks.error import FLOAT32, FLOAT64, Arithmetic, ErrorModel, spectral_bound
from minmargin.compute.networks.forward import NetworkModels
from minmargin.compute.networks.screen import NetworkScreen, ScreenedNetworks
from minmargin.data.rows import ColumnBlock
from minmargin.learners.networks.scorer import NetworkScorer
from minmargin.topb import Cut
from random_networks import random_networks
from soundness import SCORES


def screen_of(networks, center, score="min-margin"):
    return NetworkScreen.of(ScreenedNetworks.of(networks, center), score)


@given(
    seed=st.integers(0, 2**32 - 1),
    shape=st.tuples(st.integers(1, 40), st.integers(1, 40)),
    rank=st.integers(1, 40),
    scale=st.sampled_from([1e-30, 1.0, 1e29]),
)
def test_the_spectral_bound_is_no_less_than_the_largest_singular_value_and_little_more(
    seed, shape, rank, scale
):
    rng = np.random.default_rng(seed)
    rank = min(rank, *shape)
    matrix = rng.normal(size=(shape[0], rank)) @ rng.normal(size=(rank, shape[1])) * scale
    largest = np.linalg.svd(matrix, compute_uv=False)[0]
    # 40^(1/32), where all singular values are alike, is the most that the trace can add.
    assert largest <= spectral_bound(matrix) <= 1.13 * largest


def test_the_spectral_bound_of_zeros_is_zero():
    assert spectral_bound(np.zeros((3, 2))) == 0.0


def test_a_network_without_layers_between_errs_by_its_longest_output():
    networks = DenseNetworks((np.array([[[3.0, 0.0], [0.0, 0.0]]]),), (np.array([[4.0, 1.0]]),))
    model = ErrorModel.of(networks)
    np.testing.assert_allclose([model.gains[0, 0], model.sizes[0, 0]], [3.0, 5.0], rtol=1e-5)
    error = model.logit_error([np.array([2.0, 10.0])], [1e-3])
    np.testing.assert_allclose(error, [1e-2, 5e-2], rtol=1e-4)


def test_an_error_grows_by_the_gain_of_every_layer():
    weights = (np.full((1, 1, 1), 2.0), np.full((1, 1, 1), 7.0), np.full((1, 1, 2), 3.0))
    model = ErrorModel.of(DenseNetworks(weights, (np.zeros((1, 1)), np.zeros((1, 1)), np.zeros((1, 2)))))
    one = np.ones((1, 1))
    np.testing.assert_allclose(model.logit_error([one[0], one, one], [1e-3, 0.0, 0.0]), 0.042, rtol=1e-4)
    np.testing.assert_allclose(model.logit_error([one[0], one, one], [0.0, 1e-3, 0.0]), 0.021, rtol=1e-4)
    np.testing.assert_allclose(model.logit_error([one[0], one, one], [0.0, 0.0, 1e-3]), 0.003, rtol=1e-4)


def test_where_float32_might_overflow_nothing_is_known():
    model = ErrorModel.of(DenseNetworks((np.full((1, 1, 2), 1e5),), (np.zeros((1, 2)),)))
    known = model.logit_error([np.array([1e20, 1e29, np.inf, np.nan])], [1e-6]) < np.inf
    assert known.tolist() == [True, False, False, False]


def test_spans_and_what_a_term_loses_besides_are_counted():
    short, long = Arithmetic(2.0**-24, span=128).gammas([64, 1000, 10])
    assert 64 * 2.0**-24 < short < 80 * 2.0**-24
    assert 128 * 2.0**-24 < long < 150 * 2.0**-24
    halves = Arithmetic(2.0**-24, span=128, of_term=2.0**-16).gammas([64, 10])
    np.testing.assert_allclose(halves, short + 2.0**-16, rtol=1e-4)
    assert FLOAT64.gammas([1000, 10])[0] < 1020 * 2.0**-53


def test_sums_that_always_round_the_same_way_stay_within_the_error():
    """One product of 1, and then many that float32 loses one by one: a bound of half the size would not hold."""
    small = np.sqrt(0.98 * 2.0**-24)
    weights, X = np.full((1, 128, 2), small), np.full((64, 128), small)
    weights[:, 0], X[:, 0] = 1.0, 1.0
    networks = DenseNetworks((weights,), (np.zeros((1, 2)),))
    models = ScreenedNetworks.of(networks, np.zeros(128))
    logits, errors, _ = models.logits(X, models.coarse)
    off = np.abs(logits - brute_force.network_logits(X, networks, models.center)).max()
    assert off <= errors[0] < 2.0 * 128 * 2.0**-24


@pytest.mark.parametrize("score", SCORES)
def test_a_screen_leaves_little_more_than_the_rows_that_belong(score):
    rng = np.random.default_rng(0)
    networks, center = random_networks(rng, 5, (20, 16, 4)), np.full(20, 3.0, np.float32)
    X = rng.normal(size=(5000, 20)).astype(np.float32) + center
    exact = SCORES[score](NetworkModels(networks, center).class_scores(X))
    threshold = float(np.quantile(exact, 0.02))
    near = screen_of(networks, center, score).near(X, cut=Cut(score=threshold), size=None)
    assert len(near.places) <= 1.02 * (exact <= threshold).sum()
    few = screen_of(networks, center, score).near(X, cut=Cut(), size=50)
    assert len(few.places) <= 1.1 * (exact <= np.partition(exact, 49)[49]).sum()


@pytest.mark.parametrize("score", SCORES)
def test_rough_scores_agree_with_the_exact_ones_to_about_six_digits(score):
    rng = np.random.default_rng(1)
    networks, center = random_networks(rng, 7, (20, 8, 3), 0.4), rng.normal(size=20).astype(np.float32)
    X = rng.normal(size=(2000, 20))
    exact = SCORES[score](NetworkModels(networks, center).class_scores(X))
    found = screen_of(networks, center, score).scores(X)
    told = np.isfinite(found)
    np.testing.assert_allclose(found[told], exact[told], rtol=1e-5, atol=2e-5)
    assert told.mean() > 0.95


def test_rows_may_come_column_by_column_or_not_at_all():
    rng = np.random.default_rng(2)
    networks, center = random_networks(rng, 3, (4, 6, 3)), np.zeros(4, np.float32)
    screen, X = screen_of(networks, center), rng.normal(size=(300, 4))
    expected = screen.near(X, cut=Cut(score=0.01), size=None)
    for rows in (ColumnBlock(list(np.ascontiguousarray(X.T))), np.asfortranarray(X)):
        near = screen.near(rows, cut=Cut(score=0.01), size=None)
        np.testing.assert_array_equal(near.places, expected.places)
        np.testing.assert_allclose(screen.scores(rows), screen.scores(X), atol=1e-5)
    assert len(screen.near(X[:0], cut=Cut(score=0.5), size=3).places) == 0
    assert len(screen.scores(X[:0])) == 0


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300])
@pytest.mark.parametrize("score", SCORES)
def test_a_value_that_may_not_be_finite_is_reported_and_its_row_kept(value, score):
    rng = np.random.default_rng(0)
    networks, center = random_networks(rng, 3, (9, 7, 3)), np.zeros(9, np.float32)
    X = rng.normal(size=(2000, 9))
    assert screen_of(networks, center, score).near(X, cut=Cut(score=-0.5), size=5).finite
    X[1500, 8] = value
    near = screen_of(networks, center, score).near(X, cut=Cut(score=-2.0), size=5)
    assert not near.finite
    assert 1500 in near.places or score == "committee"  # a vote margin is never below 0, whatever the row
    assert not np.isnan(near.lower).any()


def scorer(n_members, widths=(3, 4, 2), *, scale=1.0, size=1.0):
    rng = np.random.default_rng(0)
    return NetworkScorer(
        random_networks(rng, 1, widths, size),
        random_networks(rng, n_members, widths, size),
        np.array([1.0, 2.0, 3.0], np.float32),
        np.full(3, scale),
    )


@pytest.mark.parametrize("size", [1e31, 1e200, np.inf])
def test_weights_beyond_float32_are_not_screened(size):
    assert scorer(2, size=size).screen("min-margin") is None
    assert scorer(2, size=size).screen("margin") is None


def test_the_base_alone_can_be_asked():
    alone = scorer(0)
    X = np.random.default_rng(1).normal(size=(20, 3))
    assert alone.n_members == 0
    assert list(alone.each_member(X)) == []
    assert alone.screen("min-margin") is None
    exact = margins.margin(alone.base_scores(X))
    near = alone.screen("margin").near(X, cut=Cut(score=float(np.median(exact))), size=None)
    assert near.places.tolist() == np.flatnonzero(exact <= np.median(exact)).tolist()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_networks_see_rows_as_they_were_trained_on_them(dtype):
    scaled = scorer(2, scale=4.0)
    X = np.random.default_rng(1).normal(size=(20, 3)).astype(dtype)
    vectors = scaled.vectors(X)
    assert vectors.dtype == dtype
    np.testing.assert_array_equal(vectors, ((X - np.array([1, 2, 3], dtype)) / dtype(4.0)))
    plain = NetworkModels(scaled.members, np.zeros(3)).class_scores(vectors.astype(np.float64))
    np.testing.assert_allclose(np.stack(list(scaled.each_member(X))), plain, atol=1e-6)


def test_the_manifest_is_told_how_class_scores_are_made():
    assert scorer(1).path == "networks, trained together; float32 screen, canonical float64 decision"


def test_float32_products_are_cut_into_spans_as_the_bound_assumes():
    models = ScreenedNetworks.of(random_networks(np.random.default_rng(0), 2, (300, 4, 2)), np.zeros(300))
    assert models.coarse.arithmetic == FLOAT32
    assert models.coarse.logits(np.ones((1, 300), np.float32))[0].dtype == np.float32

"""The compiled canonical forward pass is equal to the bit to plain numpy, and to itself wherever a row stands."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

import brute_force
from minmargin.compute.networks import forward
from minmargin.compute.networks.dense import DenseNetworks
from minmargin.compute.networks.forward import NetworkModels
from random_networks import random_networks


def one_class_score(x, networks, center, k):
    """Return the probabilities of one row under network k, one Python number at a time."""
    values = [float(value) - float(c) for value, c in zip(x, center, strict=True)]
    for layer in range(len(networks.weights)):
        weights, biases = networks.weights[layer][k].tolist(), networks.biases[layer][k].tolist()
        if layer:
            values = [max(value, 0.0) for value in values]
        sums = []
        for o, total in enumerate(biases):
            for d, value in enumerate(values):
                total += value * weights[d][o]  # noqa: PLW2901 - the running sum, as it is defined
            sums.append(total)
        values = sums
    weights = np.exp(np.array(values) - max(values))
    return weights / weights.sum()


def test_the_reference_is_the_network():
    rng = np.random.default_rng(0)
    networks, center = random_networks(rng, 3, (4, 5, 3)), rng.normal(size=4).astype(np.float32)
    X = rng.normal(size=(6, 4))
    scores = brute_force.network_class_scores(X, networks, center)
    expected = [[one_class_score(x, networks, center, k) for x in X] for k in range(3)]
    np.testing.assert_allclose(scores, expected, rtol=1e-14)


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(0, 40),
    n_features=st.integers(1, 40),
    hidden=st.lists(st.integers(1, 20), max_size=3),
    n_classes=st.sampled_from([2, 3, 10]),
    n_networks=st.integers(0, 3),
    dtype=st.sampled_from([np.float32, np.float64]),
    scale=st.sampled_from([1e-200, 1.0, 30.0]),
)
def test_class_scores_equal_the_numpy_reference_to_the_bit(
    seed, n, n_features, hidden, n_classes, n_networks, dtype, scale
):
    rng = np.random.default_rng(seed)
    networks = random_networks(rng, n_networks, (n_features, *hidden, n_classes), scale)
    X = (rng.normal(size=(n, n_features)) * (rng.random((n, n_features)) < 0.7)).astype(dtype)
    center = (rng.normal(size=n_features) * 100).astype(np.float32)
    scores = NetworkModels(networks, center).class_scores(X)
    assert scores.shape == (n_networks, n, n_classes)
    np.testing.assert_array_equal(scores, brute_force.network_class_scores(X, networks, center))


def test_class_scores_do_not_depend_on_layout_or_neighbors():
    rng = np.random.default_rng(1)
    models = NetworkModels(random_networks(rng, 2, (17, 9, 3)), rng.normal(size=17).astype(np.float32))
    X = rng.normal(size=(101, 17))
    whole = models.class_scores(X)
    for start, stop in [(0, 1), (3, 11), (50, 101)]:
        np.testing.assert_array_equal(models.class_scores(X[start:stop]), whole[:, start:stop])
    np.testing.assert_array_equal(models.class_scores(np.asfortranarray(X)), whole)


def test_each_network_comes_by_itself_and_in_order():
    rng = np.random.default_rng(2)
    models, X = NetworkModels(random_networks(rng, 4, (5, 6, 3)), np.zeros(5)), rng.normal(size=(7, 5))
    np.testing.assert_array_equal(np.stack(list(models.each(X))), models.class_scores(X))


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e308])
def test_what_is_not_finite_ends_as_nan(value):
    """A row beyond float64 must end as NaN, so that it is reported, and not as some probability."""
    networks = DenseNetworks(
        (np.full((1, 1, 2), -1e10), np.ones((1, 2, 2))), (np.zeros((1, 2)), np.zeros((1, 2)))
    )
    scores = NetworkModels(networks, np.zeros(1)).class_scores(np.array([[-value]]))
    assert np.isnan(scores).all()


def test_no_multiplication_is_fused_with_an_addition():
    """A fused multiply-add rounds once where others round twice, so its bits would depend on the machine."""
    kernel = njit(forward._score.py_func)  # compiled anew: cached code cannot be looked at
    rng = np.random.default_rng(0)
    models = NetworkModels(random_networks(rng, 1, (4, 6, 3)), np.zeros(4))
    widths, scratch = np.array([4, 6, 3]), np.zeros(10_000)
    kernel(np.zeros(20), np.zeros(4), models._packed[0], widths, True, scratch, np.empty((1, 5, 3)))
    for assembly in kernel.inspect_asm().values():
        assert "mulpd" in assembly or "mulsd" in assembly or "fmul" in assembly
        assert "fmadd" not in assembly
        assert "fmla" not in assembly

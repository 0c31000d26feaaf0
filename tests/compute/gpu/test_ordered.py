"""Class scores that a device makes are those of the CPU's canonical kernels, to the bit."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import brute_force
from minmargin.compute.kernels import LinearKernel
from minmargin.compute.networks.forward import NetworkModels
from minmargin.learners.linear import LinearScorer
from minmargin.learners.networks.scorer import NetworkScorer
from random_networks import random_networks

pytest.importorskip("torch")

from minmargin.compute.gpu import ordered
from minmargin.compute.gpu.ordered import DeviceModels, OrderedLayers


@pytest.fixture(autouse=True)
def every_trip_pays(monkeypatch):
    monkeypatch.setattr(ordered, "_WORTH_A_TRIP", 0)


def rows_of_all_sizes(rng, n, n_features, dtype):
    """Numbers whose sums depend on the order in which they are added."""
    return (rng.normal(size=(n, n_features)) * 10.0 ** rng.integers(-6, 6, (n, n_features))).astype(dtype)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("widths", [(5, 3), (33, 70, 9, 4), (17, 40, 2)])
def test_networks(device, widths, dtype):
    rng = np.random.default_rng(len(widths))
    networks = random_networks(rng, 3, widths)
    X, center = rows_of_all_sizes(rng, 71, widths[0], dtype), rng.normal(size=widths[0]).astype(np.float32)
    layers = OrderedLayers(networks.weights, networks.biases, center, device)
    expected = brute_force.network_logits(X, networks, center)
    np.testing.assert_array_equal(layers.logits(X).transpose(0, 2, 1), expected)
    on_cpu = NetworkModels(networks, center)
    on_device = DeviceModels(on_cpu, layers, (3, widths[-1]), softmax=True)
    np.testing.assert_array_equal(on_device.class_scores(X), on_cpu.class_scores(X))


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("softmax", [True, False])
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_linear_models(device, n_outputs, softmax):
    rng = np.random.default_rng(n_outputs)
    weights, intercepts = rng.normal(size=(13, 4, n_outputs)), rng.normal(size=(4, n_outputs))
    X = rows_of_all_sizes(rng, 40, 13, np.float32)
    on_cpu = LinearKernel(weights, intercepts, softmax=softmax)
    layers = OrderedLayers([weights.reshape(1, 13, -1)], [intercepts.reshape(1, -1)], None, device)
    on_device = DeviceModels(on_cpu, layers, intercepts.shape, softmax=softmax)
    np.testing.assert_array_equal(on_device.class_scores(X), on_cpu.class_scores(X))
    rare = sparse.csr_array(X)
    np.testing.assert_array_equal(on_device.class_scores(rare), on_cpu.class_scores(rare))


def test_few_activations_at_a_time_give_the_same(device, monkeypatch):
    rng = np.random.default_rng(0)
    networks = random_networks(rng, 2, (6, 5, 3))
    X, center = rng.normal(size=(200, 6)), np.zeros(6, np.float32)
    layers = OrderedLayers(networks.weights, networks.biases, center, device)
    whole = layers.logits(X)
    monkeypatch.setattr(ordered, "_ACTIVATIONS", 1)
    np.testing.assert_array_equal(layers.logits(X), whole)


def test_too_few_rows_stay_on_the_cpu(device, monkeypatch):
    monkeypatch.setattr(ordered, "_WORTH_A_TRIP", 31)
    layers = OrderedLayers([np.ones((1, 3, 2))], [np.zeros((1, 2))], None, device)
    on_cpu = LinearKernel(np.ones((3, 1, 2)), np.zeros((1, 2)), softmax=True)
    models = DeviceModels(on_cpu, layers, (1, 2), softmax=True)
    asked = []
    monkeypatch.setattr(
        OrderedLayers, "logits", lambda _, X: asked.append(len(X)) or np.zeros((1, 2, len(X)))
    )
    for n in (5, 6):
        models.class_scores(np.zeros((n, 3)))
    assert asked == [6]


def test_scorers_ask_the_device_that_is_named(device, monkeypatch):
    """A scorer's models on "cuda" are its own: seen here with the device's name changed to the one at hand."""
    rng = np.random.default_rng(1)
    X = rows_of_all_sizes(rng, 30, 7, np.float32)
    made = OrderedLayers.__init__
    monkeypatch.setattr(
        OrderedLayers,
        "__init__",
        lambda self, *layers_and_center_and_device: made(self, *layers_and_center_and_device[:-1], device),
    )
    linear = LinearScorer(*(rng.normal(size=shape) for shape in ((7, 1, 3), (1, 3), (7, 4, 3), (4, 3))))
    base, members = random_networks(rng, 1, (7, 5, 3)), random_networks(rng, 4, (7, 5, 3))
    networks = NetworkScorer(base, members, rng.normal(size=7).astype(np.float32), rng.uniform(1, 2, 7))
    for scorer in (linear, networks):
        np.testing.assert_array_equal(scorer.base_scores(X, device="cuda"), scorer.base_scores(X))
        on_cpu, on_device = (np.stack(list(scorer.each_member(X, device=on))) for on in ("cpu", "cuda"))
        np.testing.assert_array_equal(on_device, on_cpu)

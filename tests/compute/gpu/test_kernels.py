"""The Triton kernels against plain torch, and that against the formulas in `margins`."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from minmargin import margins
from minmargin.compute.reductions import (
    ENTROPY_GAP,
    HIGHEST_OF_MEAN,
    LOWEST_GAP,
    LOWEST_MARGIN,
    MARGIN_OF_MEAN,
    MEAN_MARGIN,
    REDUCTIONS,
    VARIANCE,
    VOTES,
)

pytest.importorskip("torch")
pytest.importorskip("triton")

import torch

from minmargin.compute.gpu import plain
from minmargin.compute.gpu.looks import DeviceNetworks, NetworkLooks, _fast_layer
from minmargin.compute.networks.dense import DenseNetworks, glorot, join
from minmargin.learners.networks.fused import fused_step
from minmargin.learners.networks.steps import AdamSettings, DenseState, plain_step

#: What logits are reduced to, by formulas of our own.
VALUES = {
    LOWEST_GAP: lambda logits: margins.member_margins(logits).margins.min(axis=0),
    LOWEST_MARGIN: lambda logits: margins.member_margins(map(margins.softmax, logits)).margins.min(axis=0),
    MEAN_MARGIN: lambda logits: margins.member_margins(map(margins.softmax, logits)).margins.mean(axis=0),
    MARGIN_OF_MEAN: lambda logits: margins.margin(margins.mean_scores(map(margins.softmax, logits))),
    VOTES: lambda logits: margins.margin(margins.votes(logits)),
    VARIANCE: lambda logits: -np.var([margins.softmax(z) for z in logits], axis=0).sum(axis=1),
    HIGHEST_OF_MEAN: lambda logits: np.mean([margins.softmax(z) for z in logits], axis=0).max(axis=1),
    ENTROPY_GAP: lambda logits: np.sqrt(np.log(logits.shape[2]) + negative_entropy_of_mean(logits)),
}


def negative_entropy_of_mean(logits):
    return margins.negative_entropy(margins.mean_scores(map(margins.softmax, logits)))


def test_every_reduction_has_a_formula_here_and_a_way_in_plain_torch():
    assert set(VALUES) == {*plain._OF_LOGITS, *plain._OF_SCORES} == set(REDUCTIONS)


def stack(rng, n_networks, widths, device):
    weights = [rng.normal(size=(n_networks, a, b)) / np.sqrt(a) for a, b in itertools.pairwise(widths)]
    biases = [rng.normal(size=(n_networks, b)) for b in widths[1:]]
    return [
        [torch.tensor(each, dtype=torch.float32, device=device) for each in part]
        for part in (weights, biases)
    ]


@pytest.mark.parametrize("code", REDUCTIONS)
def test_plain_torch_reduces_logits_as_the_formulas_do(code):
    logits = np.random.default_rng(code).normal(size=(7, 40, 4))
    found = plain.reduced(
        torch.from_numpy(logits), REDUCTIONS[code], softmax=True, doubt=torch.full((40,), -1.0)
    )
    np.testing.assert_allclose(found.numpy(), VALUES[code](logits), rtol=1e-12, atol=1e-14)


def test_votes_in_doubt_are_counted_apart():
    logits = torch.tensor([[[3.0, 0.0, 1.0]], [[2.0, 1.9, 0.0]], [[5.0, 0.0, 0.0]]])
    certain, doubtful = torch.tensor([-1.0]), torch.tensor([0.5])
    assert plain.reduced(logits, REDUCTIONS[VOTES], softmax=True, doubt=certain).item() == 3.0
    assert plain.reduced(logits, REDUCTIONS[VOTES], softmax=True, doubt=doubtful).item() == 2.0
    assert (certain.item(), doubtful.item()) == (0.0, 1.0)


@pytest.mark.parametrize("widths", [(9, 3), (20, 33, 5), (40, 17, 70, 20)])
@pytest.mark.parametrize("code", REDUCTIONS)
def test_the_last_layer_is_reduced_as_plain_torch_does(code, widths, device):
    rng = np.random.default_rng(code)
    weights, biases = stack(rng, 3, widths, device)
    rows = torch.tensor(rng.normal(size=(70, widths[0])), dtype=torch.float32, device=device)
    networks = DenseNetworks(
        tuple(layer.double().cpu().numpy() for layer in weights),
        tuple(layer.double().cpu().numpy() for layer in biases),
    )
    looks = NetworkLooks(DeviceNetworks(networks, device), REDUCTIONS[code], True, "float32")
    logits, _ = plain.network_logits(
        rows.double(), [w.double() for w in weights], [b.double() for b in biases]
    )
    doubt = torch.full((70,), -1.0, device=device)
    expected = plain.reduced(logits, REDUCTIONS[code], softmax=True, doubt=doubt)
    np.testing.assert_allclose(looks.certain_look(rows).values, expected.cpu().numpy(), rtol=2e-5, atol=2e-6)


def test_a_hidden_layer_is_multiplied_as_plain_torch_does(device):
    rng = np.random.default_rng(0)
    (weights,), (biases,) = stack(rng, 3, (50, 37), device)
    rows = torch.tensor(rng.normal(size=(45, 50)), dtype=torch.float32, device=device)
    shared = rows.unsqueeze(0).expand(3, -1, -1)
    expected = torch.baddbmm(biases.unsqueeze(1), shared, weights).relu()
    for inputs in (rows, shared.contiguous()):
        np.testing.assert_allclose(_fast_layer(inputs, weights, biases).cpu(), expected.cpu(), atol=2e-2)


@pytest.mark.parametrize("n_rows", [5, 32, 45])
def test_a_fused_step_is_a_plain_step(n_rows, device):
    networks = join([glorot((20, 33, 18, 3), np.random.default_rng(seed)) for seed in range(3)])
    plainly, fused = (DenseState.of(networks, device) for _ in range(2))
    rng = np.random.default_rng(1)
    adam = AdamSettings(lr=0.01, weight_decay=0.1)
    for _ in range(4):
        inputs = torch.tensor(rng.normal(size=(3, n_rows, 20)), dtype=torch.float32, device=device)
        codes = torch.tensor(rng.integers(0, 3, size=(3, n_rows)), device=device)
        weights = torch.full((3, n_rows), 1.0 / n_rows, device=device)
        plain_step(plainly, inputs.clone(), codes, weights, adam)
        fused_step(fused, inputs.clone(), codes, weights, adam)
    assert fused.n_steps == 4
    for name in ("parameters", "first", "second"):
        for a, b in zip(getattr(plainly, name), getattr(fused, name), strict=True):
            np.testing.assert_allclose(b.cpu(), a.cpu(), rtol=1e-3, atol=2e-6, err_msg=name)

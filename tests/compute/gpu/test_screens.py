"""A screen on a device never dismisses a row that belongs, whatever it rounds; and no device changes a batch."""

from __future__ import annotations

import hashlib
import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import minmargin as mm
from fixed_network_committee import STRATEGIES, contents, fixed_committee, pool_rows
from minmargin import margins
from minmargin.compute.networks.forward import NetworkModels
from minmargin.data.rows import ColumnBlock
from minmargin.learners.linear import LinearScorer
from random_networks import random_networks, rows_on_a_boundary
from scripts import load_script
from soundness import SCORES, assert_keeps_what_belongs, linear_class_scores, links

pytest.importorskip("torch")
pytest.importorskip("triton")

import torch

from minmargin.compute.gpu import gaps, screens
from minmargin.compute.gpu.looks import DeviceNetworks
from minmargin.compute.gpu.screens import linear_screen, network_screen
from minmargin.topb import Cut

PRECISIONS = ["float32", "fast"]

# What the interpreter warns of where a GPU just computes on.
pytestmark = [
    pytest.mark.filterwarnings("ignore:All-NaN slice encountered"),
    pytest.mark.filterwarnings("ignore:invalid value encountered"),
    pytest.mark.filterwarnings("ignore:overflow encountered"),
]
# The interpreter takes seconds for what a GPU does in a millisecond.
ON_GPU = torch.cuda.is_available()
SHARES = [0, 0.2, 1] if ON_GPU else [0.2]
few_examples = settings(
    max_examples=25 if ON_GPU else 2,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@pytest.fixture(autouse=True)
def _always_look_closer(monkeypatch):
    """These committees are so small that looking closer would never pay."""
    monkeypatch.setattr(screens, "_WORTH_A_LOOK", 0)


def assert_linear_sound(X, weights, intercepts, device, *, scores=SCORES):
    for score in scores:
        for softmax in links(score):
            with np.errstate(all="ignore"):
                exact = SCORES[score](linear_class_scores(X, weights, intercepts, softmax=softmax))
            for precision in PRECISIONS:
                screen = linear_screen(
                    weights, intercepts, score, softmax=softmax, precision=precision, device=device
                )
                assert_keeps_what_belongs(screen, X, exact, at=SHARES)


def linear_models(rng, n_features, n_models, n_outputs, scale=1.0):
    return (
        rng.normal(size=(n_features, n_models, n_outputs)) * scale,
        rng.normal(size=(n_models, n_outputs)) * scale,
    )


@few_examples
@given(
    seed=st.integers(0, 2**32 - 1),
    n_features=st.sampled_from([1, 17, 64, 130]),
    n_models=st.sampled_from([1, 6, 40] if ON_GPU else [1, 6]),
    n_outputs=st.sampled_from([1, 3, 10, 19] if ON_GPU else [1, 3]),
    row_scale=st.sampled_from([1e-45, 1e-20, 1e-3, 1.0, 1e3, 1e10, 1e38]),
    weight_scale=st.sampled_from([1e-30, 1e-3, 1.0, 1e4, 1e20]),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_no_scale_of_rows_or_weights_loses_a_row(
    seed, n_features, n_models, n_outputs, row_scale, weight_scale, dtype, device
):
    rng = np.random.default_rng(seed)
    weights, intercepts = linear_models(rng, n_features, n_models, n_outputs, weight_scale)
    with np.errstate(over="ignore"):
        X = (rng.normal(size=(40, n_features)) * row_scale).astype(dtype)
    X = np.nan_to_num(X, posinf=1e38, neginf=-1e38)
    X[:5] = 0
    assert_linear_sound(X, weights, intercepts, device, scores=["min-margin"])


@pytest.mark.parametrize("n_outputs", [1, 4])
def test_every_score_of_linear_models_is_screened_soundly(n_outputs, device):
    rng = np.random.default_rng(n_outputs)
    weights, intercepts = linear_models(rng, 12, 5, n_outputs)
    assert_linear_sound(rng.normal(size=(60, 12)).astype(np.float32), weights, intercepts, device)


@few_examples
@given(
    seed=st.integers(0, 2**32 - 1),
    n_features=st.sampled_from([5, 40, 100]),
    n_outputs=st.sampled_from([1, 4]),
    offset=st.floats(-1e-5, 1e-5),
)
def test_scores_packed_inside_the_error_band_are_kept(seed, n_features, n_outputs, offset, device):
    """Rows that cancel: long vectors almost on a boundary, where few digits know nothing of the sign."""
    rng = np.random.default_rng(seed)
    weights, intercepts = linear_models(rng, n_features, 3, n_outputs)
    intercepts[:] = 0.0
    normal = weights[:, 0, 0] if n_outputs == 1 else weights[:, 0, 1] - weights[:, 0, 0]
    X = rng.normal(size=(50, n_features)) * 100
    X -= np.outer(X @ normal / (normal @ normal) - offset, normal)
    assert_linear_sound(X, weights, intercepts, device, scores=["min-margin", "committee"])


@few_examples
@given(
    seed=st.integers(0, 2**32 - 1),
    hidden=st.lists(st.integers(1, 40), max_size=2),
    n_classes=st.sampled_from([2, 4]),
    offset=st.sampled_from([0.0, 1e2, 1e6]),
    score=st.sampled_from(sorted(SCORES)),
)
def test_rows_that_a_network_can_hardly_decide_are_kept(seed, hidden, n_classes, offset, score, device):
    rng = np.random.default_rng(seed)
    networks = random_networks(rng, 3, (6, *hidden, n_classes))
    center = (offset * rng.normal(size=6)).astype(np.float32)
    X = rows_on_a_boundary(rng, networks, center.astype(np.float64), 30)
    exact = SCORES[score](NetworkModels(networks, center).class_scores(X))
    for precision in PRECISIONS:
        models = DeviceNetworks(networks, device)
        assert_keeps_what_belongs(
            network_screen(models, center, score, precision=precision), X, exact, at=SHARES
        )


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize(("n_features", "n_outputs"), [(8, 1), (70, 1), (8, 3)])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_number_that_is_not_finite_is_reported(value, n_features, n_outputs, precision, device):
    rng = np.random.default_rng(0)
    models = linear_models(rng, n_features, 3, n_outputs)
    X = rng.normal(size=(300, n_features))
    screen = linear_screen(*models, "min-margin", softmax=True, precision=precision, device=device)
    assert screen.near(X, cut=Cut(score=1e-9), size=None).finite
    X[137, 5] = value
    near = screen.near(X, cut=Cut(score=1e-9), size=None)
    assert not near.finite
    assert 137 in near.places


def test_few_rows_in_doubt_are_left_to_the_exact_scores(device, monkeypatch):
    rng = np.random.default_rng(0)
    models, X = linear_models(rng, 7, 4, 1), rng.normal(size=(300, 7))
    screen = linear_screen(*models, "min-margin", softmax=True, precision="fast", device=device)
    closer = set(screen.near(X, cut=Cut(score=0.01), size=100).places.tolist())
    monkeypatch.setattr(screens, "_WORTH_A_LOOK", 1 << 20)
    assert closer < set(screen.near(X, cut=Cut(score=0.01), size=100).places.tolist())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_where_a_first_look_dismisses_too_few_rows_the_closer_look_comes_first(
    n_outputs, dtype, device, monkeypatch
):
    monkeypatch.setattr(screens, "_TOO_MANY", -1)
    rng = np.random.default_rng(n_outputs)
    weights, intercepts = linear_models(rng, 70, 4, n_outputs)
    X = rng.normal(size=(50, 70)).astype(dtype)
    exact = SCORES["min-margin"](linear_class_scores(X, weights, intercepts))
    screen = linear_screen(weights, intercepts, "min-margin", softmax=True, precision="fast", device=device)
    screen.near(X, cut=Cut(score=0.1), size=10)
    # Float64 rows were rounded on their way, and only a first look allows for that.
    assert bool(screen.leaves_too_many) == (dtype == np.float32)
    first_looks = []
    for name in ("first_look", "both_looks"):
        look = getattr(type(screen.gaps), name)
        monkeypatch.setattr(
            type(screen.gaps), name, lambda *given, look=look: first_looks.append(1) or look(*given)
        )
    assert_keeps_what_belongs(screen, X, exact, at=SHARES)
    assert bool(first_looks) == (dtype == np.float64)


@pytest.mark.parametrize("n_outputs", [1, 4])
@pytest.mark.parametrize(("weight_scale", "step"), [(1e-20, None), (1.0, None), (1.0, 32), (1e20, None)])
def test_the_closer_look_that_comes_first_loses_no_row_either(
    n_outputs, weight_scale, step, device, monkeypatch
):
    """Rows almost on a boundary, and lengths from the least to the largest that float32 holds."""
    if step is not None:
        monkeypatch.setattr(gaps, "_DOUBLES", step * 40)
    rng = np.random.default_rng(n_outputs)
    weights, intercepts = linear_models(rng, 40, 3, n_outputs, weight_scale)
    normal = weights[:, 0, 0] if n_outputs == 1 else weights[:, 0, 1] - weights[:, 0, 0]
    X = rng.normal(size=(60, 40))
    X[:30] -= np.outer(X[:30] @ normal / (normal @ normal), normal)
    X *= np.logspace(-30, 17, 60)[rng.permutation(60), None]
    X = X.astype(np.float32)
    exact = SCORES["min-margin"](linear_class_scores(X, weights, intercepts))
    screen = linear_screen(
        weights, intercepts, "min-margin", softmax=True, precision="float32", device=device
    )
    screen.leaves_too_many.append(True)
    assert_keeps_what_belongs(screen, X, exact, at=SHARES)


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_what_a_quick_look_leaves_is_known_to_many_digits_if_rows_arrive_as_they_are(n_outputs, device):
    rng = np.random.default_rng(n_outputs)
    models, X = linear_models(rng, 9, 4, n_outputs), rng.normal(size=(300, 9)).astype(np.float32)
    screen = linear_screen(*models, "min-margin", softmax=True, precision="fast", device=device)
    near = screen.near(X, cut=Cut(score=0.05), size=None)
    assert 0 < len(near.places) < 300
    assert (near.upper - near.lower).max() < 1e-6
    assert len(screen.near(X, cut=Cut(score=1e-9), size=None).places) == 0


def test_columns_are_looked_at_as_rows_are(device):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 7))
    screen = linear_screen(
        *linear_models(rng, 7, 4, 3), "min-margin", softmax=True, precision="float32", device=device
    )
    by_rows = screen.near(X, cut=Cut(score=0.05), size=20)
    by_columns = screen.near(ColumnBlock([X[:, d].copy() for d in range(7)]), cut=Cut(score=0.05), size=20)
    np.testing.assert_array_equal(by_rows.places, by_columns.places)
    assert 0 < len(by_rows.places) < 200


@pytest.mark.parametrize("score", [*SCORES, "margin"])
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_fast_scores_are_close_to_the_exact_ones(score, n_outputs, device):
    rng = np.random.default_rng(1)
    weights, intercepts = linear_models(rng, 9, 1 if score == "margin" else 6, n_outputs)
    X = rng.normal(size=(100, 9)).astype(np.float32)
    screen = linear_screen(weights, intercepts, score, softmax=True, precision="float32", device=device)
    exact = SCORES.get(score, margins.min_margin)(linear_class_scores(X, weights, intercepts))
    np.testing.assert_allclose(screen.scores(X), exact, atol=1e-5)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("strategy", ["min-margin", "margin", "mean-margin"])
@pytest.mark.parametrize("learner", ["logistic", "mlp"])
def test_a_device_picks_the_batch_that_the_cpu_picks(learner, strategy, precision, device, monkeypatch):
    """To the bit. Without a GPU the interpreter stands in for it, at the one place where a screen is made."""
    rng = np.random.default_rng(3)
    X, pool = rng.normal(size=(60, 5)), rng.normal(size=(800, 5)).astype(np.float32)
    y = (X[:, 0] + X[:, 1] > 0).astype(int) + (X[:, 2] > 0.5)
    chosen = mm.MLPLearner(hidden=(8,), epochs=5) if learner == "mlp" else learner
    committee = mm.fit_committee(X, y, learner=chosen, n_models=5, random_state=0, device="cpu")
    expected = committee.select(pool, 20, strategy=strategy, device="cpu")
    if device == "cpu":
        monkeypatch.setattr(screens, "linear_screen", partial(linear_screen, device="cpu"))
        monkeypatch.setattr(
            "minmargin.compute.gpu.looks.DeviceNetworks", lambda networks, _: DeviceNetworks(networks, "cpu")
        )
        monkeypatch.setattr("minmargin.committee.committee.resolve_device", lambda _: "cuda")
        monkeypatch.setattr("minmargin.scan.engines.check_device", lambda device: device)
    found = committee.select(pool, 20, strategy=strategy, device="cuda", precision=precision)
    assert found.manifest["settings"]["device"] == "cuda"
    assert found.manifest["settings"]["precision"] == precision
    assert found.rows.tolist() == expected.rows.tolist()
    assert found.scores.tobytes() == expected.scores.tobytes()
    assert found.manifest["rows_scored_exactly"] < 800


def test_a_linear_committee_gets_its_screen_from_the_device(monkeypatch):
    asked = []
    monkeypatch.setattr(screens, "linear_screen", lambda *given, **settings: asked.append(settings))
    scorer = LinearScorer(*linear_models(np.random.default_rng(0), 3, 1, 1) * 2)
    assert scorer.screen("min-margin", device="cuda", precision="fast") is None
    assert asked == [{"softmax": True, "precision": "fast"}]


TESTS = Path(__file__).parents[2]


def golden(name):
    return json.loads((TESTS / "golden" / f"{name}.json").read_text())


def digest(batch):
    return hashlib.sha256(contents(batch)).hexdigest()


@pytest.mark.gpu
@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_gpu_picks_the_batches_of_networks_that_other_machines_picked(precision):
    committee, pool = fixed_committee(3), pool_rows(0, 2000)
    picked = {
        name: digest(committee.select(pool, 25, strategy=name, device="cuda", precision=precision))
        for name in STRATEGIES
    }
    assert picked == golden("batches_of_a_fixed_network_committee")


@pytest.mark.gpu
@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_gpu_picks_the_batches_of_linear_models_that_other_machines_picked(precision):
    script = load_script(TESTS / "property" / "batches_of_a_fixed_committee.py")
    rng = np.random.default_rng(0)
    X, y, pool = rng.normal(size=(60, 33)), np.arange(60) % 3, rng.normal(size=(2000, 33))
    committee = mm.fit_committee(X, y, learner=script.FixedWeights(), n_models=7, random_state=0)
    picked = {
        name: digest(committee.select(pool, 25, strategy=name, device="cuda", precision=precision))
        for name in STRATEGIES
    }
    assert picked == golden("batches_of_a_fixed_committee")


@pytest.mark.gpu
def test_a_batch_does_not_depend_on_threads_blocks_or_containers_on_a_gpu():
    rng = np.random.default_rng(5)
    X, pool = rng.normal(size=(80, 12)), rng.normal(size=(300_000, 12)).astype(np.float32)
    committee = mm.fit_committee(X, X[:, 0] > 0, n_models=25, random_state=0)
    expected = contents(committee.select(pool, 500, device="cpu"))
    for n_jobs in (1, 4, 16):
        for rows in (pool, pool.astype(np.float64), np.asfortranarray(pool)):
            assert contents(committee.select(rows, 500, device="cuda", n_jobs=n_jobs)) == expected

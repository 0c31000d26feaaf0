"""The screen of given class scores: no row is lost, no exact score lies outside its bounds, batches are the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import minmargin as mm
from minmargin import margins
from minmargin.compute import GivenScreen, may_be_wrong
from soundness import SCORES, assert_keeps_what_belongs

SHAPES = st.tuples(st.integers(1, 4), st.integers(3, 30), st.integers(2, 5))


def shares(weights):
    return weights / weights.sum(axis=-1, keepdims=True)


@settings(max_examples=100, deadline=None)
@given(st.data(), SHAPES, st.sampled_from([np.float32, np.float64]))
@pytest.mark.parametrize("score", SCORES)
def test_probabilities(score, data, shape, dtype):
    # Whole weights, so that there are ties, and zeros.
    weights = data.draw(hnp.arrays(np.int64, shape, elements=st.integers(0, 4)))
    weights[..., 0] += 1
    members = shares(weights).astype(dtype).astype(np.float64)
    n_models, _, n_classes = shape
    screen = GivenScreen.of(score, n_models, n_classes, has_base=False, logits=False)
    X = np.hstack(members.astype(dtype))
    exact = SCORES[score](members)
    assert_keeps_what_belongs(screen, X, exact, at=(0.0, 0.3, 1.0))
    np.testing.assert_allclose(screen.scores(X), exact, rtol=0, atol=1e-11)


@settings(max_examples=100, deadline=None)
@given(st.data(), SHAPES)
def test_logits(data, shape):
    logits = data.draw(hnp.arrays(np.float64, shape, elements=st.floats(-60, 60) | st.just(-np.inf)))
    logits[..., 0] = np.where(np.isinf(logits).all(axis=-1), 0.0, logits[..., 0])
    n_models, _, n_classes = shape
    screen = GivenScreen.of("min-margin", n_models, n_classes, has_base=False, logits=True)
    exact = margins.min_margin(margins.softmax(logits))
    assert_keeps_what_belongs(screen, np.hstack(logits), exact, at=(0.0, 0.3, 1.0))


def test_there_is_no_screen_for_other_scores_of_logits():
    assert GivenScreen.of("entropy", 2, 3, has_base=False, logits=True) is None


def test_the_margin_is_the_bases():
    P = np.random.default_rng(0).dirichlet(np.ones(3), size=(3, 50))
    screen = GivenScreen.of("margin", 2, 3, has_base=True, logits=False)
    np.testing.assert_allclose(screen.scores(np.hstack(P)), margins.margin(P[2]), rtol=0, atol=1e-12)


@settings(max_examples=200, deadline=None)
@given(
    hnp.arrays(
        np.float64, (2, 6), elements=st.sampled_from([0.0, 0.5, 0.25, 1.0, -1.0, np.nan, np.inf, -np.inf])
    )
)
@example(np.array([[0.5, 0.5, 0.0, 1.0, 0.0, 0.0]] * 2))
def test_rows_that_cannot_be_meant(rows):
    """Two models of three classes."""
    by_model = rows.reshape(2, 2, 3)
    with np.errstate(invalid="ignore"):
        fine = (by_model >= 0).all() and np.abs(by_model.sum(axis=2) - 1.0).max() <= 0.01
        fine_logits = (by_model < np.inf).all() and (by_model.max(axis=2) > -np.inf).all()
    asked = {"tolerance": 0.01, "normalized": True, "logarithms": False}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("minmargin.compute.models.SMALL_WORK", 0)
        assert may_be_wrong(rows, 2, 3, **asked) == (not fine)
        assert may_be_wrong(rows, 2, 3, **asked | {"normalized": False, "logarithms": True}) == (
            not fine_logits
        )


@pytest.mark.usefixtures("large_work")
@pytest.mark.parametrize("strategy", ["committee", "min-margin"])
def test_rows_whose_scores_tie_need_no_second_look(strategy):
    """Of rounded probabilities, hundreds of rows have the score of the last pick."""
    first = np.random.default_rng(2).integers(0, 21, size=(3, 30_000)) / 20
    rounded = np.stack([first, 1.0 - first], axis=2)
    batch = mm.select_from_probabilities(rounded, 50, strategy=strategy, random_state=0, n_jobs=1)
    assert len(set(batch.scores.tolist())) == 1
    assert batch.manifest["rows_scored_exactly"] == 50


@pytest.mark.parametrize("values", ["probabilities", "logits", "log-probabilities"])
@pytest.mark.parametrize("strategy", ["min-margin", "margin", "entropy", "committee", "spread"])
def test_a_large_pool_gives_the_same_batch_with_and_without(strategy, values, monkeypatch):
    """Compiled looks first, or numpy alone."""
    logits = np.random.default_rng(1).normal(size=(3, 30_000, 4))
    given_values = logits if values == "logits" else np.log(margins.softmax(logits))
    given_values = margins.softmax(logits) if values == "probabilities" else given_values

    def pick():
        batch = mm.select_from_probabilities(
            given_values, 50, strategy=strategy, values=values, random_state=0
        )
        return batch.rows.tolist(), batch.scores.tolist(), batch.manifest["rows_scored_exactly"]

    monkeypatch.setattr("minmargin.compute.models.SMALL_WORK", 1 << 62)
    *plain, n_plain = pick()
    monkeypatch.setattr("minmargin.compute.models.SMALL_WORK", 0)
    *looked, n_looked = pick()
    assert looked == plain
    if strategy in {"min-margin", "margin", "entropy"} and values == "probabilities":
        assert n_looked < n_plain / 3

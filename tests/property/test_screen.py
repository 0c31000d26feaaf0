"""A screen never dismisses a row that belongs, whatever the numbers; and it dismisses most of the others."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import minmargin as mm
from minmargin import margins
from minmargin.kernels import linear_class_scores
from minmargin.screen import LinearScreen


def scores_of(X, weights, intercepts):
    return margins.min_margin(linear_class_scores(X, weights, intercepts))


def assert_sound(X, weights, intercepts, thresholds):
    screen = LinearScreen.of(weights, intercepts)
    scores = scores_of(X, weights, intercepts)
    for threshold in thresholds:
        belongs = set(np.flatnonzero(scores <= threshold).tolist())
        for rows in (X, sparse.csr_array(X)):
            assert belongs <= set(screen.survivors(rows, float(threshold)).tolist())


def models(rng, n_features, n_models, n_outputs, scale):
    return (
        rng.normal(size=(n_features, n_models, n_outputs)) * scale,
        rng.normal(size=(n_models, n_outputs)) * scale,
    )


@settings(max_examples=200)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_features=st.sampled_from([1, 2, 17, 64, 300]),
    n_outputs=st.sampled_from([1, 3, 10]),
    row_scale=st.sampled_from([1e-45, 1e-38, 1e-20, 1e-3, 1.0, 1e3, 1e10, 1e25, 1e38]),
    weight_scale=st.sampled_from([1e-30, 1e-3, 1.0, 1e4, 1e20]),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_no_scale_of_rows_or_weights_loses_a_row(seed, n_features, n_outputs, row_scale, weight_scale, dtype):
    rng = np.random.default_rng(seed)
    weights, intercepts = models(rng, n_features, 5, n_outputs, weight_scale)
    with np.errstate(over="ignore"):
        X = (rng.normal(size=(40, n_features)) * row_scale).astype(dtype)
    X = np.nan_to_num(X, posinf=1e38, neginf=-1e38)
    X[:5] = 0
    with np.errstate(all="ignore"):
        scores = scores_of(X, weights, intercepts)
        finite = np.isfinite(scores)
        assert_sound(
            X[finite],
            weights,
            intercepts,
            np.quantile(scores[finite], [0, 0.1, 0.5, 1]) if finite.any() else [],
        )


@given(seed=st.integers(0, 2**32 - 1), n_outputs=st.sampled_from([1, 4]), offset=st.floats(-1e-5, 1e-5))
def test_scores_packed_inside_the_error_band_are_kept(seed, n_outputs, offset):
    """Rows that cancel: long vectors almost on a boundary, where float32 knows nothing of the sign."""
    rng = np.random.default_rng(seed)
    weights, intercepts = models(rng, 30, 3, n_outputs, 1.0)
    normal = weights[:, 1, 0] - (weights[:, 1, 1] if n_outputs > 1 else 0.0)
    constant = intercepts[1, 0] - (intercepts[1, 1] if n_outputs > 1 else 0.0)
    X = rng.normal(size=(60, 30)) * 1e3
    X -= np.outer((X @ normal + constant + offset) / (normal @ normal), normal)
    scores = scores_of(X, weights, intercepts)
    assert_sound(X, weights, intercepts, np.sort(scores)[[0, 5, 30, 59]])


@pytest.mark.parametrize("n_classes", [2, 5])
def test_a_screen_leaves_little_more_than_the_rows_that_belong(n_classes):
    rng = np.random.default_rng(0)
    n_outputs = 1 if n_classes == 2 else n_classes
    weights, intercepts = models(rng, 32, 25, n_outputs, 1.0)
    X = rng.normal(size=(20_000, 32)).astype(np.float32)
    scores = scores_of(X, weights, intercepts)
    threshold = float(np.quantile(scores, 0.01))
    survivors = LinearScreen.of(weights, intercepts).survivors(X, threshold)
    assert len(survivors) <= 1.3 * (scores <= threshold).sum()


def test_thresholds_at_the_ends_are_handled():
    rng = np.random.default_rng(0)
    weights, intercepts = models(rng, 4, 3, 1, 1.0)
    X = rng.normal(size=(50, 4))
    screen = LinearScreen.of(weights, intercepts)
    assert len(screen.survivors(X, 1.0)) == 50
    assert len(screen.survivors(X, 0.0)) == 0
    assert len(screen.survivors(np.zeros((3, 4)), 0.5)) == (
        3 if np.abs(np.tanh(intercepts / 2)).min() <= 0.5 else 0
    )


def test_weights_beyond_float32_are_not_screened():
    assert LinearScreen.of(np.full((2, 1, 1), 1e39), np.zeros((1, 1))) is None


def test_the_manifest_tells_how_many_rows_were_scored_exactly():
    rng = np.random.default_rng(0)
    X, pool = rng.normal(size=(60, 5)), rng.normal(size=(100_000, 5))
    batch = mm.select(X, X[:, 0] > 0, pool, 100, random_state=0, n_jobs=1)
    assert 100 <= batch.manifest["rows_scored_exactly"] < 40_000
    votes = mm.select(X, X[:, 0] > 0, pool, 100, strategy="committee", random_state=0)
    assert votes.manifest["rows_scored_exactly"] == 100_000, "no screen knows votes"

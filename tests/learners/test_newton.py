"""Logistic regressions trained together are each at the optimum that scikit-learn finds alone."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression

import minmargin as mm
from minmargin.learners import newton
from minmargin.learners.newton import fit_together


def problem(n, n_features, n_classes, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features))
    scores = 2 * X @ rng.normal(size=(n_features, n_classes)) / np.sqrt(n_features)
    codes = (scores + rng.gumbel(size=(n, n_classes))).argmax(axis=1)
    weights = rng.integers(0, 4, size=(3, n)).astype(float)
    return X, codes, weights


def alone(X, codes, weights, C=1.0, fit_intercept=True):
    model = LogisticRegression(C=C, fit_intercept=fit_intercept, tol=1e-10, max_iter=100_000)
    return model.fit(X, codes, sample_weight=weights)


def assert_same(found, member, expected, rtol=1e-4):
    coefficients = found.coefficients[:, member].T
    assert np.abs(coefficients - expected.coef_).max() <= rtol * np.abs(expected.coef_).max()
    np.testing.assert_allclose(
        found.intercepts[member], expected.intercept_ * np.ones(coefficients.shape[0]), rtol=1e-3, atol=1e-4
    )
    assert found.gradient[member] <= 1e-6


@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
@pytest.mark.parametrize(
    ("n", "n_features", "n_classes"),
    [(60, 3, 2), (80, 40, 2), (40, 90, 2), (90, 4, 3), (60, 70, 4), (90, 60, 3), (150, 130, 2)],
    ids=str,
)
def test_every_member_is_at_its_own_optimum(n, n_features, n_classes, C):
    X, codes, weights = problem(n, n_features, n_classes)
    found = fit_together(X, codes, n_classes, weights, C=C)
    for member in range(3):
        assert_same(found, member, alone(X, codes, weights[member], C=C))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_without_intercept_logits_have_no_constant(n_classes):
    X, codes, weights = problem(70, 5, n_classes)
    found = fit_together(X, codes, n_classes, weights, fit_intercept=False)
    assert_same(found, 1, alone(X, codes, weights[1], fit_intercept=False))
    assert (found.intercepts == 0).all()


@pytest.mark.parametrize("n_features", [6, 200])
def test_sparse_rows_give_the_same_optimum(n_features):
    X, codes, weights = problem(80, n_features, 3)
    X[np.random.default_rng(1).random(X.shape) < 0.6] = 0
    dense = fit_together(X, codes, 3, weights)
    compressed = fit_together(sparse.csr_array(X), codes, 3, weights)
    np.testing.assert_allclose(compressed.coefficients, dense.coefficients, atol=1e-6)


def test_a_start_near_the_optimum_saves_steps_and_changes_nothing():
    X, codes, weights = problem(300, 8, 2)
    base = fit_together(X, codes, 2, np.ones((1, 300)))
    cold, warm = fit_together(X, codes, 2, weights), fit_together(X, codes, 2, weights, start=base)
    np.testing.assert_allclose(warm.coefficients, cold.coefficients, atol=1e-7)
    assert warm.steps.sum() <= cold.steps.sum()
    in_the_row_space = problem(30, 50, 3)
    base = fit_together(*in_the_row_space[:2], 3, np.ones((1, 30)))
    again = fit_together(*in_the_row_space[:2], 3, np.ones((1, 30)), start=base)
    np.testing.assert_allclose(again.coefficients, base.coefficients, atol=1e-7)


def test_features_of_any_unit_reach_the_optimum():
    X, y = load_breast_cancer(return_X_y=True)
    found = fit_together(X[:200], y[:200], 2, np.ones((1, 200)))
    assert found.gradient[0] <= 1e-6


@pytest.mark.parametrize("n_classes", [2, 3])
def test_separable_and_collinear_rows_have_an_optimum_too(n_classes):
    codes = np.repeat(np.arange(n_classes), 10)
    X = np.stack([codes, codes, 2.0 * codes, np.ones(len(codes))], axis=1) * 100.0
    found = fit_together(X, codes, n_classes, np.ones((1, len(codes))))
    assert found.gradient[0] <= 1e-6
    logits = X @ found.coefficients[:, 0] + found.intercepts[0]
    predicted = (logits[:, 0] > 0).astype(int) if n_classes == 2 else logits.argmax(axis=1)
    assert (predicted == codes).all()


def test_intercepts_of_many_classes_sum_to_zero():
    X, codes, weights = problem(90, 4, 3)
    np.testing.assert_allclose(fit_together(X, codes, 3, weights).intercepts.sum(axis=1), 0, atol=1e-12)


def test_a_model_that_stops_short_is_told_of(monkeypatch):
    monkeypatch.setattr(newton, "_MOST_STEPS", 1)
    X, codes, _ = problem(60, 3, 2)
    with pytest.warns(mm.DataWarning, match="6 of 6 logistic models stopped short of the optimum"):
        mm.fit_committee(X, codes, n_models=5, random_state=0)


@pytest.mark.parametrize("n_models", [1, 4, 7])
def test_neither_the_number_of_members_nor_of_threads_changes_a_member(n_models):
    X, codes, _ = problem(60, 30, 3)
    many = mm.fit_committee(X, codes, n_models=11, random_state=0, n_jobs=2).scorer
    few = mm.fit_committee(X, codes, n_models=n_models, random_state=0, n_jobs=1).scorer
    np.testing.assert_array_equal(few.member_weights, many.member_weights[:, :n_models])
    np.testing.assert_array_equal(few.member_intercepts, many.member_intercepts[:n_models])

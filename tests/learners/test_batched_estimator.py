"""`BatchedLogisticRegression` is a scikit-learn classifier, at scikit-learn's optimum."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

import minmargin as mm
from minmargin.learners import batched

X, y = load_iris(return_X_y=True)


# One check looks at input of other array libraries: integrations/test_array_libraries.py runs it.
CHECKS = [
    pytest.param(estimator, check, id=f"{check.func.__name__}-C={made.C:g}")
    for made in (mm.BatchedLogisticRegression(), mm.BatchedLogisticRegression(C=30.0, tol=1e-7))
    for estimator, check in estimator_checks_generator(made)
    if check.func.__name__ != "check_array_api_input"
]


@pytest.mark.parametrize(("estimator", "check"), CHECKS)
def test_scikit_learn_accepts_it(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"C": 0.1},
        {"fit_intercept": False},
        {"class_weight": "balanced"},
        {"class_weight": {0: 3.0, 1: 0.5}},
    ],
    ids=str,
)
def test_it_is_at_the_optimum_of_scikit_learns_objective(settings: dict[str, Any], n_classes: int) -> None:
    rows, labels = X[20:][y[20:] < n_classes], y[20:][y[20:] < n_classes]
    weights = np.random.default_rng(0).integers(0, 4, len(rows))
    ours = mm.BatchedLogisticRegression(**settings).fit(rows, labels, weights)
    theirs = LogisticRegression(**settings, solver="newton-cholesky", tol=1e-10).fit(rows, labels, weights)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-6)
    np.testing.assert_allclose(
        np.diff(ours.decision_function(X)), np.diff(theirs.decision_function(X)), rtol=1e-5, atol=1e-5
    )
    assert ours.intercept_.shape == theirs.intercept_.shape


def test_it_does_not_need_scaled_features() -> None:
    rows, labels = load_breast_cancer(return_X_y=True)
    model = mm.BatchedLogisticRegression().fit(rows, labels)
    gradient = rows.T @ (model.predict_proba(rows)[:, 1] - labels) + model.coef_[0]
    assert np.abs(gradient).max() <= 1e-5 * np.abs(rows.T @ (0.5 - labels)).max()


def test_dense_and_sparse_rows_give_one_model() -> None:
    dense = mm.BatchedLogisticRegression().fit(X, y)
    for kind in (sparse.csr_array, sparse.csr_matrix, sparse.csc_array):
        compressed = clone(dense).fit(kind(X), y)
        np.testing.assert_allclose(compressed.coef_, dense.coef_, rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(compressed.predict_proba(kind(X)), dense.predict_proba(X), atol=1e-6)


def test_labels_may_be_anything() -> None:
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = mm.BatchedLogisticRegression().fit(X, names)
    assert model.score(X, names) > 0.95
    assert model.classes_.tolist() == sorted(set(names))


def test_a_grid_search_can_tune_it() -> None:
    search = GridSearchCV(
        make_pipeline(StandardScaler(), mm.BatchedLogisticRegression()),
        {"batchedlogisticregression__C": [1e-4, 1.0]},
    )
    assert search.fit(X, y).best_params_ == {"batchedlogisticregression__C": 1.0}


@pytest.mark.parametrize("C", [0.0, -1.0, np.inf, np.nan])
def test_a_penalty_that_is_none_is_refused(C: float) -> None:
    with pytest.raises(ValueError, match=r"^C=\S+ must be a positive number\.$"):
        mm.BatchedLogisticRegression(C=C).fit(X, y)


def test_one_class_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^y has one class only, 'a'\. Give rows of two classes or more\.$"):
        mm.BatchedLogisticRegression().fit(X, ["a"] * len(X))


def test_stopping_short_of_the_optimum_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batched, "CONVERGED", 1e-300)
    with pytest.warns(ConvergenceWarning) as caught:
        mm.BatchedLogisticRegression(C=2.0, tol=1e-300).fit(X, y)
    assert re.fullmatch(
        r"Training stopped at a gradient of \S+ of that at zero, where 1e-300 was asked for\. The features are of one "
        r"size, so use a smaller C than 2, or a larger tol\.",
        str(caught[0].message),
    )


def test_other_names_are_not_there() -> None:
    with pytest.raises(AttributeError, match=r"^module 'minmargin' has no attribute 'LogisticRegresion'$"):
        mm.LogisticRegresion  # noqa: B018 - the access is what is tested

"""Predictions of a committee: scikit-learn's conventions, built on class scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import minmargin as mm

X, y = load_iris(return_X_y=True)
SPECIES = np.array(["setosa", "versicolor", "virginica"])[y]


def fitted(**settings: Any) -> mm.Committee:
    return mm.fit_committee(X[::5], SPECIES[::5], **{"n_models": 3, "random_state": 0, **settings})


def test_predictions_are_those_of_the_same_model_of_scikit_learn():
    committee = fitted(learner=LogisticRegression(max_iter=1000))
    model = LogisticRegression(tol=1e-10, max_iter=10_000).fit(X[::5], SPECIES[::5])
    assert committee.predict(X).tolist() == model.predict(X).tolist()
    np.testing.assert_allclose(committee.predict_proba(X), model.predict_proba(X), atol=1e-5)
    assert committee.classes_.tolist() == model.classes_.tolist()


@pytest.mark.parametrize("of", ["base", "members"])
def test_predictions_are_the_highest_class_scores(of: Any):
    committee = fitted()
    scores = committee.class_scores(X, of=of)
    np.testing.assert_array_equal(committee.predict_proba(X, of=of), scores)
    np.testing.assert_allclose(scores.sum(axis=1), 1.0)
    assert committee.predict(X, of=of).tolist() == committee.classes_[scores.argmax(axis=1)].tolist()


def test_a_batch_s_predictions_are_the_base_s():
    committee = fitted()
    batch = committee.select(X, 20)
    assert committee.predict(X)[batch.rows].tolist() == batch.predicted.tolist()


def test_pools_of_any_kind_are_predicted_in_chunks_of_any_size(tmp_path):
    committee = mm.fit_committee(
        pd.DataFrame(X[::5], columns=list("abcd")), SPECIES[::5], n_models=3, random_state=0
    )
    expected = fitted().predict_proba(X)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(more="text")
    frame.to_csv(tmp_path / "pool.csv", index=False)
    for pool in (frame, tmp_path / "pool.csv", (frame[start : start + 40] for start in range(0, 150, 40))):
        np.testing.assert_array_equal(committee.predict_proba(pool, chunk_size=7, n_jobs=1), expected)


def test_columns_of_a_pool_can_be_named():
    frame = pd.DataFrame(X, columns=list("abcd")).assign(more=1.0)
    assert fitted().predict(frame, features=list("abcd")).tolist() == fitted().predict(X).tolist()


def test_without_probabilities_there_are_labels_and_a_clear_error():
    committee = fitted(learner=LinearSVC(random_state=0))
    assert (committee.predict(X) == SPECIES).mean() > 0.9
    with pytest.raises(mm.InputError) as caught:
        committee.predict_proba(X)
    assert str(caught.value) == (
        f"{committee.provenance.learner} has only decision_function, and no probabilities. Use class_scores for its "
        "values, or wrap it in CalibratedClassifierCV(..., ensemble=False)."
    )


@pytest.mark.parametrize(
    ("n_models", "of", "message"),
    [
        (3, "member", "of='member' must be 'base' or 'members'."),
        (0, "members", "of='members', and this committee has no members. Use of='base'."),
    ],
)
@pytest.mark.parametrize("method", ["predict", "predict_proba", "class_scores"])
def test_models_that_are_not_there_are_refused(method: str, n_models: int, of: str, message: str):
    with pytest.raises(mm.InputError) as caught:
        getattr(fitted(n_models=n_models), method)(X, of=of)
    assert str(caught.value) == message

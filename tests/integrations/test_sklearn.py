"""A committee as a scikit-learn classifier passes scikit-learn's own checks, and predicts what its models predict."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import estimator_checks_generator

import minmargin as mm
from minmargin.errors import InputError
from minmargin.integrations.sklearn import CommitteeClassifier

X, Y = load_iris(return_X_y=True)
NAMES = load_iris().target_names[Y]


CLASSIFIERS = [
    CommitteeClassifier(n_models=3),
    CommitteeClassifier(DecisionTreeClassifier(max_depth=3), n_models=3, predict_with="members"),
    CommitteeClassifier(n_models=3, preprocess="auto"),
]
# One check looks at input of other array libraries: test_array_libraries.py runs it.
CHECKS = [
    pytest.param(estimator, check, id=f"{check.func.__name__}-{place}")
    for place, made in enumerate(CLASSIFIERS)
    for estimator, check in estimator_checks_generator(made)
    if check.func.__name__ != "check_array_api_input"
]


@pytest.mark.parametrize(("estimator", "check"), CHECKS)
def test_what_scikit_learn_asks_of_a_classifier(estimator, check):
    check(estimator)


@pytest.mark.parametrize("learner", ["logistic", DecisionTreeClassifier(max_depth=3)])
def test_it_is_the_committee_of_the_same_seed(learner):
    settings = {"learner": learner, "n_models": 5, "random_state": 3}
    classifier = CommitteeClassifier(**settings).fit(X[::3], NAMES[::3])
    committee = mm.fit_committee(X[::3], NAMES[::3], **settings)
    assert classifier.classes_.tolist() == sorted(set(NAMES))
    np.testing.assert_array_equal(classifier.min_margins(X), committee.score(X))
    np.testing.assert_array_equal(classifier.predict_proba(X), committee.scorer.base_scores(X))
    np.testing.assert_array_equal(
        classifier.predict(X), classifier.classes_[committee.scorer.base_scores(X).argmax(axis=1)]
    )
    members = clone(classifier).set_params(predict_with="members").fit(X[::3], NAMES[::3])
    mean = np.mean(list(committee.scorer.each_member(X)), axis=0)
    np.testing.assert_allclose(members.predict_proba(X), mean, rtol=1e-12)


def test_pipelines_searches_and_cross_validation():
    pipeline = make_pipeline(StandardScaler(), CommitteeClassifier(n_models=3, random_state=0))
    assert cross_val_score(pipeline, X, NAMES).mean() > 0.9
    grid = {"learner__C": [0.01, 10.0], "predict_with": ["base", "members"]}
    search = GridSearchCV(CommitteeClassifier(LogisticRegression(), n_models=3, random_state=0), grid).fit(
        X, Y
    )
    assert search.best_params_["learner__C"] == 10.0


def test_frames_with_texts_and_holes_and_lists_of_texts():
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"]).assign(kind=np.where(X[:, 2] > 4, "long", None))
    frame.loc[::7, "b"] = np.nan
    classifier = CommitteeClassifier(n_models=3, preprocess="auto", random_state=0).fit(frame, NAMES)
    assert classifier.score(frame, NAMES) > 0.9
    assert classifier.feature_names_in_.tolist() == ["a", "b", "c", "d", "kind"]
    texts = ["card is lost", "card was stolen", "top up failed", "cannot top up"]
    learner = make_pipeline(TfidfVectorizer(), LogisticRegression())
    classifier = CommitteeClassifier(learner, n_models=3, random_state=0).fit(texts, ["a", "a", "b", "b"])
    assert classifier.predict(["lost card", "top up"]).tolist() == ["a", "b"]


def test_missing_values_go_to_learners_that_take_them():
    holes = X.copy()
    holes[::5, 0] = np.nan
    taking = CommitteeClassifier(HistGradientBoostingClassifier(max_iter=5), n_models=2, random_state=0)
    assert taking.fit(holes, Y).score(holes, Y) > 0.9
    with pytest.raises(ValueError, match="Input X contains NaN"):
        CommitteeClassifier(n_models=2).fit(holes, Y)


def test_probabilities_are_there_if_the_learner_has_them():
    assert hasattr(CommitteeClassifier(), "predict_proba")
    classifier = CommitteeClassifier(LinearSVC(), n_models=2, random_state=0)
    assert not hasattr(classifier, "predict_proba")
    assert classifier.fit(X, NAMES).score(X, NAMES) > 0.9


def test_a_wrong_choice_is_told():
    with pytest.raises(InputError) as error:
        CommitteeClassifier(predict_with="member").fit(X, Y)
    assert str(error.value) == "predict_with='member' must be 'base' or 'members'."


def test_every_label_is_a_class_in_scikit_learn():
    X, y = load_iris(return_X_y=True)
    labels = (y - 1).astype(np.int8)
    model = CommitteeClassifier(n_models=2, random_state=0).fit(X, labels)
    assert model.classes_.tolist() == [-1, 0, 1]
    assert model.classes_.dtype == np.int8
    assert (model.predict(X) == labels).mean() > 0.9


def test_classes_that_no_row_has_are_columns_all_the_same():
    named = ["setosa", "versicolor", "virginica", "another"]
    model = CommitteeClassifier(n_models=3, random_state=0, classes=named).fit(X, NAMES)
    assert model.classes_.tolist() == sorted(named)
    assert model.predict_proba(X).shape == (len(X), 4)
    assert model.predict_proba(X)[:, 0].max() == 0.0
    plain = CommitteeClassifier(n_models=3, random_state=0).fit(X, NAMES)
    np.testing.assert_array_equal(model.predict_proba(X)[:, 1:], plain.predict_proba(X))
    assert clone(model).classes == named
    with pytest.raises(mm.InputError, match="'virginica'"):
        CommitteeClassifier(classes=["setosa", "versicolor"]).fit(X, NAMES)

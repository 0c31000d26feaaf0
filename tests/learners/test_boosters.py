"""What boosters ask for besides scikit-learn's contract, without them: `make test-libraries` has the real ones."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import BaggingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import minmargin as mm
from contract_cases import data

X, y, POOL = data()


class CodesOnly(DecisionTreeClassifier):
    """A tree that refuses labels other than 0, 1, 2, ..., as XGBoost does."""

    def fit(self, X, y):
        found = np.unique(y)
        if found.tolist() != list(range(len(found))):
            raise ValueError(f"Invalid classes: {found}")
        return super().fit(X, y)


CodesOnly.__module__ = "xgboost.sklearn"


class CopiesItsLists(ClassifierMixin, BaseEstimator):
    """A tree that copies what it is given, as CatBoost does, so that scikit-learn does not clone it."""

    def __init__(self, columns=(), **settings):
        self.columns = list(columns)
        self.settings = settings

    def get_params(self, deep=True):
        return {"columns": list(self.columns), **self.settings}

    def set_params(self, **params):
        self.columns = params.pop("columns", self.columns)
        self.settings |= params
        return self

    def fit(self, X, y):
        self.tree_ = DecisionTreeClassifier(random_state=0).fit(X, y)
        self.classes_ = self.tree_.classes_
        TOLD.append(dict(self.settings))
        return self

    def predict_proba(self, X):
        return self.tree_.predict_proba(X)


CopiesItsLists.__module__ = "catboost.core"
TOLD: list[dict[str, object]] = []


def pick(learner, X=X, pool=POOL):
    return mm.select(X, y, pool, 5, learner=learner, n_models=3, random_state=0, n_jobs=1)


@pytest.mark.parametrize(
    "around",
    [
        lambda learner: learner,
        lambda learner: make_pipeline(StandardScaler(), learner),
        lambda learner: BaggingClassifier(learner, n_estimators=3),
    ],
    ids=["alone", "pipeline", "bagging"],
)
def test_labels_are_given_as_codes_to_those_who_take_no_others(around):
    batch = pick(around(CodesOnly()))
    assert batch == pick(around(DecisionTreeClassifier()))
    assert set(batch.predicted.tolist()) <= {"a", "b", "c"}


def test_a_classifier_that_cannot_be_cloned_is_copied_and_told_to_be_quiet():
    TOLD.clear()
    learner = CopiesItsLists(columns=[1, 2])
    pick(learner)
    assert TOLD == [{"allow_writing_files": False, "logging_level": "Silent"}] * 4
    assert learner.settings == {}
    assert not hasattr(learner, "tree_")


def test_what_the_caller_said_stands():
    TOLD.clear()
    pick(CopiesItsLists(verbose=50, allow_writing_files=True))
    assert TOLD == [{"verbose": 50, "allow_writing_files": True}] * 4


def test_a_pipeline_may_begin_with_a_step_that_is_switched_off():
    frame, pool = (pd.DataFrame(rows, columns=list("abcde")) for rows in (X, POOL))
    for off in ("passthrough", None):
        for learner in (DecisionTreeClassifier(), LogisticRegression()):
            batch = pick(make_pipeline(off, learner), frame, pool)
            assert batch.rows.tolist() == pick(make_pipeline(learner), frame, pool).rows.tolist()

"""The query strategy passes scikit-activeml's own tests, and picks what this package picks."""

from __future__ import annotations

import unittest
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
from skactiveml.tests.template_query_strategy import TemplateSingleAnnotatorPoolQueryStrategy
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

import minmargin as mm
from minmargin.integrations.skactiveml import MinMarginSampling

# What the template warns of on purpose: a batch larger than the candidates, and labels of two shapes.
pytestmark = pytest.mark.filterwarnings("ignore:'batch_size", "ignore:A column-vector y")

X, Y = load_iris(return_X_y=True)


class TestMinMarginSampling(TemplateSingleAnnotatorPoolQueryStrategy, unittest.TestCase):
    """Every test of the template, and one for each argument of ours, as it asks for."""

    def setUp(self):
        rows = np.array([[1.0, 2], [5, 8], [8, 4], [5, 4], [3, 7], [6, 1], [2, 2]])
        labels = np.array([0.0, 1, *[np.nan] * 5])
        super().setUp(
            qs_class=MinMarginSampling,
            init_default_params={"n_models": 3},
            query_default_params_clf={"X": rows, "y": labels},
        )

    def test_init_param_learner(self):
        cases = [("logistic", None), (DecisionTreeClassifier(), None), ("none", ValueError), (7, ValueError)]
        self._test_param("init", "learner", cases)

    def test_init_param_n_models(self):
        self._test_param(
            "init", "n_models", [(1, None), (0, ValueError), (1.5, ValueError), ("3", ValueError)]
        )

    def test_init_param_bootstrap_fraction(self):
        cases = [(1.0, None), (2, None), (0.0, ValueError), (-1, ValueError), ("1", ValueError)]
        self._test_param("init", "bootstrap_fraction", cases)

    def test_query(self):
        params = dict(self.query_default_params_clf, batch_size=3, return_utilities=True)
        picked, utilities = MinMarginSampling(n_models=3, random_state=0).query(**params)
        assert utilities.shape == (3, 7)
        assert np.isnan(utilities[:, :2]).all()
        for place, row in enumerate(picked):
            assert utilities[place, row] == np.nanmax(utilities[place])
            assert np.isnan(utilities[place + 1 :, row]).all()


del TemplateSingleAnnotatorPoolQueryStrategy  # a template, not a test


def labels(known):
    y = np.full(len(Y), np.nan)
    y[known] = Y[known]
    return y


def test_utilities_are_minus_the_scores_and_the_batch_is_the_lowest():
    known = np.arange(0, 150, 8)
    picked, utilities = MinMarginSampling(random_state=np.random.RandomState(5)).query(
        X, labels(known), batch_size=10, return_utilities=True
    )
    unlabeled = np.setdiff1d(np.arange(150), known)
    strategy = MinMarginSampling(random_state=np.random.RandomState(5))
    strategy.query(X, labels(known))
    committee = mm.fit_committee(X[known], Y[known], random_state=_first_state(strategy, labels(known)))
    scores = committee.score(X[unlabeled])
    np.testing.assert_array_equal(utilities[0, unlabeled], -scores)
    assert set(picked) == set(unlabeled[np.argsort(scores)[:10]])


def _first_state(strategy, y):
    from skactiveml.utils import check_random_state  # noqa: PLC0415

    return check_random_state(strategy.random_state, int(np.isnan(y).sum()) + 1)


@pytest.mark.parametrize("known", [[], [3], [3, 4]])
def test_without_two_classes_chance_picks(known):
    picks = [MinMarginSampling(random_state=seed).query(X, labels(known))[0] for seed in range(10)]
    assert len(set(picks)) > 5
    assert not set(picks) & set(known)


def test_a_library_that_is_not_installed_is_named(monkeypatch):
    import importlib  # noqa: PLC0415
    import sys  # noqa: PLC0415

    monkeypatch.setitem(sys.modules, "skactiveml.base", None)
    monkeypatch.delitem(sys.modules, "minmargin.integrations.skactiveml")
    with pytest.raises(mm.MissingExtraError) as error:
        importlib.import_module("minmargin.integrations.skactiveml")
    assert str(error.value) == (
        "MinMarginSampling needs scikit-activeml, which is not installed. Use pip install 'minmargin[activeml]'."
    )


def test_the_page_names_the_version_that_is_tested():
    page = Path(__file__).parents[2].joinpath("docs", "integrations.md").read_text()
    tested = f"| scikit-activeml {version('scikit-activeml')} | yes | CI runs its tests of query strategies"
    assert tested in page

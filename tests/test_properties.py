"""Values that are made once for an object, and not one after the other for all objects of a class."""

from __future__ import annotations

from threading import Barrier, Thread

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

import minmargin as mm
from minmargin.properties import cached_property


class Counted:
    made = 0

    @cached_property
    def value(self):
        """A number."""
        self.made += 1
        return self.made


def test_a_value_is_made_once_for_each_object():
    one, other = Counted(), Counted()
    assert (one.value, one.value, one.made, other.made) == (1, 1, 1, 0)
    assert Counted.value.__doc__ == "A number."


def test_objects_of_a_class_make_their_values_at_the_same_time():
    """With Python 3.11's own there is a lock for all of them, and the first would wait for the second for ever."""
    together = Barrier(2, timeout=60)

    class Meeting:
        @cached_property
        def place(self):
            return together.wait()

    first, second = Meeting(), Meeting()
    thread = Thread(target=lambda: first.place)
    thread.start()
    assert second.place in {0, 1}
    thread.join()


class Sociable(ClassifierMixin, BaseEstimator):
    """A classifier that predicts only while another of its predictions is under way."""

    together = Barrier(2, timeout=60)

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        self.together.wait()
        likely = np.abs(X[:, 0]) / 10
        return np.stack([likely, 1 - likely], axis=1)


def test_threads_score_their_blocks_side_by_side():
    X = np.linspace(-4, 4, 262_144).reshape(-1, 1)  # an even number of blocks
    committee = mm.fit_committee(X[:4], [0, 1, 0, 1], learner=Sociable(), n_models=1, random_state=0)
    batch = committee.select(X, 3, strategy="margin", n_jobs=2, distinct=False)
    np.testing.assert_allclose(batch.scores, 0.2, atol=1e-4)

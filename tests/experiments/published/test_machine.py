"""The machine that grows row by row is the SVC of scikit-learn, whatever it was before."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from minmargin.experiments.published.machine import Machine, gram_matrix

RNG = np.random.default_rng(3)
N, N_TEST = 90, 40
Y = np.arange(N) % 2
X = RNG.normal(size=(N, 3)) + Y[:, np.newaxis] * [1.0, 0.5, 0.0]
TEST = RNG.normal(size=(N_TEST, 3))


@pytest.fixture(autouse=True)
def _exact(monkeypatch):
    """Solve to the last digits, so that no two ways to the optimum end apart."""
    monkeypatch.setattr("minmargin.experiments.published.machine.TOLERANCE", 1e-10)


def svc(rows):
    return SVC(C=1, gamma="auto", tol=1e-10).fit(X[rows], Y[rows])


def test_the_kernel_is_that_of_gamma_auto():
    np.testing.assert_allclose(gram_matrix(X, TEST), rbf_kernel(X, TEST, gamma=1 / 3), rtol=1e-12)


def test_rows_that_come_one_by_one_or_many_at_once_give_the_machine_of_all_of_them():
    machine = Machine(X, Y, TEST)
    order = RNG.permutation(N)
    for start, end in [(0, 10), (10, 11), (11, 12), (12, 50), (50, 51)]:
        machine.label(order[start:end])
        assert machine.labeled.tolist() == order[:end].tolist()
        assert sorted(machine.pool.tolist()) == sorted(order[end:].tolist())
        assert machine.labels.tolist() == Y[order[:end]].tolist()
        model = svc(order[:end])
        np.testing.assert_allclose(machine.test_values(), model.decision_function(TEST), atol=1e-7)
        np.testing.assert_allclose(machine.pool_values(), model.decision_function(X[machine.pool]), atol=1e-7)


def test_members_count_a_row_as_often_as_it_was_drawn():
    machine = Machine(X, Y, TEST)
    machine.label(np.arange(40))
    drawn = np.concatenate([np.arange(30), np.arange(12)])
    counts = np.stack([np.bincount(drawn, minlength=40), np.ones(40, dtype=np.int64)])
    first, second = machine.member_values(counts)
    np.testing.assert_allclose(first, svc(drawn).decision_function(X[machine.pool]), atol=1e-7)
    np.testing.assert_allclose(second, machine.pool_values(), atol=1e-7)


def test_the_usual_tolerance_leaves_decision_values_close(monkeypatch):
    monkeypatch.undo()
    machine = Machine(X, Y, TEST)
    machine.label(np.arange(60))
    usual = SVC(C=1, gamma="auto").fit(X[:60], Y[:60]).decision_function(TEST)
    assert np.abs(machine.test_values() - usual).max() < 5e-3


def test_the_slope_is_the_likeliest():
    machine = Machine(X, Y, TEST)
    machine.label(np.arange(60))
    values = svc(np.arange(60)).decision_function(X[:60])
    targets = np.where(Y[:60] == 1, 31 / 32, 1 / 32)  # of thirty rows a class

    def loss(slope):
        p = expit(slope * values)
        return -(targets * np.log(p) + (1 - targets) * np.log(1 - p)).sum()

    slopes = np.linspace(0.05, 10, 2000)
    assert machine.slope() == pytest.approx(slopes[np.argmin([loss(each) for each in slopes])], abs=0.006)

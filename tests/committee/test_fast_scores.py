"""`Committee.score(..., fast=True)` is as good as it says on rows of any size: about six digits, and no wrong vote."""

from typing import get_args

import numpy as np
import pytest
from scipy import sparse

import minmargin as mm
from minmargin.margins import ScoreName
from minmargin.scan.scan import Scan

ROW_SCORES = get_args(ScoreName)


def committee_of(scale, shift, n_classes, **settings):
    """Return a committee of models of such rows, and how to make more of them."""
    rng = np.random.default_rng(0)

    def rows(n):
        return rng.normal(size=(n, 3)) * scale + shift

    X = rows(90)
    y = ((X - shift) / scale)[:, :n_classes].argmax(axis=1)
    return mm.fit_committee(X, y, n_models=9, random_state=0, **settings), rows


@pytest.mark.parametrize("strategy", ROW_SCORES)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    ("scale", "shift"),
    [(1.0, 0.0), (1.0, 30.0), (1.0, 1e4), (1e3, 0.0), (1e7, 1.7e9), (1e16, 1.7e18), (1e-6, 0.0)],
)
def test_fast_scores_are_close_to_exact_ones(scale, shift, n_classes, strategy):
    committee, rows = committee_of(scale, shift, n_classes)
    pool = rows(2000)
    exact, fast = (committee.score(pool, strategy=strategy, fast=fast) for fast in (False, True))
    np.testing.assert_allclose(fast, exact, rtol=0, atol=1e-5)


@pytest.mark.parametrize("strategy", ROW_SCORES)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_rows_that_float32_cannot_hold_have_their_exact_scores(container, strategy):
    committee, rows = committee_of(1.0, 0.0, 2, learner=mm.LogisticLearner(fit_intercept=False))
    pool = rows(40)
    pool[:4], pool[4:8], pool[8:12] = 0.0, pool[4:8] * 1e39, pool[8:12] * 1e37
    pool = container(pool)
    exact, fast = (committee.score(pool, strategy=strategy, fast=fast) for fast in (False, True))
    np.testing.assert_allclose(fast, exact, rtol=0, atol=1e-5)


@pytest.mark.parametrize("strategy", ROW_SCORES)
def test_hardly_any_row_of_usual_size_is_scored_exactly(monkeypatch, strategy):
    committee, rows = committee_of(1.0, 0.0, 3)
    taken = []
    candidates = Scan._candidates

    def watched(self, block):
        made, check = candidates(self, block)
        take = made.take
        monkeypatch.setattr(made, "take", lambda index: (taken.extend(index), take(index))[1])
        return made, check

    monkeypatch.setattr(Scan, "_candidates", watched)
    committee.score(rows(5000), strategy=strategy, fast=True)
    assert len(taken) <= 10


def test_a_value_that_is_no_number_is_named():
    committee, rows = committee_of(1.0, 0.0, 2)
    pool = rows(50)
    pool[7, 1] = np.nan
    with pytest.raises(mm.InputError, match="row 7"):
        committee.score(pool, fast=True)

"""Audits by themselves: counts, intervals and words."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import norm
from sklearn.metrics import accuracy_score, precision_score, recall_score

from minmargin.campaign.audit import Audit, Estimate, describe_audits, mean_of, wilson


def score_bounds(correct: int, tested: int, level: float) -> tuple[float, float]:
    """Return the bounds as the two roots of the score equation, found by halving."""
    z, share = norm.ppf((1 + level) / 2), correct / tested

    def beyond(p: float) -> float:
        return (share - p) ** 2 - z**2 * p * (1 - p) / tested

    # At either end the share itself is a root: the other one is wanted.
    low = 0.0 if correct == 0 else brentq(beyond, 0.0, share - 1e-12, xtol=1e-14)
    return low, 1.0 if correct == tested else brentq(beyond, share + 1e-12, 1.0, xtol=1e-14)


@given(st.integers(1, 3000), st.floats(0, 1), st.sampled_from([0.5, 0.8, 0.95, 0.99]))
def test_wilson_s_bounds_solve_the_score_equation(tested, share, level):
    correct = round(share * tested)
    assert wilson(correct, tested, level) == pytest.approx(score_bounds(correct, tested, level), abs=1e-9)


def test_without_rows_the_interval_is_everything():
    assert wilson(0, 0) == (0.0, 1.0)
    assert Estimate(0, 0).accuracy is None


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abcd")), min_size=1))
def test_precision_and_recall_are_those_of_scikit_learn(guesses):
    labels, taken_for = zip(*guesses, strict=True)
    found = Estimate.of(guesses)
    assert found.accuracy == pytest.approx(accuracy_score(labels, taken_for))
    for each in found.classes:
        of_class = {"labels": [each.name], "average": "macro", "zero_division": np.nan}
        recall = recall_score(labels, taken_for, **of_class)
        precision = precision_score(labels, taken_for, **of_class)
        assert (np.nan if each.recall is None else each.recall) == pytest.approx(recall, nan_ok=True)
        assert (np.nan if each.precision is None else each.precision) == pytest.approx(precision, nan_ok=True)


def test_the_mean_of_several_audits_has_the_counts_of_all():
    first = Audit.of(1, 15, {"r1": "a", "r2": "b", "r3": "b"}, {"r1": "a", "r2": "a"})
    second = Audit.of(2, 20, {"r4": "b"}, {"r4": "b"})
    assert (first.drawn, first.estimate.tested, first.estimate.correct) == (3, 2, 1)
    both = mean_of([first, second])
    assert (both.correct, both.tested) == (2, 3)
    assert both.classes == Estimate.of([("a", "a"), ("a", "b"), ("b", "b")]).classes


def test_audits_in_words():
    audits = [
        Audit(number, 100 * number, 50, Estimate(40 + number, 50 if number < 4 else 48))
        for number in range(1, 5)
    ]
    (first,) = describe_audits(audits[:1])
    assert first == (
        "Audit: the model with 100 labels is right in 82.0% (95% interval 69.2% to 90.2%) of what round 1 left of the "
        "pool, by 50 rows drawn by chance."
    )
    last = (
        "Audit: the model with 400 labels is right in 91.7% (95% interval 80.4% to 96.7%) of what round 4 left of the "
        "pool, by 48 of 50 rows drawn by chance."
    )
    assert describe_audits(audits) == [
        last,
        "The mean of the last 3 audited models is 87.2% (95% interval 80.8% to 91.6%), by 148 rows.",
    ]
    assert describe_audits([Audit(1, 100, 50, Estimate(0, 0))]) == [
        "Audit: no row that was drawn by chance has a label yet."
    ]
    assert describe_audits([]) == []

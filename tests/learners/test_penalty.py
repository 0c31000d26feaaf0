"""`C="auto"`: the penalty is chosen by cross-validation, the same for a seed, and told by what it made."""

from __future__ import annotations

import json
import math
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

import minmargin as mm
from minmargin.learners.penalty import CANDIDATES, N_FOLDS, Choice, assign_folds
from minmargin.seeds import SeedTree

AUTO = mm.LogisticLearner(C="auto")


def problem(n=60, n_features=6, n_classes=3, spread=1.5, seed=0):
    """Return rows about the means of their classes, near enough to be mistaken for others."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    return rng.normal(size=(n_classes, n_features))[y] + spread * rng.normal(size=(n, n_features)), y


def choose_by_hand(X, y, folds, class_weight=None):
    """Return the choice and its table by plain loops over fits of scikit-learn."""
    importance = [1.0 if class_weight is None else class_weight[label] for label in y.tolist()]
    table = []
    for C in CANDIDATES:
        right = loss = total = 0.0
        for fold in range(N_FOLDS):
            model = LogisticRegression(C=C, tol=1e-8, max_iter=10_000, class_weight=class_weight)
            model.fit(X[folds != fold], y[folds != fold])
            for row in np.flatnonzero(folds == fold):
                outputs = np.atleast_1d(model.decision_function(X[row : row + 1])[0]).tolist()
                logits = outputs if len(outputs) > 1 else [0.0, *outputs]
                right += importance[row] * (logits.index(max(logits)) == y[row])
                loss += importance[row] * math.log(sum(math.exp(each - logits[y[row]]) for each in logits))
                total += importance[row]
        table.append((C, right / total, loss / total))
    smoothed = []
    for k in range(len(table)):
        near = [table[min(max(k + step, 0), len(table) - 1)][1] for step in (-2, -1, 0, 1, 2)]
        smoothed.append(sum(a * b for a, b in zip((1, 2, 3, 2, 1), near, strict=True)) / 9)
    n_held_out = sum(1 for fold in folds if fold >= 0)
    good = [
        row for row, each in zip(table, smoothed, strict=True) if (max(smoothed) - each) * n_held_out < 1.0001
    ]
    return min(good, key=lambda row: row[2])[0], table


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_choice_is_that_of_plain_loops(n_classes, seed, monkeypatch):
    monkeypatch.setattr("minmargin.learners.penalty._ROUGHLY", 1e-7)
    X, y = problem(n_classes=n_classes, seed=seed)
    choice = mm.fit_committee(X, y, learner=AUTO, n_models=0, random_state=seed).choice
    C, table = choose_by_hand(X, y, assign_folds(y, SeedTree(seed)))
    assert choice.C == C
    assert choice.n_held_out == len(y)
    assert [candidate.C for candidate in choice.candidates] == list(CANDIDATES)
    np.testing.assert_allclose(choice.candidates, table, rtol=1e-3)


@pytest.mark.parametrize("seed", range(3))
def test_models_that_are_trained_roughly_choose_as_those_at_the_optimum(seed, monkeypatch):
    X, y = problem(spread=2.5, seed=seed)
    roughly = mm.fit_committee(X, y, learner=AUTO, n_models=0, random_state=seed).choice
    monkeypatch.setattr("minmargin.learners.penalty._ROUGHLY", 1e-7)
    exactly = mm.fit_committee(X, y, learner=AUTO, n_models=0, random_state=seed).choice
    assert roughly != exactly
    assert roughly.C == exactly.C


def test_rows_count_in_the_choice_as_they_count_in_training(monkeypatch):
    monkeypatch.setattr("minmargin.learners.penalty._ROUGHLY", 1e-7)
    X, y = problem(n=45, spread=2.5)
    weights = {0: 5.0, 1: 1.0, 2: 0.2}
    learner = mm.LogisticLearner(C="auto", class_weight=weights)
    choice = mm.fit_committee(X, y, learner=learner, n_models=0, random_state=0).choice
    C, table = choose_by_hand(X, y, assign_folds(y, SeedTree(0)), weights)
    assert choice.C == C
    np.testing.assert_allclose(choice.candidates, table, rtol=1e-3)


def test_base_and_members_have_the_chosen_penalty():
    X, y = load_iris(return_X_y=True)
    auto = mm.fit_committee(X, y, learner=AUTO, n_models=2, random_state=0)
    fixed = mm.fit_committee(X, y, learner=mm.LogisticLearner(C=auto.choice.C), n_models=2, random_state=0)
    np.testing.assert_array_equal(auto.scorer.base_weights, fixed.scorer.base_weights)
    np.testing.assert_array_equal(auto.scorer.member_weights, fixed.scorer.member_weights)
    assert fixed.choice is None
    assert auto.choice.C != 1.0


def test_classes_of_two_rows_or_more_are_in_both_parts_and_others_are_trained_on():
    rng = np.random.default_rng(0)
    for _ in range(50):
        codes = np.unique(rng.integers(rng.integers(2, 30), size=rng.integers(5, 60)), return_inverse=True)[1]
        folds = assign_folds(codes, SeedTree(int(rng.integers(100))))
        counts = np.bincount(codes)
        np.testing.assert_array_equal(folds == -1, counts[codes] == 1)
        for fold in range(N_FOLDS):
            assert set(codes[folds != fold]) == set(codes)
        sizes = np.bincount(folds[folds >= 0], minlength=N_FOLDS)
        assert sizes.max() - sizes.min() <= 1


def test_folds_depend_on_the_seed_and_on_nothing_else():
    codes = np.arange(40) % 4
    folds = assign_folds(codes, SeedTree(3))
    np.testing.assert_array_equal(folds, assign_folds(codes, SeedTree(3)))
    assert (folds != assign_folds(codes, SeedTree(4))).any()


def test_the_choice_is_the_same_for_a_seed_whatever_else_is_asked_for():
    X, y = problem(n=200, n_features=120, n_classes=8)
    one = mm.fit_committee(X, y, learner=AUTO, n_models=1, random_state=5, n_jobs=1)
    two = mm.fit_committee(X, y, learner=AUTO, n_models=3, random_state=5, n_jobs=2)
    assert one.choice == two.choice
    np.testing.assert_array_equal(one.scorer.base_weights, two.scorer.base_weights)


def test_few_models_at_a_time_choose_the_same(monkeypatch):
    X, y = problem()
    choice = mm.fit_committee(X, y, learner=AUTO, n_models=0, random_state=0).choice
    monkeypatch.setattr("minmargin.learners.penalty._MOST_COEFFICIENTS", 1)
    assert mm.fit_committee(X, y, learner=AUTO, n_models=0, random_state=0).choice == choice


def test_sparse_rows_choose_as_dense_ones():
    X, y = problem()
    X = np.where(np.abs(X) < 1.0, 0.0, X)
    dense, csr = (
        mm.fit_committee(rows, y, learner=AUTO, n_models=0, random_state=0).choice
        for rows in (X, sparse.csr_array(X))
    )
    assert csr.C == dense.C
    np.testing.assert_allclose(csr.candidates, dense.candidates, rtol=0.02)


@pytest.mark.parametrize(
    ("y", "n_held_out"),
    [
        ([*range(20)], 0),  # nothing to hold out
        ([0] * 19 + [1], 0),  # rows of one class only: whoever says always the same would be the best
        ([*range(18), 0, 1], 4),
        ([*range(10)] * 2, 20),
    ],
)
def test_tiny_sets_choose_without_a_warning(y, n_held_out):
    X = np.random.default_rng(0).normal(size=(20, 4))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        committee = mm.fit_committee(X, y, learner=AUTO, n_models=2, random_state=0)
    assert committee.choice.n_held_out == n_held_out
    if n_held_out:
        assert len(committee.choice.candidates) == len(CANDIDATES)
    else:
        assert committee.choice == Choice(1.0, 0, ())


def test_of_equally_accurate_candidates_the_likeliest_wins():
    X = np.array([[-1.0], [1.0]] * 10)
    choice = mm.fit_committee(X, [0, 1] * 10, learner=AUTO, n_models=0, random_state=0).choice
    assert {candidate.accuracy for candidate in choice.candidates} == {1.0}
    assert choice.C == min(choice.candidates, key=lambda candidate: candidate.log_loss).C == 1000.0


def test_of_candidates_that_say_the_same_the_strongest_penalty_wins():
    X = np.zeros((20, 3))
    choice = mm.fit_committee(X, [0, 1] * 10, learner=AUTO, n_models=0, random_state=0).choice
    assert len({candidate[1:] for candidate in choice.candidates}) == 1
    assert choice.C == 0.001


def test_the_manifest_and_the_repr_tell_the_choice():
    X, y = load_iris(return_X_y=True)
    committee = mm.fit_committee(X, y, learner=AUTO, n_models=2, random_state=0)
    C = committee.choice.C
    shown = f"<Committee: 2 members, learner logistic(C='auto') with C={C:g}, classes 0, 1, 2>"
    assert repr(committee) == shown
    assert f"learner logistic(C=&#x27;auto&#x27;) with C={C:g}, 150 labeled rows" in committee._repr_html_()
    settings = json.loads(json.dumps(committee.select(X, 3).manifest))["settings"]
    assert settings["learner"] == "logistic(C='auto')"
    assert settings["choice"]["C"] == C
    assert settings["choice"]["held_out"] == 150
    assert [each["C"] for each in settings["choice"]["candidates"]] == list(CANDIDATES)
    assert set(settings["choice"]["candidates"][0]) == {"C", "accuracy", "log_loss"}


def test_without_a_choice_the_manifest_has_none():
    X, y = load_iris(return_X_y=True)
    assert "choice" not in mm.select(X, y, X, batch_size=2, n_models=2, random_state=0).manifest["settings"]


TEXTS = [
    f"{what} {when}"
    for what in ("card lost", "card stolen", "transfer failed", "transfer late")
    for when in ("today", "again", "here")
]
TOPICS = ["card"] * 6 + ["transfer"] * 6


def test_texts_choose_too(tmp_path):
    learner = mm.TextLearner(C="auto")
    committee = mm.fit_committee(TEXTS, TOPICS, learner=learner, n_models=2, random_state=0)
    fixed = mm.fit_committee(
        TEXTS, TOPICS, learner=mm.TextLearner(C=committee.choice.C), n_models=2, random_state=0
    )
    shown = f"learner text(C='auto') with C={committee.choice.C:g}, classes 'card', 'transfer'"
    assert repr(committee) == f"<Committee: 2 members, {shown}>"
    np.testing.assert_array_equal(committee.scorer.member_weights, fixed.scorer.member_weights)
    assert mm.load_committee(committee.save(tmp_path / "saved")).choice == committee.choice


def test_texts_of_which_none_can_be_held_out_have_their_own_usual_penalty():
    committee = mm.fit_committee(
        TEXTS[::3], ["a", "b", "c", "d"], learner=mm.TextLearner(C="auto"), n_models=1, random_state=0
    )
    assert committee.choice == Choice(30.0, 0, ())


def test_a_loaded_committee_knows_the_choice(tmp_path):
    X, y = load_iris(return_X_y=True)
    committee = mm.fit_committee(X, y, learner=AUTO, n_models=2, random_state=0)
    loaded = mm.load_committee(committee.save(tmp_path / "saved"))
    assert loaded.choice == committee.choice
    assert repr(loaded) == repr(committee)
    before, after = (each.select(X, 3).manifest["settings"] for each in (committee, loaded))
    assert after == before


@pytest.mark.parametrize("make", [mm.LogisticLearner, mm.TextLearner])
def test_another_word_is_refused(make):
    with pytest.raises(mm.InputError) as caught:
        make(C="automatic")
    assert str(caught.value) == (
        "C='automatic' must be a positive number, or 'auto'. 1.0 is usual; more fits the labels closer."
    )

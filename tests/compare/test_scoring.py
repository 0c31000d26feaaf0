"""Scoring: scikit-learn's own numbers, and clear errors where it has none."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, f1_score, get_scorer, make_scorer
from sklearn.svm import LinearSVC

from minmargin.compare.deals import Deal
from minmargin.compare.scoring import Accuracy, Answers, SklearnScoring, positive_class, resolve_scoring
from minmargin.compare.trainers import AnyTrainer, LogisticTrainer
from minmargin.errors import InputError
from minmargin.labeled import LabeledSet

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]
ORDER = np.random.default_rng(5).permutation(150)
EXACT = LogisticRegression(tol=1e-10, max_iter=10_000)


def deal_of(table, labeled=ORDER[:40], test=ORDER[90:]):
    return Deal(table, labeled, ORDER[40:90], test, 0)


TWO = np.flatnonzero(Y > 0)
TWO_CLASSES = Deal(
    LabeledSet.of(X[TWO], Y[TWO]), np.arange(0, 100, 4), np.arange(1, 100, 4), np.arange(2, 100, 4), 0
)
THREE_CLASSES = deal_of(LabeledSet.of(X, NAMES))


@pytest.mark.parametrize(
    ("deal", "name"),
    [
        (TWO_CLASSES, "roc_auc"),
        (TWO_CLASSES, "average_precision"),
        (TWO_CLASSES, "neg_log_loss"),
        (TWO_CLASSES, "neg_brier_score"),
        (THREE_CLASSES, "f1_macro"),
        (THREE_CLASSES, "balanced_accuracy"),
        (THREE_CLASSES, "neg_log_loss"),
        (THREE_CLASSES, "roc_auc_ovr"),
        (THREE_CLASSES, "matthews_corrcoef"),
    ],
)
@pytest.mark.parametrize("trainer", [LogisticTrainer(), AnyTrainer("logistic"), AnyTrainer(EXACT)])
def test_scores_are_those_of_scikit_learn(trainer, deal, name):
    ((found,),) = trainer.scores([deal], [[deal.labeled]], [resolve_scoring(name)], device="cpu")
    table = deal.table
    model = EXACT.fit(table.rows[deal.labeled], table.y[deal.labeled])
    expected = get_scorer(name)(model, table.rows[deal.test], table.y[deal.test])
    assert found[0] == pytest.approx(expected, rel=1e-5)


def test_a_classifier_without_probabilities_is_scored_by_its_decision_function():
    trainer = AnyTrainer(LinearSVC(random_state=0))
    ((found,),) = trainer.scores(
        [TWO_CLASSES], [[TWO_CLASSES.labeled]], [resolve_scoring("roc_auc")], device="cpu"
    )
    deal, table = TWO_CLASSES, TWO_CLASSES.table
    model = LinearSVC(random_state=0).fit(table.rows[deal.labeled], table.y[deal.labeled])
    expected = get_scorer("roc_auc")(model, table.rows[deal.test], table.y[deal.test])
    assert found[0] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("labels", "positive"),
    [
        (Y[TWO], 1),  # as scikit-learn has it
        (np.where(Y[TWO] == 2, "rare", "common"), "rare"),
        (np.where(Y[TWO] == 2, "a rare one", "common"), "a rare one"),
    ],
)
@pytest.mark.parametrize("learner", ["logistic", LinearSVC(random_state=0)])
def test_average_precision_looks_for_1_or_else_for_the_rarer_class(labels, positive, learner):
    keep = np.r_[0:50, 50:80]
    table = LabeledSet.of(X[TWO][keep], labels[keep])
    deal = Deal(table, np.arange(0, 80, 4), np.arange(1, 80, 4), np.arange(2, 80, 4), 0)
    trainer = AnyTrainer(learner)
    ((found,),) = trainer.scores(
        [deal], [[deal.labeled]], [resolve_scoring("average_precision")], device="cpu"
    )
    model = EXACT if learner == "logistic" else LinearSVC(random_state=0)
    model.fit(table.rows[deal.labeled], table.y[deal.labeled] == positive)
    values = model.decision_function(table.rows[deal.test])
    assert table.classes[positive_class(table)] == positive
    assert found[0] == pytest.approx(average_precision_score(table.y[deal.test] == positive, values))


def test_a_class_that_a_model_does_not_know_has_no_probability_and_is_missed():
    known = ORDER[np.flatnonzero(Y[ORDER] < 2)][:30]
    deal = deal_of(LabeledSet.of(X, NAMES), labeled=known)
    seen = []

    def look(model, rows, labels):
        seen.append((model.predict_proba(rows), model.classes_, rows, labels))
        return 0.5

    scorings = [resolve_scoring(look), Accuracy()]
    (((looked, found),),) = LogisticTrainer().scores([deal], [[known]], scorings, device="cpu")
    assert looked == 0.5
    probabilities, classes, rows, labels = seen[0]
    assert probabilities.shape == (60, 3)
    assert (probabilities[:, 2] == 0).all()
    assert classes.tolist() == ["setosa", "versicolor", "virginica"]
    np.testing.assert_array_equal(rows, X[deal.test])
    np.testing.assert_array_equal(labels, NAMES[deal.test])
    assert found <= (Y[deal.test] < 2).mean()


def test_a_scorer_is_given_the_callers_own_kind_of_frame():
    frame = pd.DataFrame(X, columns=list("abcd"))
    deal = deal_of(LabeledSet.of(frame, NAMES))

    def largest(model, rows, labels):
        return float(rows["a"].max())

    ((found,),) = AnyTrainer("logistic").scores(
        [deal], [[deal.labeled]], [resolve_scoring(largest)], device="cpu"
    )
    assert found[0] == X[deal.test, 0].max()


def test_a_scorer_with_settings():
    scoring = resolve_scoring(make_scorer(f1_score, pos_label="virginica", average="binary"))
    table = LabeledSet.of(X[TWO], NAMES[TWO])
    scoring.rehearse(table, "probabilities")
    assert (
        scoring.name
        == "make_scorer(f1_score, response_method='predict', pos_label=virginica, average=binary)"
    )


@pytest.mark.parametrize(
    ("scoring", "message"),
    [
        (
            "rocauc",
            (
                "scoring='rocauc' is not a scorer of scikit-learn. Did you mean 'roc_auc'? "
                "sklearn.metrics.get_scorer_names() lists them."
            ),
        ),
        (
            3,
            (
                "scoring=3 is neither the name of a scikit-learn scorer nor a function of a fitted model, rows and "
                "labels."
            ),
        ),
    ],
)
def test_what_is_no_scorer_is_told_so(scoring, message):
    with pytest.raises(InputError) as error:
        resolve_scoring(scoring)
    assert str(error.value) == message


def test_a_scorer_that_cannot_rate_these_classes_fails_in_the_rehearsal():
    with pytest.raises(InputError) as error:
        resolve_scoring("roc_auc").rehearse(LabeledSet.of(X, Y), "probabilities")
    assert str(error.value) == (
        "scoring='roc_auc' failed (ValueError: multi_class must be in ('ovo', 'ovr')) on 150 test rows. Use another "
        "scorer, or sklearn.metrics.make_scorer with the settings it needs."
    )


def test_a_scorer_needs_probabilities_that_a_model_has():
    with pytest.raises(InputError, match=r"scoring='neg_log_loss' failed \(AttributeError: .*predict_proba"):
        resolve_scoring("neg_log_loss").rehearse(LabeledSet.of(X, Y), "values")


def test_a_score_that_is_no_number_names_the_class_that_is_missing():
    deal = deal_of(LabeledSet.of(X[TWO], Y[TWO]), test=np.flatnonzero(Y[TWO] == 1))
    answers = Answers(np.arange(2), np.eye(2)[np.ones(50, dtype=int)], "probabilities")
    with pytest.raises(InputError) as error:
        resolve_scoring("roc_auc")(deal, answers)
    assert str(error.value) == (
        "scoring='roc_auc' gave nan on 50 test rows, in which class 2 is missing. Drop the rare classes, use a larger "
        "test_size, or use another scorer."
    )


def test_a_scorer_that_asks_about_other_rows_is_stopped():
    def half(model, rows, labels):
        return (model.predict(rows[:10]) == labels[:10]).mean()

    with pytest.raises(InputError, match="all at once"):
        SklearnScoring("half", half).rehearse(LabeledSet.of(X, Y), "probabilities")

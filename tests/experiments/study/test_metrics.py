"""Metrics are those of scikit-learn, but for classes that a model does not know."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special
from sklearn.metrics import average_precision_score, balanced_accuracy_score, log_loss

from minmargin.compare.deals import Deal
from minmargin.compare.scoring import Answers
from minmargin.experiments.study.metrics import (
    METRICS,
    SHOWN,
    AveragePrecision,
    BalancedAccuracy,
    MinusLogLoss,
)
from minmargin.labeled import LabeledSet

RNG = np.random.default_rng(0)


def deal_of(y):
    y = np.asarray(y)
    table = LabeledSet.of(np.zeros((len(y), 1)), y)
    half = len(y) // 2
    return Deal(table, np.arange(2), np.arange(2, half), np.arange(half, len(y)), 0)


def answers_of(deal, n_classes, kind):
    logits = RNG.normal(size=(len(deal.test), n_classes))
    scores = logits if kind == "logits" else special.softmax(logits, axis=1)
    return Answers(np.arange(n_classes), scores, kind), special.softmax(logits, axis=1)


@pytest.mark.parametrize("kind", ["logits", "probabilities"])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_metrics_are_those_of_scikit_learn(kind, n_classes):
    deal = deal_of(np.arange(200) % n_classes)
    answers, probabilities = answers_of(deal, n_classes, kind)
    truth = deal.y[deal.test]
    assert BalancedAccuracy()(deal, answers) == pytest.approx(
        balanced_accuracy_score(truth, probabilities.argmax(axis=1))
    )
    assert MinusLogLoss()(deal, answers) == pytest.approx(-log_loss(truth, probabilities))


def test_average_precision_is_that_of_the_rarer_of_two_classes():
    deal = deal_of(np.arange(300) % 5 != 0)
    answers, probabilities = answers_of(deal, 2, "logits")
    expected = average_precision_score(deal.y[deal.test] == 0, probabilities[:, 0])
    assert AveragePrecision()(deal, answers) == pytest.approx(expected)
    three = deal_of(np.arange(30) % 3)
    assert np.isnan(AveragePrecision()(three, answers_of(three, 3, "logits")[0]))


def test_a_class_that_a_model_does_not_know_is_missed_and_costs_a_millionth():
    deal = deal_of([0, 1, 2, 0, 1, 2, 2, 2])  # tested on 1, 2, 2, 2
    sure_of_1 = Answers(np.array([0, 1]), np.tile([0.0, 1.0], (4, 1)), "probabilities")
    assert BalancedAccuracy()(deal, sure_of_1) == 0.5  # all of class 1, none of class 2; class 0 is not there
    assert MinusLogLoss()(deal, sure_of_1) == pytest.approx(3 * np.log(1e-6) / 4)


def test_every_metric_can_be_shown():
    assert list(SHOWN) == [metric.name for metric in METRICS]

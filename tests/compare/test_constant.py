"""The constant guess: known scores on classes that are skewed, and scorers that cannot rate it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from minmargin.compare.constant import guess, rate_guess
from minmargin.compare.deals import Deal
from minmargin.compare.scoring import resolve_scoring
from minmargin.labeled import LabeledSet

#: 8 of 10 labeled rows are "no", and so are 16 of 20 test rows.
LABELS = np.array(["no"] * 8 + ["yes"] * 2 + ["no"] * 5 + ["no"] * 16 + ["yes"] * 4)
ROWS = np.arange(35.0).reshape(-1, 1)
DEAL = Deal(LabeledSet.of(ROWS, LABELS), np.arange(10), np.arange(10, 15), np.arange(15, 35), 0)


@pytest.mark.parametrize("kind", ["probabilities", "values"])
@pytest.mark.parametrize(
    ("scoring", "score"),
    [
        ("accuracy", 16 / 20),
        ("balanced_accuracy", 0.5),
        ("roc_auc", 0.5),
        ("average_precision", 4 / 20),
        ("neg_log_loss", 0.8 * math.log(0.8) + 0.2 * math.log(0.2)),
    ],
)
def test_it_scores_what_can_be_known_without_looking(scoring, score, kind):
    outcome = rate_guess(DEAL, [resolve_scoring(scoring)], kind)
    if (scoring, kind) == ("neg_log_loss", "values"):  # which are no probabilities
        assert math.isnan(outcome.score)
    else:
        assert outcome == ("constant", 0, (pytest.approx(score),), 0.0)


def test_it_knows_the_labeled_rows_only():
    rare_labeled = DEAL._replace(labeled=np.array([0, 31, 32]), test=np.arange(1, 31))
    assert rate_guess(rare_labeled, [resolve_scoring("accuracy")], "probabilities").score == pytest.approx(
        2 / 30
    )
    np.testing.assert_allclose(guess(rare_labeled, "probabilities").scores, [[1 / 3, 2 / 3]] * 30)


def test_a_scorer_that_cannot_rate_it_gives_no_number():
    def correlation(model, rows, labels):
        return math.nan  # of what does not vary

    def refusal(model, rows, labels):
        raise ValueError("all rows are alike")

    outcome = rate_guess(DEAL, [resolve_scoring(each) for each in (correlation, refusal)], "probabilities")
    assert [math.isnan(score) for score in outcome.scores] == [True, True]

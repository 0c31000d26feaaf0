"""What a model is worth on test rows, in four ways. Higher is better in all of them.

A class that nobody has labeled is unknown to a model: its rows count as missed, its probability as 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import special

from minmargin.compare.deals import Deal
from minmargin.compare.scoring import Accuracy, Answers, Scoring

#: Probabilities below this count as this: a class that a model does not know costs 13.8, not infinity.
LEAST_PROBABILITY = 1e-6


@dataclass(frozen=True)
class BalancedAccuracy:
    """The mean over the classes among the test rows of the part of their rows that is predicted right."""

    name: str = "balanced_accuracy"

    def __call__(self, deal: Deal, answers: Answers) -> float:
        """Return what a model is worth that answers so for the test rows of a deal."""
        truth = deal.y[deal.test]
        right = answers.known[answers.scores.argmax(axis=1)] == truth
        counts = np.bincount(truth)
        there = counts > 0
        return float((np.bincount(truth, weights=right)[there] / counts[there]).mean())


@dataclass(frozen=True)
class MinusLogLoss:
    """The mean logarithm of the true class's probability, which counts as `LEAST_PROBABILITY` at least."""

    name: str = "minus_log_loss"

    def __call__(self, deal: Deal, answers: Answers) -> float:
        """Return what a model is worth that answers so for the test rows of a deal."""
        assert answers.kind != "values", "only probabilities have a logarithm"
        truth = deal.y[deal.test]
        logarithms = np.full(len(truth), -np.inf)
        place = np.minimum(np.searchsorted(answers.known, truth), len(answers.known) - 1)
        known = answers.known[place] == truth
        scores = answers.scores[known]
        of_truth = scores[np.arange(len(scores)), place[known]]
        with np.errstate(divide="ignore"):
            logarithms[known] = (
                of_truth - special.logsumexp(scores, axis=1) if answers.kind == "logits" else np.log(of_truth)
            )
        return float(np.maximum(logarithms, np.log(LEAST_PROBABILITY)).mean())


@dataclass(frozen=True)
class AveragePrecision:
    """The mean precision over all recalls, for the rarer of two classes; NaN where there are more classes."""

    name: str = "average_precision"

    def __call__(self, deal: Deal, answers: Answers) -> float:
        """Return what a model is worth that answers so for the test rows of a deal."""
        from sklearn.metrics import average_precision_score  # noqa: PLC0415 - slow to import

        if len(deal.table.classes) != 2:
            return float("nan")
        rarer = int(np.bincount(deal.y).argmin())
        scores = answers.scores[:, rarer] - answers.scores[:, 1 - rarer]
        return float(average_precision_score(deal.y[deal.test] == rarer, scores))


#: Every metric, the first being what the study decides by.
METRICS: tuple[Scoring, ...] = (Accuracy(), BalancedAccuracy(), MinusLogLoss(), AveragePrecision())


class Shown(NamedTuple):
    """How a page shows differences of a metric.

    Attributes:
        name: what the metric is called.
        unit: of the differences.
        scale: what they are multiplied by to be in that unit.
        digits: how many are shown after the point.
    """

    name: str
    unit: str
    scale: float
    digits: int


#: How pages show each metric.
SHOWN = {
    "accuracy": Shown("accuracy", "points", 100.0, 2),
    "balanced_accuracy": Shown("balanced accuracy", "points", 100.0, 2),
    "minus_log_loss": Shown("log loss", "nats", 1.0, 3),
    "average_precision": Shown("average precision", "points", 100.0, 2),
}

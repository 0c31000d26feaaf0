"""The constant guess: what a model is worth that says the same of every row. Others have to beat it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from minmargin.compare.deals import Deal
from minmargin.compare.outcome import CONSTANT, Outcome
from minmargin.compare.scoring import Answers, Kind, Scoring
from minmargin.errors import InputError


def guess(deal: Deal, kind: Kind) -> Answers:
    """Return how common the classes are among the labeled rows, as the class scores of every test row.

    So the most common class is always predicted, and of equals the first; no row is ranked above another; and
    probabilities are the shares of the classes.
    """
    known, counts = np.unique(deal.y[deal.labeled], return_counts=True)
    return Answers(known, np.tile(counts / counts.sum(), (len(deal.test), 1)), kind)


def rate_guess(deal: Deal, scorings: Sequence[Scoring], kind: Kind) -> Outcome:
    """Return what the constant guess is worth; NaN by a scorer that cannot rate it, such as a correlation."""
    answers = guess(deal, kind)

    def score(scoring: Scoring) -> float:
        try:
            return scoring(deal, answers)
        except InputError:
            return math.nan

    return Outcome(CONSTANT, 0, tuple(map(score, scorings)), 0.0)

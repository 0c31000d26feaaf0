"""Picks that all have the score 0: models that count votes, such as forests, give it to many rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from minmargin.errors import warn

#: Scores that are never below 0: at 0, a model is torn between two classes, and no row is better.
_MARGINS = ("min-margin", "margin", "mean-margin", "margin-of-mean")
#: Parts of the names of classifiers of scikit-learn whose probabilities are shares of a few votes.
_FORESTS, _OTHERS = ("RandomForest", "ExtraTrees"), ("KNeighbors", "DecisionTree", "BaggingClassifier")
_FINER = "margin-of-mean"  # of members that each count few votes, the mean counts them all


def warn_of_ties(scores: NDArray[np.float64], strategy: str, learner: str) -> None:
    """Warn of a batch whose picks all have the lowest score there is, with what makes scores finer."""
    counts_votes = any(name in learner for name in (*_FORESTS, *_OTHERS))
    if not counts_votes or strategy not in _MARGINS or len(scores) < 2 or scores.any():
        return
    ways = []
    if any(name in learner for name in _FORESTS):
        ways.append("give the forest more trees, such as n_estimators=500")
    if strategy != _FINER:
        ways.append(f"use strategy={_FINER!r}, which counts the votes of all members together")
    fix = f" For finer scores, {', or '.join(ways)}." if ways else ""
    warn(
        f"All {len(scores):,} picks have the score 0, the lowest there is, so the score does not order them, and other "
        f"rows of the pool may be as good: among equals the seed decides.{fix}"
    )

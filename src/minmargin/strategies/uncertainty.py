"""Uncertainty of the members' mean: other ways than a margin to say that its classes are in contest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from minmargin import margins
from minmargin.strategies.base import Stroke
from minmargin.strategies.candidates import Candidates
from minmargin.strategies.registry import register_strategy


@register_strategy(
    "entropy",
    screen="entropy",
    probabilistic=True,
    contest="mean",
    meaning="the entropy of the mean of {K} members",
    stroke=Stroke("blue", (0, (3, 1.5))),
)
def entropy(candidates: Candidates) -> NDArray[np.float64]:
    """Minus the entropy of the members' mean class probabilities (Shannon 1948)."""
    return margins.negative_entropy(candidates.mean_scores)


@register_strategy(
    "least-confident",
    screen="least-confident",
    probabilistic=True,
    contest="mean",
    meaning="the highest probability in the mean of {K} members",
    stroke=Stroke("blue", (0, (1, 1.5))),
)
def least_confident(candidates: Candidates) -> NDArray[np.float64]:
    """The highest of the members' mean class probabilities (Lewis & Gale 1994)."""
    return np.asarray(candidates.mean_scores.max(axis=1))

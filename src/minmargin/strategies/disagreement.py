"""Disagreement between the members: in votes, in probabilities, and in what they would tell each other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from minmargin import margins
from minmargin.strategies.base import Stroke
from minmargin.strategies.candidates import Candidates
from minmargin.strategies.registry import register_strategy


@register_strategy(
    "committee",
    screen="committee",
    contest="votes",
    meaning="the votes of {K} members",
    stroke=Stroke("green"),
)
def committee(candidates: Candidates) -> NDArray[np.float64]:
    """Query by bagging: votes of the top class minus votes of the second, over K (Abe & Mamitsuka 1998)."""
    return margins.margin(candidates.votes) / candidates.n_members


@register_strategy(
    "var-softmax",
    screen="var-softmax",
    probabilistic=True,
    meaning="how much {K} members vary",
    stroke=Stroke("purple"),
)
def var_softmax(candidates: Candidates) -> NDArray[np.float64]:
    """Minus the variance of the members' probabilities, summed over classes."""
    return margins.negative_variance(candidates.member_scores)


@register_strategy(
    "bald",
    probabilistic=True,
    contest="mean",
    meaning="how much {K} members would tell each other",
    stroke=Stroke("purple", (0, (3, 1.5))),
)
def bald(candidates: Candidates) -> NDArray[np.float64]:
    """Mean entropy of the members minus the entropy of their mean (Houlsby et al. 2011, Gal et al. 2017)."""
    of_members = margins.ordered_mean(margins.negative_entropy(candidates.member_scores))
    return margins.negative_entropy(candidates.mean_scores) - of_members

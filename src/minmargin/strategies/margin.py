"""Margins: of the base, and the ways to draw one number from the members' margins."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from minmargin import margins
from minmargin.strategies.base import Stroke
from minmargin.strategies.candidates import Candidates
from minmargin.strategies.registry import register_strategy


@register_strategy(
    "min-margin",
    screen="min-margin",
    meaning="the smallest margin under any of {K} members",
    stroke=Stroke("vermilion", width=2.2),
)
def min_margin(candidates: Candidates) -> NDArray[np.float64]:
    """The smallest margin under any member: picks lie around K boundaries (the paper's method)."""
    return np.asarray(candidates.member_margins.margins.min(axis=0))


@register_strategy(
    "margin",
    needs="base",
    screen="margin",
    meaning="the margin of one model",
    stroke=Stroke("blue", width=1.8),
)
def margin(candidates: Candidates) -> NDArray[np.float64]:
    """The margin of the base: picks lie around one boundary (plain margin sampling)."""
    return margins.margin(candidates.base_scores)


@register_strategy(
    "mean-margin",
    screen="mean-margin",
    meaning="the mean margin of {K} members",
    stroke=Stroke("blue", (0, (5, 1.5, 1, 1.5))),
)
def mean_margin(candidates: Candidates) -> NDArray[np.float64]:
    """The mean of the members' margins (the paper's section 4)."""
    return margins.ordered_mean(candidates.member_margins.margins)


@register_strategy(
    "margin-of-mean",
    screen="margin-of-mean",
    contest="mean",
    meaning="the margin of the mean of {K} members",
    stroke=Stroke("purple", (0, (1, 1.5))),
)
def margin_of_mean(candidates: Candidates) -> NDArray[np.float64]:
    """The margin of the members' mean class scores (the paper's section 2.3)."""
    return margins.margin(candidates.mean_scores)

"""Strategies: how the rows of a batch are chosen. One file per family, one registry for all."""

from __future__ import annotations

from minmargin.strategies.base import (
    Context,
    Entry,
    Needs,
    Reasons,
    RowScore,
    RowScoreStrategy,
    Shortlist,
    Strategy,
)
from minmargin.strategies.registry import check_strategy, register_strategy, resolve_strategy, strategies

# Importing a family registers it, and this is the order in which strategies() lists them.
# isort: off
from minmargin.strategies import margin  # noqa: F401
from minmargin.strategies import disagreement  # noqa: F401
from minmargin.strategies.random import RandomMarginMix
from minmargin.strategies.greedy import BalancedMargin, KCenters
from minmargin.strategies.oracle import TrueMargin
# isort: on

__all__ = [
    "BalancedMargin",
    "Context",
    "Entry",
    "KCenters",
    "Needs",
    "RandomMarginMix",
    "Reasons",
    "RowScore",
    "RowScoreStrategy",
    "Shortlist",
    "Strategy",
    "TrueMargin",
    "check_strategy",
    "register_strategy",
    "resolve_strategy",
    "strategies",
]

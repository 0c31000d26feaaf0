"""Strategies: how the rows of a batch are chosen. One file per family, one registry for all."""

from __future__ import annotations

from minmargin.strategies.base import (
    Context,
    Entry,
    Needs,
    Reasons,
    RowScore,
    Shortlist,
    Strategy,
    StrategyLike,
    StrategyName,
    Stroke,
)
from minmargin.strategies.registry import (
    RowScoreStrategy,
    check_has_name,
    check_strategy,
    distinct_rows,
    entry_of,
    option_names,
    register_strategy,
    resolve_strategy,
    strategies,
)

# Importing a family registers it, and this is the order in which strategies() lists them.
# isort: off
from minmargin.strategies import margin  # noqa: F401
from minmargin.strategies import disagreement  # noqa: F401
from minmargin.strategies import uncertainty  # noqa: F401
from minmargin.strategies.random import RandomMarginMix
from minmargin.strategies.drawn import PowerMargin, SoftRank
from minmargin.strategies.gradients import Badge, Spread
from minmargin.strategies.greedy import BalancedMargin, KCenters
from minmargin.strategies.clusters import ClusterMargin
from minmargin.strategies.oracle import TrueMargin
# isort: on

#: The names of the package's own strategies. Nobody else can have registered one before this line.
BUILT_IN = tuple(entry.name for entry in strategies())

__all__ = [
    "BUILT_IN",
    "Badge",
    "BalancedMargin",
    "ClusterMargin",
    "Context",
    "Entry",
    "KCenters",
    "Needs",
    "PowerMargin",
    "RandomMarginMix",
    "Reasons",
    "RowScore",
    "RowScoreStrategy",
    "Shortlist",
    "SoftRank",
    "Spread",
    "Strategy",
    "StrategyLike",
    "StrategyName",
    "Stroke",
    "TrueMargin",
    "check_has_name",
    "check_strategy",
    "distinct_rows",
    "entry_of",
    "option_names",
    "register_strategy",
    "resolve_strategy",
    "strategies",
]

"""Strategies by the names that they have in a study: that of the registry, alone or with +distinct."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from minmargin.errors import InputError
from minmargin.experiments.study.problems import LARGE
from minmargin.strategies import BUILT_IN, Context, Needs, Shortlist, Strategy, entry_of, resolve_strategy
from minmargin.topb import Ranked

#: What is added to the name of a strategy that passes over copies of rows.
DISTINCT = "+distinct"

#: Those that compare each row of the pool with each pick: B passes, a minute and more for a batch of 20,000.
QUADRATIC = ("balanced-margin", "k-centers")
#: What boosted models judge, unless others are named: boosting trains models one by one.
BOOSTED = ("random", "margin", "min-margin", "margin-of-mean", "soft-rank", "badge", "spread")


@dataclass(frozen=True)
class DistinctRows:
    """A strategy that picks distinct rows only, as `select` does with distinct=True."""

    of: Strategy

    @property
    def name(self) -> str:
        """The name in results."""
        return f"{self.of.name}{DISTINCT}"

    @property
    def needs(self) -> Needs:
        """Which models must be trained."""
        return self.of.needs

    @property
    def probabilistic(self) -> bool:
        """Whether class scores must be probabilities."""
        return self.of.probabilistic

    @property
    def options(self) -> Mapping[str, Any]:
        """What the manifest records besides the name."""
        return self.of.options

    @property
    def nested(self) -> bool:
        """Whether a smaller batch of the same seed is the beginning of a larger one."""
        return self.of.nested

    def shortlists(self, batch_size: int) -> Sequence[Shortlist]:
        """Return what one pass over the pool must keep."""
        return [shortlist._replace(distinct=True) for shortlist in self.of.shortlists(batch_size)]

    def finish(self, shortlists: Sequence[Ranked], context: Context) -> Ranked:
        """Return the batch, best first, from what the pass has kept."""
        return self.of.finish(shortlists, context)


def strategy_named(name: str) -> Strategy:
    """Return the strategy of a name.

    >>> strategy_named("min-margin+distinct").shortlists(10)[0].distinct
    True
    """
    strategy = resolve_strategy(name.removesuffix(DISTINCT))
    return DistinctRows(strategy) if name.endswith(DISTINCT) else strategy


def playable() -> tuple[str, ...]:
    """Return the package's strategies that can be had by their name alone."""
    return tuple(name for name in BUILT_IN if _needs_nothing(name))


def usual(way: str, problem: str) -> tuple[str, ...]:
    """Return which strategies play a problem in a way of learning, unless others are named.

    >>> "k-centers" in usual("logistic", "covtype"), "k-centers" in usual("logistic", "covtype-large")
    (True, False)
    """
    left_out = QUADRATIC if problem.endswith(LARGE) else ()
    among = BOOSTED if way == "boosting" else playable()
    return tuple(name for name in among if name not in left_out)


def _needs_nothing(name: str) -> bool:
    entry = entry_of(name)
    assert entry is not None, "a built-in strategy is registered"
    try:
        entry.make()
    except InputError:  # one that has to be given a function
        return False
    return True

"""The registry: strategies by name, open to third parties."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar, cast

from minmargin.errors import InputError, listing, nearest
from minmargin.margins import ScoreName
from minmargin.strategies.base import (
    Contest,
    Entry,
    Look,
    Needs,
    Reasons,
    Strategy,
    StrategyLike,
    StrategyName,
)
from minmargin.strategies.candidates import Candidates
from minmargin.strategies.row_scores import RowScoreStrategy, complete

_ENTRIES: dict[str, Entry] = {}
_OF_FUNCTIONS: dict[Callable[..., Any], RowScoreStrategy] = {}

_Made = TypeVar("_Made", bound=Callable[..., Any])

_COSTS: dict[Needs, str] = {
    "members": "one pass, K models a row",
    "base": "one pass, one model a row",
    "nothing": "one pass, no model",
}


def register_strategy(
    name: str,
    *,
    needs: Needs = "members",
    cost: str | None = None,
    probabilistic: bool = False,
    explain: Callable[[Candidates], Reasons] | None = None,
    screen: ScoreName | None = None,
    contest: Contest = "model",
    meaning: str = "",
    look: Look | None = None,
    replace: bool = False,
) -> Callable[[_Made], _Made]:
    """Register a score function, or a class of strategies, under a name.

    A function takes `Candidates` and returns one float per row; lower is picked first. A class makes objects
    with the methods of `Strategy`. The first line of the docstring becomes the summary in `mm.strategies()`.

    >>> import minmargin as mm
    >>> @mm.register_strategy("least-confident", needs="base")
    ... def least_confident(candidates):
    ...     "The highest class probability under the base."
    ...     return candidates.base_scores.max(axis=1)
    >>> [s.summary for s in mm.strategies() if s.name == "least-confident"]
    ['The highest class probability under the base.']

    Args:
        name: how callers ask for it.
        needs: which models the score looks at; members are trained only for "members".
        cost: what a row costs, in a few words.
        probabilistic: whether class scores must be probabilities.
        explain: returns the `Reasons` of rows; by default the closest member's, or the base's.
        screen: the name of the built-in strategy whose score this is, if it is: then a fast screen for that one
            dismisses most rows.
        contest: whose class scores the reasons compare: "model" (the deciding member's or the base's), "mean" or
            "votes" (of the members). Without `explain`, the reasons are these, too.
        meaning: what a batch goes by, in a few words for a report; {K} stands for the number of members.
        look: how the strategy's line is drawn in comparisons.
        replace: whether to take the place of a strategy that has this name already.
    """
    if name in _ENTRIES and not replace:
        raise InputError(
            f"There is a strategy {name!r} already. Use another name, or replace=True to take its place."
        )

    def register(made: _Made) -> _Made:
        make: Callable[..., Any] = made
        if not inspect.isclass(made):
            strategy = RowScoreStrategy(name, made, needs, probabilistic, explain, screen, contest)
            make = lambda: strategy  # noqa: E731 - a factory without options
            _OF_FUNCTIONS[made] = strategy
        summary = (inspect.getdoc(made) or "").partition("\n")[0]
        # From here on it is one of the names, though no type checker can know.
        known = cast("StrategyName", name)
        _ENTRIES[name] = Entry(known, summary, cost or _COSTS[needs], make, meaning, contest, look)
        return made

    return register


def strategies() -> list[Entry]:
    """Return every registered strategy: its name, one line on what it does, and its cost."""
    return list(_ENTRIES.values())


def entry_of(name: str) -> Entry | None:
    """Return what is registered under a name; None if nothing is, as for a batch of a strategy that has none."""
    return _ENTRIES.get(name)


def resolve_strategy(strategy: StrategyLike | str, **options: Any) -> Strategy:
    """Return the strategy that a name, a score function or an object with `score` stands for."""
    if isinstance(strategy, str):
        if strategy not in _ENTRIES:
            raise InputError(
                f"There is no strategy {strategy!r} (names: {listing(_ENTRIES, most=20)})."
                f"{nearest(strategy, _ENTRIES)}"
            )
        make = _ENTRIES[strategy].make
        unknown = [option for option in options if option not in inspect.signature(make).parameters]
        if unknown:
            raise InputError(f"Strategy {strategy!r} has no option {listing(unknown)}.")
        return complete(make(**options))
    if inspect.isclass(strategy):
        raise InputError(
            f"strategy is the class {strategy.__name__}. Pass an instance: {strategy.__name__}()."
        )
    if inspect.isfunction(strategy) and strategy in _OF_FUNCTIONS:
        return _OF_FUNCTIONS[strategy]  # with all that it was registered with
    return complete(strategy)


def check_strategy(strategy: Strategy, n_models: int, learner: str, *, probabilistic: bool) -> None:
    """Raise an error if a strategy needs what a committee of this learner will not have."""
    if strategy.needs == "members" and n_models == 0:
        raise InputError(
            f"Strategy {strategy.name!r} needs members, and n_models=0. Use n_models>=1; 25 is usual."
        )
    if strategy.probabilistic and not probabilistic:
        raise InputError(
            f"Strategy {strategy.name!r} needs class probabilities, and {learner} has only "
            "decision_function. Wrap it in CalibratedClassifierCV(..., ensemble=False)."
        )

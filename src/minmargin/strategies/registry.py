"""The registry: strategies by name, open to third parties.

What the author of a strategy may leave out is added here, once, so that it is asked for nowhere else.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from minmargin.checks import check_choice
from minmargin.errors import InputError, listing, nearest
from minmargin.margins import ScoreName, top_two
from minmargin.strategies.base import (
    Contest,
    Context,
    Entry,
    Needs,
    Reasons,
    RowScore,
    ScoreFunction,
    Shortlist,
    Strategy,
    StrategyLike,
    StrategyName,
    Stroke,
)
from minmargin.strategies.candidates import Candidates
from minmargin.topb import Ranked

_ENTRIES: dict[str, Entry] = {}
_NO_NAMES = {"<lambda>", "partial"}
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
    stroke: Stroke | None = None,
    apart: bool = False,
    replace: bool = False,
) -> Callable[[_Made], _Made]:
    """Register a score function, or a class of strategies, under a name.

    A function takes `Candidates` and returns one float per row; lower is picked first. A class makes objects
    with the methods of `Strategy`. The first line of the docstring becomes the summary in `mm.strategies()`.

    >>> import minmargin as mm
    >>> @mm.register_strategy("base-confidence", needs="base")
    ... def base_confidence(candidates):
    ...     "The highest class probability under the base."
    ...     return candidates.base_scores.max(axis=1)
    >>> [s.summary for s in mm.strategies() if s.name == "base-confidence"]
    ['The highest class probability under the base.']

    Args:
        name: how callers ask for it.
        needs: which models the score looks at; members are trained only for "members". A class says it itself.
        cost: what a row costs, in a few words.
        probabilistic: whether class scores must be probabilities.
        explain: returns the `Reasons` of rows; by default the closest member's, or the base's.
        screen: the name of the built-in strategy whose score this is, if it is: then a fast screen for that one
            dismisses most rows.
        contest: whose class scores the reasons compare: "model" (the deciding member's or the base's), "mean" or
            "votes" (of the members), or "chance", where none decide. Without `explain`, the reasons are these, too.
        meaning: what a batch goes by, in a few words for a report; {K} stands for the number of members.
        stroke: how the strategy's line is drawn in comparisons.
        apart: whether a row's score is minus its distance from the nearest pick before it, for a report to say so.
        replace: whether to take the place of a strategy that has this name already.
    """
    if name in _ENTRIES and not replace:
        raise InputError(
            f"There is a strategy {name!r} already. Use another name, or replace=True to take its place."
        )

    def register(made: _Made) -> _Made:
        make: Callable[..., Any] = made
        of_models = needs
        if inspect.isclass(made):
            of_functions = {"probabilistic": probabilistic, "explain": explain, "screen": screen}
            for argument, value in of_functions.items():
                if value:
                    raise InputError(
                        f"Strategy {name!r} is a class, and {argument}= is for score functions. Make it a member of "
                        "the class."
                    )
            of_models = getattr(made, "needs", needs)
        else:
            strategy = RowScoreStrategy(name, made, needs, probabilistic, explain, screen, contest)
            make = lambda: strategy  # noqa: E731 - a factory without options
            _OF_FUNCTIONS[made] = strategy
        summary = (inspect.getdoc(made) or "").partition("\n")[0]
        # From here on it is one of the names, though no type checker can know.
        known = cast("StrategyName", name)
        _ENTRIES[name] = Entry(
            known,
            summary,
            cost or _COSTS.get(of_models, _COSTS[needs]),
            make,
            meaning,
            contest,
            stroke,
            apart,
        )
        return made

    return register


def strategies() -> list[Entry]:
    """Return every registered strategy: its name, one line on what it does, and its cost."""
    return list(_ENTRIES.values())


def entry_of(name: str) -> Entry | None:
    """Return what is registered under a name; None if nothing is, as for a batch of a strategy that has none."""
    return _ENTRIES.get(name)


def option_names(strategy: str) -> list[str]:
    """Return the names of the options that the strategy of this name has."""
    if strategy not in _ENTRIES:
        raise InputError(
            f"There is no strategy {strategy!r} (names: {listing(_ENTRIES, most=20)})."
            f"{nearest(strategy, _ENTRIES)}"
        )
    return list(inspect.signature(_ENTRIES[strategy].make).parameters)


def resolve_strategy(strategy: StrategyLike | str, **options: Any) -> Strategy:
    """Return the strategy that a name, a score function or an object with `score` stands for."""
    if isinstance(strategy, str):
        known = option_names(strategy)
        unknown = [option for option in options if option not in known]
        if unknown:
            raise InputError(f"Strategy {strategy!r} has no option {listing(unknown)}.")
        return _complete(_ENTRIES[strategy].make(**options))
    if inspect.isclass(strategy):
        raise InputError(
            f"strategy is the class {strategy.__name__}. Pass an instance: {strategy.__name__}()."
        )
    if inspect.isfunction(strategy) and strategy in _OF_FUNCTIONS:
        return _OF_FUNCTIONS[strategy]  # with all that it was registered with
    return _complete(strategy)


def distinct_rows(distinct: bool | None, strategy: Strategy) -> bool:
    """Return whether the rows of a batch are to be distinct: as the caller says, or as is best for a strategy.

    A copy of a row mostly teaches a model nothing, and costs a label (docs/study.md). Chance alone is another matter:
    its batch is a sample, and often one to test on, in which copies count as often as they are met.
    """
    distinct = check_choice("distinct", distinct)
    return strategy.needs != "nothing" if distinct is None else distinct


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


@dataclass(frozen=True)
class RowScoreStrategy:
    """A strategy that is a row score: the B lowest rows are the batch.

    Attributes:
        name: in the registry, the manifest and messages.
        function: the score.
        needs: which models it looks at.
        probabilistic: whether class scores must be probabilities.
        reasons: why rows have their scores; None goes by `needs` and `contest`.
        screen: which of the scores in `margins` this one is, if it is.
        contest: whose class scores the reasons compare.
        options: what the manifest records besides the name.
    """

    name: str
    function: ScoreFunction
    needs: Needs
    probabilistic: bool = False
    reasons: Callable[[Candidates], Reasons] | None = None
    screen: ScoreName | None = None
    contest: Contest = "model"
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def nested(self) -> bool:
        """Whether a smaller batch is the beginning of a larger one: yes, rows are in one order."""
        return True

    def score(self, candidates: Candidates) -> NDArray[np.float64]:
        """Return (n,) the scores."""
        return np.asarray(self.function(candidates), dtype=np.float64)

    def explain(self, candidates: Candidates) -> Reasons:
        """Return why these rows have the scores they have."""
        if self.reasons is not None:
            return self.reasons(candidates)
        if self.contest == "mean":
            return without_member(candidates.mean_scores)
        if self.contest == "votes":
            return without_member(candidates.votes)
        return by_closest_member(candidates) if self.needs == "members" else by_base(candidates)

    def shortlists(self, batch_size: int) -> Sequence[Shortlist]:
        """Return what one pass over the pool must keep: the batch."""
        return [Shortlist(self, batch_size)]

    def finish(self, shortlists: Sequence[Ranked], context: Context) -> Ranked:
        """Return the one shortlist: it is the batch."""
        return shortlists[0]


def check_has_name(name: str, keeper: str) -> None:
    """Raise an error if a function has no name of its own, by which what is kept of it can be told from others'."""
    if name in _NO_NAMES:
        raise InputError(
            f"{keeper} knows a function by its name, and a {name.strip('<>')} has none. Write it with def."
        )


def by_closest_member(candidates: Candidates) -> Reasons:
    """Return the member on whose boundary each row lies, and that member's top two classes."""
    members = candidates.member_margins
    first, second = top_two(members.contested)
    return Reasons(members.margins.argmin(axis=0), first, second)


def by_base(candidates: Candidates) -> Reasons:
    """Return no member, and the base's top two classes."""
    return without_member(candidates.base_scores)


def without_member(scores: NDArray[np.float64]) -> Reasons:
    """Return no member, and the top two classes of (n, C) scores."""
    first, second = top_two(scores)
    return Reasons(np.full(len(scores), -1, dtype=np.intp), first, second)


def _complete(strategy: Any) -> Strategy:
    """Return the strategy that a score function, an object with `score` or one with `finish` stands for."""
    if isinstance(strategy, Strategy):
        return strategy
    if hasattr(strategy, "shortlists") and hasattr(strategy, "finish"):
        scores_rows = hasattr(strategy, "score") and hasattr(strategy, "explain")
        return _CompletedRowScore(strategy) if scores_rows else _Completed(strategy)
    return _row_score(strategy)


def _row_score(given: Any) -> RowScoreStrategy:
    score: ScoreFunction | None = getattr(given, "score", given if callable(given) else None)
    if score is None:
        raise InputError(
            f"strategy={given!r} is neither a name, a score function nor an object with score(candidates). "
            "mm.strategies() lists the names."
        )
    return RowScoreStrategy(
        str(getattr(given, "name", None) or getattr(given, "__name__", type(given).__name__)),
        score,
        getattr(given, "needs", "members"),
        bool(getattr(given, "probabilistic", False)),
        getattr(given, "explain", None),
        getattr(given, "screen", None),
        getattr(given, "contest", "model"),
        getattr(given, "options", {}),
    )


@dataclass(frozen=True)
class _Completed:
    """A strategy in which picks depend on each other; the row scores that it asks for are completed, too."""

    given: Any

    @property
    def name(self) -> str:
        return str(self.given.name)

    @property
    def needs(self) -> Needs:
        return cast("Needs", self.given.needs)

    @property
    def probabilistic(self) -> bool:
        return bool(self.given.probabilistic)

    @property
    def options(self) -> Mapping[str, Any]:
        return cast("Mapping[str, Any]", getattr(self.given, "options", {}))

    @property
    def nested(self) -> bool:
        # Of a strategy that does not say, nothing is taken for granted.
        return bool(getattr(self.given, "nested", False))

    def shortlists(self, batch_size: int) -> Sequence[Shortlist]:
        return [
            asked if isinstance(asked.by, RowScore) else asked._replace(by=_row_score(asked.by))
            for asked in self.given.shortlists(batch_size)
        ]

    def finish(self, shortlists: Sequence[Ranked], context: Context) -> Ranked:
        return cast("Ranked", self.given.finish(shortlists, context))


@dataclass(frozen=True)
class _CompletedRowScore(_Completed):
    """A strategy that picks in its own way, and has a score of single rows all the same."""

    @property
    def screen(self) -> ScoreName | None:
        return _row_score(self.given).screen

    @property
    def contest(self) -> Contest:
        return _row_score(self.given).contest

    def score(self, candidates: Candidates) -> NDArray[np.float64]:
        return _row_score(self.given).score(candidates)

    def explain(self, candidates: Candidates) -> Reasons:
        return _row_score(self.given).explain(candidates)

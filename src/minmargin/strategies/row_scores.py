"""Strategies that are row scores, and strategies of someone else, completed.

What the author of a strategy may leave out is added here, once, so that it is asked for nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from minmargin.errors import InputError
from minmargin.margins import ScoreName, top_two
from minmargin.strategies.base import (
    Contest,
    Context,
    Needs,
    Reasons,
    RowScore,
    ScoreFunction,
    Shortlist,
    Strategy,
)
from minmargin.strategies.candidates import Candidates
from minmargin.topb import Ranked


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


def complete(strategy: Any) -> Strategy:
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

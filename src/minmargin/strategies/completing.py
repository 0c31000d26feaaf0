"""A strategy of someone else, completed: what its author may leave out is added here, and nowhere else asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from minmargin.errors import InputError
from minmargin.margins import ScoreName
from minmargin.strategies.base import (
    Contest,
    Context,
    Needs,
    Reasons,
    RowScore,
    RowScoreStrategy,
    ScoreFunction,
    Shortlist,
    Strategy,
)
from minmargin.strategies.candidates import Candidates
from minmargin.topb import Ranked


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

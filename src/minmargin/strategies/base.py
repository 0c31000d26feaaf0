"""What a strategy promises.

One pass over the pool keeps one or more *shortlists*: the lowest rows by some row score. `finish` then picks
the batch from them. A strategy that is a row score itself keeps the B lowest and has nothing left to do; a
greedy one keeps many rows with their vectors and picks among them in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from minmargin.data.rows import Matrix
from minmargin.margins import ScoreName, top_two
from minmargin.seeds import SeedTree
from minmargin.strategies.candidates import Candidates
from minmargin.topb import Ranked

#: Which models a score looks at. Members are trained only for strategies that need them.
Needs: TypeAlias = Literal["members", "base", "nothing"]

ScoreFunction: TypeAlias = Callable[[Candidates], NDArray[np.float64]]


class Reasons(NamedTuple):
    """Why rows were picked: the deciding member (-1: none) and the two classes in contest, as codes."""

    member: NDArray[np.intp]
    first: NDArray[np.intp]
    second: NDArray[np.intp]


@runtime_checkable
class RowScore(Protocol):
    """One float per row, from that row alone; lower is picked first."""

    @property
    def needs(self) -> Needs:
        """Which models the score looks at."""
        ...

    def score(self, candidates: Candidates) -> NDArray[np.float64]:
        """Return (n,) the scores."""
        ...

    def explain(self, candidates: Candidates) -> Reasons:
        """Return why these rows have the scores they have."""
        ...


class Shortlist(NamedTuple):
    """An order to the pass over the pool: keep the `size` lowest rows by `by` (None: keep all).

    If there is a `check_memory`, the rows' vectors are kept too, and it is called beforehand with the number of
    rows and the bytes of a vector, to raise an error if they are too many. `notes` gives further arrays (n,) to keep
    of these rows, by name.
    """

    by: RowScore
    size: int | None
    check_memory: Callable[[int, float], None] | None = None
    notes: Callable[[Candidates], Mapping[str, NDArray[Any]]] | None = None


class Context(NamedTuple):
    """What `finish` may use besides the shortlists. `device` is "auto", "cpu" or "cuda", as the caller gave it."""

    batch_size: int
    seeds: SeedTree
    labeled_vectors: Callable[[], Matrix]
    device: str = "cpu"


class Strategy(Protocol):
    """How a batch is picked."""

    @property
    def name(self) -> str:
        """The name in the registry, the manifest and messages."""
        ...

    @property
    def needs(self) -> Needs:
        """Which models must be trained."""
        ...

    @property
    def probabilistic(self) -> bool:
        """Whether class scores must be probabilities."""
        ...

    def shortlists(self, batch_size: int) -> Sequence[Shortlist]:
        """Return what one pass over the pool must keep."""
        ...

    def finish(self, shortlists: Sequence[Ranked], context: Context) -> Ranked:
        """Return the batch, best first, from what the pass has kept."""
        ...


@dataclass(frozen=True)
class RowScoreStrategy:
    """A strategy that is a row score: the B lowest rows are the batch.

    `screen` says which of the scores in `margins` this one is, so that a fast screen for that can dismiss rows.
    """

    name: str
    function: ScoreFunction
    needs: Needs
    probabilistic: bool = False
    reasons: Callable[[Candidates], Reasons] | None = None
    screen: ScoreName | None = None

    def score(self, candidates: Candidates) -> NDArray[np.float64]:
        """Return (n,) the scores."""
        return np.asarray(self.function(candidates), dtype=np.float64)

    def explain(self, candidates: Candidates) -> Reasons:
        """Return why these rows have the scores they have."""
        if self.reasons is not None:
            return self.reasons(candidates)
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


class Entry(NamedTuple):
    """A strategy in the registry: what `mm.strategies()` shows, and how one is made."""

    name: str
    summary: str
    cost: str
    make: Callable[..., Any]

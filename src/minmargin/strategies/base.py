"""What a strategy promises.

One pass over the pool keeps one or more *shortlists*: the lowest rows by some row score. `finish` then picks
the batch from them. A strategy that is a row score itself keeps the B lowest and has nothing left to do; a
greedy one keeps many rows with their vectors and picks among them in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from minmargin.data.rows import Matrix
from minmargin.margins import ScoreName
from minmargin.seeds import SeedTree
from minmargin.strategies.candidates import Candidates
from minmargin.topb import Ranked

#: Which models a score looks at. Members are trained only for strategies that need them.
Needs: TypeAlias = Literal["members", "base", "nothing"]


#: Whose class scores a reason speaks of: those of the deciding member, or of the base where there is none; the members'
#: mean; the members' votes; or nobody's, where chance decides.
Contest: TypeAlias = Literal["model", "mean", "votes", "chance"]

ScoreFunction: TypeAlias = Callable[[Candidates], NDArray[np.float64]]

#: The built-in strategies. A test holds them to the registry, which others may add to.
StrategyName: TypeAlias = Literal[
    "min-margin",
    "margin",
    "mean-margin",
    "margin-of-mean",
    "committee",
    "var-softmax",
    "bald",
    "entropy",
    "least-confident",
    "random",
    "random-margin-mix",
    "power-margin",
    "soft-rank",
    "spread",
    "badge",
    "balanced-margin",
    "k-centers",
    "cluster-margin",
    "true-margin",
]


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

    @property
    def screen(self) -> ScoreName | None:
        """Which of the scores in `margins` this one is, if it is: then a fast screen for that can dismiss rows."""
        ...

    @property
    def contest(self) -> Contest:
        """Whose class scores `explain` compares."""
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
    rows and the bytes of a vector and of notes, to raise an error if they are too many. `notes` gives further arrays
    to keep of these rows, by name: (n,), or (n, any width). `check_rows` is for rows that are kept without vectors: it
    is called like `check_memory`, with the bytes of all that is kept of a row. With `distinct`, of rows that the model
    sees alike only the first is kept, and the keys that tell rows apart are kept too, as `topb.KEY`. With `copies`, a
    list is a sample, in which copies count as often as they are met: they stay, even if the caller wants distinct rows.

    `floor` is for a score that is something minus `Candidates.gumbel`: given C, a number that the something is never
    below. Most rows are then dismissed by their noise alone. Who gives one must give rows with numbers that are not
    finite their lowest possible score, and refuse them in `finish`: nobody else looks for them.

    `chance` is for a score that is `Candidates.uniform` itself: rows are then chosen by their numbers, and of a pool
    that can be read in parts, no others are looked at.
    """

    by: RowScore
    size: int | None
    check_memory: Callable[[int, float], None] | None = None
    notes: Callable[[Candidates], Mapping[str, NDArray[Any]]] | None = None
    check_rows: Callable[[int, float], None] | None = None
    distinct: bool = False
    floor: Callable[[int], float] | None = None
    copies: bool = False
    chance: bool = False

    def for_batch(self, *, distinct: bool) -> Shortlist:
        """Return what to keep for a batch whose rows are to be distinct, or need not be."""
        return self._replace(distinct=(distinct or self.distinct) and not self.copies)


class Context(NamedTuple):
    """What `finish` may use besides the shortlists.

    `labeled_vectors` returns None where there is no labeled set. `device` is "auto", "cpu" or "cuda", as the caller
    gave it, and `n_jobs` how many threads there may be, -1 for all cores.
    """

    batch_size: int
    seeds: SeedTree
    labeled_vectors: Callable[[], Matrix | None]
    device: str = "cpu"
    n_jobs: int = -1


class GivenStrategy(Protocol):
    """How a batch is picked, with as much as its author must say."""

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


@runtime_checkable
class Strategy(GivenStrategy, Protocol):
    """How a batch is picked. `resolve_strategy` adds what a strategy of someone else has left out."""

    @property
    def options(self) -> Mapping[str, Any]:
        """What the manifest records besides the name."""
        ...

    @property
    def nested(self) -> bool:
        """Whether a smaller batch of the same seed is the beginning of a larger one."""
        ...


class RowScorer(Protocol):
    """An object that scores rows, and need not be a whole strategy."""

    def score(self, candidates: Candidates, /) -> NDArray[Any]:
        """Return (n,) the scores; lower is picked first."""
        ...


#: What `strategy` may be: a name, a strategy, an object that scores rows, or a function that does.
StrategyLike: TypeAlias = StrategyName | GivenStrategy | RowScorer | Callable[[Candidates], NDArray[Any]]


class Stroke(NamedTuple):
    """How a strategy's line is drawn.

    Attributes:
        color: one of those that all pages share.
        style: as matplotlib takes it.
        width: in points.
    """

    color: Literal["vermilion", "blue", "green", "purple", "gold", "ink", "muted"]
    style: str | tuple[int, tuple[float, ...]] = "-"
    width: float = 1.4


class Entry(NamedTuple):
    """A strategy in the registry: what `mm.strategies()` shows, how one is made, and all that pages know of it.

    Attributes:
        name: how callers ask for it.
        summary: what it does, in one sentence.
        cost: what a row costs, in a few words.
        make: returns the strategy; its arguments are the options.
        meaning: what a batch goes by, in a few words that can follow "by"; {K} stands for the number of members.
        contest: whose class scores its reasons compare.
        stroke: how its line is drawn; None: as those of strategies that nobody has given one.
        apart: whether a row's score is minus its distance from the nearest pick before it.
    """

    name: StrategyName
    summary: str
    cost: str
    make: Callable[..., Any]
    meaning: str = ""
    contest: Contest = "model"
    stroke: Stroke | None = None
    apart: bool = False

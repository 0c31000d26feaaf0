"""TopB: the B lowest-scored rows of a stream, exactly, in O(B) memory.

TopBs form a commutative monoid: `merge` them in any order and grouping, and `finish` gives what a
full sort of all rows by (score, tie hash, row) would have given. That is why chunks, threads, files
and engines cannot change a batch: each only ever decides which TopBs exist, never what is in them.

A running threshold, the B-th best seen so far, dismisses nearly every row by one comparison. What
else is known of a row (its id, its reasons) is its *details*: asked for only if the row survives.

The *cut* is a score that no pick exceeds, as far as is known while the pool is being read. Exact scores give it late.
What a rough look is certain of gives nearly the same at once: if B rows have scores that are not above some value, no
row above it is needed. Every thread lowers the cut with what it finds, and asks for it only when it needs it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from minmargin.data.rows import Rows, concat_rows, take_rows
from minmargin.seeds import SeedTree

Details: TypeAlias = Mapping[str, Rows]


class LastPlace(NamedTuple):
    """The place of the last of the B lowest rows: a row behind it is not needed."""

    score: float
    tie: np.uint64
    row: int


class Near(NamedTuple):
    """The rows of a block that may be among the lowest, as far as a rough and fast look can tell.

    Attributes:
        places: (n,) where in the block they stand.
        lower: (n,) numbers that their scores are not below.
        upper: (n,) numbers that their scores are not above.
        finite: whether all numbers in the block are certain to be finite.
    """

    places: NDArray[np.intp]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    finite: bool = True

    def take(self, index: NDArray[Any]) -> Near:
        """Return some of the rows."""
        return Near(self.places[index], self.lower[index], self.upper[index], self.finite)

    @classmethod
    def unknown(cls, places: NDArray[np.intp]) -> Near:
        """Return rows of whose scores nothing is known, since a number in the block may not be finite."""
        return cls(places, np.full(len(places), -np.inf), np.full(len(places), np.inf), finite=False)


class Ranked(NamedTuple):
    """Rows in the order in which they are picked, with their scores and details."""

    rows: NDArray[np.int64]
    scores: NDArray[np.float64]
    details: Details


@dataclass
class TopB:
    """The `size` lowest rows seen so far; `size=None` keeps every row.

    A `last_place` taken from another TopB of the same run lets this one dismiss rows from the start.
    """

    size: int | None
    seeds: SeedTree
    last_place: LastPlace | None = None
    _parts: list[_Part] = field(default_factory=list, repr=False)
    _n_held: int = field(default=0, repr=False)

    def update(
        self,
        rows: NDArray[np.int64],
        scores: NDArray[np.float64],
        details: Callable[[NDArray[np.intp]], Details] | None = None,
    ) -> None:
        """Take in rows and their scores; `details(index)` describes the survivors among them."""
        near = np.arange(len(rows))
        if self.last_place is not None:
            near = np.flatnonzero(scores <= self.last_place.score)
        if self.size is not None and len(near) > self.size:
            cut = np.partition(scores[near], self.size - 1)[self.size - 1]
            near = near[scores[near] <= cut]
        ties = self.seeds.ties(rows[near])
        if self.last_place is not None:
            kept = _precedes(scores[near], ties, rows[near], self.last_place)
            near, ties = near[kept], ties[kept]
        if len(near):
            found = {} if details is None else details(near)
            self._hold([_Part(rows[near], scores[near], ties, found)])

    def not_behind(self, first_row: int, near: Near) -> Near:
        """Return the rows that, by what is known of their scores, need not be behind the last place."""
        if self.last_place is None or not len(near.places):
            return near
        rows = first_row + near.places
        return near.take(_precedes(near.lower, self.seeds.ties(rows), rows, self.last_place))

    def merge(self, other: TopB) -> None:
        """Take in what another TopB of the same run has kept."""
        self._hold(other._parts)

    def held(self) -> Ranked | None:
        """Return the lowest rows so far, in any order; None if there are none."""
        if not self._parts:
            return None
        self._compact()
        held = self._parts[0]
        return Ranked(held.rows, held.scores, held.details)

    def finish(self) -> Ranked:
        """Return the lowest rows, best first."""
        if not self._parts:
            return Ranked(np.empty(0, np.int64), np.empty(0), {})
        self._compact()
        held = self._parts[0]
        part = held.take(np.lexsort((held.rows, held.ties, held.scores)))
        return Ranked(part.rows, part.scores, part.details)

    def _hold(self, parts: list[_Part]) -> None:
        self._parts.extend(parts)
        self._n_held += sum(len(part.rows) for part in parts)
        if self.size is None or self._n_held < self.size:
            return
        # At once when there are B; then with half as many again, so that compacting costs O(1) a row, amortized.
        if self.last_place is None or self._n_held > self.size + self.size // 2 + 128:
            self._compact()

    def _compact(self) -> None:
        """Keep the lowest rows only, in any order."""
        held = _join(self._parts)
        if self.size is not None and len(held.rows) >= self.size:
            cut = np.partition(held.scores, self.size - 1)[self.size - 1]
            below, level = np.flatnonzero(held.scores < cut), np.flatnonzero(held.scores == cut)
            in_line = np.lexsort((held.rows[level], held.ties[level]))
            level = level[in_line[: self.size - len(below)]]
            self.last_place = LastPlace(float(cut), held.ties[level[-1]], int(held.rows[level[-1]]))
            held = held.take(np.concatenate([below, level]))
        self._parts, self._n_held = [held], len(held.rows)


@dataclass(frozen=True)
class _Part:
    rows: NDArray[np.int64]
    scores: NDArray[np.float64]
    ties: NDArray[np.uint64]
    details: Details

    def take(self, index: NDArray[np.intp]) -> _Part:
        details = {name: take_rows(values, index) for name, values in self.details.items()}
        return _Part(self.rows[index], self.scores[index], self.ties[index], details)


def _join(parts: list[_Part]) -> _Part:
    details = {name: concat_rows([part.details[name] for part in parts]) for name in parts[0].details}
    return _Part(
        np.concatenate([part.rows for part in parts]),
        np.concatenate([part.scores for part in parts]),
        np.concatenate([part.ties for part in parts]),
        details,
    )


def _precedes(
    scores: NDArray[np.float64], ties: NDArray[np.uint64], rows: NDArray[np.int64], last: LastPlace
) -> NDArray[np.bool_]:
    earlier = (ties < last.tie) | ((ties == last.tie) & (rows <= last.row))
    before: NDArray[np.bool_] = (scores < last.score) | ((scores == last.score) & earlier)
    return before


class Cut:
    """A score that the `size` lowest rows do not exceed; infinite until anything is known.

    Args:
        size: B; None if every row is needed.
        score: what is known already.
    """

    def __init__(self, size: int | None = None, score: float = math.inf) -> None:
        self._size = size
        self._score = score
        self._lowest: list[NDArray[np.float64]] = []
        self._n_held = 0
        self._lock = Lock()

    @property
    def score(self) -> float:
        """The cut as it is now."""
        return self._score

    def lower_to(self, score: float) -> None:
        """Take in that the lowest rows do not exceed a score."""
        with self._lock:
            self._score = min(self._score, score)

    def take_in(self, upper: NDArray[np.float64]) -> None:
        """Take in numbers that the scores of rows, each seen here for the first time, are not above."""
        if not self._size:
            return
        with self._lock:
            found = upper[upper < self._score]
            self._lowest.append(found)
            self._n_held += len(found)
            # At once for a first cut; then with half as many again, so that this costs O(1) a row, amortized.
            enough = self._size if self._score == math.inf else self._size + self._size // 2 + 128
            if self._n_held >= enough:
                self._settle(self._size)

    def settled(self) -> float:
        """Return the cut, as low as all that was taken in makes it."""
        with self._lock:
            if self._size and self._n_held >= self._size:
                self._settle(self._size)
            return self._score

    def _settle(self, size: int) -> None:
        held = np.partition(np.concatenate(self._lowest), size - 1)[:size]
        self._lowest, self._n_held = [held], size
        self._score = min(self._score, float(held[-1]))

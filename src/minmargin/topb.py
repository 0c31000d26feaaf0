"""TopB: the B lowest-scored rows of a stream, exactly, in O(B) memory.

TopBs form a commutative monoid: `merge` them in any order and grouping, and `finish` gives what a
full sort of all rows by (score, tie hash, row) would have given. That is why chunks, threads, files
and engines cannot change a batch: each only ever decides which TopBs exist, never what is in them.

A running threshold, the B-th best seen so far, dismisses nearly every row by one comparison. What
else is known of a row (its id, its reasons) is its *details*: asked for only if the row survives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from minmargin.rows import Rows, concat_rows, take_rows
from minmargin.seeds import SeedTree

Details: TypeAlias = Mapping[str, Rows]


class Bound(NamedTuple):
    """The place in line behind which a row cannot be among the B lowest."""

    score: float
    tie: np.uint64
    row: int


class Ranked(NamedTuple):
    """Rows in the order in which they are picked, with their scores and details."""

    rows: NDArray[np.int64]
    scores: NDArray[np.float64]
    details: Details


@dataclass
class TopB:
    """The `size` lowest rows seen so far; `size=None` keeps every row.

    A `bound` taken from another TopB of the same run lets this one dismiss rows from the start.
    """

    size: int | None
    seeds: SeedTree
    bound: Bound | None = None
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
        if self.bound is not None:
            near = np.flatnonzero(scores <= self.bound.score)
        if self.size is not None and len(near) > self.size:
            cut = np.partition(scores[near], self.size - 1)[self.size - 1]
            near = near[scores[near] <= cut]
        ties = self.seeds.ties(rows[near])
        if self.bound is not None:
            kept = _precedes(scores[near], ties, rows[near], self.bound)
            near, ties = near[kept], ties[kept]
        if len(near):
            found = {} if details is None else details(near)
            self._hold([_Part(rows[near], scores[near], ties, found)])

    def merge(self, other: TopB) -> None:
        """Take in what another TopB of the same run has kept."""
        self._hold(other._parts)

    def finish(self) -> Ranked:
        """Return the lowest rows, best first."""
        self._compact()
        if not self._parts:
            return Ranked(np.empty(0, np.int64), np.empty(0), {})
        part = self._parts[0]
        return Ranked(part.rows, part.scores, part.details)

    def _hold(self, parts: list[_Part]) -> None:
        self._parts.extend(parts)
        self._n_held += sum(len(part.rows) for part in parts)
        if self.size is None or self._n_held < self.size:
            return
        # At once for a first bound; then with half as many again, so that sorting costs O(log B) a row, amortized.
        if self.bound is None or self._n_held > self.size + self.size // 2 + 128:
            self._compact()

    def _compact(self) -> None:
        if not self._parts:
            return
        joined = _join(self._parts)
        order = np.lexsort((joined.rows, joined.ties, joined.scores))[: self.size]
        best = joined.take(order)
        self._parts, self._n_held = [best], len(order)
        if self.size is not None and len(order) == self.size:
            self.bound = Bound(float(best.scores[-1]), best.ties[-1], int(best.rows[-1]))


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
    scores: NDArray[np.float64], ties: NDArray[np.uint64], rows: NDArray[np.int64], bound: Bound
) -> NDArray[np.bool_]:
    earlier = (ties < bound.tie) | ((ties == bound.tie) & (rows <= bound.row))
    before: NDArray[np.bool_] = (scores < bound.score) | ((scores == bound.score) & earlier)
    return before

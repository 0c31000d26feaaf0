"""TopB: the B lowest-scored rows of a stream, exactly, in O(B) memory.

TopBs form a commutative monoid: `merge` them in any order and grouping, and `finish` gives what a
full sort of all rows by (score, tie hash, row) would have given. That is why chunks, threads, files
and engines cannot change a batch: each only ever decides which TopBs exist, never what is in them.

With `distinct`, a TopB keeps of each key (see `data.keys`) only the row that comes first, and of these the B lowest.
That is a commutative monoid too. A row that comes after a copy of its own, or after rows of B keys, does so however
many more rows are seen: nothing that is dropped early would have been kept by a TopB that sees all rows at once. And a
row below the last place of all is dismissed by no one, so it is kept or counted as a copy: that count is the same, too.

A running threshold, the B-th best seen so far, dismisses nearly every row by one comparison. What
else is known of a row (its id, its reasons) is its *details*: asked for only if the row survives.

The *cut* is a place that no pick is behind, as far as is known while the pool is being read. Exact scores give it late.
What a rough look is certain of gives nearly the same at once. A row whose score is at most u is not behind the place
(u, its tie hash, its number). So if B rows, of B keys where rows must be distinct, are not behind some place, no row
behind it is needed. Where scores are votes, thousands of rows have the score of the last pick, and a rough look mostly
knows it exactly: then hashes alone tell which of them are needed. Every thread lowers the cut with what it finds, and
asks for it only when it needs it.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from minmargin.data.keys import Keys, are_copies, count_copies
from minmargin.data.rows import Rows, concat_rows, take_rows
from minmargin.seeds import SeedTree

Details: TypeAlias = Mapping[str, Rows]

#: What gives the keys of some rows, by their places.
KeysOf: TypeAlias = Callable[[NDArray[np.intp]], Keys]

#: The detail that tells distinct rows apart. It is there where distinct rows were asked for.
KEY = "key"


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


class PassedOver(NamedTuple):
    """How many rows of each score were passed over, since copies of theirs came before them.

    Copies mostly have the same score, so these are few numbers for however many rows.
    """

    scores: NDArray[np.float64]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, scores: NDArray[np.float64]) -> PassedOver:
        """Return rows with these scores."""
        if not len(scores):  # which is nearly always so
            return cls(np.empty(0), np.empty(0, np.int64))
        found, counts = np.unique(scores, return_counts=True)
        return cls(found, counts.astype(np.int64))

    def plus(self, more: PassedOver) -> PassedOver:
        """Return these and more, each score once."""
        found, places = np.unique(np.concatenate([self.scores, more.scores]), return_inverse=True)
        counts = np.zeros(len(found), np.int64)
        np.add.at(counts, places, np.concatenate([self.counts, more.counts]))
        return PassedOver(found, counts)

    def below(self, score: float) -> PassedOver:
        """Return those with a lower score."""
        near = self.scores < score
        return PassedOver(self.scores[near], self.counts[near])


@dataclass
class TopB:
    """The `size` lowest rows seen so far; `size=None` keeps every row.

    A `last_place` taken from another TopB of the same run lets this one dismiss rows from the start. With `distinct`,
    rows come with their keys, and of those with the same key only the first is kept.
    """

    size: int | None
    seeds: SeedTree
    last_place: LastPlace | None = None
    distinct: bool = False
    _parts: list[_Part] = field(default_factory=list, repr=False)
    _n_held: int = field(default=0, repr=False)
    _compacted: bool = field(default=True, repr=False)
    _passed: PassedOver = field(default_factory=lambda: PassedOver.of(np.empty(0)), repr=False)

    def update(
        self,
        rows: NDArray[np.int64],
        scores: NDArray[np.float64],
        details: Callable[[NDArray[np.intp]], Details] | None = None,
        *,
        keys: KeysOf | None = None,
    ) -> None:
        """Take in rows and their scores; `details(index)` describes the survivors among them.

        `keys(index)` are the keys of some of them, for a TopB of distinct rows.
        """
        near = np.arange(len(rows))
        if self.last_place is not None:
            near = np.flatnonzero(scores <= self.last_place.score)
        if self.size is not None and len(near) > self.size and keys is None:
            cut = np.partition(scores[near], self.size - 1)[self.size - 1]
            near = near[scores[near] <= cut]
        ties = self.seeds.ties(rows[near])
        if self.last_place is not None:
            kept = _precedes(scores[near], ties, rows[near], self.last_place)
            near, ties = near[kept], ties[kept]
        found: Details = {}
        if keys is not None:
            in_line = np.lexsort((rows[near], ties, scores[near]))
            near, ties = near[in_line], ties[in_line]
            of_near = self._keys_of_first(near, keys)
            near, ties = near[: len(of_near)], ties[: len(of_near)]
            copies = are_copies(of_near, np.arange(len(near)))
            self.pass_over(PassedOver.of(scores[near[copies]]))
            near, ties, found = near[~copies], ties[~copies], {KEY: of_near[~copies]}
        if len(near):
            described = {} if details is None else details(near)
            self._hold([_Part(rows[near], scores[near], ties, {**described, **found})])

    def _keys_of_first(self, in_line: NDArray[np.intp], keys: KeysOf) -> Keys:
        """Return the keys of as many rows, from the first on, as may be among the lowest."""
        wanted = self.size
        while self.size is not None and wanted is not None and len(in_line) > wanted:
            found = keys(in_line[:wanted])
            if wanted - count_copies(found) >= self.size:
                return found
            wanted *= 2  # where rows are mostly copies, more are needed
        return keys(in_line)

    def merge(self, other: TopB) -> None:
        """Take in what another TopB of the same run has kept."""
        self.pass_over(other._passed)
        self._hold(other._parts)

    def pass_over(self, copies: PassedOver) -> None:
        """Take in copies that were passed over."""
        if len(copies.scores):
            self._passed = self._passed.plus(copies)

    def passed_over(self) -> PassedOver:
        """Return the copies that were passed over: those with scores below the last place, if there is one yet."""
        if self._parts:
            self._compact()
        return self._passed if self.last_place is None else self._passed.below(self.last_place.score)

    @property
    def is_full(self) -> bool:
        """Whether there are as many rows as are wanted."""
        return self.size is not None and self._n_held >= self.size

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
        self._compacted &= not parts
        self._n_held += sum(len(part.rows) for part in parts)
        if self.size is None or self._n_held < self.size:
            return
        # At once when there are B; then with half as many again, so that compacting costs O(1) a row, amortized.
        if self.last_place is None or self._n_held > self.size + self.size // 2 + 128:
            self._compact()

    def _compact(self) -> None:
        """Keep the lowest rows only, in any order."""
        if self._compacted:
            return
        held = _join(self._parts)
        if self.distinct:
            copies = are_copies(held.keys, held.rows, held.ties, held.scores)
            self.pass_over(PassedOver.of(held.scores[copies]))
            held = held.take(np.flatnonzero(~copies)) if copies.any() else held
        if self.size is not None and len(held.rows) >= self.size:
            cut = np.partition(held.scores, self.size - 1)[self.size - 1]
            below, level = np.flatnonzero(held.scores < cut), np.flatnonzero(held.scores == cut)
            in_line = np.lexsort((held.rows[level], held.ties[level]))
            level = level[in_line[: self.size - len(below)]]
            self.last_place = LastPlace(float(cut), held.ties[level[-1]], int(held.rows[level[-1]]))
            self._passed = self._passed.below(float(cut))
            held = held.take(np.concatenate([below, level]))
        self._parts, self._n_held, self._compacted = [held], len(held.rows), True


@dataclass(frozen=True)
class _Part:
    rows: NDArray[np.int64]
    scores: NDArray[np.float64]
    ties: NDArray[np.uint64]
    details: Details

    @property
    def keys(self) -> Keys:
        return cast("Keys", self.details[KEY])

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
    """A place that the `size` lowest rows are not behind; its score is infinite until anything is known.

    Args:
        size: B; None if every row is needed.
        seeds: where ties are broken; None if nothing is ever taken in.
        score: a score that these rows do not exceed, if one is known already.
        last_place: a place that they are not behind, if one is known already.
        distinct: whether rows of the same key count once.
    """

    def __init__(
        self,
        size: int | None = None,
        seeds: SeedTree | None = None,
        *,
        score: float = math.inf,
        last_place: LastPlace | None = None,
        distinct: bool = False,
    ) -> None:
        # Behind this place there are all rows above the score, and no others.
        self._place = last_place or LastPlace(score, np.uint64(2**64 - 1), sys.maxsize)
        self._lowest = TopB(size, seeds, distinct=distinct) if size and seeds is not None else None
        self._lock = Lock()

    @property
    def score(self) -> float:
        """The score of the place as it is now."""
        return self._place.score

    def lower_to(self, place: LastPlace) -> None:
        """Take in that the lowest rows are not behind a place."""
        with self._lock:
            self._place = min(self._place, place)

    def take_in(
        self, rows: NDArray[np.int64], upper: NDArray[np.float64], keys: KeysOf | None = None
    ) -> None:
        """Take in rows, each seen here for the first time, and (n,) numbers that their scores are not above.

        `keys(index)` are the keys of some of them, for distinct rows.
        """
        if self._lowest is None:
            return
        known = np.flatnonzero(upper < math.inf)
        # Keys cost something: they are made before others have to wait.
        found = TopB(self._lowest.size, self._lowest.seeds, self._place, self._lowest.distinct)
        of_known = None if keys is None else lambda index: keys(known[index])
        found.update(rows[known], upper[known], keys=of_known)
        with self._lock:
            self._lowest.merge(found)
            self._lower()

    def settle(self) -> None:
        """Lower the place as far as all that was taken in allows."""
        with self._lock:
            if self._lowest is not None:
                self._lowest.held()
                self._lower()

    def not_behind(self, rows: NDArray[np.int64], lower: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return (n,) which rows need not be behind the place, by numbers that their scores are not below."""
        place = self._place
        kept: NDArray[np.bool_] = ~(lower > place.score)  # written so that NaN stays
        level = np.flatnonzero(lower == place.score)
        if self._lowest is not None and len(level):
            ties = self._lowest.seeds.ties(rows[level])
            kept[level] = _precedes(lower[level], ties, rows[level], place)
        return kept

    def _lower(self) -> None:
        if self._lowest is not None and self._lowest.last_place is not None:
            self._place = min(self._place, self._lowest.last_place)

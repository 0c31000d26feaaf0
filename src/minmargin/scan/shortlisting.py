"""One shortlist in the making: blocks of rows go in, the lowest rows of all come out.

A screen looks at each block roughly, and rows that it leaves near the cut wait until the pool has been read, or until
they have become many. Then they are scored canonically, and that alone decides. Without a screen, or where there are
too few rows for one to be worth while, every row is scored canonically at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from minmargin.compute import Screen, noisy_rows
from minmargin.data.keys import count_copies
from minmargin.data.rows import ColumnBlock, n_bytes
from minmargin.errors import InputError, MinMarginError
from minmargin.scan.noise import least_bits
from minmargin.scan.waiting import Due, Waiting
from minmargin.seeds import SeedTree, hashes_below
from minmargin.strategies import RowScore, Shortlist
from minmargin.strategies.candidates import Candidates
from minmargin.topb import Cut, Details, KeysOf, LastPlace, Near, TopB

# What is kept of any row: its number, its score and its tie, in 8 bytes each; four reasons, in 4; a key, if asked for.
_ROW_BYTES, _KEY_BYTES = 3 * 8 + 4 * 4, 2 * 8
_FEW = 256  # rows that are decided at a time where each time may spare others


class Deciders(NamedTuple):
    """Threads that share out the rows which are scored canonically.

    Attributes:
        threads: these; None for the calling one alone.
        share: how many rows one takes at a time; None if all rows must stay together.
    """

    threads: Executor | None = None
    share: int | None = None

    def share_out(self, work: Callable[[Candidates], TopB], candidates: Candidates) -> Iterator[TopB]:
        """Return what becomes of each share."""
        if self.threads is None or self.share is None or len(candidates) <= self.share:
            return map(work, [candidates])
        places = np.arange(len(candidates))
        starts = range(0, len(candidates), self.share)
        shares = [candidates.take(places[start : start + self.share]) for start in starts]
        return self.threads.map(work, shares)


class CandidateBlock(NamedTuple):
    """A run of pool rows, as a shortlist takes it in.

    Attributes:
        candidates: the rows.
        first_row: where in the pool they begin.
        excluded: places among them that are not to be picked.
        n_rows: of the pool, as far as is known.
        check: raises an error if a number among them is not finite, which a screen may notice by itself.
        n_classes: C.
        screened: whether the screen is to look at them first.
        chosen: whether they were chosen by their numbers, and may stand anywhere.
    """

    candidates: Candidates
    first_row: int
    excluded: Sequence[int] | NDArray[np.intp]
    n_rows: int
    check: Callable[[], None]
    n_classes: int
    screened: bool = True
    chosen: bool = False


class Shortlisting:
    """One shortlist in the making. Several threads may hand in blocks.

    Args:
        shortlist: what is wanted.
        screen: a rough and fast look at its score; None if there is none.
        seeds: where ties are broken.
        last_place: a place behind which no row is needed, if one is known from elsewhere.
        deciders: who scores rows canonically.
        may_wait: whether rows may wait for their canonical scores: not where a model must see whole blocks, nor where
            rows come in the best order as it is.
    """

    def __init__(
        self,
        shortlist: Shortlist,
        screen: Screen | None,
        seeds: SeedTree,
        *,
        last_place: LastPlace | None = None,
        deciders: Deciders = Deciders(),  # noqa: B008 - it holds nothing
        may_wait: bool = True,
    ) -> None:
        self.shortlist = shortlist
        self.screen = screen
        self.top = TopB(shortlist.size, seeds, last_place, shortlist.distinct)
        self._seeds = seeds
        self._cut = Cut(shortlist.size, seeds, last_place=last_place, distinct=shortlist.distinct)
        can_tell = screen is not None or shortlist.floor is not None
        self._waiting = (
            Waiting(shortlist.size) if can_tell and may_wait and shortlist.size is not None else None
        )
        # Scores that look at no model cost less than to share them out.
        self._deciders = Deciders() if shortlist.by.needs == "nothing" else deciders
        self._one_at_a_time = Lock()
        self._note_bytes: int | None = None
        self._n_spare = 0  # more rows to ask a screen for, since some may be copies

    def reach(self, n_classes: int) -> float:
        """Return the least noise with which a row can be among the lowest; -inf where scores have none."""
        if self.shortlist.floor is None:
            return -math.inf
        return self.shortlist.floor(n_classes) - self._cut.score

    def take_in(self, block: CandidateBlock) -> int:
        """Take in a block of rows. Return how many were scored canonically."""
        candidates, size = block.candidates, self.shortlist.size
        if self.shortlist.floor is not None:
            return self._take_in_by_noise(block, self.shortlist.floor(block.n_classes))
        if self.shortlist.chance and size is not None and not block.chosen:
            return self._take_in_by_chance(block)
        if self.screen is None or self._waiting is None or size is None or not block.screened:
            block.check()
            self._check_memory(block)
            if len(block.excluded):
                candidates = candidates.take(np.delete(np.arange(len(candidates)), block.excluded))
            return self._decide(candidates)
        near, found = self._near(block, self.screen, size)
        self._check_memory(block)
        self._cut.take_in(found.rows, near.upper, self._keys_of(found))
        left = np.flatnonzero(self._cut.not_behind(found.rows, near.lower))
        due = self._waiting.add(found.take(left), near.lower[left], self._cut)
        return 0 if due is None else self._decide_in_order(due)

    def _take_in_by_noise(self, block: CandidateBlock, floor: float) -> int:
        """Take in a block of rows whose scores have noise: those with too little of it are not looked at."""
        rows = block.candidates.rows
        least = np.uint64(least_bits(floor - self._cut.score))
        near = self._seeds.noise_bits(rows) >= least
        near[np.asarray(block.excluded, dtype=np.intp)] = False
        places = np.flatnonzero(near)
        candidates = block.candidates.take(places)
        if self._waiting is None:
            return self._decide(candidates)
        due = self._waiting.add(candidates, floor - self._seeds.gumbel(rows[places]), self._cut)
        return 0 if due is None else self._decide_in_order(due)

    def _take_in_by_chance(self, block: CandidateBlock) -> int:
        """Take in a block of rows whose scores are hashes: those above the cut are not looked at."""
        run = range(block.first_row, block.first_row + len(block.candidates))
        below = hashes_below(np.nextafter(self._cut.score, math.inf))
        places = noisy_rows(self._seeds.uniform_key, run, least=0, below=below)[0] - block.first_row
        if len(block.excluded):
            places = places[~np.isin(places, block.excluded)]
        if not _are_finite(block.candidates, places):
            block.check()
        self._check_memory(block)
        return self._decide(block.candidates.take(places))

    def _decide_in_order(self, due: Due) -> int:
        """Decide rows, those that may have the lowest scores first: they lower the cut, and some need no decision."""
        order, rows = np.argsort(due.lower), due.candidates.rows
        # Of looks, as many as are wanted mostly tell the cut. Noise tells less, and is told first by the noisiest.
        size = self.shortlist.size or len(order)
        step = size if self.shortlist.floor is None else max(size // 4, _FEW)
        n_decided = 0
        for start in range(0, len(order), step):
            places = order[start : start + step]
            places = places[self._cut.not_behind(rows[places], due.lower[places])]
            n_decided += self._decide(due.candidates.take(places))
        return n_decided

    def decide_rest(self) -> int:
        """Decide what still waits. Return how many rows that are."""
        rest = None if self._waiting is None else self._waiting.rest(self._cut)
        return 0 if rest is None else self._decide_in_order(rest)

    def _near(self, block: CandidateBlock, screen: Screen, size: int) -> tuple[Near, Candidates]:
        """Return the rows that a screen leaves, but for those excluded: what it knows of them, and themselves."""
        candidates = block.candidates
        n_asked = size + len(block.excluded) + self._n_spare
        while True:
            near = screen.near(candidates.as_read, cut=self._cut, size=n_asked)
            if not near.finite:
                block.check()
            n_found = len(near.places)
            if len(block.excluded):
                near = near.take(~np.isin(near.places, block.excluded))
            found = candidates.take(near.places)
            if not self.shortlist.distinct or n_found < n_asked or n_found == len(candidates):
                return near, found
            # So rough a look dismisses by the cut alone. If it is asked for more, there is nothing to count.
            if n_found > 2 * n_asked:
                self._n_spare = max(self._n_spare, n_found + n_found // 2)
            # A row that the screen has not left, and that is not above the cut, is above `n_asked` rows that it has.
            # Excluded rows and copies may be among these: then as many more have to be asked for.
            n_copies = count_copies(found.keys)
            if n_asked >= size + len(block.excluded) + n_copies:
                return near, found
            self._n_spare = max(self._n_spare, 2 * n_copies)
            n_asked = size + len(block.excluded) + 2 * n_copies

    def _keys_of(self, candidates: Candidates) -> KeysOf | None:
        """Return what makes the keys of some of the candidates; None if rows need not be distinct."""
        return (lambda index: candidates.take(index).keys) if self.shortlist.distinct else None

    def _check_memory(self, block: CandidateBlock) -> None:
        check, candidates = self.shortlist.check_memory or self.shortlist.check_rows, block.candidates
        if check is None:
            return
        n_wanted = block.n_rows if self.shortlist.size is None else min(block.n_rows, self.shortlist.size)
        if self.shortlist.check_memory is not None:
            of_block = float(n_bytes(candidates.vectors))
        else:
            carried = candidates.carried
            of_row = _ROW_BYTES + (_KEY_BYTES if self.shortlist.distinct else 0)
            of_block = of_row * len(candidates) + (0 if carried is None else carried.estimated_size())
        check(n_wanted, of_block / max(len(candidates), 1) + self._bytes_of_notes(candidates))

    def _bytes_of_notes(self, candidates: Candidates) -> int:
        """Return the bytes that notes of a row take: those of the first row that is seen."""
        if self._note_bytes is None and len(candidates):
            notes = self.shortlist.notes
            of_first = {} if notes is None else notes(candidates.take(np.arange(1)))
            # One that is called "vector" takes the place of the row's vector, which is counted already.
            self._note_bytes = sum(values.nbytes for name, values in of_first.items() if name != "vector")
        return self._note_bytes or 0

    def _decide(self, candidates: Candidates) -> int:
        for lowest in self._deciders.share_out(self._lowest_of, candidates):
            with self._one_at_a_time:
                self.top.merge(lowest)
        if self.top.last_place is not None:
            self._cut.lower_to(self.top.last_place)
        return len(candidates)

    def _lowest_of(self, candidates: Candidates) -> TopB:
        """Return the lowest of some rows, scored canonically."""
        # A last place that is a little old dismisses a little less; the result is the same.
        lowest = TopB(self.shortlist.size, self._seeds, self.top.last_place, self.shortlist.distinct)
        if len(candidates):
            scores = checked_scores(self.shortlist.by, candidates)
            lowest.update(
                candidates.rows,
                scores,
                lambda index: describe(self.shortlist, candidates.take(index)),
                keys=self._keys_of(candidates),
            )
        return lowest


def _are_finite(candidates: Candidates, places: NDArray[np.intp]) -> bool:
    """Return whether all numbers of some rows are certain to be finite: never of rows that are no floats."""
    X = candidates.as_read
    if not isinstance(X, (np.ndarray, sparse.csr_array, ColumnBlock)):
        return False
    taken: Any = X[places]
    values = taken.data if isinstance(X, sparse.csr_array) else taken
    return values.dtype.kind == "f" and bool(np.isfinite(values).all())


def describe(shortlist: Shortlist, candidates: Candidates) -> Details:
    """Return what a shortlist keeps of rows besides their numbers, scores and keys."""
    member, first, second = shortlist.by.explain(candidates)
    details: dict[str, Any] = {
        "member": member.astype(np.int32),
        "first": first.astype(np.int32),
        "second": second.astype(np.int32),
        "predicted": candidates.base_scores.argmax(axis=1).astype(np.int32),
    }
    if candidates.carried is not None:
        details["carried"] = candidates.carried
    if shortlist.check_memory is not None:
        details["vector"] = candidates.vectors
    if shortlist.notes is not None:
        details |= shortlist.notes(candidates)
    return details


def checked_scores(by: RowScore, candidates: Candidates) -> NDArray[np.float64]:
    """Return (n,) the scores of candidates; an error if the strategy fails, or gives anything but finite numbers."""
    try:
        scores = by.score(candidates)
    except MinMarginError:
        raise
    except Exception as error:
        raise candidates.failure("strategy", error) from error
    if scores.shape != (len(candidates),):
        raise InputError(
            f"The strategy gave scores of shape {scores.shape} for {len(candidates):,} rows. Give one float a row."
        )
    wrong = np.flatnonzero(~np.isfinite(scores))
    if len(wrong):
        row = int(candidates.rows[wrong[0]])
        raise InputError(
            f"The score of pool row {row:,} is {scores[wrong[0]]}. Scores must be finite numbers."
        )
    return scores

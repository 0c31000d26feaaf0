"""One shortlist in the making: blocks of rows go in, the lowest rows of all come out.

A screen looks at each block roughly, and rows that it leaves near the cut wait until the pool has been read, or until
they have become many. Then they are scored canonically, and that alone decides. Without a screen, every row is scored
canonically at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from minmargin.compute.base import Screen
from minmargin.data.rows import n_bytes, take_rows
from minmargin.errors import InputError, MinMarginError
from minmargin.scan.waiting import Part, Undecided
from minmargin.seeds import SeedTree
from minmargin.strategies import RowScore, Shortlist
from minmargin.strategies.candidates import Candidates
from minmargin.topb import Bound, Cut, Details, TopB


class Deciders(NamedTuple):
    """Threads that share out the rows which are scored canonically.

    Attributes:
        threads: these; None for the calling one alone.
        share: how many rows one takes at a time; None if all rows must stay together.
    """

    threads: Executor | None = None
    share: int | None = None

    def share_out(self, work: Callable[[Part], TopB], part: Part) -> Iterator[TopB]:
        """Return what becomes of each share."""
        if self.threads is None or self.share is None or len(part) <= self.share:
            return map(work, [part])
        places = np.arange(len(part))
        starts = range(0, len(part), self.share)
        return self.threads.map(work, [part.take(places[start : start + self.share]) for start in starts])


class Line:
    """The rows in line for one shortlist. Several threads may take in blocks.

    Args:
        shortlist: what to keep.
        screen: a rough and fast look at its score; None if there is none.
        seeds: where ties are broken.
        bound: a place in line behind which nothing is needed, if one is known from elsewhere.
        deciders: who scores rows canonically.
    """

    def __init__(
        self,
        shortlist: Shortlist,
        screen: Screen | None,
        seeds: SeedTree,
        bound: Bound | None,
        deciders: Deciders,
    ) -> None:
        self.shortlist = shortlist
        self.screen = screen
        self.top = TopB(shortlist.size, seeds, bound)
        self._seeds = seeds
        self._cut = Cut(shortlist.size, math.inf if bound is None else bound.score)
        self._undecided = Undecided(shortlist.size or 0)
        self._deciders = deciders
        self._one_at_a_time = Lock()

    def take_in(
        self,
        block: Part,
        *,
        first_row: int,
        excluded: Sequence[int] | NDArray[np.intp],
        n_rows: int,
        check: Callable[[], None],
    ) -> int:
        """Take in a block of rows. Return how many were scored canonically.

        Args:
            block: the rows.
            first_row: where in the pool they begin.
            excluded: places in the block that are not to be picked.
            n_rows: of the pool, as far as is known.
            check: raises an error if a number in the block is not finite, which a screen may notice by itself.
        """
        size = self.shortlist.size
        if self.screen is None or size is None:
            check()
            self._check_memory(block, n_rows)
            rows = block.take(np.delete(np.arange(len(block)), excluded)) if len(excluded) else block
            return self._decide(rows)
        # Excluded rows may be among the lowest: as many more are asked for.
        near = self.screen.near(block.candidates.as_read, cut=self._cut, size=size + len(excluded))
        if not near.finite:
            check()
        self._check_memory(block, n_rows)
        if len(excluded):
            near = near.take(~np.isin(near.places, excluded))
        self._cut.take_in(near.upper)
        near = self.top.not_behind(first_row, near.take(~(near.lower > self._cut.score)))
        due = self._undecided.add(block.take(near.places), near.lower, self._cut)
        return 0 if due is None else self._decide(due)

    def _check_memory(self, block: Part, n_rows: int) -> None:
        if self.shortlist.check_memory is not None:
            n_kept = n_rows if self.shortlist.size is None else min(n_rows, self.shortlist.size)
            self.shortlist.check_memory(n_kept, n_bytes(block.candidates.vectors) / max(len(block), 1))

    def decide_rest(self) -> int:
        """Decide what still waits. Return how many rows that are."""
        rest = self._undecided.rest(self._cut)
        return 0 if rest is None else self._decide(rest)

    def _decide(self, part: Part) -> int:
        for kept in self._deciders.share_out(self._lowest_of, part):
            with self._one_at_a_time:
                self.top.merge(kept)
        if self.top.bound is not None:
            self._cut.lower_to(self.top.bound.score)
        return len(part)

    def _lowest_of(self, part: Part) -> TopB:
        """Return what is kept of some rows, scored canonically."""
        # A bound that is a little old dismisses a little less; the result is the same.
        kept = TopB(self.shortlist.size, self._seeds, self.top.bound)
        if len(part):
            scores = checked_scores(self.shortlist.by, part.candidates)
            kept.update(part.candidates.rows, scores, self._describer(part))
        return kept

    def _describer(self, part: Part) -> Callable[[NDArray[np.intp]], Details]:
        shortlist = self.shortlist

        def describe(index: NDArray[np.intp]) -> Details:
            kept = part.candidates.take(index)
            member, first, second = shortlist.by.explain(kept)
            details: dict[str, Any] = {
                "member": member.astype(np.int32),
                "first": first.astype(np.int32),
                "second": second.astype(np.int32),
                "predicted": kept.base_scores.argmax(axis=1).astype(np.int32),
            }
            if part.carried is not None:
                details["carried"] = take_rows(part.carried, index)
            if shortlist.check_memory is not None:
                details["vector"] = kept.vectors
            if shortlist.notes is not None:
                details |= shortlist.notes(kept)
            return details

        return describe


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

"""The one loop: every block of the pool, scored, and the lowest rows kept."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from threading import Event
from typing import Any, Literal, NamedTuple, TypeAlias, cast

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from minmargin.compute.base import Screen
from minmargin.data.intake import Intake
from minmargin.data.rows import Frame, Rows, count_rows
from minmargin.device import Device, Precision, one_thread_each
from minmargin.learners import Preprocessor, Scorer
from minmargin.margins import ScoreName
from minmargin.pools import Block, blocks
from minmargin.pools.fragments import Fragment, check_divisible, read
from minmargin.pools.source import Source, empty_pool
from minmargin.progress import Progress
from minmargin.scan.engines import run_locally
from minmargin.scan.shortlisting import Deciders, Line, checked_scores
from minmargin.scan.waiting import Part
from minmargin.seeds import SeedTree
from minmargin.strategies import RowScore, Shortlist
from minmargin.strategies.candidates import Candidates
from minmargin.topb import Bound, Ranked, TopB

_BLOCK_FLOATS = 1 << 22  # features, or class scores, of a block: 32 MB at most
_SMALLEST_BLOCK, _LARGEST_BLOCK, _FIRST_BLOCK, _LARGEST_SCREENED_BLOCK = 256, 65_536, 8192, 131_072
_GPU_BLOCK_FLOATS, _LARGEST_GPU_BLOCK = 1 << 27, 1 << 22  # 512 MB: each hand-over to a GPU has its price
_MOST_GPU_WORKERS = 5  # threads: more of them would only wait for each other
_FIRST_GPU_FLOATS = 1 << 22  # nothing else is done until the first block has given a cut

_SHARE = 1 << 26  # multiplications that a thread makes at a time to score rows canonically: some milliseconds


#: Whose class scores: the base's, or the mean of the members'.
ModelChoice: TypeAlias = Literal["base", "members"]


class Counts(NamedTuple):
    """How many rows of a pool were seen, were excluded, and were scored canonically."""

    rows: int = 0
    excluded: int = 0
    decided: int = 0

    def plus(self, more: Counts) -> Counts:
        """Return the sums."""
        return Counts(*map(sum, zip(self, more, strict=True)))


class Kept(NamedTuple):
    """What one reading of a pool has kept: the shortlists, and how many rows it took."""

    shortlists: list[Ranked]
    counts: Counts


@dataclass(frozen=True)
class Scan:
    """One reading of a pool by trained models."""

    source: Source
    intake: Intake
    preprocessor: Preprocessor | None
    scorer: Scorer
    seeds: SeedTree
    n_classes: int
    n_jobs: int
    chunk_size: int
    device: Device
    precision: Precision
    progress: Progress

    def scores(self, by: RowScore) -> NDArray[np.float64]:
        """Return (n,) the score of every row of the pool, in pool order."""

        def work(block: Block) -> tuple[int, NDArray[np.float64]]:
            candidates, check = self._candidates(block)
            check()
            return block.first_row, checked_scores(by, candidates)

        return self._in_order(work, screened=False)

    def class_scores(self, of: ModelChoice) -> NDArray[np.float64]:
        """Return (n, C) the class scores of every row of the pool under the base, or their mean over the members."""

        def work(block: Block) -> tuple[int, NDArray[np.float64]]:
            candidates, check = self._candidates(block)
            check()
            return block.first_row, candidates.base_scores if of == "base" else candidates.mean_scores

        return self._in_order(work, screened=False)

    def rough_scores(self, screen: Screen) -> NDArray[np.float64]:
        """Return (n,) the score of every row of the pool, in pool order, to about six digits."""

        def work(block: Block) -> tuple[int, NDArray[np.float64]]:
            candidates, check = self._candidates(block)
            scores = screen.scores(candidates.as_read)
            if not np.isfinite(scores.sum()):
                check()
            return block.first_row, scores

        return self._in_order(work, screened=True)

    def _in_order(
        self, work: Callable[[Block], tuple[int, NDArray[np.float64]]], *, screened: bool
    ) -> NDArray[np.float64]:
        parts = dict(self._run(work, lambda part: len(part[1]), screened=screened))
        return np.concatenate([parts[first_row] for first_row in sorted(parts)])

    def keep(self, shortlists: Sequence[Shortlist]) -> Kept:
        """Return what each shortlist keeps of the pool."""
        # Rows that screens leave are few, and may cost much each: they are shared out among threads of their own.
        with one_thread_each(), ThreadPoolExecutor(effective_n_jobs(self.n_jobs)) as threads:
            lines = self._lines(shortlists, [None] * len(shortlists), self._deciders(threads))
            work = functools.partial(self._take_in, lines)
            parts = self._run(work, lambda part: part.rows, screened=_all_screened(lines))
            counts = functools.reduce(Counts.plus, parts).plus(_decide_rest(lines))
        return Kept([line.top.finish() for line in lines], counts)

    def keep_fragment(
        self,
        fragment: Fragment,
        shortlists: Sequence[Shortlist],
        bounds: Sequence[Bound | None],
        stopping: Event | None = None,
    ) -> tuple[list[TopB], Counts]:
        """Return what each shortlist keeps of a fragment of the pool, in this thread, and how many rows that took.

        `bounds` are places in line behind which nothing is needed, as far as is known elsewhere. Once `stopping` is
        set, nobody wants the rest.
        """
        pool = check_divisible(self.source.pool, "A fragment")
        lines = self._lines(shortlists, bounds, Deciders())
        counts = Counts()
        chunks = read(pool, fragment, self.source.kinds, self.chunk_size)
        with one_thread_each():
            for block in self._blocks(chunks, screened=_all_screened(lines), first_row=fragment.first_row):
                if stopping is not None and stopping.is_set():
                    break
                counts = counts.plus(self._take_in(lines, block))
            counts = counts.plus(_decide_rest(lines))
        return [line.top for line in lines], counts

    @property
    def grid(self) -> int | None:
        """Where fragments may begin: at multiples of it; None: anywhere."""
        return None if self.scorer.rowwise else next(self._block_sizes(screened=False))

    def _lines(
        self, shortlists: Sequence[Shortlist], bounds: Sequence[Bound | None], deciders: Deciders
    ) -> list[Line]:
        return [
            Line(shortlist, self._screen(shortlist), self.seeds, bound, deciders)
            for shortlist, bound in zip(shortlists, bounds, strict=True)
        ]

    def _deciders(self, threads: Executor) -> Deciders:
        if self.device == "cuda" or not self.scorer.rowwise:  # which take all rows at once
            return Deciders()
        return Deciders(threads, max(_SHARE // max(self.scorer.multiplications, 1), 64))

    def _screen(self, shortlist: Shortlist) -> Screen | None:
        score: ScoreName | None = getattr(shortlist.by, "screen", None)
        return None if score is None or shortlist.size is None else self.screen(score)

    def screen(self, score: ScoreName) -> Screen | None:
        """Return the screen of a score, on the device of this scan."""
        return self.scorer.screen(score, device=self.device, precision=self.precision)

    def _take_in(self, lines: Sequence[Line], block: Block) -> Counts:
        """Let all lines take in a block."""
        candidates, check = self._candidates(block)
        carried = cast("Frame", block.data).select(list(self.source.carried)) if self.source.carried else None
        excluded = () if self.source.exclusion is None else self.source.exclusion.places(block)
        n_rows = self.source.n_left or block.first_row + len(candidates)
        n_decided = sum(
            line.take_in(
                Part(candidates, carried),
                first_row=block.first_row,
                excluded=excluded,
                n_rows=n_rows,
                check=check,
            )
            for line in lines
        )
        return Counts(len(candidates), len(excluded), n_decided)

    def _candidates(self, block: Block) -> tuple[Candidates, Callable[[], None]]:
        """Return the rows of a block as candidates, and what raises an error if a value of theirs is not finite."""
        may_wait = self.scorer.rowwise and self.preprocessor is None
        convert = self.intake.convert_unchecked if may_wait else self.intake.convert
        X, check = convert(block.data, self.source.features, first_row=block.first_row, what="pool")
        if self.preprocessor is not None:
            X = self.preprocessor.transform(X)
        rows = range(block.first_row, block.first_row + count_rows(block.data))
        return Candidates(rows, X, self.scorer, self.seeds, self.device), check

    def _run(
        self, work: Callable[[Block], Any], size_of: Callable[[Any], int], *, screened: bool
    ) -> Iterator[Any]:
        done, total = 0, self.source.pool.n_rows
        self.progress("scanning", 0, total)
        chunks = self.source.pool.chunks(self.source.kinds, self.chunk_size)
        remaining = self._blocks(chunks, screened=screened)
        n_workers = effective_n_jobs(self.n_jobs)
        parts: Iterator[Any] = iter(())
        if self.device == "cuda":  # whose blocks are large: they wait for the cut that a smaller one gives
            n_workers = min(n_workers, _MOST_GPU_WORKERS)
            parts = run_locally(work, itertools.islice(remaining, 1), 1)
        for part in itertools.chain(parts, run_locally(work, remaining, n_workers)):
            done += size_of(part)
            yield part
            self.progress("scanning", done, total)
        if done == 0:
            raise empty_pool(self.source)

    def _blocks(self, chunks: Iterable[Rows], *, screened: bool, first_row: int = 0) -> Iterator[Block]:
        sizes = self._block_sizes(screened=screened)
        return blocks(chunks, sizes, least=_FIRST_BLOCK if self.scorer.rowwise else None, first_row=first_row)

    def _block_sizes(self, *, screened: bool) -> Iterator[int]:
        """Return the sizes of the blocks.

        For a scorer whose results depend on them, they depend on the committee alone.
        """
        per_row = max(self.scorer.n_members, 1) * self.n_classes
        largest, most_floats = _LARGEST_BLOCK, _BLOCK_FLOATS
        if screened and self.scorer.rowwise:
            per_row, largest = self.intake.width, _LARGEST_SCREENED_BLOCK
            if self.device == "cuda":
                largest, most_floats = _LARGEST_GPU_BLOCK, _GPU_BLOCK_FLOATS
        while largest > _SMALLEST_BLOCK and largest * per_row > most_floats:
            largest //= 2
        # Little can be screened before there is a bound: smaller blocks give one sooner.
        size, growth = largest, 2
        if self.scorer.rowwise:
            size = _FIRST_BLOCK
            if self.device == "cuda":
                size, growth = max(_FIRST_GPU_FLOATS // self.intake.width, size), 8
        while size < largest:
            yield size
            size *= growth
        yield from itertools.repeat(largest)


def _all_screened(lines: Sequence[Line]) -> bool:
    return all(line.screen is not None for line in lines)


def _decide_rest(lines: Sequence[Line]) -> Counts:
    return Counts(decided=sum(line.decide_rest() for line in lines))

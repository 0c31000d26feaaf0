"""The one loop: every block of the pool, scored, and the lowest rows kept."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from threading import Event, Lock
from typing import Any, Literal, NamedTuple, TypeAlias, cast

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from scipy import sparse

from minmargin.candidates import Candidates
from minmargin.device import Device, Precision
from minmargin.engines import run_locally
from minmargin.errors import InputError, MinMarginError
from minmargin.intake import Intake
from minmargin.learners import Preprocessor, Progress, Scorer, Screen
from minmargin.margins import ScoreName
from minmargin.pools import Block, blocks
from minmargin.pools.fragments import Fragment, check_divisible, read
from minmargin.rows import Frame, Matrix, Rows, count_rows, take_rows
from minmargin.seeds import SeedTree
from minmargin.source import Source, empty_pool
from minmargin.strategies import RowScore, Shortlist
from minmargin.threads import one_thread_each
from minmargin.topb import Bound, Details, Ranked, TopB

_BLOCK_FLOATS = 1 << 22  # features, or class scores, of a block: 32 MB at most
_SMALLEST_BLOCK, _LARGEST_BLOCK, _FIRST_BLOCK, _LARGEST_SCREENED_BLOCK = 256, 65_536, 8192, 131_072
_GPU_BLOCK_FLOATS, _LARGEST_GPU_BLOCK = 1 << 26, 1 << 21  # 256 MB: each hand-over to a GPU has its price
_FIRST_GPU_FLOATS = 1 << 22  # nothing else is done until the first block has given a bound

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
            return block.first_row, _checked_scores(by, candidates)

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
        tops = [TopB(shortlist.size, self.seeds) for shortlist in shortlists]
        screens = [self._screen(shortlist) for shortlist in shortlists]
        one_at_a_time = Lock()

        # Rows that screens leave are few, and may cost much each: they are shared out among threads of their own.
        with ThreadPoolExecutor(effective_n_jobs(self.n_jobs)) as deciders:

            def work(block: Block) -> Counts:
                # A bound that is a little old dismisses a little less; the result is the same.
                bounds = [top.bound for top in tops]
                counts, partials = self._keep_of(block, shortlists, screens, bounds, deciders)
                with one_at_a_time:
                    for top, shares in zip(tops, partials, strict=True):
                        for share in shares:
                            top.merge(share)
                return counts

            parts = self._run(work, lambda part: part.rows, screened=None not in screens)
            counts = functools.reduce(Counts.plus, parts)
        return Kept([top.finish() for top in tops], counts)

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
        tops = [
            TopB(shortlist.size, self.seeds, bound)
            for shortlist, bound in zip(shortlists, bounds, strict=True)
        ]
        screens = [self._screen(shortlist) for shortlist in shortlists]
        counts = Counts()
        chunks = read(pool, fragment, self.source.kinds, self.chunk_size)
        with one_thread_each():
            for block in self._blocks(chunks, screened=None not in screens, first_row=fragment.first_row):
                if stopping is not None and stopping.is_set():
                    break
                now = [top.bound for top in tops]
                of_block, partials = self._keep_of(block, shortlists, screens, now, None)
                for top, shares in zip(tops, partials, strict=True):
                    for share in shares:
                        top.merge(share)
                counts = counts.plus(of_block)
        return tops, counts

    @property
    def grid(self) -> int | None:
        """Where fragments may begin: at multiples of it; None: anywhere."""
        return None if self.scorer.rowwise else next(self._block_sizes(screened=False))

    def _screen(self, shortlist: Shortlist) -> Screen | None:
        score: ScoreName | None = getattr(shortlist.by, "screen", None)
        return None if score is None or shortlist.size is None else self.screen(score)

    def screen(self, score: ScoreName) -> Screen | None:
        """Return the screen of a score, on the device of this scan."""
        return self.scorer.screen(score, device=self.device, precision=self.precision)

    def _keep_of(
        self,
        block: Block,
        shortlists: Sequence[Shortlist],
        screens: Sequence[Screen | None],
        bounds: Sequence[Bound | None],
        deciders: Executor | None,
    ) -> tuple[Counts, list[list[TopB]]]:
        """Return what it took, and for each shortlist what is kept of the block."""
        everything, check = self._candidates(block)
        out = () if self.source.exclusion is None else self.source.exclusion.places(block)
        n_decided, partials = 0, []
        for shortlist, screen, bound in zip(shortlists, screens, bounds, strict=True):
            places = None
            if screen is None or shortlist.size is None:
                check()
            else:
                threshold = None if bound is None else bound.score
                # Excluded rows may be among the lowest: as many more are asked for.
                near = screen.near(everything.as_read, threshold=threshold, size=shortlist.size + len(out))
                if not near.finite:
                    check()
                places = TopB(shortlist.size, self.seeds, bound).not_behind(block.first_row, near)
            if len(out):
                places = np.arange(len(everything)) if places is None else places
                places = places[~np.isin(places, out)]
            candidates = everything if places is None else everything.take(places)
            if shortlist.check_memory is not None:
                n_rows = self.source.n_left or block.first_row + len(everything)
                n_kept = n_rows if shortlist.size is None else min(n_rows, shortlist.size)
                shortlist.check_memory(n_kept, _vector_bytes(everything.vectors))
            n_decided += len(candidates)
            decide = functools.partial(self._decide, block, shortlist, bound)
            shares = [candidates] if deciders is None else self._shares(candidates)
            side_by_side = map if deciders is None or len(shares) == 1 else deciders.map
            partials.append(list(side_by_side(decide, shares)))
        return Counts(len(everything), len(out), n_decided), partials

    def _shares(self, candidates: Candidates) -> list[Candidates]:
        """Return rows in shares for several threads: a GPU takes all at once."""
        if self.device == "cuda" or not self.scorer.rowwise:
            return [candidates]
        size = max(_SHARE // max(self.scorer.multiplications, 1), 64)
        if len(candidates) <= size:
            return [candidates]
        places = np.arange(len(candidates))
        return [candidates.take(places[start : start + size]) for start in range(0, len(places), size)]

    def _decide(
        self, block: Block, shortlist: Shortlist, bound: Bound | None, candidates: Candidates
    ) -> TopB:
        """Return what is kept of some rows of a block, scored canonically."""
        kept = TopB(shortlist.size, self.seeds, bound)
        if len(candidates):
            describe = self._describer(block, candidates, shortlist)
            kept.update(candidates.rows, _checked_scores(shortlist.by, candidates), describe)
        return kept

    def _describer(
        self, block: Block, candidates: Candidates, shortlist: Shortlist
    ) -> Callable[[NDArray[np.intp]], Details]:
        def describe(index: NDArray[np.intp]) -> Details:
            kept = candidates.take(index)
            member, first, second = shortlist.by.explain(kept)
            details: dict[str, Any] = {
                "member": member.astype(np.int32),
                "first": first.astype(np.int32),
                "second": second.astype(np.int32),
                "predicted": kept.base_scores.argmax(axis=1).astype(np.int32),
            }
            if self.source.carried:
                frame = cast("Frame", block.data).select(list(self.source.carried))
                details["carried"] = take_rows(frame, kept.rows - block.first_row)
            if shortlist.check_memory is not None:
                details["vector"] = kept.vectors
            if shortlist.notes is not None:
                details |= shortlist.notes(kept)
            return details

        return describe

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
        parts: Iterator[Any] = iter(())
        if self.device == "cuda":  # whose blocks are large: they wait for the bound that a smaller one gives
            parts = run_locally(work, itertools.islice(remaining, 1), 1)
        parts = itertools.chain(parts, run_locally(work, remaining, effective_n_jobs(self.n_jobs)))
        for part in parts:
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
        if self.device == "cuda":
            yield min(max(_FIRST_GPU_FLOATS // self.intake.width, _FIRST_BLOCK), largest)
        elif self.scorer.rowwise:
            size = min(_FIRST_BLOCK, largest)
            while size < largest:
                yield size
                size *= 2
        yield from itertools.repeat(largest)


def _checked_scores(by: RowScore, candidates: Candidates) -> NDArray[np.float64]:
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


def _vector_bytes(vectors: Matrix) -> float:
    parts = (vectors.data, vectors.indices) if isinstance(vectors, sparse.csr_array) else (vectors,)
    return float(sum(int(part.nbytes) for part in parts) / max(vectors.shape[0], 1))

"""The one loop: every block of the pool, scored, and the lowest rows shortlisted."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from threading import Event
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from minmargin.compute import Screen, rows_in_small_work
from minmargin.data.rows import Block, Frame, Rows, blocks
from minmargin.device import Device
from minmargin.errors import InputError
from minmargin.execution import Execution, one_thread_each, silent
from minmargin.learners import RowChecker
from minmargin.learners.linear import LinearScorer
from minmargin.margins import ScoreName
from minmargin.pools import MatchedPool, empty_pool
from minmargin.pools.fragments import Fragment, check_divisible, read
from minmargin.pools.stream import StreamPool
from minmargin.properties import cached_property
from minmargin.scan import sizes
from minmargin.scan.ahead import one_ahead
from minmargin.scan.chance import ChosenRows, can_choose, take_in_chosen
from minmargin.scan.engines import run_locally
from minmargin.scan.found import Counts, Shortlisted
from minmargin.scan.models import Models
from minmargin.scan.noise import NoisyBlocks
from minmargin.scan.shortlisting import CandidateBlock, Deciders, Shortlisting, checked_scores
from minmargin.strategies import RowScore, Shortlist
from minmargin.strategies.candidates import Candidates
from minmargin.topb import LastPlace, TopB

if TYPE_CHECKING:
    from minmargin.scan.checkpoint import Checkpoint

_MOST_GPU_WORKERS = 5  # threads: more of them would only wait for each other
_TERMS_OF_SPARSE = 100  # features that a CSR row or a text is taken to have, of however many there are
_SHARE = 1 << 26  # multiplications that a thread makes at a time to score rows canonically: some milliseconds
_EXACTLY = 1 << 14  # rows that are scored at a time, of those that a look tells too little of

#: Whose class scores: the base's, or the mean of the members'.
ModelChoice: TypeAlias = Literal["base", "members"]


@dataclass(frozen=True)
class Scan:
    """One reading of a pool by trained models.

    Attributes:
        matched: the pool, its columns matched to what the models take.
        models: these.
        execution: how the work is carried out.
        device: where rows are looked at before the closest are scored exactly.
    """

    matched: MatchedPool
    models: Models
    execution: Execution
    device: Device

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

    def rough_scores(self, by: RowScore, screen: Screen) -> NDArray[np.float64]:
        """Return (n,) the score of every row of the pool, in pool order, to about six digits.

        Rows that a look tells too little of are scored exactly.
        """

        def work(block: Block) -> tuple[int, NDArray[np.float64]]:
            candidates, check = self._candidates(block)
            scores = screen.scores(candidates.as_read)
            untold = np.flatnonzero(~np.isfinite(scores))
            if len(untold):
                check()
            for start in range(0, len(untold), _EXACTLY):
                rows = untold[start : start + _EXACTLY]
                scores[rows] = checked_scores(by, candidates.take(rows))
            return block.first_row, scores

        return self._in_order(work, screened=True)

    def _in_order(
        self, work: Callable[[Block], tuple[int, NDArray[np.float64]]], *, screened: bool
    ) -> NDArray[np.float64]:
        parts = dict(self._run(work, lambda part: len(part[1]), screened=screened))
        return np.concatenate([parts[first_row] for first_row in sorted(parts)])

    def shortlist(
        self, shortlists: Sequence[Shortlist], *, checkpoint: Checkpoint | None = None
    ) -> Shortlisted:
        """Return the rows of each shortlist: from threads of this process, from an engine, or from a checkpoint on."""
        if checkpoint is not None or self.execution.elsewhere:
            from minmargin.scan.fragments import shortlist_in_fragments  # noqa: PLC0415 - it builds on this module

            return shortlist_in_fragments(self, shortlists, checkpoint)
        # Rows that screens leave are few, and may cost much each: they are shared out among threads of their own.
        with one_thread_each(), ThreadPoolExecutor(self._n_workers) as threads:
            deciders = self._deciders(threads)
            by_noise = self._can_go_by_noise(shortlists)
            may_wait = self.models.scorer.rowwise and not by_noise
            making = [
                Shortlisting(
                    shortlist,
                    self._screen(shortlist),
                    self.models.seeds,
                    deciders=deciders,
                    may_wait=may_wait,
                )
                for shortlist in shortlists
            ]
            work = functools.partial(self._take_in, making)
            if can_choose(shortlists, self.matched.pool, self.models.scorer):
                counts = self._run_by_chance(making[0], None, n_threads=self._n_workers)
            elif by_noise:
                counts = self._run_by_noise(work, making[0])
            else:
                parts = self._run(work, lambda part: part.rows, screened=_all_screened(making))
                counts = functools.reduce(Counts.plus, parts).plus(_decide_rest(making))
        return Shortlisted.of([each.top for each in making], counts)

    def shortlist_fragment(
        self,
        fragment: Fragment,
        shortlists: Sequence[Shortlist],
        last_places: Sequence[LastPlace | None],
        stopping: Event | None = None,
    ) -> tuple[list[TopB], Counts]:
        """Return the lowest rows of a fragment for each shortlist, and how many rows that took, in this thread.

        `last_places` are those behind which nothing is needed, as far as is known elsewhere. Once `stopping` is set,
        nobody wants the rest.
        """
        pool = check_divisible(self.matched.pool, "A fragment")
        making = [
            Shortlisting(
                shortlist,
                self._screen(shortlist),
                self.models.seeds,
                last_place=last_place,
                may_wait=self.models.scorer.rowwise,
            )
            for shortlist, last_place in zip(shortlists, last_places, strict=True)
        ]
        counts = Counts()
        if can_choose(shortlists, self.matched.pool, self.models.scorer):
            counts = self._run_by_chance(making[0], fragment, n_threads=1)
            return [making[0].top], counts
        chunks = read(pool, fragment, self.matched.kinds, self.execution.chunk_size)
        with one_thread_each():
            for block in self._blocks(chunks, screened=_all_screened(making), first_row=fragment.first_row):
                if stopping is not None and stopping.is_set():
                    break
                counts = counts.plus(self._take_in(making, block))
            counts = counts.plus(_decide_rest(making))
        return [each.top for each in making], counts

    def first_candidates(self) -> Candidates:
        """Return the first rows of the pool."""
        chunks = self.matched.pool.chunks(self.matched.kinds, sizes.SMALLEST)
        first = next(blocks(chunks, itertools.repeat(sizes.SMALLEST)))
        return self._candidates(first)[0]

    def of_fragment(self) -> Scan:
        """Return this scan as it is sent to whoever scans a fragment: in one thread, and in silence."""
        return replace(self, execution=replace(self.execution, engine=None, checkpoint=None, progress=silent))

    @property
    def grid(self) -> int | None:
        """Where fragments may begin: at multiples of it; None: anywhere."""
        return None if self.models.scorer.rowwise else next(self._block_sizes(screened=False))

    def screen(self, score: ScoreName) -> Screen | None:
        """Return the screen of a score, on the device of this scan."""
        if score == "margin" and not self.models.has_base:
            score = "margin-of-mean"
        return self.models.scorer.screen(score, device=self.device, precision=self.execution.precision)

    @property
    def _n_workers(self) -> int:
        return int(effective_n_jobs(self.execution.n_jobs))

    def _screen(self, shortlist: Shortlist) -> Screen | None:
        score = shortlist.by.screen
        n_rows = self.matched.pool.n_rows
        small = n_rows is not None and n_rows <= self._n_unscreened
        return None if score is None or shortlist.size is None or small else self.screen(score)

    @cached_property
    def _n_unscreened(self) -> int:
        """How many rows of the pool, from its first on, are scored canonically without a look at them before.

        These are all rows of a small pool, and none of a large one. Where reading alone can tell, they are as many as
        make a small one.
        """
        if self.device == "cuda":
            return 0
        scorer, intake = self.models.scorer, self.models.intake
        n_terms = intake.width if intake.form == "matrix" else _TERMS_OF_SPARSE
        n_logits = (scorer.n_members + 1) * self.models.n_classes
        n_small = rows_in_small_work(n_logits, n_terms, multiplications=scorer.multiplications)
        n_rows = self.matched.pool.n_rows
        return n_small if n_rows is None or n_rows <= n_small else 0

    def _deciders(self, threads: Executor) -> Deciders:
        scorer = self.models.scorer
        if self.device == "cuda" or not scorer.rowwise:  # which take all rows at once
            return Deciders()
        return Deciders(threads, max(_SHARE // max(scorer.multiplications, 1), 64))

    def _take_in(self, making: Sequence[Shortlisting], block: Block) -> Counts:
        """Let all shortlists take in a block."""
        matched = self.matched
        candidates, check = self._candidates(block)
        excluded = () if matched.exclusion is None else matched.exclusion.places(block)
        n_rows = matched.n_left or block.n_read
        screened = block.n_read > self._n_unscreened
        chosen = block.scattered is not None
        taken = CandidateBlock(
            candidates, block.first_row, excluded, n_rows, check, self.models.n_classes, screened, chosen
        )
        n_decided = sum(each.take_in(taken) for each in making)
        return Counts(len(candidates), len(excluded), n_decided)

    def _candidates(self, block: Block) -> tuple[Candidates, Callable[[], None]]:
        """Return the rows of a block as candidates, and what raises an error if a value of theirs is not finite."""
        models, matched = self.models, self.matched
        may_wait = models.scorer.rowwise and models.preprocessor is None
        convert = models.intake.convert_unchecked if may_wait else models.intake.convert
        X, check = convert(block.data, matched.features, first_row=block.first_row, what="pool")
        if models.preprocessor is not None:
            X = models.preprocessor.transform(X)
        carried = cast("Frame", block.data).select(list(matched.carried)) if matched.carried else None
        scorer = models.scorer
        if isinstance(scorer, RowChecker):
            # At once: rows may come from anywhere, and these are looked at anyhow.
            X = np.asarray(X)
            scorer.check_rows(X, block.rows)
            check = _nothing
        large = block.n_read > self._n_unscreened
        if large and isinstance(scorer, LinearScorer):
            scorer = scorer.by_kernels
        candidates = Candidates(
            block.rows,
            X,
            scorer,
            seeds=models.seeds,
            device=self.device,
            has_base=models.has_base,
            carried=carried,
            compiled=large,
        )
        return candidates, check

    def _run(
        self, work: Callable[[Block], Any], size_of: Callable[[Any], int], *, screened: bool
    ) -> Iterator[Any]:
        pool, execution = self.matched.pool, self.execution
        done, total = 0, pool.n_rows
        execution.progress("scanning", 0, total)
        remaining = self._blocks(pool.chunks(self.matched.kinds, execution.chunk_size), screened=screened)
        n_workers = self._n_workers
        parts: Iterator[Any] = iter(())
        if self.device == "cuda":  # whose blocks are large: they wait for the cut that a smaller one gives
            n_workers = min(n_workers, _MOST_GPU_WORKERS)
            parts = run_locally(work, itertools.islice(remaining, 1), 1)
        for part in itertools.chain(parts, run_locally(work, remaining, n_workers)):
            done += size_of(part)
            yield part
            execution.progress("scanning", done, total)
        if done == 0:
            raise empty_pool(self.matched)

    def _can_go_by_noise(self, shortlists: Sequence[Shortlist]) -> bool:
        """Return whether rows may be visited in the order of their noise.

        That takes models that score each row by itself, and a pool that can be read again: the first row with a fault
        is to be named, not the noisiest. Where cells have to be parsed, all of them are: one that cannot be is a fault.
        """
        models = self.models
        return (
            len(shortlists) == 1
            and shortlists[0].floor is not None
            and shortlists[0].size is not None
            and models.scorer.rowwise
            and models.preprocessor is None
            and not any(column.conversion for column in models.intake.columns or ())
            and not isinstance(self.matched.pool, StreamPool)
        )

    def _run_by_noise(self, work: Callable[[Block], Counts], making: Shortlisting) -> Counts:
        """Let a shortlist take in the rows of a pool, those with the most noise first."""
        pool, execution = self.matched.pool, self.execution
        noisy = NoisyBlocks(
            self.models.seeds,
            making.shortlist.size or 0,
            reach=lambda: making.reach(self.models.n_classes),
            exclusion=self.matched.exclusion,
        )
        n_decided = 0
        execution.progress("scanning", 0, pool.n_rows)
        # Noise is looked at in this thread, which would otherwise read: both take long, and neither needs the other.
        chunks = one_ahead(pool.chunks(self.matched.kinds, execution.chunk_size))
        try:
            for part in run_locally(work, noisy.of(chunks), self._n_workers):
                n_decided += part.decided
                execution.progress("scanning", noisy.n_rows, pool.n_rows)
        except InputError:  # of a row that came early by chance: the first of all is to be named
            self._check_in_order()
            raise
        if noisy.n_rows == 0:
            raise empty_pool(self.matched)
        execution.progress("scanning", noisy.n_rows, pool.n_rows)
        return Counts(noisy.n_rows, noisy.n_excluded, n_decided)

    def _run_by_chance(self, making: Shortlisting, part: Fragment | None, *, n_threads: int) -> Counts:
        """Let a shortlist take in the rows of a pool, or of a part of it, that are first in line by chance."""
        execution = self.execution
        chosen = ChosenRows.of(self.matched, part, execution.chunk_size)
        execution.progress("scanning", 0, len(chosen.run))
        work, check = functools.partial(self._take_in, [making]), self._check_each
        counts = take_in_chosen(
            making, chosen, self.models.seeds, work=work, check=check, n_threads=n_threads
        )
        execution.progress("scanning", counts.rows, counts.rows)
        return counts

    def _check_in_order(self) -> None:
        """Raise an error that names the first row of the pool which cannot be scored, if there is one."""
        chunks = self.matched.pool.chunks(self.matched.kinds, self.execution.chunk_size)
        self._check_each(self._blocks(chunks, screened=False))

    def _check_each(self, checked: Iterable[Block]) -> None:
        """Raise the error of the first block that cannot be scored, if there is one."""
        for block in checked:
            _, check = self._candidates(block)
            check()

    def _blocks(self, chunks: Iterable[Rows], *, screened: bool, first_row: int = 0) -> Iterator[Block]:
        least = sizes.FIRST if self.models.scorer.rowwise else None
        return blocks(chunks, self._block_sizes(screened=screened), least=least, first_row=first_row)

    def _block_sizes(self, *, screened: bool) -> Iterator[int]:
        models = self.models
        return sizes.block_sizes(
            models.scorer,
            models.n_classes,
            models.intake.width,
            self.device,
            screened=screened,
            n_rows=self.matched.pool.n_rows,
            n_workers=self._n_workers,
        )


def _nothing() -> None:
    """Check nothing: all was checked."""


def _all_screened(making: Sequence[Shortlisting]) -> bool:
    return all(each.screen is not None or each.shortlist.chance for each in making)


def _decide_rest(making: Sequence[Shortlisting]) -> Counts:
    return Counts(decided=sum(each.decide_rest() for each in making))

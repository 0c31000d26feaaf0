"""The one loop: every block of the pool, scored, and the lowest rows kept."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from scipy import sparse

from minmargin.candidates import Candidates
from minmargin.engines import run_locally
from minmargin.errors import InputError, MinMarginError, listing
from minmargin.intake import Intake
from minmargin.learners import Models, Preprocessor, Progress, Scorer
from minmargin.pools import Block, Pool, blocks
from minmargin.rows import Frame, Matrix, count_rows, take_rows
from minmargin.schema import Kind, missing_column
from minmargin.seeds import SeedTree
from minmargin.strategies import RowScore, Shortlist
from minmargin.topb import Bound, Details, Ranked, TopB

_BLOCK_FLOATS = 1 << 22  # class scores of a block: 32 MB at most
_SMALLEST_BLOCK, _LARGEST_BLOCK, _LARGEST_SCREENED_BLOCK = 256, 8192, 32_768


class Source(NamedTuple):
    """An opened pool, and which of its columns are read."""

    pool: Pool
    features: tuple[str, ...] | None
    carried: tuple[str, ...]
    kinds: dict[str, Kind | None] | None


def bind(
    pool: Pool,
    intake: Intake,
    *,
    features: Sequence[str] | None,
    carried: Sequence[str],
) -> Source:
    """Return the pool with its columns matched to the labeled set's, or say what does not match.

    Args:
        pool: an opened pool.
        intake: what the learner takes.
        features: the pool's feature columns, for a labeled set without names.
        carried: further columns whose values go with the picked rows.
    """
    names = intake.match(pool.schema, features=features, reserved=carried)
    if names is None:
        if features is not None and intake.columns is None:
            raise InputError(
                f"features names columns ({listing(features)}), but the labeled set and the pool are arrays."
            )
        if carried:
            raise InputError(
                f"Column {carried[0]!r} was asked for, but the pool is an array without column names."
            )
        return Source(pool, None, (), None)
    for name in carried:
        if name not in pool.schema.names:
            raise missing_column(name, pool.schema.names, "the pool")
    kinds: dict[str, Kind | None] = dict.fromkeys(carried)
    wanted = intake.columns or tuple(cast("Any", pool.schema.find(name)) for name in names)
    kinds.update({name: column.kind for name, column in zip(names, wanted, strict=True)})
    return Source(pool, names, tuple(carried), kinds)


class Kept(NamedTuple):
    """What one reading of a pool has kept: the shortlists, and how many rows were seen and scored canonically."""

    shortlists: list[Ranked]
    n_rows: int
    n_decided: int


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
    progress: Progress

    def scores(self, by: RowScore) -> NDArray[np.float64]:
        """Return (n,) the score of every row of the pool, in pool order."""

        def work(block: Block) -> tuple[int, NDArray[np.float64]]:
            return block.first_row, _checked_scores(by, self._candidates(block))

        parts = dict(self._run(work, lambda part: len(part[1])))
        return np.concatenate([parts[first_row] for first_row in sorted(parts)])

    def keep(self, shortlists: Sequence[Shortlist]) -> Kept:
        """Return what each shortlist keeps of the pool."""
        tops = [TopB(shortlist.size, self.seeds) for shortlist in shortlists]
        n_rows = n_decided = 0

        def work(block: Block) -> tuple[int, int, list[TopB]]:
            # A bound that is a little old dismisses a little less; the result is the same.
            bounds = [top.bound for top in tops]
            n_near, partials = self._keep_of(block, shortlists, bounds)
            return count_rows(block.data), n_near, partials

        for n, n_near, partials in self._run(work, lambda part: part[0]):
            n_rows += n
            n_decided += n_near
            for top, partial in zip(tops, partials, strict=True):
                top.merge(partial)
        return Kept([top.finish() for top in tops], n_rows, n_decided)

    def _keep_of(
        self, block: Block, shortlists: Sequence[Shortlist], bounds: Sequence[Bound | None]
    ) -> tuple[int, list[TopB]]:
        everything = self._candidates(block)
        n_decided, partials = 0, []
        for shortlist, bound in zip(shortlists, bounds, strict=True):
            if shortlist.check_memory is not None:
                n_rows = self.source.pool.n_rows or block.first_row + len(everything)
                n_kept = n_rows if shortlist.size is None else min(n_rows, shortlist.size)
                shortlist.check_memory(n_kept, _vector_bytes(everything.vectors))
            candidates = self._near(everything, shortlist, bound)
            n_decided += len(candidates)
            partial = TopB(shortlist.size, self.seeds, bound)
            if len(candidates):
                describe = self._describer(block, candidates, shortlist)
                partial.update(candidates.rows, _checked_scores(shortlist.by, candidates), describe)
            partials.append(partial)
        return n_decided, partials

    def _near(self, candidates: Candidates, shortlist: Shortlist, bound: Bound | None) -> Candidates:
        """Return the candidates that a rough and fast look cannot dismiss."""
        lowest_margin_of: Models | None = getattr(shortlist.by, "lowest_margin_of", None)
        if lowest_margin_of is None or shortlist.size is None:
            return candidates
        threshold = None if bound is None else bound.score
        near = self.scorer.near(candidates.X, lowest_margin_of, threshold=threshold, size=shortlist.size)
        return candidates if len(near) == len(candidates) else candidates.take(near)

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
            return details

        return describe

    def _candidates(self, block: Block) -> Candidates:
        X = self.intake.convert(block.data, self.source.features, first_row=block.first_row, what="pool")
        if self.preprocessor is not None:
            X = self.preprocessor.transform(X)
        rows = np.arange(block.first_row, block.first_row + count_rows(block.data), dtype=np.int64)
        return Candidates(rows, X, self.scorer, self.seeds)

    def _run(self, work: Callable[[Block], Any], size_of: Callable[[Any], int]) -> Iterator[Any]:
        done, total = 0, self.source.pool.n_rows
        self.progress("scanning", 0, total)
        for part in run_locally(work, self._blocks(), effective_n_jobs(self.n_jobs)):
            done += size_of(part)
            yield part
            self.progress("scanning", done, total)
        if done == 0:
            raise empty_pool(self.source)

    def _blocks(self) -> Iterable[Block]:
        return blocks(self.source.pool.chunks(self.source.kinds, self.chunk_size), self._block_sizes())

    def _block_sizes(self) -> Iterator[int]:
        """Return the sizes of the blocks, which depend on the committee alone."""
        per_row = max(self.scorer.n_members, 1) * self.n_classes
        largest = _LARGEST_SCREENED_BLOCK if self.scorer.rowwise else _LARGEST_BLOCK
        while largest > _SMALLEST_BLOCK and largest * per_row > _BLOCK_FLOATS:
            largest //= 2
        if self.scorer.rowwise:
            # Nothing can be screened before there is a bound: small blocks give one soon.
            size = _SMALLEST_BLOCK
            while size < largest:
                yield size
                size *= 2
        yield from itertools.repeat(largest)


def empty_pool(source: Source) -> InputError:
    """Return the error for a pool without rows."""
    where = "" if source.pool.name == "the pool" else f" ({source.pool.name})"
    return InputError(f"The pool{where} has no rows. Give one with at least as many as are to be picked.")


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

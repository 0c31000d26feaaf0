"""Greedy strategies: each pick depends on the picks before it.

The vectors of the candidates are kept in memory, and with each pick one pass over them updates a running
maximum of cosines: O(B * n * D) time, never O(B^2 * n). Cosines are summed in feature order by a compiled
kernel, so greedy batches are as exact as the others.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from minmargin.checks import check_count
from minmargin.errors import InputError
from minmargin.rows import Matrix, take_rows
from minmargin.strategies.base import Context, Needs, RowScore, Shortlist
from minmargin.strategies.registry import register_strategy, resolve_strategy
from minmargin.topb import Ranked

_FURTHEST = 2.0  # the largest cosine distance


@dataclass(frozen=True, kw_only=True)
class _Greedy:
    """What the greedy strategies share: which rows they keep in memory, and how many may be kept.

    Attributes:
        prefilter: keep only this many rows, those with the lowest margin; None keeps the whole pool.
        memory_limit: bytes that the kept rows may take; None allows half of this machine's memory.
    """

    prefilter: int | None = None
    memory_limit: int | None = None

    name: ClassVar[str]
    needs: ClassVar[Needs] = "base"
    probabilistic: ClassVar[bool] = False

    @property
    def options(self) -> dict[str, Any]:
        """What the manifest records besides the name."""
        return {name: value for name, value in asdict(self).items() if name != "memory_limit"}

    def __post_init__(self) -> None:
        if self.prefilter is not None:
            check_count("prefilter", self.prefilter, least=1)

    def shortlists(self, batch_size: int) -> Sequence[Shortlist]:
        """Return what one pass must keep: all rows, or the `prefilter` rows with the lowest margin."""
        if self.prefilter is not None and self.prefilter < batch_size:
            raise InputError(
                f"prefilter={self.prefilter:,} keeps fewer rows than batch_size={batch_size:,} asks for. "
                f"Use prefilter>={batch_size}."
            )
        return [Shortlist(cast("RowScore", resolve_strategy("margin")), self.prefilter, self._check_memory)]

    def _check_memory(self, n_rows: int, bytes_per_row: float) -> None:
        limit = self.memory_limit if self.memory_limit is not None else _half_of_memory()
        # Joining the kept runs of rows holds them twice for a moment.
        if 2 * n_rows * bytes_per_row > limit:
            fits = int(limit / (2 * bytes_per_row))
            fix = (
                f"Use prefilter={fits} to keep only"
                if fits
                else "Raise memory_limit and use prefilter= to keep"
            )
            raise InputError(
                f"Strategy {self.name!r} compares all candidates in memory: {n_rows:,} rows need about "
                f"{_gigabytes(2 * n_rows * bytes_per_row)} and {_gigabytes(limit)} may be used. {fix} the rows with "
                "the lowest margin."
            )


@register_strategy("balanced-margin", cost="in memory, B passes over the candidates")
@dataclass(frozen=True, kw_only=True)
class BalancedMargin(_Greedy):
    """Margin of the base balanced with likeness to rows already picked (Brinker 2003).

    Each pick minimizes balance * margin + (1 - balance) * (highest cosine to a picked row).
    """

    balance: float = 0.5

    name = "balanced-margin"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.balance <= 1:
            raise InputError(
                f"balance={self.balance!r} must lie between 0 (only diversity) and 1 (only margin)."
            )

    def finish(self, shortlists: Sequence[Ranked], context: Context) -> Ranked:
        """Return the batch; the first pick has the lowest margin."""
        candidates = _in_pool_order(shortlists[0])
        margins = self.balance * candidates.scores

        def score(likeness: NDArray[np.float64]) -> NDArray[np.float64]:
            # No row has been picked yet: all are equally unlike the batch.
            return margins + (1.0 - self.balance) * np.where(np.isneginf(likeness), 0.0, likeness)

        return _pick_greedily(candidates, score, None, context)


@register_strategy("k-centers", cost="in memory, B passes over the candidates")
@dataclass(frozen=True, kw_only=True)
class KCenters(_Greedy):
    """The row furthest from all centers becomes the next: greedy k-centers, cosine distance (Sener 2018).

    The labeled rows are the first centers, unless `include_labeled=False`. The score is minus the distance
    to the nearest center at the time of the pick.
    """

    include_labeled: bool = True

    name = "k-centers"

    def finish(self, shortlists: Sequence[Ranked], context: Context) -> Ranked:
        """Return the batch."""
        centers = context.labeled_vectors() if self.include_labeled else None

        def score(likeness: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.where(np.isneginf(likeness), -_FURTHEST, likeness - 1.0)

        return _pick_greedily(_in_pool_order(shortlists[0]), score, centers, context)


def _in_pool_order(shortlist: Ranked) -> Ranked:
    order = np.argsort(shortlist.rows)
    details = {name: take_rows(values, order) for name, values in shortlist.details.items()}
    return Ranked(shortlist.rows[order], shortlist.scores[order], details)


def _pick_greedily(
    candidates: Ranked,
    score: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    centers: Matrix | None,
    context: Context,
) -> Ranked:
    """Return the batch that minimizes score(likeness) pick by pick.

    `likeness` is (n,) each candidate's highest cosine to a center, -inf while there is none.
    """
    from minmargin.kernels import norms, raise_to_cosines  # noqa: PLC0415 - imports numba

    vectors = cast("Matrix", candidates.details["vector"])
    lengths = norms(vectors)
    ties = context.seeds.ties(candidates.rows)
    likeness = np.full(len(candidates.rows), -np.inf)

    def add_center(matrix: Matrix, row: int) -> None:
        center = _dense_row(matrix, row)
        raise_to_cosines(vectors, lengths, center, float(norms(center[np.newaxis])[0]), likeness)

    for row in range(0 if centers is None else centers.shape[0]):
        add_center(cast("Matrix", centers), row)

    picked = np.empty(context.batch_size, dtype=np.intp)
    scores = np.empty(context.batch_size)
    free = np.ones(len(likeness), dtype=bool)
    for place in range(context.batch_size):
        current = np.where(free, score(likeness), np.inf)
        lowest = np.flatnonzero(current == current.min())
        pick = lowest[np.lexsort((candidates.rows[lowest], ties[lowest]))[0]]
        picked[place], scores[place], free[pick] = pick, current[pick], False
        add_center(vectors, int(pick))
    details = {
        name: take_rows(values, picked) for name, values in candidates.details.items() if name != "vector"
    }
    return Ranked(candidates.rows[picked], scores, details)


def _dense_row(matrix: Matrix, row: int) -> NDArray[np.float64]:
    values = matrix[[row]].toarray()[0] if isinstance(matrix, sparse.csr_array) else matrix[row]
    return np.asarray(values, dtype=np.float64)


def _half_of_memory() -> int:
    """Return half the bytes of this machine's memory; 4 GB where the system does not tell."""
    if "SC_PHYS_PAGES" not in getattr(os, "sysconf_names", {}):
        return 4 << 30
    return int(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")) // 2


def _gigabytes(n: float) -> str:
    return f"{n / 1e9:,.1f} GB" if n >= 1e8 else f"{n / 1e6:,.1f} MB"

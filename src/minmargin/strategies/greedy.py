"""Greedy strategies: each pick depends on the picks before it.

The vectors of the candidates are kept in memory, and with each pick one pass over them updates a running
maximum of cosines: O(B * n * D) time, never O(B^2 * n). Cosines are summed in feature order (see
`canonical`), so greedy batches are as exact as the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from minmargin.checks import check_count
from minmargin.compute import cosine_functions, fits_into_gpu, pick_on_gpu
from minmargin.data.rows import Matrix, take_rows
from minmargin.device import Device, resolve_device
from minmargin.errors import InputError, warn
from minmargin.strategies.base import Context, Needs, RowScore, Shortlist, Stroke
from minmargin.strategies.memory import gigabytes, half_of_memory
from minmargin.strategies.registry import register_strategy, resolve_strategy
from minmargin.topb import Ranked

# Multiplications for which starting a GPU, some seconds, is worth while.
_WORTH_A_GPU = 1 << 35


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
    nested: ClassVar[bool] = True  # a pick depends on those before it, and not on those to come

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
        limit = self.memory_limit if self.memory_limit is not None else half_of_memory()
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
                f"{gigabytes(2 * n_rows * bytes_per_row)} and {gigabytes(limit)} may be used. {fix} the rows with "
                "the lowest margin."
            )


@register_strategy(
    "balanced-margin",
    cost="in memory, B passes over the candidates",
    meaning="the margin of one model, balanced with likeness to rows already picked",
    stroke=Stroke("gold", (0, (5, 1.5, 1, 1.5))),
)
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
        # Before the first pick, all rows are equally unlike the batch.
        aim = _Aim(self.balance * candidates.scores, 1.0 - self.balance, nothing_yet=0.0)
        return _pick_greedily(candidates, aim, None, context)


@register_strategy(
    "k-centers",
    cost="in memory, B passes over the candidates",
    meaning="distance from labeled and picked rows",
    stroke=Stroke("green", (0, (3, 1.5))),
)
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
        candidates = _in_pool_order(shortlists[0])
        centers = context.labeled_vectors() if self.include_labeled else None
        # Before there is a center, all rows are as far away as can be.
        aim = _Aim(np.full(len(candidates.rows), -1.0), 1.0, nothing_yet=-1.0)
        return _pick_greedily(candidates, aim, centers, context)


class _Aim(NamedTuple):
    """What a greedy pick minimizes: offset + factor * likeness, where likeness is the highest cosine to a center.

    Attributes:
        offsets: (n,) of the candidates.
        factor: not negative.
        nothing_yet: the likeness of all rows while there is no center.
    """

    offsets: NDArray[np.float64]
    factor: float
    nothing_yet: float

    def scores(self, likeness: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return (n,) the scores; a likeness of -inf is that of no center."""
        return self.offsets + self.factor * np.where(np.isneginf(likeness), self.nothing_yet, likeness)


def _in_pool_order(shortlist: Ranked) -> Ranked:
    order = np.argsort(shortlist.rows)
    details = {name: take_rows(values, order) for name, values in shortlist.details.items()}
    return Ranked(shortlist.rows[order], shortlist.scores[order], details)


def _pick_greedily(candidates: Ranked, aim: _Aim, centers: Matrix | None, context: Context) -> Ranked:
    """Return the batch that minimizes the aim pick by pick."""
    vectors = cast("Matrix", candidates.details["vector"])
    ties = context.seeds.ties(candidates.rows)

    def first_in_line(level: NDArray[np.intp]) -> int:
        return int(level[np.lexsort((candidates.rows[level], ties[level]))[0]])

    if _on_device(vectors, centers, context) == "cuda":
        picked, scores = pick_on_gpu(
            cast("NDArray[Any]", vectors),
            cast("NDArray[Any] | None", centers),
            **aim._asdict(),
            precedes=first_in_line,
            batch_size=context.batch_size,
        )
    else:
        picked, scores = _pick_on_cpu(vectors, aim, centers, first_in_line, context.batch_size)
    details = {
        name: take_rows(values, picked) for name, values in candidates.details.items() if name != "vector"
    }
    return Ranked(candidates.rows[picked], scores, details)


def _on_device(vectors: Matrix, centers: Matrix | None, context: Context) -> Device:
    """Return where to multiply: on a GPU, if there is one, it can hold the rows, and there is enough to do."""
    if sparse.issparse(vectors) or sparse.issparse(centers):
        return "cpu"
    n_rows, n_features = vectors.shape
    if context.device == "auto" and n_rows * n_features * context.batch_size < _WORTH_A_GPU:
        return "cpu"
    if resolve_device(context.device) == "cpu":
        return "cpu"
    if fits_into_gpu(n_rows, n_features):
        return "cuda"
    warn(
        f"{n_rows:,} candidates do not fit into the GPU's memory, so the CPU compares them. Use prefilter= to keep "
        "fewer."
    )
    return "cpu"


def _pick_on_cpu(
    vectors: Matrix,
    aim: _Aim,
    centers: Matrix | None,
    first_in_line: Callable[[NDArray[np.intp]], int],
    batch_size: int,
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return (B,) which candidates are picked, in order, and their scores at that time."""
    n_first = 0 if centers is None else centers.shape[0]
    norms, raise_to_cosines = cosine_functions(vectors, n_first + batch_size)
    lengths = norms(vectors)
    likeness = np.full(len(lengths), -np.inf)

    def add_center(matrix: Matrix, row: int) -> None:
        center = _dense_row(matrix, row)
        raise_to_cosines(vectors, lengths, center, float(norms(center[np.newaxis])[0]), likeness)

    for row in range(n_first):
        add_center(cast("Matrix", centers), row)

    picked = np.empty(batch_size, dtype=np.intp)
    scores = np.empty(batch_size)
    free = np.ones(len(likeness), dtype=bool)
    for place in range(batch_size):
        current = np.where(free, aim.scores(likeness), np.inf)
        pick = first_in_line(np.flatnonzero(current == current.min()))
        picked[place], scores[place], free[pick] = pick, current[pick], False
        add_center(vectors, pick)
    return picked, scores


def _dense_row(matrix: Matrix, row: int) -> NDArray[np.float64]:
    values = matrix[[row]].toarray()[0] if isinstance(matrix, sparse.csr_array) else matrix[row]
    return np.asarray(values, dtype=np.float64)

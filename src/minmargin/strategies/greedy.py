"""Greedy strategies: each pick depends on the picks before it.

The vectors of the candidates are kept in memory, and with each pick one pass over them updates a running
maximum of cosines: O(B * n * D) time, never O(B^2 * n). Cosines are summed in feature order (see
`canonical`), so greedy batches are as exact as the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from minmargin.checks import is_number
from minmargin.compute import cosine_functions, fits_into_gpu, pick_on_gpu
from minmargin.data.rows import Matrix, take_rows
from minmargin.device import Device, resolve_device
from minmargin.errors import InputError, warn
from minmargin.strategies.base import Context, Stroke
from minmargin.strategies.kept import InMemory, in_pool_order
from minmargin.strategies.registry import register_strategy
from minmargin.topb import Ranked

# Multiplications for which starting a GPU, some seconds, is worth while.
_WORTH_A_GPU = 1 << 35


@register_strategy(
    "balanced-margin",
    cost="in memory, B passes over the candidates",
    meaning="the margin of one model, balanced with likeness to rows already picked",
    stroke=Stroke("gold", (0, (5, 1.5, 1, 1.5))),
)
@dataclass(frozen=True, kw_only=True)
class BalancedMargin(InMemory):
    """Margin of the base balanced with likeness to rows already picked (Brinker 2003).

    Each pick minimizes balance * margin + (1 - balance) * (highest cosine to a picked row).
    """

    balance: float = 0.5

    name = "balanced-margin"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (is_number(self.balance) and 0 <= self.balance <= 1):
            raise InputError(
                f"balance={self.balance!r} must lie between 0 (only diversity) and 1 (only margin)."
            )

    def finish(self, shortlists: Sequence[Ranked], context: Context) -> Ranked:
        """Return the batch; the first pick has the lowest margin."""
        candidates = in_pool_order(shortlists[0])
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
class KCenters(InMemory):
    """The row furthest from all centers becomes the next: greedy k-centers, cosine distance (Sener 2018).

    The labeled rows are the first centers, unless `include_labeled=False`. The score is minus the distance
    to the nearest center at the time of the pick.
    """

    include_labeled: bool = True

    name = "k-centers"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.include_labeled, (bool, np.bool_)):
            raise InputError(f"include_labeled={self.include_labeled!r} must be True or False.")

    def finish(self, shortlists: Sequence[Ranked], context: Context) -> Ranked:
        """Return the batch."""
        candidates = in_pool_order(shortlists[0])
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

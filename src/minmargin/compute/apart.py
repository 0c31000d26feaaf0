"""Picks that lie apart: k-means++ seeding (Arthur & Vassilvitskii 2007), the same to the bit on every machine.

Candidate i has the embedding left_i (x) right_i, an outer product that is never formed, since

    e_i . e_j = (left_i . left_j) * (right_i . right_j).

Each pick is drawn in proportion to its squared distance from the nearest pick before it. To know all these distances,
every pick would have to be compared with all candidates before the next. Here most draws do without. A distance that
is out of date can only be too large, so it is an upper *bound*. A candidate is proposed in proportion to its bound,
the bound is brought up to date, and the candidate is accepted with the chance new / old. So candidates are accepted
as if all bounds had been up to date. Now and then all of them are, with many picks at a time: a product of matrices.

What is picked has one definition, in `pick_apart` and `_Draws`, whoever computes the distances. It rests on + - * and
comparisons in a fixed order: dot products go over features, and sums of bounds over blocks of `BLOCK` candidates, then
over the blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from minmargin.compute import models
from minmargin.data.rows import Matrix
from minmargin.device import resolve_device
from minmargin.errors import warn
from minmargin.margins import in_feature_order

Floats = NDArray[np.float64]

#: Given the numbers of proposals 0, 1, 2, ..., two uniform numbers in [0, 1) for each: (n, 2).
Chance = Callable[[NDArray[np.int64]], Floats]

#: Candidates whose bounds are summed together. Like all numbers here, it is part of what makes a batch reproducible.
BLOCK = 512
#: Most centers that are compared with all candidates at a time.
MOST_HELD = 512
_LEAST_HELD = 8
_MOST_REJECTED = (
    1024  # proposals, until all bounds are brought up to date: one far outlier makes them all too large
)
_CHANCES = 1024  # proposals whose numbers are made at a time
_WORTH_A_GPU = 1 << 35  # multiplications for which starting a GPU, some seconds, is worth while


class Embedding(NamedTuple):
    """Outer products, by their factors.

    Attributes:
        left: (m, C) float64.
        right: (m, D) float64, dense, or CSR with sorted places.
    """

    left: Floats
    right: Matrix


class Distances(Protocol):
    """Squared distances of candidates from centers, of which no more than `MOST_HELD` are held at a time.

    d(i, j) is (n_i + n_j) - 2 * ((left_i . left_j) * (right_i . right_j)), where n_i is (left_i . left_i) *
    (right_i . right_i), and 0 where that is not above 0. So equal embeddings are 0 apart, exactly.
    """

    @property
    def squares(self) -> Floats:
        """(m,) the squared length n_i of each candidate."""
        ...

    @property
    def n_held(self) -> int:
        """How many centers are held."""
        ...

    def hold(self, embedding: Embedding, row: int, square: float) -> None:
        """Make one row of an embedding, with its squared length, the next center."""
        ...

    def nearest(self, candidate: int, first: int) -> float:
        """Return the distance of one candidate from the nearest center, from the held one number `first` on."""
        ...

    def lower(self, bounds: Floats) -> None:
        """Lower each bound (m,) to the distance of its candidate from the nearest center held."""
        ...

    def forget(self) -> None:
        """Hold no center any more."""
        ...


def pick_apart(
    embedding: Embedding,
    n_picks: int,
    *,
    ties: NDArray[np.uint64],
    chance: Chance,
    centers: Embedding | None = None,
    device: str = "cpu",
    n_jobs: int = -1,
) -> tuple[NDArray[np.intp], Floats]:
    """Return which candidates are picked, in order, and the squared distance of each from the nearest pick before it.

    The first pick is the longest, and what is returned as its distance is its own squared length. There are fewer than
    `n_picks` if all other candidates are equal to picks.

    Args:
        embedding: of the m candidates.
        n_picks: how many to pick.
        ties: (m,) which of the longest candidates is first in line: the lowest number, then the lower place.
        chance: what decides about proposals.
        centers: embeddings that count as picked before; the first pick is then drawn like all others.
        device: "auto", "cpu" or "cuda": who compares all candidates with many centers.
        n_jobs: how many threads of a CPU do; -1 for all cores.
    """
    embedding = _as_float64(embedding)
    n_centers = 0 if centers is None else len(centers.left)
    distances = _distances(embedding, n_centers + n_picks, device, n_jobs)
    squares = distances.squares
    draws = _Draws(distances, chance)
    picked: list[int] = []
    apart: list[float] = []

    def pick(candidate: int, distance: float) -> None:
        picked.append(candidate)
        apart.append(distance)
        draws.avoid(embedding, candidate, squares[candidate])

    if centers is not None and n_centers:
        given = _as_float64(centers)
        for row, square in enumerate(squared_lengths(given)):
            draws.avoid(given, row, square)
        draws.bring_up_to_date()
    elif n_picks and len(squares):
        longest = np.flatnonzero(squares == squares.max())
        first = int(longest[np.lexsort((longest, ties[longest]))[0]])
        pick(first, float(squares[first]))
        draws.bring_up_to_date()
    while len(picked) < n_picks:
        found = draws.next_pick()
        if found is None:
            break
        pick(*found)
    return np.array(picked, dtype=np.intp), np.array(apart)


class _Draws:
    """Draws candidates in proportion to their squared distance from the nearest center."""

    def __init__(self, distances: Distances, chance: Chance) -> None:
        self._distances = distances
        self._chances = _in_turn(chance)
        n = len(distances.squares)
        # Filled up with zeros, which add nothing.
        self._bounds = np.zeros((-(-n // BLOCK), BLOCK))
        self._of_candidates = self._bounds.reshape(-1)[:n]
        self._of_candidates[:] = np.inf
        self._sums = np.zeros(len(self._bounds))
        self._n_seen = np.zeros(n, dtype=np.intp)  # held centers that a bound takes account of
        self._n_compared = 0  # centers that all bounds take account of
        self._n_rejected = 0  # proposals since then

    def avoid(self, embedding: Embedding, row: int, square: float) -> None:
        """Make one row of an embedding a center. From time to time, that brings all bounds up to date."""
        self._distances.hold(embedding, row, square)
        if self._distances.n_held >= min(max(self._n_compared // 4, _LEAST_HELD), MOST_HELD):
            self.bring_up_to_date()

    def bring_up_to_date(self) -> None:
        """Compare all candidates with all centers that are held, which then need not be held any longer."""
        if self._distances.n_held:
            self._distances.lower(self._of_candidates)
        self._n_compared += self._distances.n_held
        self._distances.forget()
        self._n_seen[:] = 0
        self._n_rejected = 0
        self._sums[:] = np.add.accumulate(self._bounds, axis=1)[:, -1]

    def next_pick(self) -> tuple[int, float] | None:
        """Return the next pick and its distance, or None if no candidate is apart from all centers."""
        for where, whether in self._chances:
            if self._n_rejected == _MOST_REJECTED:
                self.bring_up_to_date()
            candidate = self._walk(where)
            if candidate is None:
                return None
            bound = float(self._of_candidates[candidate])
            seen = int(self._n_seen[candidate])
            exact = min(self._distances.nearest(candidate, seen), bound)
            accepted = whether * bound < exact
            self._n_seen[candidate] = self._distances.n_held
            self._of_candidates[candidate] = 0.0 if accepted else exact
            block = candidate // BLOCK
            self._sums[block] = np.add.accumulate(self._bounds[block])[-1]
            if accepted:
                return candidate, exact
            self._n_rejected += 1
        raise AssertionError  # chances never end

    def _walk(self, where: float) -> int | None:
        """Return the candidate at which the sum of bounds first exceeds a share of the whole; None if all are 0."""
        up_to = np.add.accumulate(self._sums)
        if not len(up_to) or not up_to[-1] > 0.0:
            return None
        target = where * up_to[-1]
        block = int(np.searchsorted(up_to, target, side="right"))
        if block == len(up_to):  # by rounding
            block = int(np.flatnonzero(self._sums > 0.0)[-1])
        before = up_to[block - 1] if block else 0.0
        within = np.add.accumulate(np.concatenate([[before], self._bounds[block]]))[1:]
        place = int(np.searchsorted(within, target, side="right"))
        if place == BLOCK:
            place = int(np.flatnonzero(self._bounds[block] > 0.0)[-1])
        return block * BLOCK + place


def _in_turn(chance: Chance) -> Iterator[tuple[float, float]]:
    """Return the two numbers of proposal 0, 1, 2, ... without an end."""
    start = 0
    while True:
        yield from chance(np.arange(start, start + _CHANCES)).tolist()
        start += _CHANCES


def _as_float64(embedding: Embedding) -> Embedding:
    left = np.ascontiguousarray(embedding.left, dtype=np.float64)
    if isinstance(embedding.right, sparse.csr_array):
        return Embedding(left, embedding.right.astype(np.float64, copy=False))
    return Embedding(left, np.ascontiguousarray(embedding.right, dtype=np.float64))


def _distances(embedding: Embedding, n_centers: int, device: str, n_jobs: int) -> Distances:
    """Return who compares candidates with so many centers: numpy where there is little to do, a GPU where it pays."""
    left, right = embedding
    n_rows = len(left)
    n_terms = right.nnz // max(n_rows, 1) if isinstance(right, sparse.csr_array) else right.shape[1]
    n_terms += left.shape[1]
    if device != "cuda" and models.is_small_work(n_rows, n_terms, n_centers):
        return PlainDistances(embedding)
    from minmargin.compute.cpu.apart import DenseDistances, SparseDistances  # noqa: PLC0415 - imports numba

    if isinstance(right, sparse.csr_array):
        return SparseDistances(left, right, n_jobs)
    too_small = device == "auto" and n_rows * n_terms * n_centers < _WORTH_A_GPU
    if not too_small and resolve_device(device) == "cuda":
        from minmargin.compute.gpu.apart import DeviceDistances  # noqa: PLC0415 - imports torch
        from minmargin.compute.gpu.greedy import fits  # noqa: PLC0415 - imports torch

        if fits(n_rows, n_terms, "cuda"):
            return DeviceDistances(left, right, "cuda")
        warn(f"{n_rows:,} candidates do not fit into the GPU's memory, so the CPU compares them.")
    return DenseDistances(left, right, n_jobs)


class PlainDistances:
    """Squared distances in plain numpy: the reference for all others, and the quickest where there is little to do."""

    def __init__(self, embedding: Embedding) -> None:
        left, right = embedding
        self._left = _DenseDots(left)
        self._right = _SparseDots(right) if isinstance(right, sparse.csr_array) else _DenseDots(right)
        self._center_squares = np.zeros(MOST_HELD)
        self.n_held = 0
        self.squares = squared_lengths(embedding)

    def hold(self, embedding: Embedding, row: int, square: float) -> None:
        """Make one row of an embedding, with its squared length, the next center."""
        self._left.hold(embedding.left, row, self.n_held)
        self._right.hold(embedding.right, row, self.n_held)
        self._center_squares[self.n_held] = square
        self.n_held += 1

    def nearest(self, candidate: int, first: int) -> float:
        """Return the distance of one candidate from the nearest center, from the held one number `first` on."""
        held = slice(first, self.n_held)
        of_left, of_right = self._left.of_row(candidate, held), self._right.of_row(candidate, held)
        found = _distance(self.squares[candidate], self._center_squares[held], of_left, of_right)
        return float(found.min(initial=np.inf))

    def lower(self, bounds: Floats) -> None:
        """Lower each bound (m,) to the distance of its candidate from the nearest center held."""
        for center in range(self.n_held):
            of_left, of_right = self._left.of_center(center), self._right.of_center(center)
            found = _distance(self.squares, self._center_squares[center], of_left, of_right)
            np.minimum(bounds, found, out=bounds)

    def forget(self) -> None:
        """Hold no center any more."""
        self.n_held = 0


def squared_lengths(embedding: Embedding) -> Floats:
    """Return (m,) the squared lengths of outer products; what is no number is 0."""
    left, right = embedding
    with np.errstate(over="ignore", invalid="ignore"):
        squares = _squares(left) * _squares(right)
    return np.where(squares > 0.0, squares, 0.0)


def _squares(X: Matrix) -> Floats:
    """Return (m,) the sum of each row's squares, in feature order."""
    squares = np.zeros(X.shape[0])
    for rows, _, values in in_feature_order(X):
        squares[rows] += values * values
    return squares


def _distance(square: Floats, other: Floats, of_left: Floats, of_right: Floats) -> Floats:
    """Return squared distances, from squared lengths and dot products; what is no number is 0."""
    with np.errstate(over="ignore", invalid="ignore"):
        found = (square + other) - 2.0 * (of_left * of_right)
    return np.where(found > 0.0, found, 0.0)


class _DenseDots:
    """Dot products of dense rows (m, D) with centers, in feature order. Both are held turned, features first."""

    def __init__(self, rows: Floats) -> None:
        self._turned = np.ascontiguousarray(rows.T)
        self._centers = np.zeros((rows.shape[1], MOST_HELD))

    def hold(self, rows: Matrix, row: int, place: int) -> None:
        self._centers[:, place] = cast("Floats", rows)[row]

    def of_row(self, row: int, held: slice) -> Floats:
        return _dots(self._centers[:, held], self._turned[:, row])

    def of_center(self, center: int) -> Floats:
        return _dots(self._turned, self._centers[:, center])


def _dots(turned: Floats, vector: Floats) -> Floats:
    dots = np.zeros(turned.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        for values, x in zip(turned, vector, strict=True):
            dots += values * x
    return dots


class _SparseDots:
    """Dot products of sparse rows (m, D) with centers, in feature order."""

    def __init__(self, rows: sparse.csr_array) -> None:
        self._rows = rows
        self._numbers = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
        self._centers: list[sparse.csr_array] = []
        self._dense = np.zeros(rows.shape[1])

    def hold(self, rows: Matrix, row: int, place: int) -> None:
        self._centers[place:] = [sparse.csr_array(rows[row : row + 1])]

    def of_row(self, row: int, held: slice) -> Floats:
        centers = self._centers[held]
        if not centers:
            return np.zeros(0)
        numbers = np.repeat(np.arange(len(centers)), [center.nnz for center in centers])
        places = np.concatenate([center.indices for center in centers])
        values = np.concatenate([center.data for center in centers])
        return self._add_up(numbers, places, values, self._rows[row : row + 1], len(centers))

    def of_center(self, center: int) -> Floats:
        rows = self._rows
        return self._add_up(self._numbers, rows.indices, rows.data, self._centers[center], rows.shape[0])

    def _add_up(
        self, numbers: NDArray[np.intp], places: NDArray[np.integer], values: Floats, other: Any, n: int
    ) -> Floats:
        """Return (n,) the dot products of several rows with one other."""
        self._dense[other.indices] = other.data
        with np.errstate(over="ignore", invalid="ignore"):
            # It adds one by one, from the first to the last.
            dots = np.bincount(numbers, values * self._dense[places], minlength=n)
        self._dense[other.indices] = 0.0
        return np.asarray(dots, dtype=np.float64)

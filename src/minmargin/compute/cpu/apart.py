"""Squared distances for `compute.apart`, compiled: equal to the bit to those of plain numpy.

All candidates are compared with many centers panel by panel (see `simd`): a panel's rows stay in the nearest cache
while all centers pass. One candidate is compared with many centers in vectors over centers. Either way each dot product
is one sum in feature order, and nothing is fused.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import cast

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse

from minmargin.compute.apart import MOST_HELD, Embedding, Floats, squared_lengths
from minmargin.compute.compiled import compiled
from minmargin.compute.cpu.llvm import DOUBLE_LANES
from minmargin.compute.cpu.simd import GROUP, SQUARE, aligned, multiply_in_order, pack, turn
from minmargin.data.rows import Matrix

_TILE = 16  # centers that a sparse row is compared with at a time
_SHARE = 1 << 24  # multiplications that a thread takes at a time


class _Compiled(ABC):
    """What distances of dense and of sparse rows share: centers, and threads."""

    def __init__(self, embedding: Embedding, n_jobs: int) -> None:
        self._left = embedding.left
        self._n_jobs = n_jobs
        self._center_squares = np.zeros(MOST_HELD)
        self._left_centers = np.zeros((self._left.shape[1], MOST_HELD))
        self.n_held = 0
        self.squares = squared_lengths(embedding)

    def hold(self, embedding: Embedding, row: int, square: float) -> None:
        """Make one row of an embedding, with its squared length, the next center."""
        self._center_squares[self.n_held] = square
        self._left_centers[:, self.n_held] = embedding.left[row]
        self._hold_right(embedding.right, row)
        self.n_held += 1

    def nearest(self, candidate: int, first: int) -> float:
        """Return the distance of one candidate from the nearest center, from the held one number `first` on."""
        dots = np.zeros((2, self.n_held - first))
        _add_products(self._left, candidate, self._left_centers, first, dots[0])
        self._add_right(candidate, first, dots[1])
        return float(_lowest(self.squares[candidate], self._center_squares[first : self.n_held], dots))

    def lower(self, bounds: Floats) -> None:
        """Lower each bound (m,) to the distance of its candidate from the nearest center held."""
        n, lower_some = len(bounds), self._lowering(bounds)
        size = _SHARE // max(self.n_held * (self._left.shape[1] + self._n_terms), 1)
        size = (size // DOUBLE_LANES + 1) * DOUBLE_LANES  # whole panels
        if size >= n:
            lower_some(0, n)
            return
        starts = range(0, n, size)
        with ThreadPoolExecutor(effective_n_jobs(self._n_jobs)) as threads:
            for _ in threads.map(lower_some, starts, [min(start + size, n) for start in starts]):
                pass  # an error in a thread is raised here

    def forget(self) -> None:
        """Hold no center any more."""
        self.n_held = 0

    @property
    @abstractmethod
    def _n_terms(self) -> int:
        """How many terms a dot product of right factors has."""

    @abstractmethod
    def _hold_right(self, rows: Matrix, row: int) -> None:
        """Make one row the next center's right factor."""

    @abstractmethod
    def _add_right(self, candidate: int, first: int, dots: Floats) -> None:
        """Add to dots those of a candidate's right factor with the centers' ones, from number `first` on."""

    @abstractmethod
    def _lowering(self, bounds: Floats) -> Callable[[int, int], None]:
        """Return what lowers the bounds of candidates from one number to another; the first is a panel's first."""


class DenseDistances(_Compiled):
    """Squared distances of candidates whose right factors (m, D) are dense."""

    def __init__(self, left: Floats, right: Floats, n_jobs: int = -1) -> None:
        super().__init__(Embedding(left, right), n_jobs)
        self._right = right
        self._right_centers = np.zeros((right.shape[1], MOST_HELD))

    @property
    def centers(self) -> tuple[Floats, Floats, Floats]:
        """The left and right factors of the centers held, features first, and their squared lengths."""
        held = slice(self.n_held)
        return self._left_centers[:, held], self._right_centers[:, held], self._center_squares[held]

    @property
    def _n_terms(self) -> int:
        return int(self._right.shape[1])

    def _hold_right(self, rows: Matrix, row: int) -> None:
        self._right_centers[:, self.n_held] = cast("Floats", rows)[row]

    def _add_right(self, candidate: int, first: int, dots: Floats) -> None:
        _add_products(self._right, candidate, self._right_centers, first, dots)

    def _lowering(self, bounds: Floats) -> Callable[[int, int], None]:
        *factors, squares = self.centers
        left, right = (pack(turned.T, np.zeros(self.n_held), np.float64) for turned in factors)

        def lower_some(start: int, stop: int) -> None:
            _lower_dense(self._left, left, self._right, right, self.squares, squares, bounds, start, stop)

        return lower_some


class SparseDistances(_Compiled):
    """Squared distances of candidates whose right factors (m, D) are sparse."""

    def __init__(self, left: Floats, right: sparse.csr_array, n_jobs: int = -1) -> None:
        super().__init__(Embedding(left, right), n_jobs)
        self._right = right
        self._dense = np.zeros(right.shape[1])
        self._ends = np.zeros(MOST_HELD + 1, dtype=np.int64)
        self._places = np.zeros(0, dtype=np.int64)
        self._values = np.zeros(0)

    @property
    def _n_terms(self) -> int:
        return int(self._right.nnz // max(self._right.shape[0], 1))

    def _hold_right(self, rows: Matrix, row: int) -> None:
        rows = cast("sparse.csr_array", rows)
        stored = slice(rows.indptr[row], rows.indptr[row + 1])
        start = self._ends[self.n_held]
        end = start + stored.stop - stored.start
        if end > len(self._values):
            more = np.zeros(2 * end - len(self._values))
            self._places = np.concatenate([self._places, more.astype(np.int64)])
            self._values = np.concatenate([self._values, more])
        self._places[start:end], self._values[start:end] = rows.indices[stored], rows.data[stored]
        self._ends[self.n_held + 1] = end

    def _add_right(self, candidate: int, first: int, dots: Floats) -> None:
        right, centers = self._right, (self._ends, self._places, self._values)
        _add_sparse_products(
            right.indptr, right.indices, right.data, candidate, *centers, first, self._dense, dots
        )

    def _lowering(self, bounds: Floats) -> Callable[[int, int], None]:
        right = self._right.indptr, self._right.indices, self._right.data, self._right.shape[1]
        centers = self._ends, self._places, self._values
        left = np.ascontiguousarray(self._left_centers[:, : self.n_held])
        squares = self._center_squares[: self.n_held]

        def lower_some(start: int, stop: int) -> None:
            _lower_sparse(self._left, left, *right, *centers, self.squares, squares, bounds, start, stop)

        return lower_some


@compiled
def _distance(square, other, of_left, of_right):  # type: ignore[no-untyped-def]
    distance = (square + other) - 2.0 * (of_left * of_right)
    return max(0.0, distance)


@compiled
def _lowest(square, others, dots):  # type: ignore[no-untyped-def]
    lowest = np.inf
    for i in range(len(others)):
        distance = _distance(square, others[i], dots[0, i], dots[1, i])
        lowest = min(lowest, distance)
    return lowest


@compiled
def _add_products(rows, row, centers, first, dots):  # type: ignore[no-untyped-def]
    for d in range(rows.shape[1]):
        x = rows[row, d]
        for i in range(len(dots)):
            dots[i] += x * centers[d, first + i]


@compiled
def _add_sparse_products(indptr, indices, data, row, ends, places, values, first, dense, dots):  # type: ignore[no-untyped-def]
    for at in range(indptr[row], indptr[row + 1]):
        dense[indices[at]] = data[at]
    for i in range(len(dots)):
        for at in range(ends[first + i], ends[first + i + 1]):
            dots[i] += values[at] * dense[places[at]]
    for at in range(indptr[row], indptr[row + 1]):
        dense[indices[at]] = 0.0


@compiled
def _fill_panel(rows, first, n_rows, panel):  # type: ignore[no-untyped-def]
    n_features = rows.shape[1]
    flat = rows.reshape(-1)
    n_turned = n_features - n_features % SQUARE if n_rows == DOUBLE_LANES else 0
    for d in range(0, n_turned, SQUARE):
        turn(flat, first * n_features + d, n_features, panel, d * DOUBLE_LANES)
    for d in range(n_turned, n_features):
        for i in range(n_rows):
            panel[d * DOUBLE_LANES + i] = rows[first + i, d]


@compiled
def _lower_dense(left, left_centers, right, right_centers, squares, center_squares, bounds, start, stop):  # type: ignore[no-untyped-def]
    n_left, n_right = left.shape[1], right.shape[1]
    left_panel = aligned(np.zeros((n_left + 1) * DOUBLE_LANES))
    right_panel = aligned(np.zeros((n_right + 1) * DOUBLE_LANES))
    of_left = aligned(np.zeros((GROUP + 1) * DOUBLE_LANES))
    of_right = aligned(np.zeros((GROUP + 1) * DOUBLE_LANES))
    own, lowest = np.zeros(DOUBLE_LANES), np.zeros(DOUBLE_LANES)
    for first in range(start, stop, DOUBLE_LANES):
        n_rows = min(DOUBLE_LANES, stop - first)
        _fill_panel(left, first, n_rows, left_panel)
        _fill_panel(right, first, n_rows, right_panel)
        for i in range(n_rows):
            own[i], lowest[i] = squares[first + i], bounds[first + i]
        for group in range(0, len(center_squares), GROUP):
            multiply_in_order(left_panel, n_left, left_centers, group * (n_left + 1), of_left, 0)
            multiply_in_order(right_panel, n_right, right_centers, group * (n_right + 1), of_right, 0)
            for o in range(min(GROUP, len(center_squares) - group)):
                other = center_squares[group + o]
                for i in range(DOUBLE_LANES):
                    at = o * DOUBLE_LANES + i
                    distance = _distance(own[i], other, of_left[at], of_right[at])
                    lowest[i] = min(lowest[i], distance)
        for i in range(n_rows):
            bounds[first + i] = lowest[i]


@compiled
def _gather(ends, places, values, tile, n_tile, slots):  # type: ignore[no-untyped-def]
    """Return (features, _TILE) what a tile of centers has, flat, and set the slots of these features in it."""
    gathered = np.zeros((ends[tile + n_tile] - ends[tile]) * _TILE)
    n_slots = 0
    for o in range(n_tile):
        for at in range(ends[tile + o], ends[tile + o + 1]):
            if slots[places[at]] < 0:
                slots[places[at]] = n_slots
                n_slots += 1
            gathered[slots[places[at]] * _TILE + o] = values[at]
    return gathered


@compiled
def _lower_sparse(  # type: ignore[no-untyped-def]
    left, left_centers, indptr, indices, data, n_features, ends, places, values, squares, center_squares,
    bounds, start, stop,
):  # fmt: skip
    """Compare rows with a tile of centers at a time. Features that none of these has are passed over."""
    slots = np.full(n_features, -1, dtype=np.int64)
    of_left, of_right = np.zeros(_TILE), np.zeros(_TILE)
    for tile in range(0, len(center_squares), _TILE):
        n_tile = min(_TILE, len(center_squares) - tile)
        gathered = _gather(ends, places, values, tile, n_tile, slots)
        for row in range(start, stop):
            for o in range(_TILE):
                of_left[o] = of_right[o] = 0.0
            for c in range(left.shape[1]):
                for o in range(n_tile):
                    of_left[o] += left[row, c] * left_centers[c, tile + o]
            for at in range(indptr[row], indptr[row + 1]):
                slot = slots[indices[at]]
                if slot >= 0:
                    for o in range(_TILE):
                        of_right[o] += data[at] * gathered[slot * _TILE + o]
            for o in range(n_tile):
                distance = _distance(squares[row], center_squares[tile + o], of_left[o], of_right[o])
                bounds[row] = min(bounds[row], distance)
        for at in range(ends[tile], ends[tile + n_tile]):
            slots[places[at]] = -1

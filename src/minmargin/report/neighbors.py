"""Neighbors: the nearest other pick of each pick, and which of them are as good as copies."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from minmargin.data.rows import Matrix
from minmargin.report.survey import Survey

#: A pick is a near-copy of another if it lies closer than this part of the usual distance.
NEAR = 0.1


class Nearest(NamedTuple):
    """Of each row, the place of the nearest other row, and how far away that is."""

    places: NDArray[np.intp]
    distances: NDArray[np.float64]


class NearCopies(NamedTuple):
    """Picks that are nearly the same.

    Attributes:
        pairs: the ranks of both, from 0 on, the better one first, and their distance; the closest come first.
        usual: the median distance between a random row and the nearest of as many, of which `NEAR` is the limit.
    """

    pairs: list[tuple[int, int, float]]
    usual: float

    @property
    def twin_of(self) -> dict[int, int]:
        """For each rank that is a near-copy, that of its closest twin."""
        twins: dict[int, int] = {}
        for first, second, _ in self.pairs:
            twins.setdefault(first, second)
            twins.setdefault(second, first)
        return twins


def nearest_of(vectors: Matrix) -> Nearest:
    """Return the nearest other row of each of (n, D) rows, of which there are at least two."""
    from sklearn.neighbors import NearestNeighbors  # noqa: PLC0415 - slow to import

    _, places = NearestNeighbors(n_neighbors=1).fit(vectors).kneighbors()
    nearest = places[:, 0].astype(np.intp)
    # Measured anew: the search computes distances by products, which leave some between copies.
    apart: Matrix = vectors.astype(np.float64) - vectors[nearest].astype(np.float64)
    squares = apart.multiply(apart) if isinstance(apart, sparse.csr_array) else np.square(apart)
    return Nearest(nearest, np.sqrt(np.asarray(squares.sum(axis=1)).ravel()))


def find_near_copies(survey: Survey, usual: float) -> NearCopies | None:
    """Return picks that are nearly the same, given the usual distance; None where distances cannot be measured."""
    vectors = survey.picks.vectors
    if vectors is None or vectors.shape[0] < 2:
        return None
    places, distances = nearest_of(vectors)
    ranks = survey.places
    near = np.flatnonzero(distances <= NEAR * usual)
    closest = {
        (min(ranks[k], ranks[places[k]]), max(ranks[k], ranks[places[k]])): float(distances[k]) for k in near
    }
    pairs = sorted((distance, int(first), int(second)) for (first, second), distance in closest.items())
    return NearCopies([(first, second, distance) for distance, first, second in pairs], usual)

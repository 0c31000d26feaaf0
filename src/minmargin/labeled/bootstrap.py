"""Stratified bootstrap draws of the labeled set, as row indices and as multiplicities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from minmargin.errors import InputError
from minmargin.seeds import SeedTree


def draw_sizes(
    counts: NDArray[np.int64], fraction: float, class_names: Sequence[object] | None = None
) -> NDArray[np.int64]:
    """Return how many rows a member draws of each class: floor(fraction * count) (Algorithm 1).

    The fraction is taken as the decimal it was written as, so 0.29 of 100 rows is 29 of them
    although the nearest float lies below.

    >>> draw_sizes(np.array([100, 7]), 0.29)
    array([29,  2])
    """
    number = isinstance(fraction, (int, float, np.number)) and not isinstance(fraction, bool)
    if not (number and math.isfinite(fraction) and fraction > 0):
        raise InputError(f"bootstrap_fraction={fraction!r} must be a number above 0; 1.0 is usual.")
    exact = Fraction(repr(float(fraction)))
    sizes = np.array([math.floor(exact * int(count)) for count in counts], dtype=np.int64)
    if not sizes.all():
        lost = int(np.flatnonzero(sizes == 0)[0])
        name = lost if class_names is None else class_names[lost]
        rarest = int(counts.min())
        smallest = math.ceil(10_000 / rarest) / 10_000
        raise InputError(
            f"bootstrap_fraction={fraction!r} draws no row of class {name!r}, which has "
            f"{int(counts[lost]):,} labeled rows. Use bootstrap_fraction>={smallest:g}."
        )
    return sizes


@dataclass(frozen=True)
class Bootstrap:
    """The members' draws, each made with replacement within every class.

    Attributes:
        codes: (N,) the class of each labeled row, as 0..C-1.
        sizes: (C,) how many rows a member draws of each class.
        seeds: the run's seed tree. A draw depends on it and on the member's number alone, so a
            committee of 50 begins with the 25 members of the smaller one.
    """

    codes: NDArray[np.intp]
    sizes: NDArray[np.int64]
    seeds: SeedTree

    def indices(self, member: int) -> NDArray[np.intp]:
        """Return the labeled rows that a member is trained on, class by class."""
        rng = self.seeds.bootstrap(member)
        draws = []
        for code, size in enumerate(self.sizes):
            rows = np.flatnonzero(self.codes == code)
            draws.append(rows[rng.integers(0, len(rows), size=int(size))])
        return np.concatenate(draws)

    def multiplicities(self, member: int) -> NDArray[np.int64]:
        """Return (N,) how often each labeled row stands in a member's draw."""
        return np.bincount(self.indices(member), minlength=len(self.codes))

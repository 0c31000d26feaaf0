"""All randomness: one tree of seeds per run, and a hash that gives every pool row its own number.

Nothing here depends on the order in which rows or members are handled, which is what lets the
pool be read in chunks of any size and the committee be trained by any number of workers.
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minmargin.errors import InputError
from minmargin.hashes import hash_rows
from minmargin.margins import gumbel

# The branches of the tree. They are part of what makes a batch reproducible: never renumber them.
_BOOTSTRAP, _MEMBER, _BASE, _TIES, _UNIFORM, _NOISE, _PROPOSALS, _FOLDS = range(8)
_DROPPED = 11  # bits of a hash: a uniform number has the others


@dataclass(frozen=True)
class SeedTree:
    """The seeds of one run, all grown from `root`."""

    root: int

    @classmethod
    def plant(cls, random_state: Any = None) -> SeedTree:
        """Return the tree of a scikit-learn style `random_state`; None takes fresh entropy."""
        if random_state is None:
            # 53 bits, so that the seed survives a manifest read by a JSON parser with float numbers.
            entropy = np.random.SeedSequence().entropy
            return cls(operator.index(entropy) & (2**53 - 1))  # type: ignore[arg-type]
        if isinstance(random_state, np.random.RandomState):
            return cls(int(random_state.randint(0, 2**31)))
        if isinstance(random_state, np.random.Generator):
            return cls(int(random_state.integers(0, 2**53)))
        try:
            root = operator.index(random_state)
        except TypeError:
            root = -1
        if root < 0:
            raise InputError(
                f"random_state={random_state!r} cannot seed a run. "
                "Use None, a whole number >= 0, or a numpy random generator."
            )
        return cls(root)

    def bootstrap(self, member: int) -> np.random.Generator:
        """Return the generator of member `member`'s bootstrap draw."""
        return np.random.default_rng(self._branch(_BOOTSTRAP, member))

    def learner(self, member: int | None) -> np.random.SeedSequence:
        """Return the seed of the training of a member, or of the base (None)."""
        return self._branch(_BASE) if member is None else self._branch(_MEMBER, member)

    def folds(self, rows: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return the number by which each labeled row stands in line to be held out."""
        return hash_rows(self._key(_FOLDS), rows)

    def ties(self, rows: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return the number by which each pool row stands in line among equal scores."""
        return hash_rows(self._key(_TIES), rows)

    def uniform(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return one uniform number in [0, 1) for each pool row."""
        return _to_unit_interval(hash_rows(self.uniform_key, rows))

    @property
    def uniform_key(self) -> np.uint64:
        """The key of the hashes of which these numbers are made, for `hash_rows`."""
        return self._key(_UNIFORM)

    def proposals(self, numbers: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return two uniform numbers in [0, 1) for each proposal by its number: (n, 2). See `compute.pick_apart`."""
        both = 2 * numbers[:, np.newaxis] + np.arange(2)
        return _to_unit_interval(hash_rows(self._key(_PROPOSALS), both))

    def noise_bits(self, rows: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return the 64 bits of which each pool row's noise is made: more bits, no less noise."""
        return hash_rows(self.noise_key, rows)

    @property
    def noise_key(self) -> np.uint64:
        """The key of these bits, for `hash_rows`."""
        return self._key(_NOISE)

    def gumbel(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the standard Gumbel noise of each pool row, a number between -3.7 and 36.8."""
        return gumbel(self.noise_bits(rows))

    def _branch(self, *path: int) -> np.random.SeedSequence:
        return np.random.SeedSequence(self.root, spawn_key=path)

    def _key(self, *path: int) -> np.uint64:
        return np.uint64(self._branch(*path).generate_state(1, np.uint64)[0])


def hashes_below(number: float) -> int:
    """Return the number that all hashes are below of which uniform numbers below this one are made, and no others."""
    return math.ceil(min(number, 1.0) * 2.0**53) << _DROPPED


def _to_unit_interval(bits: NDArray[np.uint64]) -> NDArray[np.float64]:
    return np.asarray((bits >> np.uint64(_DROPPED)) * 2.0**-53, dtype=np.float64)

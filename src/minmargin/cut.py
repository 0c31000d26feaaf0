"""The cut: a score that no pick exceeds, as far as is known while the pool is being read.

Exact scores give it late. What a rough look is certain of gives nearly the same at once: if B rows have scores that
are not above some value, no row above it is needed. Every thread lowers the cut with what it finds, and asks for it
only when it needs it.
"""

from __future__ import annotations

import math
from threading import Lock

import numpy as np
from numpy.typing import NDArray


class Cut:
    """A score that the `size` lowest rows do not exceed; infinite until anything is known.

    Args:
        size: B; None if every row is needed.
        score: what is known already.
    """

    def __init__(self, size: int | None = None, score: float = math.inf) -> None:
        self._size = size
        self._score = score
        self._lowest: list[NDArray[np.float64]] = []
        self._n_held = 0
        self._lock = Lock()

    @property
    def score(self) -> float:
        """The cut as it is now."""
        return self._score

    def lower_to(self, score: float) -> None:
        """Take in that the lowest rows do not exceed a score."""
        with self._lock:
            self._score = min(self._score, score)

    def take_in(self, upper: NDArray[np.float64]) -> None:
        """Take in numbers that the scores of rows, each seen here for the first time, are not above."""
        if not self._size:
            return
        with self._lock:
            found = upper[upper < self._score]
            self._lowest.append(found)
            self._n_held += len(found)
            # At once for a first cut; then with half as many again, so that this costs O(1) a row, amortized.
            enough = self._size if self._score == math.inf else self._size + self._size // 2 + 128
            if self._n_held >= enough:
                self._settle(self._size)

    def settled(self) -> float:
        """Return the cut, as low as all that was taken in makes it."""
        with self._lock:
            if self._size and self._n_held >= self._size:
                self._settle(self._size)
            return self._score

    def _settle(self, size: int) -> None:
        held = np.partition(np.concatenate(self._lowest), size - 1)[:size]
        self._lowest, self._n_held = [held], size
        self._score = min(self._score, float(held[-1]))

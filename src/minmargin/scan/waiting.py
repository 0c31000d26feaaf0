"""Rows that a rough look has left near the cut, before their exact scores are made.

An exact score costs many times a rough look, and the cut keeps falling while a pool is read: most rows that were near
it are above it a little later. So rows wait, and hardly more than make up the batch are ever scored exactly. What waits
has copies of its own, a few megabytes at most: the blocks that rows came from can go.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minmargin.data.rows import n_bytes
from minmargin.strategies.candidates import Candidates
from minmargin.topb import Cut

_MOST_BYTES, _FEW_ROWS = 1 << 24, 4096  # 16 MB


class Due(NamedTuple):
    """Rows that are to be scored exactly, with numbers that their scores are not below."""

    candidates: Candidates
    lower: NDArray[np.float64]


class Waiting:
    """Rows that wait, with numbers that their scores are not below. Several threads may add to them.

    Args:
        size: how many rows are wanted in the end.
    """

    def __init__(self, size: int) -> None:
        self._many = 2 * size + _FEW_ROWS
        self._parts: list[_Part] = []
        self._lock = Lock()

    def add(self, candidates: Candidates, lower: NDArray[np.float64], cut: Cut) -> Due | None:
        """Let rows wait. Return those to decide now: all of them if they have become many, and else none."""
        if not len(candidates):
            return None
        part = _Part.of(candidates, lower)
        with self._lock:
            self._parts.append(part)
            if self._fullness <= 1.0:
                return None
            self._drop_behind(cut)
            # If the cut has not removed most of them, it will not soon: exact scores have to lower it.
            return self._leave() if self._fullness > 0.5 else None

    def rest(self, cut: Cut) -> Due | None:
        """Return the rows that still wait and are not behind the cut."""
        with self._lock:
            self._drop_behind(cut)
            return self._leave()

    @property
    def _fullness(self) -> float:
        n_rows = sum(len(part.lower) for part in self._parts)
        return max(n_rows / self._many, sum(part.n_bytes for part in self._parts) / _MOST_BYTES)

    def _drop_behind(self, cut: Cut) -> None:
        cut.settle()
        near = [np.flatnonzero(cut.not_behind(part.candidates.rows, part.lower)) for part in self._parts]
        remaining = [part.take(index) for part, index in zip(self._parts, near, strict=True) if len(index)]
        self._parts = [_Part.joined(remaining)] if remaining else []

    def _leave(self) -> Due | None:
        left, self._parts = self._parts, []
        if not left:
            return None
        joined = _Part.joined(left)
        return Due(joined.candidates, joined.lower)


class _Part(NamedTuple):
    candidates: Candidates
    lower: NDArray[np.float64]
    n_bytes: int

    @classmethod
    def of(cls, candidates: Candidates, lower: NDArray[np.float64]) -> _Part:
        apart = candidates.apart()
        return cls(apart, lower, n_bytes(apart.as_read))

    @classmethod
    def joined(cls, parts: Sequence[_Part]) -> _Part:
        if len(parts) == 1:
            return parts[0]
        candidates = parts[0].candidates.joined([part.candidates for part in parts[1:]])
        return cls.of(candidates, np.concatenate([part.lower for part in parts]))

    def take(self, index: NDArray[np.intp]) -> _Part:
        if len(index) == len(self.lower):
            return self
        return self.of(self.candidates.take(index), self.lower[index])

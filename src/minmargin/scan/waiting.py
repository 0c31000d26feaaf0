"""Rows that a rough look has left near the cut, before their exact scores are made.

An exact score costs many times a rough look, and the cut keeps falling while a pool is read: most rows that were near
it are above it a little later. So rows wait, and hardly more than make up the batch are ever scored exactly. What waits
has copies of its own, a few megabytes at most: the blocks that rows came from can go.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from minmargin.data.rows import Frame, concat_rows, n_bytes, take_rows
from minmargin.strategies.candidates import Candidates
from minmargin.topb import Cut

_MOST_BYTES, _FEW_ROWS = 1 << 24, 4096  # 16 MB


class Part(NamedTuple):
    """Some rows of a pool as candidates, and those of their columns that a batch keeps, if it keeps any."""

    candidates: Candidates
    carried: Frame | None

    def __len__(self) -> int:
        return len(self.candidates)

    def take(self, index: NDArray[np.intp]) -> Part:
        """Return some of the rows."""
        carried = None if self.carried is None else take_rows(self.carried, index)
        return Part(self.candidates.take(index), cast("Frame | None", carried))

    @classmethod
    def joined(cls, parts: Sequence[Part]) -> Part:
        """Return the rows of all parts."""
        carried = [part.carried for part in parts if part.carried is not None]
        return cls(
            parts[0].candidates.joined([part.candidates for part in parts[1:]]),
            cast("Frame", concat_rows(carried)) if carried else None,
        )


class Undecided:
    """Rows that wait, with numbers that their scores are not below. Several threads may add to them.

    Args:
        size: how many rows are wanted in the end.
    """

    def __init__(self, size: int) -> None:
        self._many = 2 * size + _FEW_ROWS
        self._waiting: list[_Waiting] = []
        self._lock = Lock()

    def add(self, part: Part, lower: NDArray[np.float64], cut: Cut) -> Part | None:
        """Let rows wait. Return those to decide now: all of them if they have become many, and else none."""
        if not len(part):
            return None
        waiting = _Waiting.of(part, lower)
        with self._lock:
            self._waiting.append(waiting)
            if self._fullness <= 1.0:
                return None
            self._drop_above(cut.settled())
            # If the cut has not removed most of them, it will not soon: exact scores have to lower it.
            return self._leave() if self._fullness > 0.5 else None

    def rest(self, cut: Cut) -> Part | None:
        """Return the rows that still wait and are not above the cut."""
        with self._lock:
            self._drop_above(cut.settled())
            return self._leave()

    @property
    def _fullness(self) -> float:
        n_rows = sum(len(each.part) for each in self._waiting)
        return max(n_rows / self._many, sum(each.n_bytes for each in self._waiting) / _MOST_BYTES)

    def _drop_above(self, cut: float) -> None:
        near = [np.flatnonzero(~(each.lower > cut)) for each in self._waiting]  # written so that NaN stays
        remaining = [each.take(index) for each, index in zip(self._waiting, near, strict=True) if len(index)]
        self._waiting = [_Waiting.joined(remaining)] if remaining else []

    def _leave(self) -> Part | None:
        left, self._waiting = self._waiting, []
        return _Waiting.joined(left).part if left else None


class _Waiting(NamedTuple):
    part: Part
    lower: NDArray[np.float64]
    n_bytes: int

    @classmethod
    def of(cls, part: Part, lower: NDArray[np.float64]) -> _Waiting:
        candidates = part.candidates.apart()
        return cls(Part(candidates, part.carried), lower, n_bytes(candidates.as_read))

    @classmethod
    def joined(cls, several: Sequence[_Waiting]) -> _Waiting:
        if len(several) == 1:
            return several[0]
        part = Part.joined([each.part for each in several])
        return cls.of(part, np.concatenate([each.lower for each in several]))

    def take(self, index: NDArray[np.intp]) -> _Waiting:
        return self if len(index) == len(self.lower) else self.of(self.part.take(index), self.lower[index])

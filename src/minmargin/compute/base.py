"""What the machine room promises: models that give exact class scores, and screens that only ever dismiss rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from minmargin.device import Device, Precision
from minmargin.margins import ScoreName
from minmargin.topb import Cut, Near


class Screen(Protocol):
    """What dismisses rows by one score of a committee. Rows come in the learner's form, or as a ColumnBlock."""

    def near(self, X: Any, *, cut: Cut, size: int | None) -> Near:
        """Return the rows whose score may not be above the cut, and may be among the `size` lowest.

        There may be too many of them, but never is a row left out that belongs.
        """
        ...

    def scores(self, X: Any) -> NDArray[np.float64]:
        """Return (n,) the scores to about six digits; NaN for rows whose scores a look does not tell so well."""
        ...


class Models(Protocol):
    """K trained models, ready to be asked many times. What a device needs of them is made when it is first asked."""

    def class_scores(self, X: Any, *, device: Device = "cpu") -> NDArray[np.float64]:
        """Return (K, n, C): the canonical class scores under each model, the same to the bit on any device."""
        ...

    def each(self, X: Any, *, device: Device = "cpu") -> Iterable[NDArray[np.float64]]:
        """Return (n, C): the same, one model after the other."""
        ...

    def screen(self, score: ScoreName, *, device: Device, precision: Precision) -> Screen | None:
        """Return the screen of a score; None if there is no model, or float32 cannot hold the weights."""
        ...

"""What the machine room promises: a screen, the rough and fast look that may only ever dismiss rows."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from minmargin.topb import Cut, Near


class Screen(Protocol):
    """A rough and fast look at one score of a committee. Rows come in the learner's form, or as a ColumnBlock."""

    def near(self, X: Any, *, cut: Cut, size: int | None) -> Near:
        """Return the rows whose score may not be above the cut, and may be among the `size` lowest.

        It may keep too many, but must never leave out a row that belongs.
        """
        ...

    def scores(self, X: Any) -> NDArray[np.float64]:
        """Return (n,) the scores to about six digits."""
        ...

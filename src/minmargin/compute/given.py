"""The screen of class scores that are given: nothing is multiplied, and a look at them is all but exact.

The value of a row is its score, by the same formula, in float64. Only the order of its sums, and the logarithm, are not
the canonical ones. So it is off by a few roundings of each term: `_slack` is more than that. Votes and lowest margins
have neither sums nor logarithms: their values are the canonical scores, to the bit. Of logits there is a screen for the
lowest margin alone, by the lowest gap (see `reductions`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minmargin.compute import bounds, models
from minmargin.compute.reductions import LOWEST_MARGIN, OF_SCORE, VOTES, Bounds, Reduction, Shape
from minmargin.compute.rounding import SLACK, SMALL_UNIT
from minmargin.margins import ScoreName
from minmargin.topb import Cut, Near

_ROUNDINGS = 8  # of each term, at most
_FAR = 1e3  # a gap so wide, or wider, makes a margin of 1 in any case


@dataclass(frozen=True)
class GivenScreen:
    """How models' class scores, or logits, that stand in the rows are looked at.

    Attributes:
        first_model: where these models begin, among those that stand in a row.
        shape: how many there are, and of how many classes.
        reduction: what their value is.
        logits: whether they are logits.
    """

    first_model: int
    shape: Shape
    reduction: Reduction
    logits: bool

    @classmethod
    def of(
        cls, score: ScoreName, n_models: int, n_classes: int, *, has_base: bool, logits: bool
    ) -> GivenScreen | None:
        """Return the screen of a score, for rows that have members first, then the base; None if there is none."""
        reduction = OF_SCORE[score]
        if logits:
            if reduction.shortcut is None:
                return None
            reduction = reduction.shortcut
        alone = score == "margin" and has_base
        return cls(n_models if alone else 0, Shape(1 if alone else n_models, n_classes), reduction, logits)

    def near(self, X: NDArray[Any], *, cut: Cut, size: int | None) -> Near:
        """Return the rows whose score may not be above the cut, and may be among the `size` lowest."""
        found = self._bounds(X)
        index, _ = bounds.lowest(found, cut.score, size)
        return Near(index, *found.take(index))

    def scores(self, X: NDArray[Any]) -> NDArray[np.float64]:
        """Return (n,) the scores, all but exact; of logits, bounds that they are not below."""
        return self._bounds(X).lower if self.logits else self._values(X)

    def _bounds(self, X: NDArray[Any]) -> Bounds:
        values, slack = self._values(X), self._slack
        if self.logits:
            errors = slack * (1.0 + np.minimum(values, _FAR))
            return self.reduction.bounds(values, errors, self.shape)
        return Bounds(values - slack, values + slack)

    def _values(self, X: NDArray[Any]) -> NDArray[np.float64]:
        from minmargin.compute.cpu.given import WRITERS  # noqa: PLC0415 - imports numba

        values = np.empty(len(X))
        n_models, n_classes, _ = self.shape
        WRITERS[self.reduction.code](np.ascontiguousarray(X), self.first_model, n_models, n_classes, values)
        return values

    @property
    def _slack(self) -> float:
        if self.reduction.code in {LOWEST_MARGIN, VOTES}:
            return 0.0
        n_models, n_classes, _ = self.shape
        lost = _ROUNDINGS * (n_models + n_classes) * SMALL_UNIT
        return (SLACK + lost) * (1.0 + math.log(n_classes))


def may_be_wrong(
    X: NDArray[Any], n_models: int, n_classes: int, *, logarithms: bool, normalized: bool, tolerance: float
) -> bool:
    """Return whether a row may have class scores that cannot be meant: of few rows it is not found out here."""
    if X.size <= models.SMALL_WORK // 64:
        return True
    from minmargin.compute.cpu.given import first_wrong  # noqa: PLC0415 - imports numba

    return bool(
        first_wrong(np.ascontiguousarray(X), n_models, n_classes, logarithms, normalized, tolerance) >= 0
    )

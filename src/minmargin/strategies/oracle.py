"""The oracle of the Gaussian simulation: the margin to the true boundary, where someone knows it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minmargin.errors import InputError
from minmargin.strategies.base import Stroke
from minmargin.strategies.registry import RowScoreStrategy, register_strategy


@register_strategy(
    "true-margin",
    cost="one pass, your function",
    meaning="a margin that is known",
    stroke=Stroke("ink", (0, (1, 1.2)), 1.6),
)
class TrueMargin(RowScoreStrategy):
    """The margin to the true boundary, from a function that knows it (the oracle of section 2.3).

    The function takes the rows in the learner's form and returns one float per row. It must score each row
    by itself, or the batch will depend on how the pool is read.
    """

    def __init__(self, function: Callable[[Any], NDArray[np.float64]] | None = None) -> None:
        if not callable(function):
            raise InputError(
                "Strategy 'true-margin' needs the function that gives the true margin. "
                "Use strategy=mm.TrueMargin(function)."
            )
        super().__init__("true-margin", lambda candidates: function(candidates.X), needs="base")

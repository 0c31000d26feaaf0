"""What may be concluded from bounds: which rows are near the cut, and which of them are worth a closer look.

*Bounds* are two numbers that a score is certain to lie between; `reductions` makes them of rough logits. A row is
*near* if its lower bound is not above the threshold. If B rows of a block have upper bounds no higher than some value,
no row above it is needed either: the first blocks, for which no threshold is known yet, are screened by that.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from minmargin.compute.reductions import Bounds


def lowest(bounds: Bounds, threshold: float, size: int | None) -> tuple[NDArray[np.intp], float]:
    """Return the rows that may be among the `size` lowest and not above the threshold.

    Also return the threshold that they meet: if `size` rows are certain to be no higher than some value, that value.
    """
    if size is not None and len(bounds.upper) > size:
        threshold = min(threshold, float(np.partition(bounds.upper, size - 1)[size - 1]))
    return np.flatnonzero(~(bounds.lower > threshold)), threshold  # written so that NaN stays


def two_looks(
    first: Bounds,
    look_closer: Callable[[NDArray[np.intp]], Bounds] | None,
    *,
    threshold: float,
    size: int | None,
    at_least: int = 1,
    width: float = math.inf,
) -> tuple[NDArray[np.intp], Bounds]:
    """Return the rows that may be among the `size` lowest and not above the threshold, and bounds of their scores.

    Args:
        first: what a first look tells of n rows.
        look_closer: given some of the rows, closer bounds of their scores; None if there is no closer look.
        threshold: rows above it are not needed.
        size: as many rows are needed; None for all.
        at_least: for fewer rows it is not worth looking closer.
        width: a row whose bounds are further apart is looked at closer even if it is certain to be needed, since the
            next threshold is made of upper bounds.
    """
    near, threshold = lowest(first, threshold, size)
    bounds = first.take(near)
    in_doubt = bounds.upper > threshold
    if size is not None and len(near) > size:
        in_doubt[:] = True  # which of them are the lowest is open too
    elif threshold < math.inf and width < math.inf:
        with np.errstate(invalid="ignore"):
            in_doubt |= ~(bounds.upper - bounds.lower <= width)
    again = np.flatnonzero(in_doubt)
    if look_closer is not None and len(again) >= at_least:
        closer = look_closer(near[again])
        # Both looks are right, so the closer of two bounds is; NaN tells nothing.
        bounds.lower[again] = np.fmax(bounds.lower[again], closer.lower)
        bounds.upper[again] = np.fmin(bounds.upper[again], closer.upper)
        still_near, _ = lowest(bounds, threshold, size)
        near, bounds = near[still_near], bounds.take(still_near)
    return near, bounds

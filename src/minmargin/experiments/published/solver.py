"""The solver of support vector machines on a Gram matrix, which goes on from any point.

It minimizes a'Qa / 2 - sum(a) over 0 <= a <= bounds with sum(a * y) = 0, where Q = y y' K, as libsvm does: two
coefficients at a time, chosen by second-order information (Fan, Chen and Lin 2005, WSS 2), until no pair violates the
conditions of an optimum by more than a tolerance. libsvm always begins at 0. A row more changes few coefficients, so
a machine that goes on from where it was takes a tenth of the steps.

Importing this module imports numba.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from minmargin.compute.compiled import compiled

#: What libsvm stops at, unless it is told otherwise.
TOLERANCE = 1e-3
_LEAST_CURVATURE = 1e-12

Floats = NDArray[np.float64]


def _solve(
    gram: Floats, least: Floats, most: Floats, weights: Floats, away: Floats, tolerance: float
) -> tuple[float, int]:
    """Bring weights to the optimum, in place, and return the intercept and the number of steps.

    A weight is a coefficient times the class of its row, -1 or 1.

    Args:
        gram: (m, m) with a diagonal of 1, of which the first n rows and columns count.
        least: (n,) the lowest weights: 0 for class 1.
        most: (n,) the highest weights: 0 for class -1.
        weights: (n,) within these, with sum 0.
        away: (n,) what the classes are above the products of the weights with the rows; kept so.
        tolerance: how much the conditions of an optimum may be violated.
    """
    n = len(weights)
    # Added to what is compared, so that a weight at its end never comes first: to branch on weights would be slower.
    no_rise = np.where(weights < most, 0.0, -np.inf)
    no_fall = np.where(weights > least, 0.0, np.inf)
    row, other, step, steps = gram[0], gram[0], 0.0, 0
    while True:
        for t in range(n):
            away[t] -= step * (row[t] - other[t])
        highest, up = -np.inf, -1
        for t in range(n):
            at = away[t] + no_rise[t]
            if at > highest:
                highest, up = at, t
        row = gram[up]
        # The gain of a pair is slack^2 / curvature; fractions are compared without dividing.
        violated, down, square, curvature = 0.0, -1, 0.0, 1.0
        for t in range(n):
            slack = highest - (away[t] + no_fall[t])
            if slack > 0.0:
                violated = max(violated, slack)
                curved = max(2.0 - 2.0 * row[t], _LEAST_CURVATURE)
                if slack * slack * curvature > square * curved:
                    down, square, curvature = t, slack * slack, curved
        if violated < tolerance:
            break
        rise, fall = most[up] - weights[up], weights[down] - least[down]
        step = min((highest - away[down]) / curvature, rise, fall)
        # At its end, exactly: a weight that rounding keeps from it would count as free.
        weights[up] = weights[up] + step if step < rise else most[up]
        weights[down] = weights[down] - step if step < fall else least[down]
        for t in (up, down):
            no_rise[t] = 0.0 if weights[t] < most[t] else -np.inf
            no_fall[t] = 0.0 if weights[t] > least[t] else np.inf
        other = gram[down]
        steps += 1
    total, n_free = 0.0, 0
    for t in range(n):
        if least[t] < weights[t] < most[t]:
            total += away[t]
            n_free += 1
    return (total / n_free if n_free else highest - violated / 2), steps


solve: Any = compiled(_solve)

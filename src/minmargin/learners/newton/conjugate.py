"""Newton's directions for a logistic regression of many coefficients, by conjugate gradients.

These need the Hessian only as products with the rows, and its diagonal to begin with.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from minmargin.learners.newton.points import Objective, Point, Rows
from minmargin.learners.newton.steps import Floats

_MOST_PRODUCTS = 2000  # of one direction: a rough one leads on, too


class Direction(NamedTuple):
    """Where to go, and what is expected there."""

    d: Floats  # (O, q)
    logits: Floats  # (O, m) by how much they change
    size: float  # that, in the mean over rows, as far as they are in doubt
    bend: float  # that, in the mean over rows as far as they make the loss curved
    decline: float  # the derivative of the loss along d, negative
    foretold: float  # by how much the loss falls, if the curvature stays the same
    accuracy: float  # what conjugate gradients left of the equations
    cut: bool  # whether it ends at the radius


def find_direction(
    objective: Objective,
    point: Point,
    rows: Rows,
    radius: float,
    *,
    goal: float,
    scale: float,
    roughest: float,
) -> Direction:
    """Return Newton's direction by conjugate gradients, in the precision of `rows`, up to the radius."""
    # Far from the optimum a rough direction is as good as an exact one; near it each step should gain more.
    accuracy = max(
        min(roughest, 10.0 * (point.slope / scale) ** 0.5), min(0.3 * goal / point.slope, 0.1), 0.01
    )
    dtype = rows.dtype
    P, penalty = point.probabilities.astype(dtype), objective.penalty.astype(dtype)
    weighted = objective.weights.astype(dtype) * P
    precondition = objective.preconditioner(point, rows)
    # Of length one: near the optimum, squares of the gradient itself would leave the range of float32.
    r = (-point.gradient / point.slope).astype(dtype)
    radius, doubts = radius / point.slope, objective.doubts(point.logits)
    d, changes, cut = np.zeros_like(r), np.zeros(P.shape, dtype=dtype), False
    v = precondition(r)
    rho = np.vdot(r, v)
    least_rho = accuracy**2 * rho
    for _ in range(_MOST_PRODUCTS):
        logits = rows.logits(v)
        # The curvature of the loss, w (diag(p) - p p^T), or w p (1 - p), between two products with the rows.
        Hv = rows.gather(weighted * (logits - np.einsum("om,om->m", P, logits)))
        Hv += penalty * v
        curvature = np.vdot(v, Hv)
        if not (rho > least_rho and curvature > 0):
            break
        length = rho / curvature
        further = changes + length * logits
        if mean_product(doubts, further, further) > radius * radius:
            length, cut = _length_within(doubts, changes, logits, radius), True
        d += length * v
        changes += length * logits
        Hv *= length
        r -= Hv
        if cut:
            break
        z = precondition(r)
        before, rho = rho, np.vdot(r, z)
        v *= rho / before
        v += z
    d, changes, r = (point.slope * each.astype(np.float64) for each in (d, changes, r))
    decline = float(np.vdot(d, point.gradient))
    # The Hessian times d is what conjugate gradients took from the gradient: -gradient - r.
    foretold = -0.5 * (decline - float(np.vdot(d, r)))
    size = mean_product(doubts, changes, changes) ** 0.5
    bend = (max(-2.0 * (decline + foretold), 0.0) / (objective.curved(point) * objective.n_weighted)) ** 0.5
    return Direction(d, changes, size, bend, decline, foretold, accuracy, cut)


def mean_product(doubts: Floats, one: NDArray[Any], other: NDArray[Any]) -> float:
    """Return the mean over rows of the products of two changes of their logits, as far as the rows are in doubt."""
    return float(doubts @ np.einsum("om,om->m", one, other))


def _length_within(doubts: Floats, changes: NDArray[Any], logits: NDArray[Any], radius: float) -> Any:
    """Return how often `logits` can be added to `changes` until the root of their mean square is the radius."""
    a, b, c = (
        mean_product(doubts, one, other)
        for one, other in ((logits, logits), (logits, changes), (changes, changes))
    )
    root = max(b * b - a * (c - radius * radius), 0.0) ** 0.5
    return logits.dtype.type((root - b) / a)

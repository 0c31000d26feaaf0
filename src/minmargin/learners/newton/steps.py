"""Newton's method for one logistic regression: weighted rows, an L2 penalty, one output or one per class.

With few coefficients every step is solved exactly (`newton_kernels`). With many it is solved by conjugate gradients,
which need the Hessian only as products with the rows, and start out from its diagonal. They run in float32, where
products take a third of the time: loss and gradient are float64, so the next step mends what rounding has spoilt.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from minmargin.data.rows import Matrix

Floats = NDArray[np.float64]

MOST_STEPS = 200
_MOST_HALVINGS = 40
_ROUNDING = 1e-13  # a loss that moves by less than this share of itself has stopped moving
_COEFFICIENT_ERROR = 2e-5  # relative, of all coefficients together: the gradient must leave room for no more


class Found(NamedTuple):
    """Where the steps ended: coefficients (q, O), the gradient relative to the one at zero, the number of steps."""

    T: Floats
    gradient: float
    steps: int


class Point(NamedTuple):
    """The loss, its gradient and the probabilities at some coefficients."""

    loss: float
    gradient: Floats  # (q, O)
    probabilities: Floats  # (m, O)

    @property
    def slope(self) -> float:
        """The length of the gradient."""
        return float(np.linalg.norm(self.gradient))


@dataclass(frozen=True)
class Problem:
    """Minimize, over coefficients T, sum_i weights[i] * loss(codes[i], rows[i] . T) + penalty . T^2 / 2."""

    rows: Matrix  # (m, q)
    codes: NDArray[np.intp]  # (m,)
    n_outputs: int
    weights: Floats  # (m,)
    penalty: Floats  # (q, 1)

    def at(self, T: Floats) -> Point:
        """Return loss, gradient and probabilities at coefficients T (q, O)."""
        from minmargin.learners.newton.kernels import weigh_losses  # noqa: PLC0415 - imports numba

        probabilities = np.asarray(self.rows @ T)  # logits, until the losses are weighed
        residual = np.empty_like(probabilities)
        loss = weigh_losses(probabilities, self.codes, self.weights, residual)
        shrink = self.penalty * T
        gradient = np.asarray(self.rows.T @ residual) + shrink
        return Point(float(loss + 0.5 * np.vdot(shrink, T)), gradient, probabilities)

    def slope_at_zero(self) -> float:
        """Return what a gradient is compared with: that at zero, or a share of the most it might have been."""
        from minmargin.learners.newton.kernels import weigh_losses  # noqa: PLC0415 - imports numba

        logits = np.zeros((len(self.codes), self.n_outputs))
        weigh_losses(logits, self.codes, self.weights, residual := np.empty_like(logits))
        most = np.sqrt(self.weights.sum() * (self.weights @ _squared_lengths(self.rows)))
        at_zero = float(np.linalg.norm(self.rows.T @ residual))
        return max(at_zero, 1e-3 * float(most), float(np.finfo(float).tiny))


def minimize(problem: Problem, T: Floats, *, exact: bool, tolerance: float) -> Found:
    """Return the optimum, by Newton steps from T.

    A model is done when its gradient is `tolerance` of that at zero, and so small that coefficients are right to well
    below 1e-4: a gradient g leaves them no more than |g| / penalty to go, however flat the loss is.
    """
    scale = problem.slope_at_zero()
    slope_goal = tolerance * scale
    error_goal = _COEFFICIENT_ERROR * np.sqrt(problem.penalty[0, 0])
    # A constant that all classes share changes no probability, and the penalty wants it zero.
    if problem.n_outputs > 1:
        T = T - T.mean(axis=1, keepdims=True)
    if exact:
        from minmargin.learners.newton.kernels import minimize_exactly  # noqa: PLC0415 - imports numba

        dense = problem.rows.toarray() if isinstance(problem.rows, sparse.csr_array) else problem.rows
        data = np.ascontiguousarray(dense), problem.codes, problem.weights, problem.penalty
        limits = slope_goal, error_goal, MOST_STEPS, _MOST_HALVINGS, _ROUNDING
        T, slope, steps = minimize_exactly(*data, np.ascontiguousarray(T), *limits)
        return Found(T, slope / scale, steps)
    point, steps, in_float64 = problem.at(T), 0, False
    with np.errstate(over="ignore"):
        rows = problem.rows.astype(np.float32)
    while steps < MOST_STEPS:
        goal = min(slope_goal, error_goal * np.sqrt(np.vdot(problem.penalty * T, T)))
        if point.slope <= goal:
            break
        # Far from the optimum a rough direction is as good as an exact one; near it each step should gain more.
        accuracy = max(min(0.3, 10.0 * np.sqrt(point.slope / scale)), 0.3 * goal / point.slope)
        with np.errstate(over="ignore", invalid="ignore"):
            direction = _newton_direction(rows, problem, point, accuracy)
        step = _descend(problem, T, point, direction)
        if step is not None:
            T, point = step
            steps += 1
        elif in_float64:
            break  # at the optimum as far as float64 can tell
        else:
            rows, in_float64 = problem.rows, True
    return Found(T, point.slope / scale, steps)


def _descend(problem: Problem, T: Floats, point: Point, direction: Floats) -> tuple[Floats, Point] | None:
    """Return the first point at 1, 1/2, 1/4, ... of the direction that is low enough; None if there is none."""
    decline = float(np.vdot(direction, point.gradient))
    if not decline < 0.0:  # features so large that float32 cannot hold their squares
        return None
    noise = _ROUNDING * abs(point.loss)
    length = 1.0
    for _ in range(_MOST_HALVINGS):
        candidate = T + length * direction
        reached = problem.at(candidate)
        gained = point.loss - reached.loss
        if gained > noise and gained >= -1e-4 * length * decline:
            return candidate, reached
        # Near the optimum the loss is flat to the last bit: there only a smaller gradient counts as progress.
        if gained >= -noise and reached.slope < 0.9 * point.slope:
            return candidate, reached
        length *= 0.5
    return None


def _newton_direction(rows: Matrix, problem: Problem, point: Point, accuracy: float) -> Floats:
    """Return Newton's direction by conjugate gradients, in the precision of `rows`."""
    from minmargin.learners.newton.kernels import curve_logits, precondition  # noqa: PLC0415 - imports numba

    kind = rows.dtype
    P, weights = point.probabilities.astype(kind), problem.weights.astype(kind)
    penalty = problem.penalty.astype(kind)
    diagonal = np.asarray(_squares(rows).T @ (weights[:, np.newaxis] * P * (1 - P))) + penalty
    inverse = 1 / np.maximum(diagonal, np.finfo(kind).tiny)
    # Of length one: near the optimum, squares of the gradient itself would leave the range of float32.
    r = (-point.gradient / point.slope).astype(kind)
    d, z = np.zeros_like(r), np.empty_like(r)
    rho = precondition(r, inverse, z)
    v, goal = z.copy(), accuracy**2 * rho
    for _ in range(2 * r.size):
        logits = np.asarray(rows @ v)
        curve_logits(P, weights, logits)
        Hv = np.asarray(rows.T @ logits) + penalty * v
        curvature = np.vdot(v, Hv)
        if not (rho > goal and curvature > 0):
            break
        length = kind.type(rho / curvature)
        d += length * v
        r -= length * Hv
        before, rho = rho, precondition(r, inverse, z)
        v = z + kind.type(rho / before) * v
    return np.asarray(point.slope * d.astype(np.float64))


def _squares(rows: Matrix) -> Matrix:
    return rows.multiply(rows).tocsr() if isinstance(rows, sparse.csr_array) else rows * rows


def _squared_lengths(rows: Matrix) -> Floats:
    if isinstance(rows, sparse.csr_array):
        return np.asarray(_squares(rows).sum(axis=1))
    return np.asarray(np.einsum("iq,iq->i", rows, rows))

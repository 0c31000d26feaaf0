"""Newton's method for one logistic regression: weighted rows, an L2 penalty, one output or one per class.

With few coefficients every step is solved exactly (`exact`). With many it is solved by conjugate gradients. These need
the Hessian only as products with the rows, and its diagonal to begin with. They run in float32, where products take a
third of the time. Loss and gradient are float64, so the next step mends what rounding has spoilt.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.float64]

MOST_STEPS = 200
MOST_HALVINGS = 40
ROUNDING = 1e-13  # a loss that moves by less than this share of itself has stopped moving
_COEFFICIENT_ERROR = 2e-5  # relative, of all coefficients together: the gradient must leave room for no more


class Found(NamedTuple):
    """Where the steps ended: coefficients (q, O), the gradient relative to the one at zero, the number of steps."""

    T: Floats
    gradient: float
    steps: int


class Point(NamedTuple):
    """The loss, its gradient and the probabilities at some coefficients."""

    loss: Floats  # ()
    gradient: Floats  # (q, O)
    slope: Floats  # (): the length of the gradient
    probabilities: Floats  # (m, O)


@dataclass(frozen=True)
class Problem:
    """Minimize, over coefficients T, sum_i weights[i] * loss(codes[i], rows[i] . T) + penalty . T^2 / 2.

    Several problems of one shape may be stacked: then weights and T, and rows where each has its own, begin with an
    axis for them, and so does all that is made of these. No bit of a problem depends on what it is stacked with:
    numpy multiplies stacked matrices one by one, and sums run along single axes.
    """

    rows: Any  # (m, q), dense or CSR
    codes: NDArray[np.intp]  # (m,)
    n_outputs: int
    weights: Floats  # (m,)
    penalty: Floats  # (q, 1)

    @cached_property
    def truth(self) -> Floats:
        """(m, O) the weight of a row at its class, zero elsewhere; a single output is that of the second class."""
        classes = np.arange(self.n_outputs) if self.n_outputs > 1 else np.ones(1, dtype=int)
        return np.asarray(self.weights[..., np.newaxis] * (self.codes[:, np.newaxis] == classes))

    def take(self, which: NDArray[np.bool_]) -> Problem:
        """Return some of several stacked problems."""
        rows = self.rows if self.rows.ndim == 2 else self.rows[which]
        return replace(self, rows=rows, weights=self.weights[which])

    def at(self, T: Floats) -> Point:
        """Return loss, gradient and probabilities at coefficients T (q, O)."""
        logits = np.asarray(self.rows @ T)
        if self.n_outputs == 1:
            ratio = np.exp(-np.abs(logits))
            total = 1.0 + ratio
            losses = np.log(total) + np.maximum(logits, 0.0)
            probabilities = np.where(logits > 0.0, 1.0, ratio) / total
        else:
            highest = logits.max(axis=-1, keepdims=True)
            probabilities = np.exp(logits - highest)
            total = probabilities @ np.ones(
                (self.n_outputs, 1)
            )  # numpy's own sums of a few numbers each are slow
            losses = np.log(total) + highest
            probabilities /= total
        loss = np.vecdot(self.weights, losses[..., 0]) - dot(self.truth, logits)
        residual = self.weights[..., np.newaxis] * probabilities - self.truth
        shrink = self.penalty * T
        gradient = np.asarray(turned(self.rows) @ residual) + shrink
        return Point(loss + 0.5 * dot(shrink, T), gradient, np.sqrt(dot(gradient, gradient)), probabilities)

    def slope_at_zero(self) -> Floats:
        """Return what a gradient is compared with: that at zero, or a share of the most it might have been."""
        flat = self.weights[..., np.newaxis] / max(self.n_outputs, 2) - self.truth
        gradient = np.asarray(turned(self.rows) @ flat)
        most = np.sqrt(self.weights.sum(axis=-1) * np.vecdot(self.weights, _squared_lengths(self.rows)))
        at_zero = np.sqrt(dot(gradient, gradient))
        return np.asarray(np.maximum(np.maximum(at_zero, 1e-3 * most), np.finfo(float).tiny))

    def goal(self, T: Floats, slope_goal: Floats) -> Floats:
        """Return the slope to stop at: `slope_goal`, or less if coefficients may still be off by more than 1e-4.

        A gradient g leaves them no more than |g| / penalty to go, however flat the loss is.
        """
        error_goal = _COEFFICIENT_ERROR * np.sqrt(self.penalty[0, 0])
        return np.asarray(np.minimum(slope_goal, error_goal * np.sqrt(dot(self.penalty * T, T))))


def minimize(problem: Problem, T: Floats, *, tolerance: float) -> Found:
    """Return the optimum, by Newton steps from T: where the gradient is `tolerance` of that at zero, or smaller."""
    scale = problem.slope_at_zero()
    point, steps, in_float64 = problem.at(T), 0, False
    with np.errstate(over="ignore"):
        rows = problem.rows.astype(np.float32)
    while steps < MOST_STEPS:
        goal = problem.goal(T, tolerance * scale)
        if point.slope <= goal:
            break
        # Far from the optimum a rough direction is as good as an exact one; near it each step should gain more.
        accuracy = max(min(0.3, 10.0 * float(np.sqrt(point.slope / scale))), 0.3 * float(goal / point.slope))
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
    return Found(T, float(point.slope / scale), steps)


def _descend(problem: Problem, T: Floats, point: Point, direction: Floats) -> tuple[Floats, Point] | None:
    """Return the first point at 1, 1/2, 1/4, ... of the direction that is low enough; None if there is none."""
    decline = dot(direction, point.gradient)
    if not decline < 0.0:  # features so large that float32 cannot hold their squares
        return None
    length = 1.0
    for _ in range(MOST_HALVINGS):
        candidate = T + length * direction
        reached = problem.at(candidate)
        if is_low_enough(reached, point.loss, point.slope, length * decline):
            return candidate, reached
        length *= 0.5
    return None


def is_low_enough(reached: Point, loss: Floats, slope: Floats, decline: Floats) -> NDArray[np.bool_]:
    """Return whether a step has gained enough on a loss and slope, where a line would have declined by so much."""
    gained, noise = loss - reached.loss, ROUNDING * np.abs(loss)
    # Near the optimum the loss is flat to the last bit: there only a smaller gradient counts as progress.
    return ((gained > noise) & (gained >= -1e-4 * decline)) | (
        (gained >= -noise) & (reached.slope < 0.9 * slope)
    )


def _newton_direction(rows: Any, problem: Problem, point: Point, accuracy: float) -> Floats:
    """Return Newton's direction by conjugate gradients, in the precision of `rows`."""
    kind = rows.dtype
    P, penalty = point.probabilities.astype(kind), problem.penalty.astype(kind)
    weighted = problem.weights.astype(kind)[:, np.newaxis] * P
    diagonal = np.asarray(_squares(rows).T @ (weighted * (1 - P))) + penalty
    inverse = 1 / np.maximum(diagonal, np.finfo(kind).tiny)
    share = inverse / inverse.sum(axis=1, keepdims=True)

    def precondition(r: NDArray[Any]) -> NDArray[Any]:
        # Coefficients of several classes sum to zero, so it is the inverse of the diagonal among such.
        among = r - np.vecdot(r, share)[:, np.newaxis] if problem.n_outputs > 1 else r
        return np.asarray(inverse * among)

    # Of length one: near the optimum, squares of the gradient itself would leave the range of float32.
    r = (-point.gradient / point.slope).astype(kind)
    d, v = np.zeros_like(r), precondition(r)
    rho = np.vdot(r, v)
    goal = accuracy**2 * rho
    for _ in range(2 * r.size):
        # The curvature of the loss, w (diag(p) - p p^T), or w p (1 - p), between two products with the rows.
        logits = np.asarray(rows @ v)
        logits -= np.vecdot(P, logits)[:, np.newaxis]
        logits *= weighted
        Hv = np.asarray(rows.T @ logits)
        Hv += penalty * v
        curvature = np.vdot(v, Hv)
        if not (rho > goal and curvature > 0):
            break
        length = rho / curvature
        d += length * v
        Hv *= length
        r -= Hv
        z = precondition(r)
        before, rho = rho, np.vdot(r, z)
        v *= rho / before
        v += z
    return np.asarray(point.slope * d.astype(np.float64))


def turned(rows: Any) -> Any:
    """Return rows, or each of several stacked ones, with columns first."""
    return rows.T if isinstance(rows, sparse.csr_array) else rows.swapaxes(-1, -2)


def dot(a: Floats, b: Floats) -> Floats:
    """Return () the sum of the products of (q, O) numbers."""
    size = a.shape[-2] * a.shape[-1]
    return np.asarray(np.vecdot(a.reshape(*a.shape[:-2], size), b.reshape(*b.shape[:-2], size)))


def _squares(rows: Any) -> Any:
    return rows.multiply(rows).tocsr() if isinstance(rows, sparse.csr_array) else rows * rows


def _squared_lengths(rows: Any) -> Floats:
    return np.asarray(_squares(rows).sum(axis=-1))

"""Newton's method for one logistic regression: weighted rows, an L2 penalty, one output or one per class.

With few coefficients every step is solved exactly, with the whole Hessian. A small model is made of a few hundred calls
of numpy, each of which takes longer to begin than to finish. So problems of one shape are stacked (see `Problem`), and
take their steps side by side until each has arrived. Large ones are compiled (`kernels`). With many coefficients steps
are solved by conjugate gradients (`conjugate`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import lapack

from minmargin.properties import cached_property

Floats = NDArray[np.float64]

MOST_STEPS = 200
MOST_HALVINGS = 40
LEAST_AT_ZERO = (
    1e-3  # of the longest gradient that there might have been: what a gradient at zero is taken for
)
ROUNDING = 1e-13  # a loss that moves by less than this share of itself has stopped moving
# Relative, of all coefficients together: a gradient must leave room for no more than so many times its own tolerance.
_ERROR_FOR_GRADIENT, _LEAST_ERROR = 100.0, 2e-5
_GAINING = 0.1  # a step gains much if it makes the gradient this much smaller
_SMALLEST_PIVOT = 1e-8


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

    Several problems of one shape may be stacked: then weights, penalty and T, and rows where each has its own, begin
    with an axis for them, and so does all that is made of these. No bit of a problem depends on what it is stacked
    with: numpy multiplies stacked matrices one by one, and sums run along single axes.
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
        return replace(self, rows=rows, weights=self.weights[which], penalty=self.penalty[which])

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
        return np.asarray(np.maximum(np.maximum(at_zero, LEAST_AT_ZERO * most), np.finfo(float).tiny))

    def goal(self, T: Floats, slope_goal: Floats, error: float) -> Floats:
        """Return the slope to stop at: `slope_goal`, or less if coefficients may still be off by more than `error`.

        A gradient g leaves them no more than |g| / penalty to go, however flat the loss is.
        """
        error_goal = error * np.sqrt(self.penalty[..., 0, 0])
        return np.asarray(np.minimum(slope_goal, error_goal * np.sqrt(dot(self.penalty * T, T))))


def coefficient_error(tolerance: float) -> float:
    """Return by how much coefficients may be off, relative to all of them, where gradients may by `tolerance`."""
    return max(_ERROR_FOR_GRADIENT * tolerance, _LEAST_ERROR)


def minimize_exactly(problems: Problem, T: Floats, *, tolerance: float) -> list[Found]:
    """Return the optimum of each of G stacked problems, by Newton steps from T (G, q, O)."""
    found: dict[int, Found] = {}
    scale, error = problems.slope_at_zero(), coefficient_error(tolerance)
    nothing_yet = np.zeros(len(T)), np.empty((len(T), T[0].size)), [np.empty(0)] * len(T)
    stack = _Stack(np.arange(len(T)), problems, T, problems.at(T), tolerance * scale, *nothing_yet)

    def part_with(stack: _Stack, done: NDArray[np.bool_], n_steps: int) -> _Stack:
        for place in np.flatnonzero(done):
            number = int(stack.numbers[place])
            slope = stack.at.slope[place] / scale[number]
            found[number] = Found(stack.T[place], float(slope), n_steps)
        return stack.take(~done) if done.any() else stack

    for n_steps in range(MOST_STEPS):
        stack = part_with(stack, stack.at.slope <= stack.problems.goal(stack.T, stack.goals, error), n_steps)
        if not len(stack.T):
            break
        T, at, low = stack.descend(stack.directions())
        stack = part_with(stack, ~low, n_steps)  # at the optimum as far as float64 can tell
        if not low.all():
            T, at = T[low], Point(*(each[low] for each in at))
        stack = stack._replace(T=T, at=at, slope_before=stack.at.slope)
    part_with(stack, np.ones(len(stack.T), dtype=bool), MOST_STEPS)
    return [found[number] for number in range(len(found))]


class _Stack(NamedTuple):
    """Problems on their way, with an axis for them first in all that they have.

    Attributes:
        numbers: which of all problems these are.
        problems: what they are.
        T: (G, q, O) where they are.
        at: what is known of that.
        goals: (G,) the slope to stop at.
        slope_before: (G,) that of the step before.
        units: (G, O*q) of the last Hessian of each that was factored, and
        factors: these factors; see `_factored`.
    """

    numbers: NDArray[np.intp]
    problems: Problem
    T: Floats
    at: Point
    goals: Floats
    slope_before: Floats
    units: Floats
    factors: list[Floats]

    def take(self, which: NDArray[np.bool_]) -> _Stack:
        """Return the stack of some of these problems."""
        return _Stack(
            self.numbers[which],
            self.problems.take(which),
            self.T[which],
            Point(*(each[which] for each in self.at)),
            self.goals[which],
            self.slope_before[which],
            self.units[which],
            [each for each, taken in zip(self.factors, which, strict=True) if taken],
        )

    def directions(self) -> Floats:
        """Return (G, q, O) where Newton's method goes."""
        # As long as each step gains much, an earlier Hessian will do: it costs more than a few steps.
        stale = self.at.slope > _GAINING * self.slope_before
        if stale.any():
            problems, P = self.problems, self.at.probabilities
            if not stale.all():
                problems, P = problems.take(stale), P[stale]
            units, factors = _factored(_hessians(problems, P))
            self.units[stale] = units
            for place, factor in zip(np.flatnonzero(stale).tolist(), factors, strict=True):
                self.factors[place] = factor
        n_stacked, q, n_outputs = self.T.shape
        solved = self.units * self.at.gradient.swapaxes(1, 2).reshape(n_stacked, -1)
        for place, L in enumerate(self.factors):
            solved[place] = lapack.dpotrs(L, solved[place], lower=1)[0]
        solved *= self.units
        direction = -solved.reshape(n_stacked, n_outputs, q).swapaxes(1, 2)
        # What all outputs share is chance where nothing decides it, and zero at the optimum where the penalty does.
        return direction - direction.mean(axis=2, keepdims=True) if n_outputs > 1 else direction

    def descend(self, direction: Floats) -> tuple[Floats, Point, NDArray[np.bool_]]:
        """Return where 1, 1/2, 1/4, ... of the direction leads, the first that is low enough, and whether one is."""
        decline = dot(direction, self.at.gradient)
        length = np.ones(len(decline))
        for _ in range(MOST_HALVINGS):
            T = self.T + length[:, np.newaxis, np.newaxis] * direction
            reached = self.problems.at(T)
            low = is_low_enough(reached, self.at.loss, self.at.slope, length * decline)
            if low.all():
                break
            length[~low] *= 0.5
        return T, reached, low


def _hessians(problems: Problem, P: Floats) -> Floats:
    """Return (G, O*q, O*q). Block a, b of each is X^T diag(w p_a (1{a=b} - p_b)) X."""
    rows, weights = problems.rows, problems.weights[..., np.newaxis]
    n_stacked, m, n_outputs = P.shape
    size = n_outputs * rows.shape[-1]
    curvature = weights * P * (1.0 - P)
    if n_outputs == 1:
        H = turned(rows) @ (curvature * rows)
    else:
        shares = (np.sqrt(weights) * P)[..., np.newaxis] * rows[..., np.newaxis, :]
        shares = shares.reshape(n_stacked, m, size)
        H = turned(shares) @ shares
        np.negative(H, out=H)
        blocks = H.reshape(n_stacked, n_outputs, size // n_outputs, n_outputs, size // n_outputs)
        own = rows[..., np.newaxis, :, :]
        np.einsum("gaiaj->gaij", blocks)[:] = turned(own) @ (turned(curvature)[..., np.newaxis] * own)
    H.reshape(n_stacked, -1)[:, :: size + 1] += np.tile(problems.penalty[..., 0], n_outputs)
    return np.asarray(H)


def _factored(hessians: Floats) -> tuple[Floats, list[Floats]]:
    """Return units (G, O*q) and a factor L of each Hessian: L L^T = H * unit * unit^T.

    The diagonal is scaled to ones, so that the units of features do not matter, and nudged until H can be factored:
    a constant that all outputs share changes no probability, and collinear columns leave H positive only in theory.
    """
    n_stacked, size, _ = hessians.shape
    diagonals = hessians.reshape(n_stacked, -1)[:, :: size + 1]
    units = 1.0 / np.sqrt(np.maximum(diagonals, np.finfo(np.float64).tiny))
    hessians *= units[:, :, np.newaxis]
    hessians *= units[:, np.newaxis, :]
    return units, [_factor(H) for H in hessians]


def _factor(H: Floats) -> Floats:
    for nudge in (1e-13, 1e-11, 1e-9, 1e-7, 1e-5, 1e-3, 1e-1, 1e1):
        H.reshape(-1)[:: len(H) + 1] = 1.0 + nudge
        L, failed = lapack.dpotrf(H.T, lower=1, clean=0)
        if not failed and L.diagonal().min() > _SMALLEST_PIVOT:
            return np.asarray(L)
    return np.eye(len(H))  # features so large that their squares are not numbers


def minimize_compiled(problem: Problem, T: Floats, *, tolerance: float) -> list[Found]:
    """Return what `minimize_exactly` does of a stack of one, in less time where there are many rows."""
    from minmargin.learners.newton.kernels import minimize_one  # noqa: PLC0415 - imports numba

    scale = float(problem.slope_at_zero()[0])
    rows = problem.rows if problem.rows.ndim == 2 else problem.rows[0]
    error_goal = coefficient_error(tolerance) * float(np.sqrt(problem.penalty[0, 0, 0]))
    T, slope, n_steps = minimize_one(
        np.ascontiguousarray(rows),
        problem.codes,
        problem.weights[0],
        problem.penalty[0],
        np.ascontiguousarray(T[0]),
        tolerance * scale,
        error_goal,
        MOST_STEPS,
        MOST_HALVINGS,
        ROUNDING,
    )
    return [Found(T, slope / scale, n_steps)]


def is_low_enough(reached: Point, loss: Floats, slope: Floats, decline: Floats) -> NDArray[np.bool_]:
    """Return whether a step has gained enough on a loss and slope, where a line would have declined by so much."""
    gained, noise = loss - reached.loss, ROUNDING * np.abs(loss)
    # Near the optimum the loss is flat to the last bit: there only a smaller gradient counts as progress.
    return ((gained > noise) & (gained >= -1e-4 * decline)) | (
        (gained >= -noise) & (reached.slope < 0.9 * slope)
    )


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
    if isinstance(rows, sparse.csr_array):
        return np.asarray(_squares(rows).sum(axis=-1))
    return np.asarray(np.vecdot(rows, rows))

"""Newton's method with the whole Hessian, for logistic regressions of few coefficients, several at a time.

A small model is made of a few hundred calls of numpy, each of which takes longer to begin than to finish. So problems
of one shape are stacked (see `steps.Problem`), and take their steps side by side until each has arrived.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from minmargin.learners.newton import steps
from minmargin.learners.newton.steps import Floats, Found, Point, Problem, dot, is_low_enough, turned

_GAINING = 0.1  # a step gains much if it makes the gradient this much smaller
_SMALLEST_PIVOT = 1e-8


def minimize_exactly(problems: Problem, T: Floats, *, tolerance: float) -> list[Found]:
    """Return the optimum of each of G stacked problems, by Newton steps from T (G, q, O)."""
    found: dict[int, Found] = {}
    scale = problems.slope_at_zero()
    nothing_yet = np.zeros(len(T)), np.empty((len(T), T[0].size)), [np.empty(0)] * len(T)
    stack = _Stack(np.arange(len(T)), problems, T, problems.at(T), tolerance * scale, *nothing_yet)

    def part_with(stack: _Stack, done: NDArray[np.bool_], n_steps: int) -> _Stack:
        for place in np.flatnonzero(done):
            number = int(stack.numbers[place])
            slope = stack.at.slope[place] / scale[number]
            found[number] = Found(stack.T[place], float(slope), n_steps)
        return stack.take(~done) if done.any() else stack

    for n_steps in range(steps.MOST_STEPS):
        stack = part_with(stack, stack.at.slope <= stack.problems.goal(stack.T, stack.goals), n_steps)
        if not len(stack.T):
            break
        T, at, low = stack.descend(stack.directions())
        stack = part_with(stack, ~low, n_steps)  # at the optimum as far as float64 can tell
        if not low.all():
            T, at = T[low], Point(*(each[low] for each in at))
        stack = stack._replace(T=T, at=at, slope_before=stack.at.slope)
    part_with(stack, np.ones(len(stack.T), dtype=bool), steps.MOST_STEPS)
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
        for _ in range(steps.MOST_HALVINGS):
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
    H.reshape(n_stacked, -1)[:, :: size + 1] += np.tile(problems.penalty[:, 0], n_outputs)
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

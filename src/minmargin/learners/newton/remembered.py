"""Steps that remember: the last few steps and what they did to the gradient stand in for the Hessian (L-BFGS).

Nocedal & Wright, Numerical Optimization, algorithm 7.4, on top of the diagonal of the Hessian. The logits change along
a direction as it does, so that the best length of a step is found without a product with the rows.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from minmargin.learners.newton.conjugate import mean_product
from minmargin.learners.newton.points import Objective, Point, Preconditioner, Rows
from minmargin.learners.newton.steps import Floats

_REMEMBERED = 10
_RENEWED_EVERY = 10  # steps: the diagonal
# The gradient of so many steps ago must be ten times as long, or steps that remember lead nowhere.
_PATIENCE, _GAINING = 50, 0.1
_RECENT = 5  # steps, by which the rest of the way is told
_FURTHEST = 4.0  # by how much a step may move logits, in the mean over rows as far as they are in doubt
_FLAT, _MOST_TRIES = 0.1, 8  # a length is good if the loss is so much flatter there


class _Step(NamedTuple):
    """A step, and how it changed the gradient."""

    s: NDArray[Any]
    y: NDArray[Any]
    product: float


def walk(
    objective: Objective, point: Point, rows: Rows, is_over: Callable[[Point, float], bool], *, most: int
) -> tuple[Point, float, int]:
    """Return where steps that remember lead, how far the coefficients have still to go, and the number of steps.

    Args:
        objective: what is minimized.
        point: where to begin.
        rows: its rows.
        is_over: whether to stop at a point from which coefficients have so far to go.
        most: how many steps may be taken.
    """
    memory: deque[_Step] = deque(maxlen=_REMEMBERED)
    slopes, left = [point.slope], np.inf
    moves: list[float] = []
    while len(moves) < most and np.isfinite(point.loss) and not is_over(point, left):
        if len(moves) >= _PATIENCE and slopes[-1] > _GAINING * slopes[-1 - _PATIENCE]:
            break
        if len(moves) % _RENEWED_EVERY == 0:
            precondition = objective.preconditioner(point, rows)
            doubts = objective.doubts(point.logits)
        gradient = point.gradient.astype(rows.dtype)
        d = -_times_inverse(gradient, memory, precondition)
        after = _descend(objective, point, d, rows, doubts)
        if not after.loss < point.loss:
            break
        s, y = (after.T - point.T).astype(rows.dtype), after.gradient.astype(rows.dtype) - gradient
        product = float(np.vdot(s, y))
        if product > 0.0:  # in theory always
            memory.append(_Step(s, y, product))
        point = after
        moves.append(float(np.linalg.norm(s)))
        slopes.append(point.slope)
        left = _still_to_go(slopes, moves)
    return point, left, len(moves)


def _still_to_go(slopes: list[float], moves: list[float]) -> float:
    """Return the sum of the steps to come, if these shrink as gradients have done."""
    if len(moves) < _RECENT:
        return np.inf
    rate = (slopes[-1] / slopes[-1 - _RECENT]) ** (1.0 / _RECENT)
    return max(moves[-_RECENT:]) / (1.0 - rate) if rate < 1.0 else np.inf


def _times_inverse(
    gradient: NDArray[Any], memory: deque[_Step], precondition: Preconditioner
) -> NDArray[Any]:
    """Return (O, q): what the memory takes for the inverse of the Hessian, times the gradient."""
    q, shares = gradient.copy(), []
    for step in reversed(memory):
        shares.append(float(np.vdot(step.s, q)) / step.product)
        q -= shares[-1] * step.y
    q = precondition(q)
    for step in memory:
        q += (shares.pop() - float(np.vdot(step.y, q)) / step.product) * step.s
    return q


def _descend(objective: Objective, point: Point, d: NDArray[Any], rows: Rows, doubts: Floats) -> Point:
    """Return the best point along a direction, found by Newton's method between bounds."""
    logits = rows.logits(d).astype(np.float64)
    size = mean_product(doubts, logits, logits) ** 0.5
    at_zero = float(np.vdot(point.gradient, d))
    mixed, squared = (float(np.vdot(objective.penalty * each, d)) for each in (point.T, d))
    low, high = 0.0, _FURTHEST / max(size, np.finfo(float).tiny)
    share = min(1.0, high)
    for _ in range(_MOST_TRIES):
        reached = point.logits + share * logits
        loss, P = objective.loss_of(reached)
        slope, curvature = objective.along(P, logits)
        slope += mixed + share * squared
        tried = share
        if abs(slope) <= _FLAT * abs(at_zero) or (share == high and slope < 0.0):
            break
        low, high = (share, high) if slope < 0.0 else (low, share)
        share -= slope / (curvature + squared)
        if not low < share <= high:
            share = 0.5 * (low + high)
    return objective.gather(point.T + tried * d, rows, reached, loss, P)

"""The optimum of a logistic regression of many coefficients, whatever the units of its columns are.

Where rows are wide, steps that remember (`remembered`) come first. They cost two products with the rows each, and on
most rows they lead all the way. Where they come to a halt, Newton's steps (`conjugate`) go on. Those take more
products, and lead on where rows are badly scaled, or where the penalty is so weak that probabilities come near 0 and 1.
Three things keep them safe:

- A step ends where it has moved the logits by more than a radius, in the mean over rows. Beyond a few units the
  curvature says nothing, whatever the units of the columns are. The radius follows how well steps were foretold.
- The logits of a direction are at hand when it is found, so that the loss along it costs no product. If a whole step
  is too long, half of it is tried, and so on.
- Most products are made in float32, which takes half the time. What float32 cannot tell is done in float64: first
  losses and gradients, then directions too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from minmargin.learners.newton.conjugate import Direction, find_direction
from minmargin.learners.newton.points import Objective, Point, Rows
from minmargin.learners.newton.remembered import walk
from minmargin.learners.newton.steps import (
    MOST_HALVINGS,
    ROUNDING,
    Floats,
    Found,
    Problem,
    coefficient_error,
)

# Rows of fewer entries than this are multiplied so fast that steps that remember, which look more often at losses, take
# longer than Newton's.
_WIDE = 300
_MOST_STEPS = 600
_FIRST_RADIUS, _LEAST_RADIUS = 4.0, 1e-3
_ROUGHEST, _FINER = (
    0.3,
    0.97,
)  # what conjugate gradients may leave at first, and how much less with every step
_WIDER, _WELL_FORETOLD, _BADLY_FORETOLD = 3.0, 0.75, 0.25
# A loss whose products are made in float32 that moves by less than this share of itself may not move at all.
_ROUNDING32 = 1e-6
_LEAST_SLOPE32, _LEAST_CURVED32 = 1e-6, 1e-4
_ROUGH_GRADIENT = 1e-5  # of the longest that there might have been: far above what float32 leaves of it


class Stage(NamedTuple):
    """With which rows directions are found, and with which rows losses and gradients are."""

    directions: Rows
    points: Rows

    @property
    def noise(self) -> float:
        """The share of a loss that may be rounding."""
        return ROUNDING if self.points.dtype == np.float64 else _ROUNDING32

    def is_too_rough(self, objective: Objective, point: Point, scale: float) -> bool:
        """Return whether float32 has nothing to tell of a point.

        Its gradient is then made of rounding, or so are its curvatures, because nearly all rows are sure.
        """
        if self.points.dtype == np.float32 and point.slope <= _LEAST_SLOPE32 * scale:
            return True
        return self.directions.dtype == np.float32 and objective.curved(point) < _LEAST_CURVED32


def minimize(problem: Problem, T: Floats, *, tolerance: float) -> list[Found]:
    """Return the optimum, from T (q, O): where the gradient is `tolerance` of that at zero, or smaller.

    What is left of it may move the coefficients by no more than `coefficient_error` allows.
    """
    objective = Objective(problem)
    with np.errstate(over="ignore"):
        rough, exact = Rows(problem.rows.astype(np.float32)), Rows(problem.rows)
        scale, most = objective.scale(rough)
        if not np.isfinite(most) or most == 0.0:
            scale, most = objective.scale(exact)
    stages = [Stage(rough, rough), Stage(rough, exact), Stage(exact, exact)]
    stage, goal, error = stages.pop(0), tolerance * scale, coefficient_error(tolerance)
    strongest = float(problem.penalty[0, 0])
    # Whether a gradient that is short enough in float32 is so in float64.
    rough_will_do = goal >= _ROUGH_GRADIENT * most

    def is_there(point: Point, left: float) -> bool:
        length = float(np.sqrt(np.vdot(objective.penalty * point.T, point.T) / strongest))
        # A gradient g leaves coefficients no more than |g| / penalty to go, and much less where the loss is curved.
        return point.slope <= goal and min(left, point.slope / strongest) <= error * length

    def is_over(point: Point, left: float) -> bool:
        return stage.is_too_rough(objective, point, scale) or is_there(point, left)

    point = objective.at(np.ascontiguousarray(T.T), stage.points)
    radius, left, steps = _FIRST_RADIUS, np.inf, 0
    if rough.entries_per_row >= _WIDE:
        point, left, steps = walk(objective, point, rough, is_over, most=_MOST_STEPS // 2)
    while steps < _MOST_STEPS or stage.points is not exact:
        reached = None
        if not (is_over(point, left) or steps >= _MOST_STEPS):
            # Where many steps did not arrive, rough directions are to blame.
            roughest = max(_ROUGHEST * _FINER**steps, 0.01)
            direction = find_direction(
                objective, point, stage.directions, radius, goal=goal, scale=scale, roughest=roughest
            )
            reached = descend(objective, point, direction, stage)
        if reached is None:  # there, or as far as this precision leads
            if not stages or ((stage.points is exact or rough_will_do) and is_there(point, left)):
                break
            stage, radius = stages.pop(0), max(radius, 1.0)
            point = objective.at(point.T, stage.points)
            continue
        share, after = reached
        gained = point.loss - after.loss
        if share < 1.0 or gained < _BADLY_FORETOLD * direction.foretold:
            radius = max(0.5 * direction.size if share == 1.0 else share * direction.size, _LEAST_RADIUS)
        elif direction.cut and gained > _WELL_FORETOLD * direction.foretold:
            radius *= _WIDER
        # After a whole step, what is left of the way is what conjugate gradients left of it, and what the curvature
        # changed on it.
        moved = float(np.linalg.norm(direction.d))
        whole = share == 1.0 and not direction.cut
        left = (direction.accuracy + direction.bend) * moved if whole else np.inf
        point, steps = after, steps + 1
    return [Found(np.ascontiguousarray(point.T.T), point.slope / scale, steps)]


def descend(
    objective: Objective, point: Point, direction: Direction, stage: Stage
) -> tuple[float, Point] | None:
    """Return the first of 1, 1/2, 1/4, ... of the direction that gains enough, and what is there; None if none does."""
    if not direction.decline < 0.0:  # features so large that float32 cannot hold their squares
        return None
    noise = stage.noise * abs(point.loss)
    if direction.foretold <= noise:
        # The loss is flat to the last bit: only a smaller gradient counts as progress.
        after = objective.at(point.T + direction.d, stage.points)
        return (1.0, after) if after.loss <= point.loss + noise and after.slope < 0.9 * point.slope else None
    shrink, linear = objective.penalty * direction.d, objective.penalty * point.T
    squared, mixed, own = (
        float(np.vdot(one, other))
        for one, other in ((shrink, direction.d), (linear, direction.d), (linear, point.T))
    )
    share = 1.0
    for _ in range(MOST_HALVINGS):
        logits = point.logits + share * direction.logits
        loss = objective.loss_of(logits)[0] + 0.5 * own + share * mixed + 0.5 * share**2 * squared
        gained = point.loss - loss
        if gained > noise and gained >= -1e-4 * share * direction.decline:
            # In float64 logits are made anew: they may tell that nothing was gained.
            rough = stage.points.dtype == np.float32
            after = objective.at(point.T + share * direction.d, stage.points, logits if rough else None)
            return (share, after) if after.loss < point.loss else None
        share *= 0.5
    return None

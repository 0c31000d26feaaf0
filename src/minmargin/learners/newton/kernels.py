"""Newton's method for one logistic regression of few coefficients and many rows, compiled: `steps` in fewer passes.

Importing this module imports numba, so it is imported only where such a model is about to be trained.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from minmargin.compute.compiled import compiled

_GAINING = 0.1  # a step gains much if it makes the gradient this much smaller

# Sums may be made in any order: training promises the same bits on one machine only.
_compiled = functools.partial(compiled, fastmath=frozenset({"reassoc", "contract"}))


@_compiled
def weigh_losses(logits, codes, weights, residual):  # type: ignore[no-untyped-def]
    """Return the weighted sum of losses; logits (m, O) become probabilities, and residual these less the truth.

    Residuals are weighted too. A single output is that of the second class; the first then has the logit zero.
    """
    m, n_outputs = logits.shape
    loss = 0.0
    if n_outputs == 1:
        for i in range(m):
            z = logits[i, 0]
            small = math.exp(-abs(z))
            loss += weights[i] * (math.log(1.0 + small) + max(z, 0.0) - codes[i] * z)
            logits[i, 0] = (1.0 if z > 0.0 else small) / (1.0 + small)
            residual[i, 0] = weights[i] * (logits[i, 0] - codes[i])
        return loss
    for i in range(m):
        highest = logits[i].max()
        loss += weights[i] * (highest - logits[i, codes[i]])
        normalizer = 0.0
        for o in range(n_outputs):
            logits[i, o] = math.exp(logits[i, o] - highest)
            normalizer += logits[i, o]
        loss += weights[i] * math.log(normalizer)
        for o in range(n_outputs):
            logits[i, o] /= normalizer
            residual[i, o] = weights[i] * (logits[i, o] - (o == codes[i]))
    return loss


@_compiled
def minimize_one(  # type: ignore[no-untyped-def]
    rows, codes, weights, penalty, T, slope_goal, error_goal, most_steps, most_halvings, rounding
):
    """Return coefficients (q, O), the length of the gradient there, and the number of steps.

    This is `steps.minimize_exactly` for one problem.
    """
    loss, gradient, probabilities = _evaluate(rows, codes, weights, penalty, T)
    slope = math.sqrt((gradient**2).sum())
    slope_before = 0.0
    for step in range(most_steps):
        if slope <= min(slope_goal, error_goal * math.sqrt((penalty * T**2).sum())):
            return T, slope, step
        # As long as each step gains much, an earlier Hessian will do: it costs more than a few steps.
        if slope > _GAINING * slope_before:
            L, unit = _factor(_hessian(rows, weights, penalty, probabilities))
        direction = -_solve(L, unit, gradient)
        decline = (direction * gradient).sum()
        length = 1.0
        for _ in range(most_halvings):
            candidate = T + length * direction
            reached, reached_gradient, probabilities = _evaluate(rows, codes, weights, penalty, candidate)
            reached_slope = math.sqrt((reached_gradient**2).sum())
            gained, noise = loss - reached, rounding * abs(loss)
            if gained > noise and gained >= -1e-4 * length * decline:
                break
            # Near the optimum the loss is flat to the last bit: there only a smaller gradient counts as progress.
            if gained >= -noise and reached_slope < 0.9 * slope:
                break
            length *= 0.5
        else:
            return T, slope, step  # at the optimum as far as float64 can tell
        T, loss, gradient = candidate, reached, reached_gradient
        slope_before, slope = slope, reached_slope
    return T, slope, most_steps


@_compiled
def _evaluate(rows, codes, weights, penalty, T):  # type: ignore[no-untyped-def]
    """Return the loss, the gradient (q, O) and the probabilities (m, O) at T (q, O)."""
    probabilities = np.dot(rows, T)
    residual = np.empty_like(probabilities)
    loss = weigh_losses(probabilities, codes, weights, residual)
    shrink = penalty * T
    return loss + 0.5 * (shrink * T).sum(), np.dot(rows.T, residual) + shrink, probabilities


@_compiled
def _hessian(rows, weights, penalty, probabilities):  # type: ignore[no-untyped-def]
    """Return (O*q, O*q): the lower triangle. Block a, b is X^T diag(w p_a (1{a=b} - p_b)) X."""
    m, q = rows.shape
    n_outputs = probabilities.shape[1]
    H = np.empty((n_outputs * q, n_outputs * q))
    scaled = np.empty_like(rows)
    for a in range(n_outputs):
        for b in range(a + 1):
            for i in range(m):
                curvature = weights[i] * probabilities[i, a] * ((a == b) - probabilities[i, b])
                for j in range(q):
                    scaled[i, j] = curvature * rows[i, j]
            H[a * q : (a + 1) * q, b * q : (b + 1) * q] = np.dot(rows.T, scaled)
        for j in range(q):
            H[a * q + j, a * q + j] += penalty[j, 0]
    return H


@_compiled
def _factor(H):  # type: ignore[no-untyped-def]
    """Return L and unit with L L^T = H * unit * unit^T, of a symmetric H of which only the lower triangle is read.

    The diagonal is scaled to ones, so that the units of features do not matter, and nudged until H can be factored:
    a constant that all outputs share changes no probability, and collinear columns leave H positive only in theory.
    """
    unit = 1.0 / np.sqrt(np.maximum(np.diag(H), np.finfo(np.float64).tiny))
    L = np.empty_like(H)
    nudge = 1e-13
    i = 0
    while i < len(H):
        for j in range(i + 1):
            total = H[i, j] * unit[i] * unit[j] if i > j else 1.0 + nudge
            for k in range(j):
                total -= L[i, k] * L[j, k]
            L[i, j] = total / L[j, j] if i > j else math.sqrt(max(total, 0.0))
        if L[i, i] > 1e-8:
            i += 1
        elif nudge < 1.0:
            i, nudge = 0, 100.0 * nudge
        else:  # numbers beyond float64: no direction comes of them, and the steps end
            L[:] = np.nan
            return L, unit
    return L, unit


@_compiled
def _solve(L, unit, gradient):  # type: ignore[no-untyped-def]
    """Return (q, O): the inverse of the factored H times the gradient."""
    size, n_outputs = len(L), gradient.shape[1]
    x = unit * np.ascontiguousarray(gradient.T).ravel()
    for i in range(size):
        for k in range(i):
            x[i] -= L[i, k] * x[k]
        x[i] /= L[i, i]
    for i in range(size - 1, -1, -1):
        x[i] /= L[i, i]
        for k in range(i):
            x[k] -= L[i, k] * x[i]
    solved = np.ascontiguousarray((unit * x).reshape(n_outputs, -1).T)
    # What all outputs share is chance where nothing decides it, and zero at the optimum where the penalty does.
    return solved - solved.sum(axis=1).reshape(-1, 1) / n_outputs if n_outputs > 1 else solved

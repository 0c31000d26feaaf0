"""Logistic regressions trained together: K weightings of the same rows, one matrix product a step.

Each member k minimizes, over coefficients T[:, k] with one column per output,

    sum_i weights[k, i] * loss(y_i, x_i . T[:, k]) + penalty . T[:, k]^2 / 2

which is scikit-learn's objective with `penalty` = 1/C on every coefficient and 0 on the intercept. The rows, the
labels and the features are the same for all members, so the logits of all of them are one product X @ T, and
gradients and curvature are one product with X transposed. All members take Newton steps together, each with its own
line search, until each is at its own optimum. A step is found by conjugate gradients, which need curvature only as
products; they start out from one factored matrix that is near the Hessian of every member, because the members differ
in little but how often they count each row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from minmargin.rows import Matrix

Floats = NDArray[np.float64]
Preconditioner: TypeAlias = Callable[[Floats], Floats]

_MOST_STEPS = 200
_MOST_HALVINGS = 40
_FULL_HESSIAN = 160  # coefficients of a member up to which its whole Hessian is factored
_SHARED_BLOCK = 120  # columns up to which one block, shared by the outputs, is factored
_ROUNDING = 1e-13  # a loss that moves by less than this share of itself has stopped moving


class Optimum(NamedTuple):
    """What training found.

    Attributes:
        coefficients: (D, K, O) with O outputs: one per class, or a single one for two classes.
        intercepts: (K, O).
        gradient: (K,) the largest entry of each member's gradient, relative to its gradient at zero.
        steps: (K,) how many Newton steps each member took.
    """

    coefficients: Floats
    intercepts: Floats
    gradient: Floats
    steps: NDArray[np.int64]


def fit_together(
    X: Matrix,
    codes: NDArray[np.intp],
    n_classes: int,
    weights: Floats,
    *,
    C: float = 1.0,
    fit_intercept: bool = True,
    start: Optimum | None = None,
    tolerance: float = 1e-9,
) -> Optimum:
    """Return the optimum of every member.

    Args:
        X: (n, D) rows, dense float64 or CSR.
        codes: (n,) classes as 0..n_classes-1.
        n_classes: how many classes there are.
        weights: (K, n) each member's weights of the rows.
        C: the inverse strength of the L2 penalty.
        fit_intercept: whether logits have a free constant.
        start: an optimum of one member to start all others from.
        tolerance: the largest gradient entry to stop at, relative to the gradient at zero.
    """
    space = _Space.of(X, fit_intercept=fit_intercept)
    problem = _Problem(space.rows, codes, 1 if n_classes == 2 else n_classes, weights, space.penalty(1.0 / C))
    T = problem.zeros()
    if start is not None:
        T += space.enter(start)
    scale = problem.gradient_scale()
    steps = np.zeros(len(weights), dtype=np.int64)
    point = problem.at(T)
    precondition = _make_preconditioner(problem, point)
    active = np.arange(len(weights))
    for _ in range(_MOST_STEPS):
        unfinished = np.abs(point.gradient).max(axis=(0, 2)) > tolerance * scale[active]
        if not unfinished.any():
            break
        active = active[unfinished]
        part = problem.of(active)
        moved, T[:, active], reached = _step(part, T[:, active], point.of(unfinished), precondition)
        steps[active] += 1
        # A member that cannot lower its loss any more is at its optimum as far as float64 can tell.
        active, point = active[moved], reached.of(moved)
        if not len(active):
            break
    final = np.abs(problem.at(T).gradient).max(axis=(0, 2)) / scale
    coefficients, intercepts = space.leave(T)
    return Optimum(coefficients, intercepts, final, steps)


@dataclass(frozen=True)
class _Space:
    """The space that training works in: rows with a constant appended, turned so that there are few columns.

    The optimum of an L2 penalty is a combination of the rows. With fewer rows than features, coordinates in the
    span of the rows are fewer, and the members share them.
    """

    rows: Matrix
    basis: Floats | None
    fit_intercept: bool

    @classmethod
    def of(cls, X: Matrix, *, fit_intercept: bool) -> _Space:
        basis: Floats | None = None
        if isinstance(X, np.ndarray) and X.shape[0] < X.shape[1]:
            turned, triangle = linalg.qr(X.T, mode="economic", check_finite=False)
            basis, X = np.asarray(turned, dtype=np.float64), np.ascontiguousarray(triangle.T)
        if fit_intercept:
            ones = np.ones((X.shape[0], 1))
            if isinstance(X, sparse.csr_array):
                X = sparse.csr_array(sparse.hstack([X, sparse.csr_array(ones)], format="csr"))
            else:
                X = np.hstack([X, ones])
        return cls(X, basis, fit_intercept)

    def penalty(self, strength: float) -> Floats:
        penalty = np.full(self.rows.shape[1], strength)
        if self.fit_intercept:
            penalty[-1] = 0.0
        return penalty

    def enter(self, start: Optimum) -> Floats:
        coefficients = start.coefficients[:, 0]
        if self.basis is not None:
            coefficients = self.basis.T @ coefficients
        parts = [coefficients, start.intercepts[:1]] if self.fit_intercept else [coefficients]
        return np.concatenate(parts)[:, np.newaxis]

    def leave(self, T: Floats) -> tuple[Floats, Floats]:
        n_members, n_outputs = T.shape[1:]
        intercepts = np.zeros((n_members, n_outputs))
        if self.fit_intercept:
            T, intercepts = T[:-1], T[-1]
        if self.basis is not None:
            T = (self.basis @ T.reshape(len(T), -1)).reshape(-1, n_members, n_outputs)
        # A constant added to all classes changes nothing: take the one that makes them sum to zero.
        if n_outputs > 1:
            intercepts = intercepts - intercepts.mean(axis=1, keepdims=True)
        return np.ascontiguousarray(T), np.ascontiguousarray(intercepts)


@dataclass(frozen=True)
class _Point:
    """The members' losses, gradients and probabilities at some coefficients."""

    loss: Floats  # (K,)
    gradient: Floats  # (p, K, O)
    probabilities: Floats  # (n, K, O)

    def of(self, members: NDArray[Any]) -> _Point:
        return _Point(self.loss[members], self.gradient[:, members], self.probabilities[:, members])


@dataclass(frozen=True)
class _Problem:
    rows: Matrix  # (n, p)
    codes: NDArray[np.intp]
    n_outputs: int
    weights: Floats  # (K, n)
    penalty: Floats  # (p,)

    def of(self, members: NDArray[Any]) -> _Problem:
        return replace(self, weights=self.weights[members])

    def zeros(self) -> Floats:
        return np.zeros((self.rows.shape[1], len(self.weights), self.n_outputs))

    def forward(self, T: Floats) -> Floats:
        """Return (n, K, O): X @ T for all members at once."""
        return np.asarray(self.rows @ T.reshape(len(T), -1)).reshape(-1, *T.shape[1:])

    def backward(self, G: Floats) -> Floats:
        """Return (p, K, O): X transposed @ G for all members at once."""
        return np.asarray(self.rows.T @ G.reshape(len(G), -1)).reshape(-1, *G.shape[1:])

    def at(self, T: Floats) -> _Point:
        logits = self.forward(T)
        loss, probabilities, residual = _logistic_loss(logits, self.codes)
        by_row = self.weights.T
        total = np.einsum("ik,ik->k", by_row, loss) + 0.5 * np.einsum("p,pko,pko->k", self.penalty, T, T)
        gradient = self.backward(by_row[..., np.newaxis] * residual) + self.penalty[:, None, None] * T
        return _Point(total, gradient, probabilities)

    def gradient_scale(self) -> Floats:
        """Return (K,) what a gradient is compared with: the largest entry at zero.

        Where the data happen to have no gradient there, a share of what it could at most have been.
        """
        at_zero = np.abs(self.at(self.zeros()).gradient).max(axis=(0, 2))
        sizes = cast("Matrix", abs(self.rows))
        at_most = np.asarray(sizes.T @ self.weights.T).max(axis=0)
        return np.asarray(np.maximum(at_zero, 1e-3 * at_most))

    def curve(self, probabilities: Floats, V: Floats) -> Floats:
        """Return (p, K, O): each member's Hessian times its V."""
        R = self.forward(V)
        P = probabilities
        R = P * (1.0 - P) * R if self.n_outputs == 1 else P * (R - (P * R).sum(axis=2, keepdims=True))
        return self.backward(self.weights.T[..., np.newaxis] * R) + self.penalty[:, None, None] * V

    def curvature_diagonal(self, probabilities: Floats, weights: Floats) -> Floats:
        """Return (p, 1, O): the diagonal of the Hessian of one member."""
        curvature = weights[:, np.newaxis] * probabilities * (1.0 - probabilities)
        squares = self.rows.multiply(self.rows) if isinstance(self.rows, sparse.csr_array) else self.rows**2
        diagonal = np.asarray(squares.T @ curvature) + self.penalty[:, np.newaxis]
        return np.maximum(diagonal, np.finfo(float).tiny)[:, np.newaxis]


def _logistic_loss(logits: Floats, codes: NDArray[np.intp]) -> tuple[Floats, Floats, Floats]:
    """Return the loss (n, K) of every row, the probabilities (n, K, O), and these minus the truth."""
    if logits.shape[2] == 1:
        z = logits[..., 0]
        truth = codes[:, np.newaxis].astype(np.float64)
        small = np.exp(-np.abs(z))
        probabilities = (np.where(z > 0, 1.0, small) / (1.0 + small))[..., np.newaxis]
        loss = np.maximum(z, 0.0) - truth * z + np.log1p(small)
        return loss, probabilities, probabilities - truth[..., np.newaxis]
    highest = logits.max(axis=2, keepdims=True)
    exponentials = np.exp(logits - highest)
    normalizer = exponentials.sum(axis=2, keepdims=True)
    probabilities = exponentials / normalizer
    rows = np.arange(len(codes))
    loss = np.log(normalizer[..., 0]) + highest[..., 0] - logits[rows, :, codes]
    residual = probabilities.copy()
    residual[rows, :, codes] -= 1.0
    return loss, probabilities, residual


def _step(
    problem: _Problem, T: Floats, point: _Point, precondition: Preconditioner
) -> tuple[NDArray[np.bool_], Floats, _Point]:
    """Return which members could lower their loss, and all members after one Newton step."""
    direction = _newton_direction(problem, point, precondition)
    slope = np.einsum("pko,pko->k", direction, point.gradient)
    length = np.ones(len(slope))
    noise = _ROUNDING * np.abs(point.loss)
    for _ in range(_MOST_HALVINGS):
        candidate = T + length[:, np.newaxis] * direction
        reached = problem.at(candidate)
        # Near the optimum the loss is flat to the last bit: there a smaller gradient counts as progress.
        smaller = np.abs(reached.gradient).max(axis=(0, 2)) < np.abs(point.gradient).max(axis=(0, 2))
        enough = reached.loss <= point.loss + 1e-4 * length * slope
        enough |= (reached.loss <= point.loss + noise) & smaller
        if enough.all():
            break
        length = np.where(enough, length, 0.5 * length)
    stay = ~enough
    candidate[:, stay], gradient = T[:, stay], reached.gradient
    gradient[:, stay] = point.gradient[:, stay]
    probabilities = reached.probabilities
    probabilities[:, stay] = point.probabilities[:, stay]
    return enough, candidate, _Point(np.where(stay, point.loss, reached.loss), gradient, probabilities)


def _newton_direction(problem: _Problem, point: _Point, precondition: Preconditioner) -> Floats:
    """Return (p, K, O): Newton's directions, by conjugate gradients, as exact as the next step can use."""
    d = np.zeros_like(point.gradient)
    r = -point.gradient
    z = precondition(r)
    v = z
    rho = _dot(r, z)
    goal = 1e-4 * rho
    for _ in range(2 * r.shape[0] * r.shape[2]):
        Hv = problem.curve(point.probabilities, v)
        curvature = _dot(v, Hv)
        going = (rho > goal) & (curvature > 0.0)
        if not going.any():
            break
        alpha = np.where(going, rho / np.where(going, curvature, 1.0), 0.0)
        d += alpha[:, np.newaxis] * v
        r -= alpha[:, np.newaxis] * Hv
        z = precondition(r)
        rho_next = np.where(going, _dot(r, z), rho)
        v = z + np.where(going, rho_next / rho, 0.0)[:, np.newaxis] * v
        rho = rho_next
    return d


def _dot(a: Floats, b: Floats) -> Floats:
    return np.asarray(np.einsum("pko,pko->k", a, b))


def _make_preconditioner(problem: _Problem, point: _Point) -> Preconditioner:
    """Return the inverse of a matrix near the Hessians of all members at a point.

    Few coefficients: the whole Hessian of the mean member. More: its block for an average output, used for every
    output. Very many, or sparse rows: the diagonal.
    """
    p, n_outputs = problem.rows.shape[1], problem.n_outputs
    mean = point.probabilities.mean(axis=1)
    weights = problem.weights.mean(axis=0)
    if p * n_outputs <= _FULL_HESSIAN:
        return _factored(_hessian(problem, mean, weights), per_output=False)
    if p <= _SHARED_BLOCK and isinstance(problem.rows, np.ndarray):
        curvature = weights * (mean * (1.0 - mean)).mean(axis=1)
        block = (problem.rows.T * curvature) @ problem.rows + np.diag(problem.penalty)
        return _factored(block, per_output=True)
    diagonal = problem.curvature_diagonal(mean, weights)
    return lambda r: r / diagonal


def _hessian(problem: _Problem, probabilities: Floats, weights: Floats) -> Floats:
    """Return (O*p, O*p): the Hessian of one member. Block a, b is X^T diag(w p_a (1{a=b} - p_b)) X."""
    rows = problem.rows.toarray() if isinstance(problem.rows, sparse.csr_array) else problem.rows
    p, n_outputs = rows.shape[1], problem.n_outputs
    H = np.zeros((n_outputs, p, n_outputs, p))
    for a in range(n_outputs):
        for b in range(a, n_outputs):
            curvature = weights * probabilities[:, a] * ((a == b) - probabilities[:, b])
            H[a, :, b] = H[b, :, a] = (rows.T * curvature) @ rows
        H[a, :, a] += np.diag(problem.penalty)
    return H.reshape(n_outputs * p, n_outputs * p)


def _factored(H: Floats, *, per_output: bool) -> Preconditioner:
    """Return r -> H^-1 r, for one matrix per output or for all outputs of a member together.

    The matrix is scaled to a unit diagonal, so that the units of features do not matter, and nudged: an unpenalized
    constant that all outputs share changes no probability, and collinear columns leave it positive only in theory.
    """
    scale = 1.0 / np.sqrt(np.maximum(np.diag(H), np.finfo(float).tiny))
    scaled = H * scale[:, np.newaxis] * scale
    nudge = 1e-10
    while True:
        try:
            factor = linalg.cho_factor(scaled + nudge * np.eye(len(H)), check_finite=False)
            break
        except linalg.LinAlgError:
            nudge *= 100

    def precondition(r: Floats) -> Floats:
        p, n_members, n_outputs = r.shape
        flat = r.reshape(p, -1) if per_output else r.transpose(2, 0, 1).reshape(n_outputs * p, n_members)
        solved = scale[:, np.newaxis] * linalg.cho_solve(
            factor, scale[:, np.newaxis] * flat, check_finite=False
        )
        if per_output:
            return solved.reshape(r.shape)
        return np.ascontiguousarray(solved.reshape(n_outputs, p, n_members).transpose(1, 2, 0))

    return precondition

"""A logistic regression of many coefficients: its rows in two precisions, its loss and gradient.

Arrays have outputs first, so that sums over outputs run along memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from minmargin.learners.newton.steps import LEAST_AT_ZERO, Floats, Problem
from minmargin.properties import cached_property


@dataclass(frozen=True)
class Rows:
    """Rows (m, q) in one precision, with both products."""

    rows: Any

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision."""
        dtype: np.dtype[Any] = self.rows.dtype
        return dtype

    @property
    def entries_per_row(self) -> float:
        """How many a product has to multiply."""
        n_entries = self.rows.nnz if isinstance(self.rows, sparse.csr_array) else self.rows.size
        return float(n_entries / self.rows.shape[0])

    @cached_property
    def squares(self) -> Rows:
        """The squares of their entries."""
        if isinstance(self.rows, sparse.csr_array):
            return Rows(self.rows.multiply(self.rows).tocsr())
        return Rows(self.rows * self.rows)

    @cached_property
    def squared_lengths(self) -> Floats:
        """(m,)."""
        if isinstance(self.rows, sparse.csr_array):
            return np.asarray(self.squares.rows.sum(axis=1), dtype=np.float64)
        return np.asarray(np.einsum("ij,ij->i", self.rows, self.rows), dtype=np.float64)

    def logits(self, T: NDArray[Any]) -> NDArray[Any]:
        """Return (O, m) of coefficients (O, q)."""
        return np.ascontiguousarray((self.rows @ T.T).T)

    def gather(self, residual: NDArray[Any]) -> NDArray[Any]:
        """Return (O, q): the sum of the rows, each times its residual, of residuals (O, m)."""
        if isinstance(self.rows, sparse.csr_array):
            return np.ascontiguousarray((self.rows.T @ residual.T).T)
        return np.asarray(residual @ self.rows)


class Point(NamedTuple):
    """What is known at some coefficients."""

    T: Floats  # (O, q)
    loss: float
    gradient: Floats  # (O, q)
    slope: float  # the length of the gradient
    probabilities: Floats  # (O, m)
    logits: Floats  # (O, m)


class Preconditioner(NamedTuple):
    """An inverse of a diagonal (O, q) that leaves out what all outputs share.

    That changes no probability. The curvature does not see it, so neither may its inverse.
    """

    inverse: NDArray[Any]

    def __call__(self, r: NDArray[Any]) -> NDArray[Any]:
        """Return what it makes of a gradient (O, q)."""
        z = self.inverse * r
        return np.asarray(z - z.mean(axis=0)) if len(z) > 1 else z


class Scale(NamedTuple):
    """The lengths that gradients are compared with.

    Attributes:
        zero: that of the gradient at zero, or a share of `most` if this is more.
        most: the most that it might have been.
    """

    zero: float
    most: float


class Objective:
    """A `Problem` with outputs first."""

    def __init__(self, problem: Problem) -> None:
        self.weights, self.n_outputs = problem.weights, problem.n_outputs
        self.penalty = problem.penalty[:, 0]
        self.truth = np.ascontiguousarray(problem.truth.T)
        self.n_weighted = float(self.weights.sum())

    def scale(self, rows: Rows) -> Scale:
        """Return what gradients are compared with."""
        gradient = rows.gather((self.weights / max(self.n_outputs, 2) - self.truth).astype(rows.dtype))
        most = float(np.sqrt(self.n_weighted * (self.weights @ rows.squared_lengths)))
        zero = max(float(np.linalg.norm(gradient)), LEAST_AT_ZERO * most, np.finfo(float).tiny)
        return Scale(zero, most)

    def loss_of(self, logits: Floats) -> tuple[float, Floats]:
        """Return the loss without its penalty, and the probabilities (O, m)."""
        if self.n_outputs == 1:
            ratio = np.exp(-np.abs(logits))
            total = 1.0 + ratio
            losses = (np.log(total) + np.maximum(logits, 0.0))[0]
            probabilities = np.where(logits > 0.0, 1.0, ratio) / total
        else:
            highest = logits.max(axis=0)
            probabilities = np.exp(logits - highest)
            total = probabilities.sum(axis=0)
            losses = np.log(total) + highest
            probabilities /= total
        return float(self.weights @ losses - np.vdot(self.truth, logits)), probabilities

    def at(self, T: Floats, rows: Rows, logits: Floats | None = None) -> Point:
        """Return what is known at T; `logits` saves a product where they are known."""
        if logits is None:
            logits = rows.logits(T.astype(rows.dtype)).astype(np.float64)
        return self.gather(T, rows, logits, *self.loss_of(logits))

    def gather(self, T: Floats, rows: Rows, logits: Floats, loss: float, probabilities: Floats) -> Point:
        """Return what is known at T, where `loss_of` its logits is known already."""
        residual = self.weights * probabilities - self.truth
        shrink = self.penalty * T
        gradient = rows.gather(residual.astype(rows.dtype)) + shrink
        loss += 0.5 * float(np.vdot(shrink, T))
        return Point(T, loss, gradient, float(np.linalg.norm(gradient)), probabilities, logits)

    def along(self, P: Floats, changes: Floats) -> tuple[float, float]:
        """Return the first and second derivative of the loss without its penalty, as logits go on to change so.

        P: (O, m) the probabilities where they are.
        """
        shares = P * changes
        slope = float(self.weights @ shares.sum(axis=0)) - float(np.vdot(self.truth, changes))
        spread = changes - shares.sum(axis=0)
        return slope, float(self.weights @ np.einsum("om,om->m", shares, spread))

    def preconditioner(self, point: Point, rows: Rows) -> Preconditioner:
        """Return what stands in for the inverse of the Hessian at a point: that of its diagonal."""
        P, dtype = point.probabilities, rows.dtype
        curvatures = self.weights * P * (1.0 - P)
        diagonal = rows.squares.gather(curvatures.astype(dtype)) + self.penalty.astype(dtype)
        # Where an output is sure of all rows nothing but rounding is left of it.
        least = np.finfo(dtype).eps * diagonal.max(axis=0) + np.finfo(dtype).tiny
        return Preconditioner(1 / np.maximum(diagonal, least))

    def curved(self, point: Point) -> float:
        """Return how curved the loss of a row is, in the mean: p (1 - p) of all outputs."""
        P = point.probabilities
        return float(self.weights @ (P * (1.0 - P)).sum(axis=0)) / self.n_weighted

    def doubts(self, logits: Floats) -> Floats:
        """Return (m,) what the squared changes of a row's logits count: less, the further it is from a tie."""
        if self.n_outputs == 1:
            gaps = np.abs(logits[0])
        else:
            highest = logits.max(axis=0)
            gaps = highest - np.where(logits == highest, -np.inf, logits).max(axis=0)
        gaps = np.nan_to_num(gaps, posinf=0.0)  # all are alike
        return np.asarray(self.weights / self.n_weighted / (1.0 + gaps) ** 2)

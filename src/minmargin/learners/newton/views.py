"""The rows as training sees them: centered, turned to few and nearly uncorrelated columns, a constant last.

With an L2 penalty the optimum is a combination of the rows, and a rotation leaves the penalty as it is. So training may
choose its axes. With fewer rows than columns it works in the span of the rows. With many coefficients it takes the
principal axes of the rows. Along these, columns are nearly uncorrelated under every member, since members differ only
in how often they count each row. Then the diagonal of a Hessian is a good stand-in for all of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from minmargin.data.rows import Matrix

Floats = NDArray[np.float64]
FindAxes: TypeAlias = Callable[[Floats], Floats | None]

# Finding principal axes takes the third power of their number: for more than this, rows stay as they are.
_MOST_AXES = 2000

_NOTHING = 1e-13  # of the longest axis: what rounding leaves where there is nothing


class ColumnTransforms(NamedTuple):
    """Each member's own view of the columns: (x - center) / scale, a missing (NaN) x taken as `fill` first.

    Attributes:
        center: (K, D).
        scale: (K, D).
        fill: (K, D), or None where nothing is missing.
    """

    center: Floats
    scale: Floats
    fill: Floats | None = None

    def of(self, member: int) -> ColumnTransforms:
        """Return the transform of one member, as arrays (D,)."""
        return ColumnTransforms(
            self.center[member], self.scale[member], None if self.fill is None else self.fill[member]
        )

    def apply(self, X: Matrix) -> Matrix:
        """Return rows through the transform of one member; the columns of CSR rows are scaled, not centered."""
        if isinstance(X, sparse.csr_array):
            data = X.data if self.fill is None else np.where(np.isnan(X.data), self.fill[X.indices], X.data)
            return sparse.csr_array((data / self.scale[X.indices], X.indices, X.indptr), shape=X.shape)
        filled = X if self.fill is None else np.where(np.isnan(X), self.fill, X)
        return np.asarray((filled - self.center) / self.scale)


@dataclass(frozen=True)
class View:
    """Rows in the coordinates of training, and the way back to the columns they came from.

    Attributes:
        rows: (n, q) in training's coordinates, with a column of ones last if there is an intercept.
        center: (D,) what was taken from every row before; all zero without an intercept.
        axes: (D, q) orthonormal directions that the coordinates are measured along; None for the columns themselves.
        fit_intercept: whether the last column is the constant.
    """

    rows: Matrix
    center: Floats
    axes: Floats | None
    fit_intercept: bool

    @classmethod
    def of(cls, X: Matrix, find_axes: FindAxes, *, fit_intercept: bool) -> View:
        """Return rows along axes found for them; CSR rows stay as they are."""
        center, axes = np.zeros(X.shape[1]), None
        if isinstance(X, np.ndarray):
            # A free constant makes good for any center, and with centered columns it hardly depends on the others.
            if fit_intercept:
                center = X.mean(axis=0)
                X = np.asarray(X - center)
            axes = find_axes(X)
            if axes is not None:
                X = X @ axes
                # Along axes on which the rows have no part, the optimum has none either: pixels that are always
                # black, a column that repeats another.
                sizes = np.abs(X).max(axis=0)
                used = sizes >= _NOTHING * sizes.max()
                X, axes = X[:, used], axes[:, used]
        return cls(_with_constant(X) if fit_intercept else X, center, axes, fit_intercept)

    def take(self, kept: NDArray[np.intp]) -> View:
        """Return the view of some rows."""
        return View(self.rows[kept], self.center, self.axes, self.fit_intercept)

    def enter(self, coefficients: Floats, intercepts: Floats) -> Floats:
        """Return (q, O): coefficients (D, O) of the columns and intercepts (O,) in training's coordinates."""
        T = coefficients if self.axes is None else self.axes.T @ coefficients
        return np.vstack([T, intercepts + self.center @ coefficients]) if self.fit_intercept else T.copy()

    def leave(self, T: Floats) -> tuple[Floats, Floats]:
        """Return coefficients (D, O) of the columns and intercepts (O,)."""
        T, constant = (T[:-1], T[-1]) if self.fit_intercept else (T, np.zeros(T.shape[1]))
        coefficients = T if self.axes is None else self.axes @ T
        return coefficients, constant - self.center @ coefficients


def row_space(X: Floats) -> Floats | None:
    """Return (D, n): orthonormal directions that span the rows; None if there are no fewer rows than columns."""
    if X.shape[0] >= X.shape[1]:
        return None
    return np.asarray(linalg.qr(X.T, mode="economic", check_finite=False)[0])


def principal_axes(X: Floats) -> Floats | None:
    """Return (D, min(n, D)): orthonormal directions along which columns are uncorrelated; None if too many."""
    n, n_columns = X.shape
    if min(n, n_columns) > _MOST_AXES:
        return None
    if n >= n_columns:
        return np.asarray(linalg.eigh(X.T @ X, check_finite=False)[1])
    # First the span, then the axes in it: the eigenvectors of X^T X itself would not be orthogonal to the last bit.
    span, triangle = linalg.qr(X.T, mode="economic", check_finite=False)
    return np.asarray(span @ linalg.eigh(triangle @ triangle.T, check_finite=False)[1])


def standardized(X: Floats) -> Floats:
    """Return rows as a scaler would make them, nearly the view of every member; what is missing is taken as mean."""
    missing = np.isnan(X)
    counts = np.maximum((~missing).sum(axis=0), 1)
    centered = np.where(missing, 0.0, X - np.where(missing, 0.0, X).sum(axis=0) / counts)
    deviation = np.sqrt((centered**2).sum(axis=0) / counts)
    return np.asarray(centered / np.where(deviation > 0.0, deviation, 1.0))


def _with_constant(X: Matrix) -> Matrix:
    ones = np.ones((X.shape[0], 1))
    if isinstance(X, sparse.csr_array):
        return sparse.csr_array(sparse.hstack([X, sparse.csr_array(ones)], format="csr"))
    return np.hstack([X, ones])

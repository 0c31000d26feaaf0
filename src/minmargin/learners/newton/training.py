"""Logistic regressions trained together: K weightings of the same rows, each to its own optimum.

Each member minimizes scikit-learn's objective,

    sum_i weights[k, i] * loss(y_i, x_i . T[:, k]) + |T[:, k]|^2 / (2 C[k])

with a free intercept. What members have in common is done once: the rows are centered and turned to axes that suit
all members, and all members start from the base's optimum. Then each takes Newton steps on its own (`steps`), over the
rows that it gives any weight: about two thirds of them, in a bootstrap draw. Small members are stacked, and take their
steps side by side over all rows. No bit of a member depends on which others are trained beside it, or on how many
threads do it.

With an L2 penalty the optimum is a combination of the rows, and a rotation leaves the penalty as it is. So training may
choose its axes. With fewer rows than columns it works in the span of the rows. With many coefficients it takes the
principal axes of the rows. Along these, columns are nearly uncorrelated under every member, since members differ only
in how often they count each row. Then the diagonal of a Hessian is a good stand-in for all of it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from scipy import linalg, sparse

from minmargin.data.rows import Matrix
from minmargin.learners.newton.descent import minimize
from minmargin.learners.newton.steps import Floats, Problem, minimize_compiled, minimize_exactly

Result = TypeVar("Result")

#: The gradient of an optimum, relative to the gradient at zero, is no longer than this.
CONVERGED = 1e-6
#: The gradient that training goes on to, unless it is told otherwise.
TOLERANCE = 2e-7

# A member with no more coefficients than this has its whole Hessian factored.
_FULL_HESSIAN = 160
# CSR rows of no more entries than this, zeros included, are trained on as dense ones. Where fewer than this share of
# the entries are not zero, as in texts, only rows of far fewer entries are.
_MOST_DENSE, _NEARLY_EMPTY, _MOST_DENSE_IF_NEARLY_EMPTY = 2_000_000, 0.05, 200_000
# A member with at least so many entries times outputs takes longer than starting a thread.
_WORTH_THREADS = 150_000
# Members with no more entries times outputs than this are stacked, and a stack has no more than that in all: a larger
# one would not stay in the cache.
_SMALL, _STACK = 1 << 14, 1 << 18
# A member that sees the columns in its own way finds axes of its own if it has no more rows than this.
_OWN_AXES = 400
FindAxes: TypeAlias = Callable[[Floats], Floats | None]
# Finding principal axes takes the third power of their number: for more than this, rows stay as they are.
_MOST_AXES = 2000
# Times the squared correlations that chance makes: axes of these would save no steps. So many columns show it.
_AS_CHANCE, _SOME_COLUMNS = 2.0, 200
_NOTHING = 1e-13  # of the longest axis: what rounding leaves where there is nothing


class Optimum(NamedTuple):
    """What training found.

    Attributes:
        coefficients: (D, K, O) with O outputs: one per class, or a single one for two classes.
        intercepts: (K, O).
        gradient: (K,) the length of each member's gradient, relative to its gradient at zero.
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
    C: float | Floats = 1.0,
    fit_intercept: bool = True,
    columns: ColumnTransforms | None = None,
    start: Optimum | None = None,
    tolerance: float = TOLERANCE,
    n_jobs: int = 1,
    on_member: Callable[[int], None] = lambda _: None,
) -> Optimum:
    """Return the optimum of every member.

    Args:
        X: (n, D) rows, dense float64 or CSR.
        codes: (n,) classes as 0..n_classes-1.
        n_classes: how many classes there are.
        weights: (K, n) each member's weights of the rows.
        C: the inverse strength of the L2 penalty, or (K,) that of each member.
        fit_intercept: whether logits have a free constant.
        columns: how each member sees the columns; coefficients are those of what it sees. None: as they are.
        start: an optimum of one member to start all others from.
        tolerance: the length of the gradient to stop at, relative to the gradient at zero. Coefficients are then off
            by a hundred times as much or so, or by 2e-5 if that is more; on badly scaled rows by more still.
        n_jobs: how many members are trained at a time.
        on_member: is told how many members are trained, whenever one more is.
    """
    n_outputs = 1 if n_classes == 2 else n_classes
    if isinstance(X, sparse.csr_array) and _is_better_dense(X):
        X = X.toarray()
    n_columns = X.shape[1] if isinstance(X, sparse.csr_array) else min(X.shape)
    exact = n_columns * n_outputs <= _FULL_HESSIAN
    view_of = _views(X, columns, row_space if exact else principal_axes, fit_intercept=fit_intercept)

    strengths = np.broadcast_to(np.asarray(C, dtype=np.float64), len(weights))
    size = X.shape[0] * n_columns * n_outputs
    stacked = exact and size <= _SMALL
    solve = minimize_exactly if stacked else minimize_compiled if exact else minimize

    def fit(members: range) -> list[tuple[Floats, Floats, float, int]]:
        kept = np.arange(X.shape[0]) if stacked else np.flatnonzero(weights[members[0]])
        views = [view_of(member, kept) for member in members]
        if len({view.rows.shape for view in views}) > 1:  # some have fewer axes: they cannot be stacked
            return [each for member in members for each in fit(range(member, member + 1))]
        rows: Any = views[0].rows
        if exact:
            dense = [view.rows.toarray() if sparse.issparse(view.rows) else view.rows for view in views]
            rows = dense[0] if columns is None else np.stack(dense)
        penalty = np.repeat(1.0 / strengths[members, np.newaxis, np.newaxis], rows.shape[-1], axis=1)
        if fit_intercept:
            penalty[:, -1] = 0.0
        own = weights[members.start : members.stop, kept]
        each = (own, penalty) if exact else (own[0], penalty[0])
        problem = Problem(rows, codes[kept], n_outputs, *each)
        T = np.zeros((*problem.penalty.shape[:-1], n_outputs))
        if start is not None:
            given = np.array([view.enter(start.coefficients[:, 0], start.intercepts[0]) for view in views])
            given = given if exact else given[0]
            # A member that sees the columns in its own way may be better off from zero.
            closer = columns is None or problem.at(given).loss < problem.at(T).loss
            T = np.where(np.asarray(closer)[..., np.newaxis, np.newaxis], given, T)
        # A constant that all classes share changes no probability, and the penalty wants it zero.
        if n_outputs > 1:
            T = T - T.mean(axis=-1, keepdims=True)
        with np.errstate(over="ignore", invalid="ignore"):  # the gradient tells whether it went well
            found = solve(problem, T, tolerance=tolerance)
        return [(*view.leave(each.T), *each[1:]) for view, each in zip(views, found, strict=True)]

    n_members, n_together = len(weights), max(_STACK // size, 1) if stacked else 1
    runs = [range(i, min(i + n_together, n_members)) for i in range(0, n_members, n_together)]
    coefficients, intercepts = np.empty((X.shape[1], n_members, n_outputs)), np.empty((n_members, n_outputs))
    gradient, steps = np.empty(n_members), np.empty(n_members, dtype=np.int64)
    fits = _each(fit, runs, n_threads=effective_n_jobs(n_jobs) if size >= _WORTH_THREADS else 1)
    for k, (T, constant, slope, n_steps) in enumerate(itertools.chain.from_iterable(fits)):
        coefficients[:, k], intercepts[k], gradient[k], steps[k] = T, constant, slope, n_steps
        on_member(k + 1)
    return Optimum(coefficients, intercepts, gradient, steps)


def _is_better_dense(X: sparse.csr_array[Any, Any]) -> bool:
    n_entries: int = math.prod(X.shape)
    nearly_empty = X.nnz < _NEARLY_EMPTY * n_entries
    return n_entries <= (_MOST_DENSE_IF_NEARLY_EMPTY if nearly_empty else _MOST_DENSE)


def _each(fit: Callable[[range], Result], runs: Sequence[range], *, n_threads: int) -> Iterator[Result]:
    if n_threads == 1:
        yield from map(fit, runs)
        return
    with ThreadPoolExecutor(n_threads) as threads:
        yield from threads.map(fit, runs)


def _views(
    X: Matrix, columns: ColumnTransforms | None, find_axes: FindAxes, *, fit_intercept: bool
) -> Callable[[int, NDArray[np.intp]], View]:
    """Return a function that gives the view that a member has of some rows."""
    if columns is None:
        shared = View.of(X, find_axes, fit_intercept=fit_intercept)
        return lambda _, kept: shared if len(kept) == X.shape[0] else shared.take(kept)
    if isinstance(X, sparse.csr_array):
        # The free constant takes up the centers, so that CSR rows need not be centered. (Without one, no scaler does.)
        assert fit_intercept or not columns.center.any()

        def view_of_sparse(member: int, kept: NDArray[np.intp]) -> View:
            own = columns.of(member)
            view = View.of(own.apply(X[kept]), find_axes, fit_intercept=fit_intercept)
            return replace(view, center=-own.center / own.scale)

        return view_of_sparse
    if X.shape[0] >= X.shape[1]:
        # Any axes are right. Those of rows that are scaled once for all are good ones under every member's scales.
        axes = find_axes(standardized(X))
        return lambda member, kept: View.of(
            columns.of(member).apply(X[kept]), lambda _: axes, fit_intercept=fit_intercept
        )
    # Here the axes have to span the rows, and with scales of their own the members' rows span different spaces.
    return lambda member, kept: View.of(
        columns.of(member).apply(X[kept]),
        find_axes if len(kept) <= _OWN_AXES else lambda _: None,
        fit_intercept=fit_intercept,
    )


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
    """Return (D, min(n, D)): orthonormal directions along which columns are uncorrelated.

    None if there would be too many, or if the columns are such already.
    """
    n, n_columns = X.shape
    if min(n, n_columns) > _MOST_AXES:
        return None
    if n >= n_columns:
        if _are_uncorrelated(X):
            return None
        return np.asarray(linalg.eigh(X.T @ X, check_finite=False)[1])
    # First the span, then the axes in it: the eigenvectors of X^T X itself would not be orthogonal to the last bit.
    span, triangle = linalg.qr(X.T, mode="economic", check_finite=False)
    return np.asarray(span @ linalg.eigh(triangle @ triangle.T, check_finite=False)[1])


def _are_uncorrelated(X: Floats) -> bool:
    """Return whether columns of centered rows are correlated by no more than chance would have it."""
    n, n_columns = X.shape
    lengths = np.sqrt(np.einsum("ij,ij->j", X, X))
    columns = (X * (1.0 / np.where(lengths > 0.0, lengths, 1.0))).astype(np.float32)
    some = columns[:, :: max(n_columns // _SOME_COLUMNS, 1)]
    correlations = some.T @ columns
    # Squared correlations of columns that have nothing in common are 1 / n in the mean.
    chance = some.shape[1] * (n_columns - 1) / n
    return bool(np.vdot(correlations, correlations) - some.shape[1] <= _AS_CHANCE * chance)


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

"""The fast screen of linear committees: float32 products that may only ever dismiss rows.

The canonical kernel adds float64 numbers in one order and is slow; a screen computes every logit roughly, in the
fastest way there is, and drops the rows that, even allowing for the largest possible error, cannot be among the
lowest. The rest is scored canonically, and only those scores order a batch.

**The error of a logit.** A float32 product of D features and a constant errs by at most gamma * |x| |w|, where |.| is
the Euclidean length, constant included, and gamma = m u / (1 - m u) with u = 2^-24 and m the number of roundings that
a term can meet: those of the additions, a product, and of x and w themselves (Higham, Accuracy and Stability of
Numerical Algorithms, 3.1). Where there are many features, 64 at a time are summed and then the sums, so that m stays
small. What float32 loses below 2^-126 is added; a row whose logits might leave float32's range above is always kept.
Since the constant makes every row at least 1 long, all errors are written as a slope times the length of the row.

**Gaps, and a second look.** What these errors mean for each score is told in `bounds`. The lowest margin is looked at
through the gaps between two logits, which do not change if all logits of a member are taken relative to those of one
class, so that class costs no product. What is left lies close to a boundary, closer than float32 can tell, or, with
more than two classes, within the slack of the inequality: it gets a second look, a float64 product, with u = 2^-53, and
the normalizer. The other scores are computed with a float32 exponential.

A screen is made in plain numpy. Only looking through it imports numba.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from minmargin.compute import bounds
from minmargin.compute.bounds import EXP_ERROR, HUGE, SLACK, SMALL_UNIT, TINY, UNIT
from minmargin.data.rows import ColumnBlock, Matrix
from minmargin.margins import ScoreName
from minmargin.topb import Cut, Near

_SPAN = 64  # features that are summed at a time


@dataclass(frozen=True)
class _Models:
    """K models with O outputs each: weights (K * O, D), constants (K * O,), and the largest length of both together."""

    weights: NDArray[np.float64]
    constants: NDArray[np.float64]
    n_outputs: int

    @cached_property
    def length(self) -> float:
        """Rounded up."""
        return float(np.sqrt((self.weights**2).sum(axis=1) + self.constants**2).max()) * (1.0 + 1e-6)

    @cached_property
    def dense(self) -> NDArray[np.float32]:
        """As products with dense rows read them."""
        from minmargin.compute.cpu.simd import pack  # noqa: PLC0415 - imports numba

        return pack(self.weights, self.constants, np.float32)

    @cached_property
    def csr(self) -> NDArray[np.float32]:
        """As products with CSR rows read them."""
        return np.vstack([self.constants, self.weights.T]).astype(np.float32)

    def relative(self) -> _Models:
        """Return the same models with all outputs relative to the first, which is left out: gaps stay the same."""
        if self.n_outputs == 1:
            return self
        weights = self.weights.reshape(-1, self.n_outputs, self.weights.shape[1])
        constants = self.constants.reshape(-1, self.n_outputs)
        weights, constants = weights[:, 1:] - weights[:, :1], constants[:, 1:] - constants[:, :1]
        return _Models(weights.reshape(-1, self.weights.shape[1]), constants.ravel(), self.n_outputs - 1)


@dataclass(frozen=True)
class LinearScreen:
    """The models of a linear committee, rounded for screening.

    Attributes:
        models: one output per class, or a single one for two classes.
        looked_at: what the rough look multiplies with: these, or for gaps the same relative to the first class.
        softmax: whether class scores are the softmax of the logits, and not the logits themselves.
        kind: which of the scores in `bounds` is looked at.
    """

    models: _Models
    looked_at: _Models
    softmax: bool
    kind: int

    @classmethod
    def of(
        cls,
        weights: NDArray[np.float64],
        intercepts: NDArray[np.float64],
        score: ScoreName = "min-margin",
        *,
        softmax: bool = True,
    ) -> LinearScreen | None:
        """Return the screen of (D, K, O) weights and (K, O) intercepts; None if float32 cannot hold them."""
        n_features, n_models, n_outputs = weights.shape
        flat = np.ascontiguousarray(weights.reshape(n_features, n_models * n_outputs).T)
        models, kind = _Models(flat, intercepts.ravel(), n_outputs), bounds.KINDS[score]
        if not n_models or not models.length < HUGE:
            return None
        return cls(models, models.relative() if kind == bounds.LOWEST_GAP else models, softmax, kind)

    @property
    def n_models(self) -> int:
        """K: how many models there are."""
        return len(self.models.constants) // self.models.n_outputs

    def near(self, X: Matrix | ColumnBlock, *, cut: Cut, size: int | None) -> Near:
        """Return the rows whose score may not be above the cut, and may be among the `size` lowest."""
        n_models, n_outputs, softmax = self.n_models, self.models.n_outputs, self.softmax
        threshold = cut.score
        allowed = bounds.allowed(
            threshold, self.kind, n_models=n_models, n_outputs=n_outputs, softmax=softmax
        )
        slope = self._slope(X)
        logit_slope = _logit_slope(X, self.looked_at, UNIT)
        index, values, squares, finite = self._keep(X, self.looked_at, self.kind, allowed, slope, logit_slope)
        if not finite:
            return Near.unknown(index)
        errors = slope * np.sqrt(squares.astype(np.float64))
        lower, upper = bounds.score_bounds(
            values.astype(np.float64),
            errors,
            self.kind,
            n_models=n_models,
            n_outputs=n_outputs,
            softmax=softmax,
        )
        near, threshold = bounds.lowest(lower, upper, threshold, size)
        index, lower, upper, squares = index[near], lower[near], upper[near], squares[near]
        if self.kind == bounds.LOWEST_GAP and threshold < math.inf and len(index):
            lower, upper = self._second_look(X[index], squares)
            near, _ = bounds.lowest(lower, upper, threshold, size)
            index, lower, upper = index[near], lower[near], upper[near]
        return Near(index, lower, upper)

    def scores(self, X: Matrix | ColumnBlock) -> NDArray[np.float64]:
        """Return (n,) the scores as float32 gives them."""
        kind = bounds.LOWEST_MARGIN if self.kind == bounds.LOWEST_GAP else self.kind
        _, values, _, _ = self._keep(X, self.models, kind, math.inf, 0.0, 0.0)
        scores = values.astype(np.float64)
        return scores / self.n_models if kind == bounds.VOTES else scores

    def _keep(
        self,
        X: Matrix | ColumnBlock,
        models: _Models,
        kind: int,
        allowed: float,
        slope: float,
        logit_slope: float,
    ) -> tuple[NDArray[np.intp], NDArray[np.float32], NDArray[np.float32], bool]:
        from minmargin.compute.cpu import rough_scores as rough  # noqa: PLC0415 - imports numba

        return rough.keep(
            X,
            models.csr if isinstance(X, sparse.csr_array) else models.dense,
            n_models=self.n_models,
            n_outputs=models.n_outputs,
            span=_SPAN,
            score=kind,
            softmax=self.softmax,
            allowed=allowed,
            slope=slope,
            logit_slope=logit_slope,
            longest=HUGE / max(models.length, 1.0),
        )

    def _slope(self, X: Matrix | ColumnBlock) -> float:
        """Return how far a rough score may be from its true value, per length of the row."""
        if self.kind == bounds.VOTES:
            return 0.0
        factor = bounds.error_factor(self.kind, n_outputs=self.models.n_outputs, softmax=self.softmax)
        slope = factor * _logit_slope(X, self.looked_at, UNIT)
        if self.kind == bounds.LOWEST_GAP:
            # Canonical logits are not relative: what all classes have in common costs them digits.
            return 2.0 * _logit_slope(X, self.models, SMALL_UNIT) + slope
        if not self.softmax:
            return slope + 2.0 * (self.n_models + 8) * UNIT * self.models.length
        return slope + 4.0 * (2.0 * EXP_ERROR + (self.models.n_outputs + self.n_models + 12) * UNIT)

    def _second_look(
        self, X: Matrix, squares: NDArray[np.float32]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return (n,) numbers just below and above the lowest margin of any model, from float64 logits."""
        from minmargin.compute.cpu import rough_scores as rough  # noqa: PLC0415 - imports numba

        with np.errstate(over="ignore", invalid="ignore"):
            if isinstance(X, sparse.csr_array):
                logits = np.ascontiguousarray((X.astype(np.float64) @ self.models.weights.T).T)
            else:
                logits = self.models.weights @ X.T.astype(np.float64)
            logits += self.models.constants[:, np.newaxis]
            of_models = logits.reshape(self.n_models, self.models.n_outputs, -1).transpose(0, 2, 1)
            margins = rough.lowest_margins(of_models, self.softmax)
            lengths = np.sqrt(squares.astype(np.float64))
        doubt = 2.0 * _logit_slope(X, self.models, SMALL_UNIT) * lengths + SLACK * (1.0 + margins)
        return margins - doubt, margins + doubt


def _logit_slope(X: Matrix | ColumnBlock, models: _Models, unit: float) -> float:
    """Return how far a logit may be from its true value, per length of the row."""
    n_features = int(X.shape[1])
    if isinstance(X, sparse.csr_array):
        n_terms = int(np.diff(X.indptr).max(initial=0))
    elif unit == UNIT:
        n_terms = min(n_features, _SPAN) + -(-n_features // _SPAN)
    else:
        n_terms = n_features
    gamma = bounds.gamma(n_terms + 8, unit)  # a few more than can occur
    lost = (n_features + 2) * TINY * (2.0 + models.length)
    # The length itself is a float32 sum of squares.
    return (gamma * models.length + lost) * (1.0 + 1e-5 + (n_features + 16) * UNIT)

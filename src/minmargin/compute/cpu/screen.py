"""The fast screen of linear committees: float32 products that may only ever dismiss rows.

The canonical kernel adds float64 numbers in one order and is slow. A screen computes every logit roughly, in the
fastest way there is, and dismisses the rows that, even allowing for the largest possible error, cannot be among the
lowest. The rest is scored canonically, and only those scores order a batch.

**The error of a logit.** A float32 product of D features and a constant errs by at most gamma * |x| |w|, where |.| is
the Euclidean length, constant included, and gamma = m u / (1 - m u) with u = 2^-24 and m the number of roundings that
a term can meet: those of the additions, a product, and of x and w themselves (Higham, Accuracy and Stability of
Numerical Algorithms, 3.1). Where there are many features, 64 at a time are summed and then the sums, so that m stays
small. What float32 loses below 2^-126 is added. Of a row whose logits might leave float32's range above, nothing is
known. Since the constant makes every row at least 1 long, all errors are written as a slope times a row's length.

**Two looks.** What these errors mean for each score is told in `reductions`. The first look at the lowest margin is at
gaps. They do not change if all logits of a model are taken relative to those of one class, so that class costs no
product. What is then near lies closer to a boundary than float32 can tell, or, with more than two classes, within the
slack of the inequality. The closer look is a float64 product, with u = 2^-53, and an exponential. The other scores have
one look, with a float32 exponential.

A screen is made in plain numpy. Only looking through it imports numba.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from minmargin.compute import bounds
from minmargin.compute.cpu.rounded import NO_LIMITS, SPAN, Limits, RoundedModels, Seen
from minmargin.compute.reductions import OF_SCORE, Bounds, Reduction, Shape
from minmargin.compute.rounding import EXP_ERROR, HUGE, SLACK, SMALL_UNIT, TINY, UNIT, gamma
from minmargin.data.rows import ColumnBlock, Matrix
from minmargin.margins import ScoreName
from minmargin.topb import Cut, Near


@dataclass(frozen=True)
class LinearScreen:
    """The models of a linear committee, rounded for screening.

    Attributes:
        models: one output per class, or a single one for two classes.
        at_first: what the first look multiplies with: these, or for gaps the same relative to the first class.
        reduction: what gives the score.
    """

    models: RoundedModels
    at_first: RoundedModels
    reduction: Reduction

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
        models = RoundedModels(flat, intercepts.ravel(), Shape(n_models, n_outputs, softmax))
        if not n_models or not models.length < HUGE:
            return None
        reduction = OF_SCORE[score]
        return cls(models, models if reduction.shortcut is None else models.relative(), reduction)

    def near(self, X: Matrix | ColumnBlock, *, cut: Cut, size: int | None) -> Near:
        """Return the rows whose score may not be above the cut, and may be among the `size` lowest."""
        from minmargin.compute.cpu.rough_scores import look  # noqa: PLC0415 - imports numba

        threshold = cut.score
        limits = self._limits(X, threshold)
        seen = look(X, self.at_first, self._first, limits)
        if not seen.finite:
            return Near.unknown(seen.places)
        lengths = np.sqrt(seen.squares.astype(np.float64))

        def look_closer(index: NDArray[np.intp]) -> Bounds:
            return self._look_closer(X[seen.places[index]], lengths[index])

        # The bounds of a shortcut are wide, even of rows that are certain to be needed.
        index, found = bounds.two_looks(
            self._bounds(seen, lengths, limits),
            None if self.reduction.shortcut is None else look_closer,
            threshold=threshold,
            size=size,
            width=0.0,
        )
        return Near(seen.places[index], *found)

    def scores(self, X: Matrix | ColumnBlock) -> NDArray[np.float64]:
        """Return (n,) the scores as float32 gives them."""
        from minmargin.compute.cpu.rough_scores import look  # noqa: PLC0415 - imports numba

        seen = look(X, self.models, self.reduction, NO_LIMITS)
        values = seen.values.astype(np.float64)
        return self.reduction.scores_of(
            np.ceil(values) if self.reduction.counts_doubt else values, self.models.shape
        )

    @property
    def _first(self) -> Reduction:
        """What the first look reduces logits to."""
        return self.reduction.shortcut or self.reduction

    def _limits(self, X: Matrix | ColumnBlock, threshold: float) -> Limits:
        return Limits(
            allowed=self._first.allowed(threshold, self.models.shape),
            slope=self._slope(X),
            # A row is no shorter than 1, so logits that tell a vote differ by more than a softmax can lose.
            logit_slope=_logit_slope(X, self.at_first, UNIT) + SLACK,
            longest=HUGE / max(self.at_first.length, 1.0),
        )

    def _slope(self, X: Matrix | ColumnBlock) -> float:
        """Return how far a value may be from its true one, per length of the row."""
        shape = self.models.shape
        if self.reduction.counts_doubt:
            return 0.0
        slope = self._first.error_factor(shape) * _logit_slope(X, self.at_first, UNIT)
        if self.reduction.shortcut is not None:
            # Canonical logits are not relative: what all classes have in common costs them digits.
            return 2.0 * _logit_slope(X, self.models, SMALL_UNIT) + slope
        if not shape.softmax:
            return slope + 2.0 * (shape.n_models + 8) * UNIT * self.models.length
        rounding = 2.0 * EXP_ERROR + (shape.n_outputs + shape.n_models + 12) * UNIT
        return slope + self.reduction.lost(rounding, shape)

    def _bounds(self, seen: Seen, lengths: NDArray[np.float64], limits: Limits) -> Bounds:
        """Return what the first look tells."""
        values, shape = seen.values.astype(np.float64), self.models.shape
        known = seen.squares < limits.as_float32()[2]
        errors = np.where(known, limits.slope * lengths, np.inf)
        if self.reduction.counts_doubt:
            # Votes in doubt were counted against the leader: how many might be for it is not known.
            least = np.ceil(values)
            lower = self._first.bounds(least, errors, shape).lower
            return Bounds(lower, np.where(known & (values == least), lower, np.inf))
        return self._first.bounds(values, errors, shape)

    def _look_closer(self, X: Matrix, lengths: NDArray[np.float64]) -> Bounds:
        """Return what float64 products tell of the lowest margin of any model; `lengths` are those of the rows."""
        from minmargin.compute.cpu.rough_scores import lowest_margins  # noqa: PLC0415 - imports numba

        n_models, n_outputs, softmax = self.models.shape
        with np.errstate(over="ignore", invalid="ignore"):
            if isinstance(X, sparse.csr_array):
                logits = np.ascontiguousarray((X.astype(np.float64) @ self.models.weights.T).T)
            else:
                logits = self.models.weights @ X.T.astype(np.float64)
            logits += self.models.constants[:, np.newaxis]
            of_models = logits.reshape(n_models, n_outputs, -1).transpose(0, 2, 1)
            margins = lowest_margins(of_models, softmax)
        doubt = 2.0 * _logit_slope(X, self.models, SMALL_UNIT) * lengths + SLACK * (1.0 + margins)
        return Bounds(margins - doubt, margins + doubt)


def _logit_slope(X: Matrix | ColumnBlock, models: RoundedModels, unit: float) -> float:
    """Return how far a logit may be from its true value, per length of the row."""
    n_features = int(X.shape[1])
    if isinstance(X, sparse.csr_array):
        n_terms = int(np.diff(X.indptr).max(initial=0))
    elif unit == UNIT:
        n_terms = min(n_features, SPAN) + -(-n_features // SPAN)
    else:
        n_terms = n_features
    share = gamma(n_terms + 8, unit)  # a few more than can occur
    lost = (n_features + 2) * TINY * (2.0 + models.length)
    # The length itself is a float32 sum of squares.
    return (share * models.length + lost) * (1.0 + 1e-5 + (n_features + 16) * UNIT)

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

**One look while much is needed.** A closer look costs several times a first one, and nearly as much as an exact score.
As long as much of a block is needed, at the beginning of any pool and to the end of a small one, that would be most of
the work. So the first look is then at the lowest margins themselves, relative too, and no closer one follows: some more
rows wait, and a few more are scored exactly. That ends when float32 leaves more rows in doubt than it is certain of.
The softmax of relative logits is that of the canonical ones, and these err by less than `_slope` adds for gaps.

A screen is made in plain numpy. Only looking through it imports numba.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from minmargin.compute import bounds
from minmargin.compute.cpu.rounded import SPAN, Limits, Look, RoundedModels
from minmargin.compute.reductions import OF_SCORE, Bounds, Reduction, Shape
from minmargin.compute.rounding import EXP_ERROR, HUGE, SLACK, SMALL_UNIT, TINY, UNIT, gamma
from minmargin.data.rows import ColumnBlock, Matrix
from minmargin.margins import ScoreName
from minmargin.topb import Cut, Near

_MUCH = 20.0  # see `_is_much_needed`
#: By how much rounding a row and weights may change a logit whose score is told. Sums lose about as much again, since
#: their roundings hardly ever go one way: with D from 5 to 200, no score was found to be off by twice as much.
_TOLD = 5e-6


@dataclass(frozen=True)
class LinearScreen:
    """The models of a linear committee, rounded for screening.

    Attributes:
        models: one output per class, or a single one for two classes.
        at_first: what the first look multiplies with: these, or for gaps the same relative to the first class.
        reduction: what gives the score.
        last_share: the share of a block that was certain to be needed when last one was looked at, as far as a first
            look could tell; 0 if that left more in doubt.
    """

    models: RoundedModels
    at_first: RoundedModels
    reduction: Reduction
    last_share: list[float] = field(default_factory=lambda: [1.0], init=False, repr=False)

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
        return cls(models, models if reduction.shortcut is None else models.as_relative(), reduction)

    def near(self, X: Matrix | ColumnBlock, *, cut: Cut, size: int | None) -> Near:
        """Return the rows whose score may not be above the cut, and may be among the `size` lowest."""
        from minmargin.compute.cpu.rough_scores import look  # noqa: PLC0415 - imports numba

        threshold, much = cut.score, self._is_much_needed(X)
        reduction = self.reduction if much else self.reduction.shortcut or self.reduction
        limits = self._limits(X, threshold, reduction)
        first_look = look(X, self.at_first, reduction, limits)
        if not first_look.finite:
            return Near.unknown(first_look.places)
        lengths = np.sqrt(first_look.squares.astype(np.float64))

        def look_closer(index: NDArray[np.intp]) -> Bounds:
            return self._look_closer(X[first_look.places[index]], lengths[index])

        first = self._bounds(first_look, lengths, limits, reduction)
        self.last_share[0] = _certain_share(first, threshold, size, X.shape[0])
        needless = self.reduction.shortcut is None or (much and self.last_share[0] > 0.0)
        # The bounds of a shortcut are wide, even of rows that are certain to be needed.
        index, found = bounds.two_looks(
            first, None if needless else look_closer, threshold=threshold, size=size, width=0.0
        )
        return Near(first_look.places[index], *found)

    def scores(self, X: Matrix | ColumnBlock) -> NDArray[np.float64]:
        """Return (n,) the scores as float32 gives them; NaN where it may not tell five digits, or any vote."""
        from minmargin.compute.cpu.rough_scores import look  # noqa: PLC0415 - imports numba

        slope = _logit_slope(X, self.models, UNIT)
        all_rows = Limits(np.inf, 0.0, 0.0, slope + SLACK, np.inf)
        first_look = look(X, self.models, self.reduction, all_rows)
        values, lengths = first_look.values.astype(np.float64), np.sqrt(first_look.squares.astype(np.float64))
        told = lengths < HUGE / max(self.models.length, 1.0)
        if self.reduction.counts_doubt:
            told &= values == np.ceil(values)
        else:
            told &= slope / _n_roundings(X, UNIT) * lengths <= _TOLD
        scores = self.reduction.scores_of(values, self.models.shape)
        scores[~told] = np.nan
        return scores

    def _is_much_needed(self, X: Matrix | ColumnBlock) -> bool:
        """Return whether so much is needed that closer looks would cost more than exponentials do.

        A logit is `n_terms` products; an exponential takes as long as some thirty. By gaps, C / 2 times as much is near
        as by margins. A float64 product takes as long as a few float32 ones.
        """
        shape, (n_rows, n_features) = self.models.shape, X.shape
        # Of two classes, and where logits are class scores, gaps tell as much as margins do.
        if self.reduction.shortcut is None or not shape.softmax or shape.n_classes == 2:
            return False
        n_terms = X.nnz / max(n_rows, 1) if isinstance(X, sparse.csr_array) else n_features
        return bool(self.last_share[0] * shape.n_classes * n_terms > _MUCH)

    def _limits(self, X: Matrix | ColumnBlock, threshold: float, reduction: Reduction) -> Limits:
        return Limits(
            allowed=reduction.allowed(threshold, self.models.shape),
            lost=self._lost(reduction),
            slope=self._slope(X, reduction),
            # A row is no shorter than 1, so logits that tell a vote differ by more than a softmax can lose.
            logit_slope=_logit_slope(X, self.at_first, UNIT) + SLACK,
            longest=HUGE / max(self.at_first.length, 1.0),
        )

    def _slope(self, X: Matrix | ColumnBlock, reduction: Reduction) -> float:
        """Return how far a value may be from its true one, per length of the row."""
        shape = self.models.shape
        if reduction.counts_doubt:
            return 0.0
        slope = reduction.error_factor(shape) * _logit_slope(X, self.at_first, UNIT)
        if self.reduction.shortcut is not None:
            # Canonical logits are not relative: what all classes have in common costs them digits.
            slope += 2.0 * _logit_slope(X, self.models, SMALL_UNIT)
        if reduction is self.reduction.shortcut or shape.softmax:
            return slope
        return slope + 2.0 * (shape.n_models + 8) * UNIT * self.models.length

    def _lost(self, reduction: Reduction) -> float:
        """Return how far a value may be off by what exponentials and sums of probabilities lose."""
        shape = self.models.shape
        if reduction is self.reduction.shortcut or reduction.counts_doubt or not shape.softmax:
            return 0.0
        rounding = 2.0 * EXP_ERROR + (shape.n_outputs + shape.n_models + 12) * UNIT
        return reduction.lost(rounding, shape)

    def _bounds(
        self, first_look: Look, lengths: NDArray[np.float64], limits: Limits, reduction: Reduction
    ) -> Bounds:
        """Return what the first look tells."""
        values, shape = first_look.values.astype(np.float64), self.models.shape
        known = first_look.squares < limits.as_float32()[2]
        errors = np.where(known, limits.slope * lengths + limits.lost, np.inf)
        if reduction.counts_doubt:
            # Votes in doubt were counted against the leader: how many might be for it is not known.
            least = np.ceil(values)
            lower = reduction.bounds(least, errors, shape).lower
            return Bounds(lower, np.where(known & (values == least), lower, np.inf))
        return reduction.bounds(values, errors, shape)

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


def _certain_share(first: Bounds, threshold: float, size: int | None, n_rows: int) -> float:
    """Return the share of `n_rows` that a first look is certain of; 0 if more rows are in doubt than certain."""
    near, threshold = bounds.lowest(first, threshold, size)
    n_certain = np.count_nonzero(first.upper <= threshold)
    return n_certain / n_rows if threshold < np.inf and 2 * n_certain >= len(near) > 0 else 0.0


def _logit_slope(X: Matrix | ColumnBlock, models: RoundedModels, unit: float) -> float:
    """Return how far a logit may be from its true value, per length of the row."""
    n_features = int(X.shape[1])
    share = gamma(_n_roundings(X, unit), unit)
    lost = (n_features + 2) * TINY * (2.0 + models.length)
    # The length itself is a float32 sum of squares.
    return (share * models.length + lost) * (1.0 + 1e-5 + (n_features + 16) * UNIT)


def _n_roundings(X: Matrix | ColumnBlock, unit: float) -> int:
    """Return how many roundings a term of a logit can meet, and a few more."""
    n_features = int(X.shape[1])
    if isinstance(X, sparse.csr_array):
        n_terms = int(np.diff(X.indptr).max(initial=0))
    elif unit == UNIT:
        n_terms = min(n_features, SPAN) + -(-n_features // SPAN)
    else:
        n_terms = n_features
    return n_terms + 8

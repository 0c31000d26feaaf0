"""A support vector machine that is given one row after the other, with an RBF kernel, on rows that are known before.

The training rows stand in a line, the labeled ones first, and the Gram matrix has the order of the line. So what a
machine is trained on is the matrix's first block, and what it says of the pool is a product with the block beside it:
no kernel is computed twice, by no round and no member.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from minmargin.experiments.published.solver import TOLERANCE, solve

Floats = NDArray[np.float64]
RowNumbers = NDArray[np.intp]

_NEWTON_STEPS = 30
_SLOPES = 0.05, 50.0


def gram_matrix(first: Floats, second: Floats) -> Floats:
    """Return (n, m) exp(-|x - z|^2 / D): the kernel that scikit-learn calls rbf, with gamma="auto"."""
    squares = (first * first).sum(axis=1)[:, np.newaxis] + (second * second).sum(axis=1)
    distances = np.maximum(squares - 2 * first @ second.T, 0.0)
    return np.asarray(np.exp(distances / -first.shape[1]))


class Machine:
    """C-SVC with C = 1 on the labeled rows of a line."""

    def __init__(self, X: Floats, y: NDArray[np.intp], test: Floats) -> None:
        """Take (m, D) training rows, their classes 0 and 1, and (t, D) test rows. No row is labeled yet."""
        self.n_labeled = 0
        self.order = np.arange(len(X))
        self._places = np.arange(len(X))
        self._gram = gram_matrix(X, X)
        np.fill_diagonal(self._gram, 1.0)
        self._beside = gram_matrix(X, test)
        self._signs = np.where(y == 1, 1.0, -1.0)
        self._weights, self._sums = np.zeros(len(X)), np.zeros(len(X))
        self._of_test = np.zeros(len(test))
        self._intercept = 0.0

    @property
    def labeled(self) -> RowNumbers:
        """(n,) the labeled rows, in the order in which they were labeled."""
        return self.order[: self.n_labeled]

    @property
    def pool(self) -> RowNumbers:
        """(m - n,) the other training rows, in no order."""
        return self.order[self.n_labeled :]

    @property
    def labels(self) -> NDArray[np.intp]:
        """(n,) the classes of the labeled rows, 0 or 1."""
        return np.asarray(self._signs[: self.n_labeled] > 0, dtype=np.intp)

    @property
    def kernels(self) -> Floats:
        """(m, m) the Gram matrix of the line."""
        return self._gram

    def label(self, rows: RowNumbers) -> None:
        """Put rows of the pool behind the labeled ones, and train anew."""
        for row in rows.tolist():
            self._swap(self.n_labeled, int(self._places[row]))
            self.n_labeled += 1
        n = self.n_labeled
        before, signs = self._weights[:n].copy(), self._signs[:n]
        away = signs - self._sums[:n]
        least, most = np.minimum(signs, 0.0), np.maximum(signs, 0.0)
        self._intercept, _ = solve(self._gram, least, most, self._weights[:n], away, TOLERANCE)
        self._sums[:n] = signs - away
        change = self._weights[:n] - before
        moved = np.flatnonzero(change)
        self._sums[n:] += change[moved] @ self._gram[moved, n:]
        self._of_test += change[moved] @ self._beside[moved]

    def pool_values(self) -> Floats:
        """Return (m - n,) the decision values of the pool."""
        return np.asarray(self._sums[self.n_labeled :] + self._intercept)

    def test_values(self) -> Floats:
        """Return (t,) the decision values of the test rows."""
        return np.asarray(self._of_test + self._intercept)

    def member_values(self, multiplicities: NDArray[np.int64]) -> Floats:
        """Return (K, m - n) the decision values of the pool under machines that count labeled rows (K, n) times."""
        n = self.n_labeled
        signs = self._signs[:n]
        weights, intercepts = np.zeros(multiplicities.shape), np.zeros((len(multiplicities), 1))
        for member, counts in enumerate(multiplicities):
            least, most = np.minimum(signs, 0.0) * counts, np.maximum(signs, 0.0) * counts
            intercepts[member], _ = solve(self._gram, least, most, weights[member], signs.copy(), TOLERANCE)
        return np.asarray(weights @ self._gram[:n, n:] + intercepts)

    def slope(self) -> float:
        """Return a with which 1 / (1 + exp(-a * value)) is likeliest on the labeled rows.

        That is Platt's sigmoid without an offset, so that no row changes sides, with his targets, which lie a little
        inside of 0 and 1.
        """
        n = self.n_labeled
        values, positive = self._sums[:n] + self._intercept, self._signs[:n] > 0
        n_positive = int(positive.sum())
        targets = np.where(positive, (n_positive + 1) / (n_positive + 2), 1 / (n - n_positive + 2))
        slope = 1.0
        for _ in range(_NEWTON_STEPS):
            p = 1 / (1 + np.exp(-slope * values))
            curvature = float((values * values * p * (1 - p)).sum())
            step = float((values * (targets - p)).sum()) / max(curvature, 1e-12)
            slope = float(np.clip(slope + np.clip(step, -slope / 2, slope), *_SLOPES))
        return slope

    def _swap(self, first: int, second: int) -> None:
        """Have two rows of the line change places."""
        if first == second:
            return
        there, here = [first, second], [second, first]
        for values in (self.order, self._signs, self._weights, self._sums, self._beside, self._gram):
            values[there] = values[here]
        self._gram[:, there] = self._gram[:, here]
        self._places[self.order[there]] = there

"""Committees of linear models: all weights in one array, scored by the canonical kernel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from minmargin.rows import Matrix


@dataclass(frozen=True)
class LinearScorer:
    """A base and K members whose logits are linear in the features.

    Attributes:
        base_weights: (D, 1, O) with O outputs: one per class, or a single one for two classes.
        base_intercepts: (1, O).
        member_weights: (D, K, O).
        member_intercepts: (K, O).
    """

    base_weights: NDArray[np.float64]
    base_intercepts: NDArray[np.float64]
    member_weights: NDArray[np.float64]
    member_intercepts: NDArray[np.float64]

    path = "linear, canonical float64 kernel"
    probabilistic = True
    rowwise = True

    @property
    def n_members(self) -> int:
        """K: how many members there are besides the base."""
        return int(self.member_weights.shape[1])

    def base_scores(self, X: Matrix) -> NDArray[np.float64]:
        """Return (n, C): the probabilities under the base."""
        only: NDArray[np.float64] = _probabilities(X, self.base_weights, self.base_intercepts)[0]
        return only

    def member_scores(self, X: Matrix) -> NDArray[np.float64]:
        """Return (K, n, C): the probabilities under each member."""
        return _probabilities(X, self.member_weights, self.member_intercepts)

    def vectors(self, X: Matrix) -> Matrix:
        """Return the rows themselves."""
        return X


def _probabilities(
    X: Matrix, weights: NDArray[np.float64], intercepts: NDArray[np.float64]
) -> NDArray[np.float64]:
    from minmargin.kernels import linear_class_scores  # noqa: PLC0415 - imports numba

    return linear_class_scores(X, weights, intercepts)

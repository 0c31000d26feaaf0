"""Committees of linear models: all weights in one array, scored by the canonical kernel."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from minmargin.learners.base import Models
from minmargin.rows import Matrix

if TYPE_CHECKING:
    from minmargin.screen import LinearScreen


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

    path = "linear: float32 screen, canonical float64 decision"
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

    def near(
        self, X: Matrix, lowest_margin_of: Models, *, threshold: float | None, size: int | None
    ) -> NDArray[np.intp]:
        """Return the rows whose lowest margin may be `threshold` or lower and among the `size` lowest."""
        screen = self._base_screen if lowest_margin_of == "base" else self._member_screen
        return np.arange(X.shape[0]) if screen is None else screen.survivors(X, threshold, size)

    @cached_property
    def _base_screen(self) -> LinearScreen | None:
        from minmargin.screen import LinearScreen  # noqa: PLC0415 - imports numba

        return LinearScreen.of(self.base_weights, self.base_intercepts)

    @cached_property
    def _member_screen(self) -> LinearScreen | None:
        from minmargin.screen import LinearScreen  # noqa: PLC0415 - imports numba

        return LinearScreen.of(self.member_weights, self.member_intercepts)

    def vectors(self, X: Matrix) -> Matrix:
        """Return the rows themselves."""
        return X


def _probabilities(
    X: Matrix, weights: NDArray[np.float64], intercepts: NDArray[np.float64]
) -> NDArray[np.float64]:
    from minmargin.kernels import linear_class_scores  # noqa: PLC0415 - imports numba

    return linear_class_scores(X, weights, intercepts)

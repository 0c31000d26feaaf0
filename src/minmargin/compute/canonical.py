"""Canonical numbers, in plain numpy where there is little to do, and by compiled kernels where there is more.

Both ways give the same bits, so it is a matter of time alone: a kernel is many times as fast, but in a fresh
installation it takes seconds to compile, and half a second to load ever after. The size of the work decides, and
nothing else, so that a run takes the same way every time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from minmargin import margins
from minmargin.data.rows import Matrix

if TYPE_CHECKING:
    from minmargin.compute import kernels

#: Multiplications that numpy makes in a few hundredths of a second. Tests of compiled code set it to 0.
SMALL_WORK = 1 << 25

_EXPONENTIAL = 40  # multiplications that take as long as all else that is done to a logit
_CALL = 2_000  # multiplications that take as long as calling numpy


def scoring_work(n_rows: int, n_logits: int, n_terms: int) -> int:
    """Return how many multiplications canonical class scores are worth.

    Args:
        n_rows: how many rows are scored.
        n_logits: of all models for a row.
        n_terms: how many features a logit is the sum of.
    """
    return n_rows * n_logits * (n_terms + _EXPONENTIAL)


def rows_in_small_work(n_logits: int, n_terms: int, *, multiplications: int = 0) -> int:
    """Return how many rows are so few that numpy scores them, if each is worth no less than `multiplications`."""
    return SMALL_WORK // max(scoring_work(1, n_logits, n_terms), multiplications)


@dataclass(frozen=True)
class LinearModels:
    """K linear models, ready to be asked for canonical class scores many times.

    Attributes:
        weights: (D, K, O) with one output O per class, or a single one for two classes.
        intercepts: (K, O).
        softmax: whether class scores are the softmax of the logits.
        compiled: whether kernels are at hand anyhow, and so make the scores of a few rows too.
    """

    weights: NDArray[np.float64]
    intercepts: NDArray[np.float64]
    softmax: bool
    compiled: bool = False

    def class_scores(self, X: Matrix) -> NDArray[np.float64]:
        """Return (K, n, C): the class scores under each model."""
        n_rows, n_features = X.shape
        n_terms = n_features if isinstance(X, np.ndarray) else X.nnz // max(n_rows, 1)
        if not self.compiled and scoring_work(n_rows, self.intercepts.size, n_terms) <= SMALL_WORK:
            return margins.linear_class_scores(X, self.weights, self.intercepts, probabilistic=self.softmax)
        return self._kernel.class_scores(X)

    @cached_property
    def _kernel(self) -> kernels.LinearModels:
        from minmargin.compute import kernels  # noqa: PLC0415 - imports numba

        return kernels.LinearModels(self.weights, self.intercepts, softmax=self.softmax)


def cosine_functions(
    X: Matrix, n_centers: int
) -> tuple[Callable[..., NDArray[np.float64]], Callable[..., None]]:
    """Return `norms` and `raise_to_cosines`, to compare (n, D) rows with so many centers."""
    n_rows, n_features = X.shape
    if n_centers * n_features * (n_rows + _CALL) <= SMALL_WORK:
        return margins.norms, margins.raise_to_cosines
    from minmargin.compute import kernels  # noqa: PLC0415 - imports numba

    return kernels.norms, kernels.raise_to_cosines

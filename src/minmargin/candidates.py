"""Candidates: a run of pool rows as a strategy sees them."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minmargin.errors import MinMarginError, ScoringError
from minmargin.learners import Scorer
from minmargin.rows import Matrix, take_rows
from minmargin.seeds import SeedTree


class Candidates:
    """Pool rows with everything a score can be made of; each part is computed when first asked for.

    Attributes:
        rows: (n,) int64 the rows' numbers in the pool.
    """

    def __init__(self, rows: NDArray[np.int64], X: Any, scorer: Scorer, seeds: SeedTree) -> None:
        self.rows = rows
        self._X = X
        self._scorer = scorer
        self._seeds = seeds
        self._taken_from: tuple[Candidates, NDArray[np.intp]] | None = None

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def X(self) -> Any:  # noqa: N802 - the field's name for rows
        """The rows in the learner's form."""
        if self._X is None and self._taken_from is not None:
            whole, index = self._taken_from
            self._X = take_rows(whole.X, index)
        return self._X

    @cached_property
    def member_scores(self) -> NDArray[np.float64]:
        """(K, n, C) the class scores under each member."""
        scores: NDArray[np.float64] = self._part("member_scores", axis=1)
        return scores

    @cached_property
    def base_scores(self) -> NDArray[np.float64]:
        """(n, C) the class scores under the base."""
        scores: NDArray[np.float64] = self._part("base_scores", axis=0)
        return scores

    @cached_property
    def vectors(self) -> Matrix:
        """(n, D) the rows as the learner's last step sees them, dense or CSR."""
        vectors: Matrix = self._part("vectors", axis=0)
        return vectors

    @cached_property
    def uniform(self) -> NDArray[np.float64]:
        """(n,) one random number in [0, 1) a row, the same however the pool is read."""
        return self._seeds.uniform(self.rows)

    def take(self, index: NDArray[np.intp]) -> Candidates:
        """Return some of these candidates, with the same scores to the bit."""
        taken = Candidates(self.rows[index], None, self._scorer, self._seeds)
        taken._taken_from = (self, index)
        return taken

    def failure(self, of: str, error: Exception) -> ScoringError:
        """Return the error that says what failed on these rows, and why."""
        first, last = int(self.rows[0]), int(self.rows[-1])
        return ScoringError(
            f"The {of} failed on pool rows {first:,} to {last:,}: {type(error).__name__}: {error}"
        )

    def _part(self, name: str, axis: int) -> Any:
        if self._taken_from is not None:
            whole, index = self._taken_from
            # A model that scores each row by itself can be asked for these rows alone. Any other is asked
            # for the whole block, so that each row stands where it always stands.
            if name in whole.__dict__ or not self._scorer.rowwise:
                part = getattr(whole, name)
                return part[:, index] if axis == 1 else part[index]
        try:
            return getattr(self._scorer, name)(self.X)
        except MinMarginError:
            raise
        except Exception as error:
            raise self.failure("learner", error) from error

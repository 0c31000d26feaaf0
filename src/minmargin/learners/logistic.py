"""`learner="logistic"`: L2-regularized logistic regression, all members trained together to the optimum."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from minmargin.bootstrap import Bootstrap
from minmargin.errors import DataWarning
from minmargin.intake import Intake
from minmargin.labeled import LabeledSet
from minmargin.learners.base import Progress, numeric_intake
from minmargin.learners.linear import LinearScorer
from minmargin.learners.newton import Optimum, fit_together
from minmargin.rows import Matrix

# Members are trained in groups of just this size, whatever n_jobs and n_models are, so that neither can change a
# bit of a member: the last group is filled up with members that nobody asked for.
_GROUP_SIZE = 5
_CONVERGED = 1e-6  # the largest gradient entry of an optimum, relative to the gradient at zero


@dataclass(frozen=True)
class LogisticLearner:
    """Logistic regression with scikit-learn's objective; C is the inverse strength of the L2 penalty.

    A member's draw enters as row weights, so no rows are copied.
    """

    C: float = 1.0

    probabilistic = True
    takes_sparse = True

    @property
    def name(self) -> str:
        """The name, with C where it is not the usual one."""
        return "logistic" if self.C == 1.0 else f"logistic(C={self.C:g})"

    def check(self, n_classes: int) -> None:
        """Raise no error: any number of classes can be scored."""

    def intake(self, labeled: LabeledSet) -> Intake:
        """Return the form in which this learner takes these rows."""
        return numeric_intake(labeled, takes_sparse=True, missing=False)

    def fit(
        self,
        X: Matrix,
        labeled: LabeledSet,
        bootstrap: Bootstrap,
        n_members: int,
        *,
        n_jobs: int,
        progress: Progress,
    ) -> LinearScorer:
        """Return the base, trained on all rows X, and `n_members` members, each on its own draw."""
        rows = X.astype(np.float64)
        groups = [range(first, first + _GROUP_SIZE) for first in range(0, n_members, _GROUP_SIZE)]

        def fit_group(members: Sequence[int]) -> Optimum:
            weights = np.stack([bootstrap.multiplicities(member) for member in members])
            return self._optimum(rows, labeled, weights.astype(np.float64), base)

        progress("training", 0, n_members + 1)
        with threadpool_limits(1, user_api="blas"):
            base = self._optimum(rows, labeled, np.ones((1, len(labeled.codes))), None)
            progress("training", 1, n_members + 1)
            optima = [_without_members(base)]
            fits = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")(
                map(delayed(fit_group), groups)
            )
            for group, optimum in zip(groups, fits, strict=True):
                optima.append(optimum)
                progress("training", 1 + min(group.stop, n_members), n_members + 1)
        _warn_if_unconverged(np.concatenate([base.gradient, *(optimum.gradient for optimum in optima)]))
        return LinearScorer(
            base.coefficients,
            base.intercepts,
            np.concatenate([optimum.coefficients for optimum in optima], axis=1)[:, :n_members].copy(),
            np.concatenate([optimum.intercepts for optimum in optima])[:n_members].copy(),
        )

    def _optimum(
        self, rows: Matrix, labeled: LabeledSet, weights: NDArray[np.float64], start: Optimum | None
    ) -> Optimum:
        return fit_together(rows, labeled.codes, len(labeled.classes), weights, C=self.C, start=start)


def _without_members(optimum: Optimum) -> Optimum:
    """Return an optimum of no members, of the same shape otherwise."""
    return Optimum(
        optimum.coefficients[:, :0], optimum.intercepts[:0], optimum.gradient[:0], optimum.steps[:0]
    )


def _warn_if_unconverged(gradients: NDArray[np.float64]) -> None:
    n_far = int((gradients > _CONVERGED).sum())
    if n_far:
        warnings.warn(
            f"{n_far} of {len(gradients)} logistic models stopped short of the optimum (relative gradient up to "
            f"{gradients.max():.1g}). Standardize the features, or use preprocess='auto'.",
            DataWarning,
            stacklevel=5,
        )

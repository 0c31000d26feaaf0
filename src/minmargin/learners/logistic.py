"""`learner="logistic"`: L2-regularized logistic regression, trained to the optimum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from minmargin.bootstrap import Bootstrap
from minmargin.intake import Intake
from minmargin.labeled import LabeledSet
from minmargin.learners.base import Progress, numeric_intake
from minmargin.learners.fitting import fit_all
from minmargin.learners.linear import LinearScorer
from minmargin.rows import Matrix

# Newton's method solves for all weights at once: past this many, its matrix costs more than it saves.
_NEWTON_WEIGHTS = 1000


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
        from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 - slow to import

        n_outputs = 1 if len(labeled.classes) == 2 else len(labeled.classes)
        X = X.astype(np.float64)  # in float32 the solver stops far from the optimum
        newton = X.shape[1] * n_outputs <= _NEWTON_WEIGHTS
        model = LogisticRegression(
            C=self.C, solver="newton-cholesky" if newton else "lbfgs", tol=1e-8, max_iter=10_000
        )

        def fit_one(member: int | None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
            weights = None if member is None else bootstrap.multiplicities(member)
            fitted = LogisticRegression(**model.get_params()).fit(X, labeled.codes, sample_weight=weights)
            return fitted.coef_.T, fitted.intercept_

        base, members = fit_all(fit_one, labeled, bootstrap, n_members, n_jobs=n_jobs, progress=progress)
        return LinearScorer(
            base[0][:, np.newaxis, :].astype(np.float64),
            base[1][np.newaxis, :].astype(np.float64),
            _stack(
                [coefficients for coefficients, _ in members],
                axis=1,
                like=(X.shape[1], 0, n_outputs),
            ),
            _stack([intercepts for _, intercepts in members], axis=0, like=(0, n_outputs)),
        )


def _stack(arrays: list[NDArray[np.float64]], *, axis: int, like: tuple[int, ...]) -> NDArray[np.float64]:
    """Return the arrays stacked along a new axis; an empty array of shape `like` where there are none."""
    stacked = np.stack(arrays, axis=axis) if arrays else np.empty(like)
    return np.ascontiguousarray(stacked, dtype=np.float64)

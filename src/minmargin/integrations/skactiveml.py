"""Min-margin as a query strategy of scikit-activeml."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from minmargin.committee.training import fit_committee
from minmargin.errors import missing_extra
from minmargin.typing import LearnerLike, Seed

try:
    from skactiveml.base import SingleAnnotatorPoolQueryStrategy
    from skactiveml.utils import MISSING_LABEL, is_labeled, simple_batch
except ImportError:
    raise missing_extra("MinMarginSampling needs scikit-activeml", "activeml") from None


class MinMarginSampling(SingleAnnotatorPoolQueryStrategy):  # type: ignore[misc] # scikit-activeml has no types
    """Min-margin active sampling (Jiang & Gupta 2019): the smallest margin under any of K bootstrapped models.

    It trains its own models, so `query` takes no classifier. While fewer than two classes have labels there is no
    margin: all candidates are alike, and chance picks.

    >>> import numpy as np
    >>> X = np.linspace(-1, 1, 9).reshape(-1, 1)
    >>> y = np.array([0, 0, *[np.nan] * 5, 1, 1])
    >>> MinMarginSampling(random_state=0).query(X, y)
    array([4])

    Args:
        learner: "logistic", or what else `minmargin.select` takes.
        n_models: K, how many models to train on bootstrap draws.
        bootstrap_fraction: beta, the size of a draw as a fraction of each class.
        missing_label: what stands for a missing label in y.
        random_state: the seed of the draws, and of the order among equals.
    """

    def __init__(
        self,
        learner: LearnerLike = "logistic",
        n_models: int = 25,
        bootstrap_fraction: float = 1.0,
        missing_label: Any = MISSING_LABEL,
        random_state: Seed = None,
    ) -> None:
        super().__init__(missing_label=missing_label, random_state=random_state)
        self.learner = learner
        self.n_models = n_models
        self.bootstrap_fraction = bootstrap_fraction

    def query(
        self,
        X: Any,
        y: Any,
        candidates: Any = None,
        batch_size: int = 1,
        return_utilities: bool = False,
    ) -> Any:
        """Return (B,) the candidates to label next; with `return_utilities`, also their utilities (B, n).

        A utility is minus the smallest margin, NaN for what is no candidate.

        Args:
            X: (n, D) all rows.
            y: (n,) their labels, or `missing_label`.
            candidates: (m,) which rows of X, or (m, D) rows themselves; None: all rows without a label.
            batch_size: B.
            return_utilities: whether to return utilities too.
        """
        X, y, candidates, batch_size, return_utilities = self._validate_data(
            X, y, candidates, batch_size, return_utilities, reset=True
        )
        rows, mapping = self._transform_candidates(candidates, X, y)
        known = is_labeled(y, self.missing_label_)
        found = self._utilities(X[known], y[known], rows)
        utilities = found
        if mapping is not None:
            utilities = np.full(len(X), np.nan)
            utilities[mapping] = found
        return simple_batch(
            utilities, self.random_state_, batch_size=batch_size, return_utilities=return_utilities
        )

    def _utilities(self, X: NDArray[Any], y: NDArray[Any], rows: NDArray[Any]) -> NDArray[np.float64]:
        if len(np.unique(y)) < 2:
            return np.zeros(len(rows))
        committee = fit_committee(
            X,
            y,
            classes=set(y.tolist()),  # it has its own mark for rows without a label
            learner=self.learner,
            n_models=self.n_models,
            bootstrap_fraction=self.bootstrap_fraction,
            random_state=self.random_state_,
        )
        return -committee.score(rows)

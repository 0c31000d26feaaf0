"""A committee as a scikit-learn classifier: it fits, predicts, and tells how close rows are to its boundaries."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from minmargin.committee.training import fit_committee
from minmargin.errors import InputError
from minmargin.learners import resolve_learner
from minmargin.scan.scan import ModelChoice
from minmargin.typing import LearnerLike, Preprocess, Seed


def _has_probabilities(classifier: CommitteeClassifier) -> bool:
    return resolve_learner(classifier.learner).probabilistic


class CommitteeClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc] # scikit-learn has no types
    """A committee of bootstrapped models that predicts as one classifier.

    It goes wherever scikit-learn takes a classifier: into pipelines, searches and cross-validation.

    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> classifier = CommitteeClassifier(preprocess="auto", random_state=0).fit(X[:100], y[:100])
    >>> classifier.score(X[100:], y[100:]) > 0.9
    True
    >>> int(classifier.min_margins(X[100:]).argmin())
    362

    Args:
        learner: as for `minmargin.select`.
        n_models: K, how many members to train on bootstrap draws.
        bootstrap_fraction: beta, the size of a draw as a fraction of each class.
        predict_with: "base", the model that was trained on all rows; or "members": their mean probabilities.
        preprocess: "none", or "auto": as for `minmargin.select`.
        classes: all classes that may occur, also those that y lacks: `predict_proba` has a column for each. By
            default those of y.
        random_state: the seed.
        n_jobs: how many members are trained, and blocks scored, at a time; None is one, -1 all cores.

    Attributes:
        classes_: (C,) the classes, sorted.
        committee_: the trained `Committee`, for all else that it can do.
        n_features_in_: D.
        feature_names_in_: the names of the columns, if X was a frame.
    """

    def __init__(
        self,
        learner: LearnerLike = "logistic",
        *,
        n_models: int = 25,
        bootstrap_fraction: float = 1.0,
        predict_with: ModelChoice = "base",
        preprocess: Preprocess = "none",
        random_state: Seed = None,
        n_jobs: int | None = None,
        classes: Iterable[Any] | None = None,
    ) -> None:
        self.learner = learner
        self.n_models = n_models
        self.bootstrap_fraction = bootstrap_fraction
        self.predict_with = predict_with
        self.preprocess = preprocess
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.classes = classes

    def fit(self, X: Any, y: Any) -> CommitteeClassifier:
        """Return this classifier, its committee trained on rows X with labels y."""
        if self.predict_with not in {"base", "members"}:
            raise InputError(f"predict_with={self.predict_with!r} must be 'base' or 'members'.")
        X, y = self._labeled(X, y)
        self.committee_ = fit_committee(
            X,
            y,
            # In scikit-learn every label is a class, -1 too.
            classes=set(y.tolist()) if self.classes is None else self.classes,
            learner=self.learner,
            n_models=self.n_models,
            bootstrap_fraction=self.bootstrap_fraction,
            random_state=self.random_state,
            preprocess=self.preprocess,
            n_jobs=self._workers,
        )
        self.classes_ = self.committee_.classes_
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return (n,) the most likely classes."""
        rows = self._rows(X)
        return self.committee_.predict(rows, of=self.predict_with, n_jobs=self._workers)

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator] # as above
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return (n, C) the probabilities of the classes."""
        rows = self._rows(X)
        return self.committee_.predict_proba(rows, of=self.predict_with, n_jobs=self._workers)

    def min_margins(self, X: Any) -> NDArray[np.float64]:
        """Return (n,) the smallest margin of each row under any member: the lowest are worth a label."""
        rows = self._rows(X)
        return self.committee_.score(rows, n_jobs=self._workers)

    @property
    def _workers(self) -> int:
        return 1 if self.n_jobs is None else self.n_jobs

    def _labeled(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Return rows and labels to train on, checked by scikit-learn."""
        if _is_frame_or_texts(X):
            validate_data(self, X, skip_check_array=True)
        else:
            X, y = validate_data(self, X, y, ensure_min_samples=2, **self._wanted)
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        return X, y

    def _rows(self, X: Any) -> Any:
        """Return rows to predict, checked by scikit-learn against those of the training."""
        check_is_fitted(self)
        if _is_frame_or_texts(X):
            validate_data(self, X, reset=False, skip_check_array=True)
            return X
        return validate_data(self, X, reset=False, **self._wanted)

    @property
    def _wanted(self) -> dict[str, Any]:
        return {
            "accept_sparse": "csr",
            "accept_large_sparse": not isinstance(self.learner, BaseEstimator),
            "ensure_all_finite": "allow-nan" if self.__sklearn_tags__().input_tags.allow_nan else True,
        }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if isinstance(self.learner, BaseEstimator):
            tags.input_tags = get_tags(self.learner).input_tags
        else:
            tags.input_tags.sparse = resolve_learner(self.learner).takes_sparse
        if self.preprocess == "auto":
            tags.input_tags.sparse = tags.input_tags.allow_nan = True
        return tags


def _is_frame_or_texts(X: Any) -> bool:
    """Return whether rows are to be left as they are: columns have names, or each row is a text."""
    if nw.dependencies.is_into_dataframe(X):
        return all(isinstance(name, str) for name in nw.from_native(X, eager_only=True).columns)
    return isinstance(X, (list, tuple, np.ndarray)) and len(X) > 0 and isinstance(X[0], str)

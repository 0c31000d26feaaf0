"""Logistic regression at its optimum, as a scikit-learn classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from minmargin import margins
from minmargin.errors import warn
from minmargin.learners.logistic import advise
from minmargin.learners.newton.training import CONVERGED, fit_together


class BatchedLogisticRegression(ClassifierMixin, BaseEstimator):  # type: ignore[misc] # scikit-learn has no types
    """L2-regularized logistic regression, trained to the optimum by the trainer of committees.

    As a learner, alone or behind scalers and imputers, all members of a committee are trained together. The objective
    is that of scikit-learn's `LogisticRegression`, but it is minimized whatever the units of the features are.

    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> BatchedLogisticRegression().fit(X, y).score(X, y) > 0.95
    True

    Args:
        C: the inverse strength of the penalty.
        fit_intercept: whether there is a free constant.
        class_weight: None, "balanced", or a weight for each class.
        tol: the length of the gradient to stop at, relative to the gradient at zero.

    Attributes:
        classes_: (C,) the classes, sorted.
        coef_: (1, D) for two classes, else (C, D).
        intercept_: (1,) or (C,).
        n_iter_: (1,) how many Newton steps it took.
        n_features_in_: D.
    """

    def __init__(
        self, *, C: float = 1.0, fit_intercept: bool = True, class_weight: Any = None, tol: float = 1e-9
    ) -> None:
        self.C = C
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.tol = tol

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> BatchedLogisticRegression:
        """Return this classifier, trained on rows X (dense or CSR) with labels y."""
        if not 0 < self.C < np.inf:
            raise ValueError(f"C={self.C!r} must be a positive number.")
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        check_classification_targets(y)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y has one class only, {self.classes_.tolist()[0]!r}. Give rows of two classes or more."
            )
        by_class = compute_class_weight(self.class_weight, classes=self.classes_, y=y, sample_weight=weights)
        optimum = fit_together(
            X if isinstance(X, np.ndarray) else sparse.csr_array(X),
            codes,
            len(self.classes_),
            (weights * by_class[codes])[np.newaxis],
            C=self.C,
            fit_intercept=self.fit_intercept,
            tolerance=self.tol,
        )
        if not optimum.gradient[0] <= max(self.tol, CONVERGED):  # written so that NaN is far
            warn(
                f"Training stopped at a gradient of {optimum.gradient[0]:.1g} of that at zero, where {self.tol:g} was "
                f"asked for. {advise(X, C=self.C)}",
                ConvergenceWarning,
            )
        self.coef_ = optimum.coefficients[:, 0].T
        self.intercept_ = optimum.intercepts[0]
        self.n_iter_ = optimum.steps
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the logits: (n,) of the second class if there are two, else (n, C)."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        logits = np.asarray(X @ self.coef_.T + self.intercept_)
        return logits[:, 0] if len(self.classes_) == 2 else logits

    def predict(self, X: Any) -> NDArray[Any]:
        """Return (n,) the most likely classes."""
        likely = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[likely])

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return (n, C) the probabilities of the classes."""
        logits = self.decision_function(X)
        return margins.sigmoid_pair(logits) if logits.ndim == 1 else margins.softmax(logits)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

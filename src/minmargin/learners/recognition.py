"""Which scikit-learn estimators are linear in the raw columns, and how they look there once they are fitted.

Classifiers with `coef_` and `intercept_`, alone or behind scalers and imputers, are *recognized*: they take rows as a
matrix, and a committee of them is compiled into one `LinearScorer`. Types are compared exactly, because a subclass may
do anything. What is not recognized, or turns out not to compile, is asked for its scores as scikit-learn would be.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn import linear_model
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    LogisticRegression,
    LogisticRegressionCV,
    Perceptron,
    RidgeClassifier,
    RidgeClassifierCV,
    SGDClassifier,
)
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import LinearSVC

from minmargin.data.rows import Matrix
from minmargin.data.schema import Column
from minmargin.learners.affine import Columns, Expansion, Floats
from minmargin.learners.batched import BatchedLogisticRegression
from minmargin.learners.linear import LinearScorer, Link

_PROBABILISTIC = {
    LogisticRegression,
    LogisticRegressionCV,
    LinearDiscriminantAnalysis,
    BatchedLogisticRegression,
}
_DECIDING = {LinearSVC, RidgeClassifier, RidgeClassifierCV, Perceptron}
if hasattr(linear_model, "PassiveAggressiveClassifier"):  # gone from scikit-learn 1.10 on
    _DECIDING.add(linear_model.PassiveAggressiveClassifier)


class _Reader(NamedTuple):
    """What is known of a kind of transformer: when it acts on each column by itself, and how once it is fitted."""

    linear: Callable[[Any], bool]
    apply: Callable[[Any, Columns], Columns]


_READERS: dict[type, _Reader] = {
    FunctionTransformer: _Reader(lambda step: step.func is None, lambda _, columns: columns),
    StandardScaler: _Reader(
        lambda _: True,
        lambda step, columns: columns.scaled(
            step.mean_ if step.with_mean else 0.0, step.scale_ if step.with_std else 1.0
        ),
    ),
    MinMaxScaler: _Reader(
        lambda step: not step.clip,
        lambda step, columns: columns.scaled(-step.min_ / step.scale_, 1.0 / step.scale_),
    ),
    MaxAbsScaler: _Reader(lambda step: not step.clip, lambda step, columns: columns.scaled(0.0, step.scale_)),
    RobustScaler: _Reader(
        lambda _: True,
        lambda step, columns: columns.scaled(
            step.center_ if step.with_centering else 0.0, step.scale_ if step.with_scaling else 1.0
        ),
    ),
    SimpleImputer: _Reader(
        lambda step: (
            isinstance(step.missing_values, float)
            and np.isnan(step.missing_values)
            and not step.add_indicator
        ),
        lambda step, columns: columns.filled(np.asarray(step.statistics_, dtype=np.float64)),
    ),
}


# Before fitting


def link_of(classifier: Any, n_classes: int) -> Link | None:
    """Return how a classifier's scores follow from its linear outputs; None if they do so in no way known here."""
    if type(classifier) in _PROBABILISTIC:
        return "softmax"
    if type(classifier) in _DECIDING:
        return "identity"
    if type(classifier) is SGDClassifier and classifier.loss != "modified_huber":
        if classifier.loss != "log_loss":
            return "identity"
        return "softmax" if n_classes == 2 else None  # one against the rest otherwise
    return None


def recognize(estimator: Any, columns: Sequence[Column] | None, n_classes: int) -> Any | None:
    """Return a copy of a linear estimator that takes its rows as a matrix; None if it is not known to be linear.

    Args:
        estimator: a classifier or a pipeline, not fitted.
        columns: the feature columns; None if they have no names.
        n_classes: how many classes there are.
    """
    if link_of(last_step(estimator), n_classes) is None:
        return None
    if not isinstance(estimator, Pipeline):
        return clone(estimator)
    # Names stand for columns of the matrix only where each is one number wide.
    narrow = columns is not None and all(column.kind == "number" for column in columns)
    names = [column.name for column in columns or ()] if narrow else None
    *before, last = estimator.steps
    return _recognize_pipeline(estimator, before, names, after=[last])


def _recognize_pipeline(
    pipeline: Any, transformers: Sequence[Any], names: Sequence[str] | None, *, after: Sequence[Any] = ()
) -> Any | None:
    if type(pipeline) is not Pipeline or pipeline.transform_input is not None:
        return None
    # Only the first step sees the rows with their names.
    known = [
        (name, _recognize_step(step, names if place == 0 else None))
        for place, (name, step) in enumerate(transformers)
    ]
    if any(step is None for _, step in known):
        return None
    return clone(pipeline).set_params(steps=[*known, *((name, clone(step)) for name, step in after)])


def _recognize_step(step: Any, names: Sequence[str] | None) -> Any | None:
    if step is None or isinstance(step, str):
        return "passthrough" if step != "drop" else step
    if isinstance(step, Pipeline):
        return _recognize_pipeline(step, step.steps, names)
    if type(step) is ColumnTransformer:
        return _recognize_columns(step, names)
    reader = _READERS.get(type(step))
    return clone(step) if reader is not None and reader.linear(step) else None


def _recognize_columns(step: Any, names: Sequence[str] | None) -> Any | None:
    """Return a copy of a ColumnTransformer with positions instead of names."""
    if step.transformer_weights:
        return None
    transformers = []
    for name, transformer, wanted in step.transformers:
        places = _positions(wanted, names)
        if places is None:
            return None
        inner = None if names is None else np.array(names, dtype=object)[places].tolist()
        known = _recognize_step(transformer, inner)
        if known is None:
            return None
        transformers.append((name, known, places))
    remainder = _recognize_step(step.remainder, None)
    return (
        None if remainder is None else clone(step).set_params(transformers=transformers, remainder=remainder)
    )


def _positions(wanted: Any, names: Sequence[str] | None) -> Any | None:
    """Return a choice of columns by position; None for a function, a single column or names that are not known."""
    if isinstance(wanted, slice):
        return None if isinstance(wanted.start or wanted.stop, str) else wanted
    if callable(wanted) or np.isscalar(wanted):
        return None
    chosen = list(wanted)
    if not any(isinstance(each, str) for each in chosen):
        return chosen
    if names is None or not set(chosen) <= set(names):
        return None
    return [names.index(each) for each in chosen]


def lets_missing_through(estimator: Any) -> bool:
    """Return whether a recognized estimator may be given missing values, in some columns at least."""
    deep = [estimator, *estimator.get_params(deep=True).values()]
    return any(isinstance(each, (SimpleImputer, ColumnTransformer)) for each in deep)


def takes(estimator: Any, X: Any) -> bool:
    """Return whether rows are such that a recognized estimator is linear in them."""
    if sparse.issparse(X):
        return not lets_missing_through(estimator)
    return isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f"


# After fitting


def read_columns(transformers: Any, n_columns: int) -> Columns:
    """Return what fitted transformers, as `recognize` gave them, make of `n_columns` raw columns."""
    return _apply(transformers, Columns.raw(n_columns))


def _apply(step: Any, columns: Columns) -> Columns:
    if step is None or isinstance(step, str):
        return columns
    if isinstance(step, Pipeline):
        return reduce(lambda made, each: _apply(each[1], made), step.steps, columns)
    if isinstance(step, ColumnTransformer):
        everything = np.arange(step.n_features_in_)
        parts = [columns.take(everything[:0])]
        for _, each, wanted in step.transformers_:
            places = everything[wanted]
            if len(places) and each != "drop":  # what is given no columns was not fitted
                parts.append(_apply(each, columns.take(places)))
        return Columns.side_by_side(parts)
    return _READERS[type(step)].apply(step, columns)


class LinearModel(NamedTuple):
    """A fitted classifier: linear outputs of columns made of the raw ones."""

    columns: Columns
    weights: Floats  # (D, O)
    intercepts: Floats  # (O,)


def read_model(model: Any, n_columns: int) -> LinearModel:
    """Return a fitted estimator, as `recognize` gave it, as a linear model."""
    classifier = last_step(model)
    weights = np.atleast_2d(np.asarray(classifier.coef_, dtype=np.float64)).T
    intercepts = np.broadcast_to(np.ravel(classifier.intercept_).astype(np.float64), weights.shape[1:])
    return LinearModel(read_columns(transformers_of(model), n_columns), weights, intercepts)


@dataclass(frozen=True, kw_only=True)
class CompiledScorer(LinearScorer):
    """A linear committee of raw rows, which knows what its base's last step was given.

    Attributes:
        view: the columns that the base's transformers make of raw ones.
    """

    view: Columns

    def vectors(self, X: Matrix) -> Matrix:
        """Return the rows as the base's last step sees them."""
        return self.view(X)


def compile_models(
    base: LinearModel,
    members: Sequence[LinearModel],
    *,
    n_columns: int,
    link: Link,
    expand: bool,
    trained: str,
) -> LinearScorer | None:
    """Return a scorer of raw rows that gives what these models would; None if one of them cannot be compiled well.

    Args:
        base: the model trained on the whole labeled set.
        members: the models trained on draws.
        n_columns: how many raw columns there are.
        link: how class scores follow from linear outputs.
        expand: whether rows may have missing values or columns that no model looks at.
        trained: how the models were trained, for the manifest.
    """
    if not all(model.columns.sound for model in (base, *members)):
        return None
    expansion = Expansion.of([model.columns for model in (base, *members)]) if expand else None

    def unfolded(models: Sequence[LinearModel]) -> tuple[Floats, Floats]:
        weights = np.empty(
            (n_columns if expansion is None else expansion.width, len(models), base.weights.shape[1])
        )
        intercepts = np.empty(weights.shape[1:])
        for k, model in enumerate(models):
            raw, marks, intercepts[k] = model.columns.unfold(model.weights, model.intercepts, n_columns)
            weights[:, k] = raw if expansion is None else expansion.weights(raw, marks)
        return weights, intercepts

    return CompiledScorer(
        *unfolded([base]),
        *unfolded(members),
        link=link,
        expansion=expansion,
        trained=trained,
        view=base.columns,
    )


def compile_fitted(
    base: Any, members: Sequence[Any], *, n_columns: int, n_classes: int, trained: str = "one by one"
) -> LinearScorer | None:
    """Return a scorer of fitted estimators, as `recognize` gave them; None if they do not compile well.

    `trained` says how they were trained, for the manifest.
    """
    link = link_of(last_step(base), n_classes)
    assert link is not None, "only what was recognized is compiled"
    return compile_models(
        read_model(base, n_columns),
        [read_model(member, n_columns) for member in members],
        n_columns=n_columns,
        link=link,
        expand=lets_missing_through(base),
        trained=trained,
    )


def transformers_of(model: Any) -> Any | None:
    """Return all of a pipeline but its last step; None if there is nothing before that."""
    return model[:-1] if isinstance(model, Pipeline) and len(model) > 1 else None


def last_step(model: Any) -> Any:
    """Return the classifier: the last step of a pipeline, or the model itself."""
    return model[-1] if isinstance(model, Pipeline) else model

"""A committee of scikit-learn's logistic regressions, trained together and compiled.

The transformers before the last step are fitted on each draw as scikit-learn would fit them, which is cheap. What they
do to columns is then handed to the trainer, which works on the raw rows for all members at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from minmargin.data.rows import Matrix
from minmargin.execution import Progress, one_thread_each
from minmargin.labeled import Bootstrap, LabeledSet
from minmargin.learners.affine import Columns, Floats
from minmargin.learners.batched import BatchedLogisticRegression
from minmargin.learners.fitting import fit_all
from minmargin.learners.linear import LinearScorer
from minmargin.learners.logistic import row_weights, warn_if_unconverged
from minmargin.learners.newton.training import ColumnTransforms, Optimum, fit_together
from minmargin.learners.recognition import (
    LinearModel,
    compile_models,
    last_step,
    lets_missing_through,
    read_columns,
    transformers_of,
)


def can_train_together(estimator: Any) -> bool:
    """Return whether a recognized estimator ends in a logistic regression whose optimum our trainer finds.

    Solver, `tol` and `max_iter` say how near to the optimum scikit-learn stops. Ours goes there, so they are let be.
    """
    last = last_step(estimator)
    if type(last) not in {LogisticRegression, BatchedLogisticRegression}:
        return False
    settings = {"penalty": "l2", "l1_ratio": 0, "dual": False, "warm_start": False, **last.get_params()}
    balanced = isinstance(last.class_weight, str) and last.class_weight == "balanced"
    return (
        settings["penalty"] in {"l2", "deprecated"}
        and not (settings["l1_ratio"] or settings["dual"] or settings["warm_start"])
        and settings.get("solver") != "liblinear"  # it penalizes the intercept
        and isinstance(last.C, Real)
        and 0 < float(last.C) < np.inf
        and (last.class_weight is None or balanced or isinstance(last.class_weight, dict))
    )


class _Task(NamedTuple):
    """What one model is trained on: columns, and a weight for each labeled row."""

    columns: Columns
    weights: Floats


def train_together(
    estimator: Any,
    X: Matrix,
    labeled: LabeledSet,
    bootstrap: Bootstrap,
    n_members: int,
    *,
    n_jobs: int,
    progress: Progress,
) -> LinearScorer | None:
    """Return the base and the members of a recognized estimator; None if they have to be trained one by one."""
    last = last_step(estimator)
    transformers, n_columns = transformers_of(estimator), X.shape[1]

    def prepare(member: int | None) -> _Task:
        drawn = np.arange(len(labeled.y)) if member is None else bootstrap.indices(member)
        counts = np.bincount(drawn, minlength=len(labeled.y))
        fitted = None if transformers is None else clone(transformers).fit(X[drawn], labeled.y[drawn])
        return _Task(read_columns(fitted, n_columns), row_weights(labeled, counts, last.class_weight))

    # The time is spent below, and told of there.
    base, members = fit_all(prepare, labeled, bootstrap, n_members, n_jobs=n_jobs, progress=lambda *_: None)
    source = base.columns.source
    for task in (base, *members):
        alike = np.array_equal(task.columns.source, source)
        if not (alike and task.columns.sound and task.columns.fill_all(X)):
            return None
    rows = X[:, source].astype(np.float64)
    # scikit-learn's tol is another measure.
    precision: dict[str, Any] = {"tolerance": last.tol} if type(last) is BatchedLogisticRegression else {}

    def train(tasks: Sequence[_Task], **settings: Any) -> Optimum:
        return fit_together(
            rows,
            labeled.codes,
            len(labeled.classes),
            np.array([task.weights for task in tasks]).reshape(-1, len(labeled.y)),
            C=last.C,
            fit_intercept=last.fit_intercept,
            columns=None
            if transformers is None
            else _transforms([task.columns for task in tasks], len(source)),
            **precision,
            **settings,
        )

    def tell(n_trained: int) -> None:
        progress("training", n_trained + 1, n_members + 1)

    tell(-1)
    with one_thread_each():
        first = train([base])
        tell(0)
        rest = train(members, start=first, n_jobs=n_jobs, on_member=tell)
    seen = rows if transformers is None else _transforms([base.columns], len(source)).of(0).apply(rows)
    warn_if_unconverged(np.concatenate([first.gradient, rest.gradient]), seen, C=last.C)
    return compile_models(
        LinearModel(base.columns, first.coefficients[:, 0], first.intercepts[0]),
        [
            LinearModel(task.columns, rest.coefficients[:, k], rest.intercepts[k])
            for k, task in enumerate(members)
        ],
        n_columns=n_columns,
        link="softmax",
        expand=lets_missing_through(estimator),
        trained="together",
    )


def _transforms(columns: Sequence[Columns], n_columns: int) -> ColumnTransforms:
    center, scale, fill = (
        np.array([getattr(each, name) for each in columns]).reshape(-1, n_columns)
        for name in ("center", "scale", "fill")
    )
    # Columns without a fill have nothing missing.
    return ColumnTransforms(center, scale, None if np.isnan(fill).all() else np.nan_to_num(fill))

"""Settings of learners that have a name, for command lines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, cast

from sklearn.base import clone

from minmargin.learners import LEARNERS
from minmargin.learners.base import LearnerName
from minmargin.learners.sklearn import SklearnLearner


def option_names(name: LearnerName) -> list[str]:
    """Return the names of the settings that a learner has.

    >>> option_names("logistic")
    ['C', 'fit_intercept', 'class_weight', 'tol']
    """
    made = LEARNERS[name]()
    if isinstance(made, SklearnLearner):
        return sorted(made.estimator.get_params(deep=False))
    return [each.name for each in fields(cast("Any", made))]


def learner_with(name: LearnerName, options: Mapping[str, Any]) -> Any:
    """Return a learner with settings of its own."""
    made = LEARNERS[name]()
    if isinstance(made, SklearnLearner):
        return clone(made.estimator).set_params(**options)
    return replace(cast("Any", made), **options)

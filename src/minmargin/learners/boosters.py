"""What classifiers of XGBoost and CatBoost need besides what scikit-learn asks of a classifier.

They are known by the names of their modules, so neither library is imported here.
"""

from __future__ import annotations

import copy
from typing import Any

from sklearn.base import clone


def wants_codes(estimator: Any) -> bool:
    """Return whether labels must be 0, 1, 2, ...: XGBoost takes no others, alone or within another estimator."""
    return any(_is_from(each, "xgboost") for each in _parts(estimator))


def copied(estimator: Any) -> Any:
    """Return an unfitted copy of an estimator; one of CatBoost is told to be quiet, unless the caller said otherwise.

    By itself, CatBoost prints a line an iteration, and all members write to one folder beside the caller's files.
    """
    try:
        model = clone(estimator)
    except RuntimeError:  # CatBoost copies lists such as cat_features, which scikit-learn takes for a mistake
        model = copy.deepcopy(estimator)
    for each in _parts(model):
        if _is_from(each, "catboost"):
            said = each.get_params()
            quiet = {} if {"verbose", "silent", "logging_level"} & set(said) else {"logging_level": "Silent"}
            each.set_params(**{"allow_writing_files": False, **quiet, **said})
    return model


def _parts(estimator: Any) -> list[Any]:
    return [estimator, *estimator.get_params(deep=True).values()]


def _is_from(value: Any, library: str) -> bool:
    return any(each.__module__.partition(".")[0] == library for each in type(value).__mro__)

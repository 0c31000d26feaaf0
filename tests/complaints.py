"""What the suites on bad input share: small data, one call, and the message of its one error."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris

import minmargin as mm
from minmargin.strategies import BUILT_IN

NAMES = ["a", "b", "c", "d"]
EMPTY = "The pool{} has no rows. Give one with at least as many as are to be picked."
X, y = load_iris(return_X_y=True)
LABELED, LABELS = X[::5], y[::5]
LABELED_FRAME = pd.DataFrame(LABELED, columns=NAMES)
POOL_FRAME = pd.DataFrame(X, columns=NAMES)
POOL_TABLE = pa.table({name: X[:, i] for i, name in enumerate(NAMES)})
STRATEGIES = ", ".join(map(repr, BUILT_IN))


def pick(
    labeled: Any = LABELED, labels: Any = LABELS, pool: Any = X, batch_size: Any = 3, **settings: Any
) -> Any:
    return mm.select(
        labeled, labels, pool, batch_size, **{"n_models": 3, "random_state": 0, "n_jobs": 1, **settings}
    )


def complaint(*args: Any, error: type[Exception] = mm.InputError, **settings: Any) -> str:
    """Return the message of the one error that `pick` of these arguments raises."""
    with pytest.raises(error) as caught:
        pick(*args, **settings)
    assert type(caught.value) is error
    return str(caught.value)


def with_cell(rows: np.ndarray, value: float) -> np.ndarray:
    """Return a copy with `value` at row 7, column 2, which is called 'c'."""
    changed = rows.copy()
    changed[7, 2] = value
    return changed


class Recorder(ClassifierMixin, BaseEstimator):
    """A classifier that counts how often any of its clones was trained."""

    n_fits: ClassVar[int] = 0

    def fit(self, X: Any, y: Any) -> Recorder:
        type(self).n_fits += 1
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        return np.full((len(X), len(self.classes_)), 1 / len(self.classes_))

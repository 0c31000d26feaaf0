"""A committee, and what it says of a pool: the probabilities that a caller would bring along."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_digits

import minmargin as mm

SEED = 3


class Opinion(NamedTuple):
    """A committee, the pool it was asked about, and what it answered."""

    committee: mm.Committee
    pool: NDArray[np.float64]
    members: NDArray[np.float64]
    base: NDArray[np.float64]


@pytest.fixture(scope="session")
def opinion() -> Opinion:
    X, y = load_digits(return_X_y=True)
    X = X / 16.0
    committee = mm.fit_committee(X[:100], y[:100], n_models=4, random_state=SEED)
    pool = X[100:700]
    members = np.stack(list(committee.scorer.each_member(pool)))
    return Opinion(committee, pool, members, committee.predict_proba(pool))

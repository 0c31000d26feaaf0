"""How far apart rows lie, measured by hand on a few of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.datasets import load_iris

import minmargin as mm
from minmargin.execution import silent
from minmargin.report.spread import compare_batches, spread_of
from minmargin.report.survey import survey_pool

SQUARE = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [2.0, 2.0]])


def test_a_square_is_measured() -> None:
    assert spread_of(SQUARE) == pytest.approx((2**0.5, 2.0))


@given(arrays(np.float64, (6, 3), elements=st.floats(-100, 100, allow_subnormal=False)))
def test_spreads_are_those_of_the_definition_dense_and_sparse(vectors: np.ndarray) -> None:
    distances = cdist(vectors, vectors) + np.diag([np.inf] * 6)
    center = np.sqrt(((vectors - vectors.mean(axis=0)) ** 2).sum(axis=1).mean())
    expected = (center, np.median(distances.min(axis=1)))
    assert spread_of(vectors) == pytest.approx(expected, abs=1e-5)
    assert spread_of(sparse.csr_array(vectors)) == pytest.approx(expected, abs=1e-4)


def test_a_batch_is_compared_with_plain_margin_and_with_as_many_random_rows() -> None:
    X, y = load_iris(return_X_y=True)
    batch = mm.select(X[::5], y[::5], X, 12, n_models=4, random_state=0)
    assert batch.origin is not None
    survey = survey_pool(batch, batch.origin, columns=(), progress=silent)
    compared = compare_batches(survey, batch.rows)
    by_margin = mm.select(X[::5], y[::5], X, 12, strategy="margin", random_state=0)
    assert compared.n_shared == len(set(batch.rows) & set(by_margin.rows))
    assert compared.n_measured == 12
    assert list(compared.spreads) == ["this batch", "plain margin's", "random rows"]
    assert compared.spreads["this batch"] == spread_of(X[batch.rows])
    assert compared.spreads["plain margin's"] == spread_of(X[by_margin.rows])


def test_one_row_has_no_neighbor() -> None:
    X, y = load_iris(return_X_y=True)
    batch = mm.select(X[::5], y[::5], X, 1, n_models=4, random_state=0)
    assert batch.origin is not None
    survey = survey_pool(batch, batch.origin, columns=(), progress=silent)
    assert compare_batches(survey, batch.rows).spreads == {}

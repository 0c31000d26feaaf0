"""The oracle of the benchmark of a billion rows agrees with what it checks, on pools of some thousand rows."""

from __future__ import annotations

import numpy as np
import pytest

import minmargin as mm
from billion_oracle import BATCH, N_FEATURES, ORACLES, Linear, features
from generated import chunks, labeled_set
from one_stream import WAYS, rows_of

N_ROWS = 40_000


@pytest.fixture(scope="module")
def committee() -> mm.Committee:
    return mm.fit_committee(*labeled_set(N_FEATURES), random_state=0)


def test_its_rows_are_those_of_the_generator() -> None:
    rows = np.concatenate(list(chunks(N_ROWS, N_FEATURES)))
    some = np.array([0, 1, 2, 9_999, N_ROWS - 1])
    np.testing.assert_array_equal(features(some), rows[some])


@pytest.mark.parametrize("way", ["min-margin", "distinct"])  # that of spread takes half a minute
def test_its_batch_is_the_batch(committee: mm.Committee, way: str) -> None:
    batch = committee.select(rows_of(way, N_ROWS), BATCH, **WAYS[way])
    answer = ORACLES[way](Linear.of(committee), N_ROWS)
    np.testing.assert_array_equal(batch.rows, answer.rows)
    np.testing.assert_allclose(batch.scores, answer.scores, rtol=0, atol=1e-12)


def test_weights_that_differ_by_a_thousandth_are_noticed(committee: mm.Committee) -> None:
    members = Linear.of(committee)
    answers = [
        ORACLES["min-margin"](Linear(members.weights * factor, members.intercepts), N_ROWS).rows
        for factor in (1.0, 1.001)
    ]
    assert not np.array_equal(*answers)

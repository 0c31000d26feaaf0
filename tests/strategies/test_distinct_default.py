"""Copies are passed over unless a caller says otherwise, but for chance alone."""

from __future__ import annotations

import numpy as np
import pytest

import minmargin as mm
from brute_force import made
from minmargin.strategies import BUILT_IN

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
Y = (X[:, 0] + rng.normal(scale=0.5, size=60) > 0).astype(int)
POOL = np.repeat(rng.normal(size=(50, 3)), 20, axis=0)


@pytest.fixture(scope="module")
def committee():
    return mm.fit_committee(X, Y, n_models=5, random_state=3)


def n_kinds(batch):
    return len(np.unique(POOL[batch.rows], axis=0))


@pytest.mark.parametrize("strategy", BUILT_IN)
def test_only_chance_takes_copies_unless_it_is_told_otherwise(committee, strategy):
    batch = committee.select(POOL, 40, strategy=made(strategy))
    assert (n_kinds(batch) == 40) == (strategy != "random")
    assert batch.manifest["settings"]["distinct"] is (strategy != "random")
    assert n_kinds(committee.select(POOL, 40, strategy=made(strategy), distinct=True)) == 40


def test_a_caller_may_ask_for_rows_as_they_come(committee):
    batch = committee.select(POOL, 40, distinct=False)
    assert n_kinds(batch) < 40
    assert batch.manifest["settings"]["distinct"] is False


def test_select_and_a_committee_have_the_same_default(committee):
    batch = mm.select(X, Y, POOL, 40, n_models=5, random_state=3)
    assert batch == committee.select(POOL, 40)

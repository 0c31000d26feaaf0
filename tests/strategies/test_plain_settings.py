"""Settings of strategies may be numbers of numpy's: they mean the same, and go into manifests."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass

import numpy as np
import pytest

import minmargin as mm
from minmargin.strategies import BUILT_IN

RNG = np.random.default_rng(0)
X, POOL = RNG.normal(size=(60, 3)), RNG.normal(size=(400, 3))
Y = (X[:, 0] > 0).astype(int)
AS_NUMPY = {bool: np.bool_, int: np.int64, float: np.float64}
#: Settings whose default is None, and a number that they take.
NUMBERS = {"prefilter": 50, "n_clusters": 5, "memory_limit": 10**9}


def with_settings():
    """Return a strategy with all of its settings given, as plain numbers and as numbers of numpy's."""
    for entry in mm.strategies():
        if entry.name in BUILT_IN and isinstance(entry.make, type) and is_dataclass(entry.make):
            plain = {
                each.name: NUMBERS.get(each.name) if each.default is None else each.default
                for each in fields(entry.make)
                if each.init
            }
            if all(type(value) in AS_NUMPY for value in plain.values()):
                of_numpy = {name: AS_NUMPY[type(value)](value) for name, value in plain.items()}
                yield pytest.param(entry.make(**plain), entry.make(**of_numpy), id=entry.name)


CASES = list(with_settings())


def test_most_strategies_with_settings_are_tried():
    assert {case.id for case in CASES} >= {
        "spread",
        "badge",
        "cluster-margin",
        "k-centers",
        "balanced-margin",
    }


@pytest.mark.parametrize(("plain", "of_numpy"), CASES)
def test_numbers_of_numpy_mean_the_same(plain, of_numpy):
    assert json.dumps(of_numpy.options) == json.dumps(plain.options)
    expected, found = (
        mm.select(X, Y, POOL, 10, strategy=each, n_models=3, random_state=0) for each in (plain, of_numpy)
    )
    assert found.rows.tolist() == expected.rows.tolist()

"""The contract suites pass over nothing: what the package has of a kind has a case, or a test fails and names it."""

from __future__ import annotations

import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import brute_force
import contract_cases
import minmargin as mm
from minmargin import pools
from minmargin.learners import LEARNERS
from minmargin.pools.files import FilePool
from minmargin.pools.formats import FORMATS
from minmargin.strategies import BUILT_IN, RowScore

ROOT = Path(__file__).parents[2]


def test_the_strategies_of_the_package_are_those_that_are_registered():
    assert tuple(entry.name for entry in mm.strategies()) == BUILT_IN


@pytest.mark.parametrize("strategy", BUILT_IN)
def test_every_strategy_has_an_oracle(strategy):
    brute_force.batch_of(strategy)
    by_rows = isinstance(brute_force.made(strategy), RowScore)
    assert by_rows == (strategy in brute_force.ROW_SCORES), "the oracle of a row score stands in ROW_SCORES"


def test_every_oracle_has_a_strategy():
    assert {*brute_force.ROW_SCORES, *brute_force.BATCHES} == set(BUILT_IN)


@pytest.mark.parametrize("learner", LEARNERS)
def test_every_learner_that_has_a_name_has_a_case(learner):
    cases = {**contract_cases.LEARNERS, **contract_cases.NETWORK_LEARNERS}
    assert cases.get(learner) == learner, f"learner {learner!r} has no case in tests/contract_cases.py"


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """Return the pools of all cases, opened."""
    rows = contract_cases.data()[2]
    makers = contract_cases.POOLS.values()
    return [pools.open_pool(make(rows, tmp_path_factory.mktemp("pool"))) for make in makers]


def kinds_of_pool():
    """Return the classes in the package's folder of pools that can be read and described."""
    names = [info.name for info in pkgutil.iter_modules(pools.__path__, f"{pools.__name__}.")]
    return [
        value
        for name in names
        for value in vars(importlib.import_module(name)).values()
        if isinstance(value, type) and value.__module__ == name and value is not pools.Pool
        if hasattr(value, "chunks") and hasattr(value, "describe")
    ]


@pytest.mark.parametrize("kind", kinds_of_pool(), ids=lambda kind: kind.__name__)
def test_every_kind_of_pool_has_a_case(kind, opened):
    assert kind in {type(pool) for pool in opened}, f"{kind.__name__} has no case in tests/contract_cases.py"


@pytest.mark.parametrize("kind", sorted(set(FORMATS.values()), key=str), ids=lambda kind: kind.__name__)
def test_every_format_of_files_has_a_case(kind, opened):
    files = [file for pool in opened if isinstance(pool, FilePool) for file in pool.files]
    assert kind in {type(file) for file in files}, f"{kind.__name__} has no case in tests/contract_cases.py"


def test_every_strategy_stands_in_the_reference_in_the_order_of_the_registry():
    page = (ROOT / "docs" / "reference.md").read_text()
    listed = re.findall(r"^\| `([a-z-]+)` \|", page, flags=re.MULTILINE)
    assert tuple(name for name in listed if name in BUILT_IN) == BUILT_IN


def test_the_reference_says_what_every_strategy_looks_at():
    rows = re.findall(
        r"^\| `([a-z-]+)` \|.*\| (members|base|nothing) \|$",
        (ROOT / "docs" / "reference.md").read_text(),
        flags=re.MULTILINE,
    )
    assert dict(rows) == {name: brute_force.made(name).needs for name in BUILT_IN}


@pytest.mark.parametrize("strategy", BUILT_IN)
def test_every_strategy_of_the_package_says_what_it_is(strategy):
    entry = next(entry for entry in mm.strategies() if entry.name == strategy)
    assert entry.summary.endswith(".")
    assert entry.cost
    assert entry.meaning
    assert brute_force.made(strategy).name == strategy

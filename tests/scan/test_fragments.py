"""A scan in fragments, whoever runs them and in whatever order, keeps what one pass over the pool keeps."""

from __future__ import annotations

import functools
import pickle
from dataclasses import dataclass

import cloudpickle
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.tree import DecisionTreeClassifier

import minmargin as mm
from brute_force import made
from minmargin.errors import InputError
from minmargin.pools import memory
from minmargin.scan import fragments, sizes
from minmargin.strategies import BUILT_IN

DIGITS, NUMBERS = load_digits(return_X_y=True)
X, Y, POOL = DIGITS[:200], NUMBERS[:200], DIGITS[200:]

NAMES = [f"p{place}" for place in range(64)]

pytestmark = [
    pytest.mark.usefixtures("large_work"),
    # Trees have margins of 0, which is said, and is not what is tested here.
    pytest.mark.filterwarnings("ignore:All .* picks have the score 0"),
]


@functools.cache
def trained(learner="logistic", form="array", n_models=25):
    """Return a committee, which no selection changes: one for all tests that want the same."""
    model = DecisionTreeClassifier(max_depth=5) if learner == "tree" else learner
    labeled = {
        "array": lambda: X,
        "sparse": lambda: sparse.csr_array(X),
        "frame": lambda: pd.DataFrame(X, columns=NAMES),
    }[form]()
    return mm.fit_committee(labeled, Y, learner=model, n_models=n_models, random_state=0)


def _loaded(content):
    return pickle.loads(content)  # noqa: S301 - our own


@dataclass(frozen=True)
class Elsewhere:
    """An engine in another place, as far as anything can tell: everything is pickled, and comes in any order."""

    name = "elsewhere"
    elsewhere = True
    twice: bool = False

    def run(self, fn, items):
        shipped = cloudpickle.dumps(fn)
        orders = [cloudpickle.dumps(item) for item in items]
        for order in np.random.default_rng(0).permutation(len(orders)):
            for _ in range(1 + self.twice):  # a worker that was thought lost may answer after all
                result = _loaded(shipped)(_loaded(orders[order]))
                yield _loaded(cloudpickle.dumps(result))


@pytest.fixture(autouse=True)
def small_fragments(monkeypatch):
    monkeypatch.setattr(fragments, "_FRAGMENT_ROWS", 100)
    monkeypatch.setattr(fragments, "_TIMES_THE_BATCH", 1)
    monkeypatch.setattr(memory, "_UNIT", 64)
    monkeypatch.setattr(sizes, "_LARGEST", 256)
    monkeypatch.setattr(sizes, "FIRST", 16)


def same(one, other):
    np.testing.assert_array_equal(one.rows, other.rows)
    np.testing.assert_array_equal(one.scores, other.scores)
    np.testing.assert_array_equal(one.member, other.member)
    np.testing.assert_array_equal(one.top_classes, other.top_classes)
    np.testing.assert_array_equal(one.ids, other.ids)
    assert one.to_pandas().equals(other.to_pandas())


@pytest.mark.parametrize("strategy", BUILT_IN)
def test_every_strategy(strategy):
    committee = trained()
    here = committee.select(POOL, 30, strategy=made(strategy))
    there = committee.select(POOL, 30, strategy=made(strategy), engine=Elsewhere())
    same(there, here)
    assert there.manifest["settings"]["engine"] == "elsewhere"
    assert there.manifest["pool"] == here.manifest["pool"]


@pytest.mark.parametrize("strategy", BUILT_IN)
def test_every_strategy_passes_over_copies_elsewhere_too(strategy):
    committee = trained()
    pool = np.tile(POOL[:300], (4, 1))
    settings = {"strategy": made(strategy), "distinct": True}
    here = committee.select(pool, 100, **settings)
    there = committee.select(pool, 100, engine=Elsewhere(twice=True), **settings)
    same(there, here)
    assert there.manifest["copies_passed_over"] == here.manifest["copies_passed_over"]
    assert len(np.unique(pool[there.rows], axis=0)) == 100


@pytest.mark.parametrize("strategy", ["min-margin", "committee", "k-centers", "badge", "cluster-margin"])
@pytest.mark.parametrize("learner", ["tree", "sparse"])
def test_models_that_see_blocks_and_rows_that_are_sparse(learner, strategy):
    """Fragments of a model that depends on its rows' places begin where its blocks do."""
    pool = sparse.csr_array(POOL) if learner == "sparse" else POOL
    committee = trained(form="sparse") if learner == "sparse" else trained(learner)
    here = committee.select(pool, 30, strategy=strategy)
    same(committee.select(pool, 30, strategy=strategy, engine=Elsewhere()), here)


def test_ids_and_other_columns_come_along():
    frame = pd.DataFrame(POOL, columns=NAMES).assign(
        id=[f"r{row:05d}" for row in range(len(POOL))], big=2**60 + np.arange(len(POOL))
    )
    committee = trained(form="frame")
    here = committee.select(frame, 20, id_column="id", keep=["big"])
    same(committee.select(frame, 20, id_column="id", keep=["big"], engine=Elsewhere()), here)


@pytest.mark.parametrize("strategy", ["min-margin", "random-margin-mix", "k-centers"])
@pytest.mark.parametrize("learner", ["logistic", "tree"])
def test_excluded_rows_travel_with_the_scan(learner, strategy):
    frame = pd.DataFrame(POOL, columns=NAMES).assign(id=[f"r{row:05d}" for row in range(len(POOL))])
    committee = trained(learner, "frame", n_models=5)
    settings = {"strategy": strategy, "id_column": "id"}
    out = committee.select(frame, 300, **settings).ids
    here = committee.select(frame, 30, exclude=out, **settings)
    there = committee.select(frame, 30, exclude=out, engine=Elsewhere(), **settings)
    same(there, here)
    assert there.manifest["excluded"] == here.manifest["excluded"] == {"asked": 300, "rows": 300}


@pytest.mark.parametrize("kind", ["parquet", "csv", "feather", "npy", "dataset"])
@pytest.mark.parametrize("learner", ["logistic", "tree"])
def test_files_of_every_format(kind, learner, tmp_path):
    for number, some in enumerate(np.array_split(POOL, 3)):
        frame = pd.DataFrame(some, columns=NAMES)
        path = tmp_path / f"part-{number}"
        if kind == "csv":
            frame.to_csv(path.with_suffix(".csv"), index=False)
        elif kind == "feather":
            table = pa.Table.from_pandas(frame, preserve_index=False)
            with pa.ipc.new_file(path.with_suffix(".feather"), table.schema) as writer:
                writer.write_table(table, max_chunksize=150)
        elif kind == "npy":
            np.save(path.with_suffix(".npy"), some)
        else:
            frame.to_parquet(path.with_suffix(".parquet"), row_group_size=150)
    pool = ds.dataset(tmp_path) if kind == "dataset" else str(tmp_path / "part-*")
    committee = trained(learner, "array" if kind == "npy" else "frame", n_models=5)
    here = committee.select(pool, 30)
    same(committee.select(pool, 30, engine=Elsewhere()), here)


def test_a_fragment_that_comes_twice_counts_once():
    committee = trained()
    here = committee.select(POOL, 30)
    there = committee.select(POOL, 30, engine=Elsewhere(twice=True))
    same(there, here)
    assert there.manifest["pool"]["rows"] == len(POOL)


def test_of_several_fragments_that_fail_the_first_is_told_of():
    pool = POOL.copy()
    pool[[450, 777, 1200, 1500], 5] = np.nan
    messages = set()
    for how in ({}, {"engine": Elsewhere()}, {"engine": Elsewhere(twice=True)}):
        with pytest.raises(InputError) as raised:
            trained().select(pool, 30, **how)
        messages.add(str(raised.value))
    assert len(messages) == 1
    assert "row 450" in messages.pop()


def test_a_stream_cannot_be_cut():
    committee = trained()
    with pytest.raises(InputError, match="can be read once"):
        committee.select((POOL[start : start + 100] for start in range(0, 1000, 100)), 5, engine=Elsewhere())


@pytest.mark.parametrize(
    ("engine", "address", "told"),
    [
        ("mesos", None, "engine='mesos' must be one of local, dask, ray, spark"),
        ("local", "host:1", "engine='local' is this process"),
        (object(), None, "engine=object object is not one that can be used"),
    ],
)
def test_an_engine_that_cannot_be_used_is_said_before_training(engine, address, told):
    with pytest.raises(InputError, match=told):
        mm.select(X, Y, POOL, 5, engine=engine, address=address)

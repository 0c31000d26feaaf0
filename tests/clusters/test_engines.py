"""One contract for all engines: the batch of the local one, to the bit, also when a worker is killed."""

from __future__ import annotations

import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.tree import DecisionTreeClassifier

import minmargin as mm
from brute_force import made
from minmargin.scan import fragments
from minmargin.strategies import BUILT_IN


@pytest.fixture(autouse=True)
def small_fragments(monkeypatch):
    monkeypatch.setattr(fragments, "_FRAGMENT_ROWS", 2000)
    monkeypatch.setattr(fragments, "_TIMES_THE_BATCH", 1)


def assert_same(there, here):
    np.testing.assert_array_equal(there.rows, here.rows)
    np.testing.assert_array_equal(there.scores, here.scores)
    assert there.to_pandas().equals(here.to_pandas())
    assert there.manifest["pool"] == here.manifest["pool"]


@pytest.mark.parametrize("strategy", BUILT_IN)
def test_strategies(strategy, cluster, labeled, files):
    committee = mm.fit_committee(*labeled, random_state=0)
    settings = {"strategy": made(strategy), "id_column": "id", "keep": ["big"]}
    here = committee.select(files, 40, **settings)
    assert_same(committee.select(files, 40, engine=cluster.engine, **settings), here)


def test_a_model_whose_results_depend_on_blocks(cluster, labeled, files):
    committee = mm.fit_committee(
        *labeled, learner=DecisionTreeClassifier(max_depth=6), random_state=0, n_models=5
    )
    here = committee.select(files, 40, id_column="id")
    assert_same(committee.select(files, 40, id_column="id", engine=cluster.engine), here)


@pytest.mark.parametrize("strategy", ["min-margin", "k-centers"])
def test_excluded_rows_are_known_everywhere(strategy, cluster, labeled, files):
    committee = mm.fit_committee(*labeled, random_state=0)
    settings = {"strategy": strategy, "id_column": "id"}
    first = committee.select(files, 40, **settings)
    here = committee.select(files, 40, exclude=first.ids, **settings)
    there = committee.select(files, 40, exclude=first.ids, engine=cluster.engine, **settings)
    assert_same(there, here)
    assert not set(there.rows) & set(first.rows)
    assert there.manifest["excluded"] == here.manifest["excluded"] == {"asked": 40, "rows": 40}


@pytest.mark.parametrize("strategy", ["min-margin", "random-margin-mix", "k-centers"])
def test_copies_are_passed_over_everywhere(strategy, cluster, labeled, files):
    pool = pa.concat_tables([pq.read_table(files.replace("*", "part-0")).slice(0, 500)] * 12)
    committee = mm.fit_committee(*labeled, random_state=0)
    settings = {"strategy": strategy, "id_column": "id", "distinct": True}
    here = committee.select(pool, 200, **settings)
    there = committee.select(pool, 200, engine=cluster.engine, **settings)
    assert_same(there, here)
    assert there.manifest["copies_passed_over"] == here.manifest["copies_passed_over"] > 0
    assert len(set(there.ids)) == 200


def test_a_table_in_memory_and_a_large_batch(cluster, labeled, files):
    pool = pq.read_table(files.replace("*", "part-0"))
    committee = mm.fit_committee(*labeled, random_state=0)
    here = committee.select(pool, 3000)
    assert_same(committee.select(pool, 3000, engine=cluster.engine), here)


def test_a_worker_that_is_killed_changes_nothing(cluster, labeled, files, killed_soon):
    def slowly(candidates):
        time.sleep(0.4)
        return candidates.member_margins.margins.min(axis=0)

    committee = mm.fit_committee(*labeled, random_state=0)
    here = committee.select(files, 40, id_column="id", strategy=slowly)
    killed_soon()
    assert_same(committee.select(files, 40, id_column="id", strategy=slowly, engine=cluster.engine), here)


def test_a_checkpoint_goes_on_with_another_engine(cluster, labeled, files, tmp_path):
    committee = mm.fit_committee(*labeled, random_state=0)
    here = committee.select(files, 40, id_column="id")

    def interrupt(stage, done, _):
        if stage == "scanning" and done > 5000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        committee.select(files, 40, id_column="id", checkpoint=tmp_path, n_jobs=1, progress=interrupt)
    there = committee.select(files, 40, id_column="id", checkpoint=tmp_path, engine=cluster.engine)
    assert_same(there, here)


def test_what_goes_wrong_elsewhere_is_told_here(cluster, labeled, files):
    def fails(candidates):
        raise ValueError("no such score")

    committee = mm.fit_committee(*labeled, random_state=0)
    with pytest.raises(Exception, match="no such score"):
        committee.select(files, 40, strategy=fails, engine=cluster.engine)

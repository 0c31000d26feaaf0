"""One contract for all engines: the batch of the local one, to the bit, also when a worker is killed."""

from __future__ import annotations

import functools
import os
import signal
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.tree import DecisionTreeClassifier

import minmargin as mm
from brute_force import made
from minmargin.errors import InputError
from minmargin.pools import memory
from minmargin.scan import fragments
from minmargin.scan.engines import resolve_execution, spark
from minmargin.scan.engines.ray import RayEngine
from minmargin.strategies import BUILT_IN


@pytest.fixture(autouse=True)
def small_fragments(monkeypatch):
    monkeypatch.setattr(fragments, "_FRAGMENT_ROWS", 2000)
    monkeypatch.setattr(fragments, "_TIMES_THE_BATCH", 1)
    monkeypatch.setattr(memory, "_UNIT", 500)


def assert_same(there, here):
    np.testing.assert_array_equal(there.rows, here.rows)
    np.testing.assert_array_equal(there.scores, here.scores)
    assert there.to_pandas().equals(here.to_pandas())
    assert there.manifest["pool"] == here.manifest["pool"]


@pytest.fixture(scope="module")
def committee(labeled):
    return mm.fit_committee(*labeled, random_state=0)


@pytest.fixture(scope="module")
def picked_here(committee, files):
    """Return a function that gives what this process picks, and asks for it once for all engines."""
    return functools.cache(lambda strategy: committee.select(files, 40, **settings_of(strategy)))


def settings_of(strategy):
    return {"strategy": made(strategy), "id_column": "id", "keep": ["big"]}


@pytest.mark.parametrize("strategy", BUILT_IN)
def test_strategies(strategy, cluster, committee, files, picked_here):
    there = committee.select(files, 40, engine=cluster.engine, **settings_of(strategy))
    assert_same(there, picked_here(strategy))


def test_spark_is_given_pieces_in_several_runs(spark_cluster, committee, files, picked_here, monkeypatch):
    monkeypatch.setattr(spark, "_AT_ONCE", 3)
    there = committee.select(files, 40, engine=spark_cluster.engine, **settings_of("min-margin"))
    assert_same(there, picked_here("min-margin"))


def test_spark_does_several_pieces_in_a_task_and_each_once(spark_cluster):
    def work(item):
        from pyspark import TaskContext  # noqa: PLC0415 - only there

        return item, TaskContext.get().partitionId()

    found = dict(spark.SparkEngine(spark_cluster.engine).run(work, range(30)))
    assert sorted(found) == list(range(30))
    assert len(set(found.values())) == 8  # two executors of a core each, and four tasks for each


class Losing:
    """An engine that loses a worker: the first that has scanned the second fragment, with what it found there."""

    elsewhere = True

    def __init__(self, engine, folder):
        self._engine = resolve_execution(engine=engine).engine
        self.name, self.lost = self._engine.name, folder / "lost"

    def run(self, fn, items):
        lost = self.lost

        def work(order):
            found = fn(order)
            if order.fragment.number == 1 and not lost.exists():
                lost.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return found

        return self._engine.run(work, items)


class Together:
    """All strategies of the package in one pass, so that a lost worker is lost to each; `picked` is by name."""

    name, needs, probabilistic = "together", "members", True

    def shortlists(self, batch_size):
        self._asked = {name: made(name).shortlists(batch_size) for name in BUILT_IN}
        return [each for asked in self._asked.values() for each in asked]

    def finish(self, shortlists, context):
        kept = iter(shortlists)
        self.picked = {
            name: made(name).finish([next(kept) for _ in asked], context)
            for name, asked in self._asked.items()
        }
        return self.picked["min-margin"]


@pytest.mark.parametrize("distinct", [False, True])
def test_every_strategy_bears_that_a_worker_is_killed(distinct, cluster, committee, files, tmp_path):
    """The pool has every row twelve times."""
    pool = pa.concat_tables([pq.read_table(files.replace("*", "part-0")).slice(0, 500)] * 12)
    engine, together = Losing(cluster.engine, tmp_path), Together()
    there = committee.select(pool, 200, strategy=together, engine=engine, distinct=distinct)
    assert engine.lost.exists()
    assert (
        there.manifest["copies_passed_over"] > 0
    )  # also without `distinct`, since spread passes over copies
    for name in BUILT_IN:
        here = committee.select(pool, 200, strategy=made(name), distinct=distinct)
        np.testing.assert_array_equal(together.picked[name].rows, here.rows, err_msg=name)
        np.testing.assert_array_equal(together.picked[name].scores, here.scores, err_msg=name)
        n_different = len(set((here.rows % 500).tolist()))
        assert n_different == 200 or not distinct, name


def test_dask_goes_on_after_its_only_worker_was_killed(committee, files, tmp_path):
    distributed = pytest.importorskip("distributed")
    here = committee.select(files, 40, id_column="id")
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        engine = Losing(client, tmp_path)
        assert_same(committee.select(files, 40, id_column="id", engine=engine), here)
    assert engine.lost.exists()


@pytest.mark.parametrize("strategy", ["min-margin", "random-margin-mix", "k-centers"])
def test_copies_are_passed_over_everywhere(strategy, cluster, committee, files):
    pool = pa.concat_tables([pq.read_table(files.replace("*", "part-0")).slice(0, 500)] * 12)
    settings = {"strategy": made(strategy), "id_column": "id", "distinct": True}
    here = committee.select(pool, 200, **settings)
    there = committee.select(pool, 200, engine=cluster.engine, **settings)
    assert_same(there, here)
    assert there.manifest["copies_passed_over"] == here.manifest["copies_passed_over"] > 0
    assert len(set(there.ids)) == 200


def test_a_model_whose_results_depend_on_blocks(cluster, labeled, files):
    committee = mm.fit_committee(
        *labeled, learner=DecisionTreeClassifier(max_depth=6), random_state=0, n_models=5
    )
    here = committee.select(files, 40, id_column="id")
    assert_same(committee.select(files, 40, id_column="id", engine=cluster.engine), here)


@pytest.mark.parametrize("strategy", ["min-margin", "k-centers"])
def test_excluded_rows_are_known_everywhere(strategy, cluster, committee, files):
    settings = {"strategy": strategy, "id_column": "id"}
    first = committee.select(files, 40, **settings)
    here = committee.select(files, 40, exclude=first.ids, **settings)
    there = committee.select(files, 40, exclude=first.ids, engine=cluster.engine, **settings)
    assert_same(there, here)
    assert not set(there.rows) & set(first.rows)
    assert there.manifest["excluded"] == here.manifest["excluded"] == {"asked": 40, "rows": 40}


def test_a_table_in_memory_and_a_large_batch(cluster, committee, files):
    pool = pq.read_table(files.replace("*", "part-0"))
    here = committee.select(pool, 3000)
    assert_same(committee.select(pool, 3000, engine=cluster.engine), here)


def test_a_worker_that_is_killed_changes_nothing(cluster, committee, files, killed_soon):
    def slowly(candidates):
        time.sleep(0.4)
        return candidates.member_margins.margins.min(axis=0)

    here = committee.select(files, 40, id_column="id", strategy=slowly)
    killed_soon()
    assert_same(committee.select(files, 40, id_column="id", strategy=slowly, engine=cluster.engine), here)


def test_a_checkpoint_goes_on_with_another_engine(cluster, committee, files, tmp_path):
    here = committee.select(files, 40, id_column="id")

    def interrupt(stage, done, _):
        if stage == "scanning" and done > 5000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        committee.select(files, 40, id_column="id", checkpoint=tmp_path, n_jobs=1, progress=interrupt)
    there = committee.select(files, 40, id_column="id", checkpoint=tmp_path, engine=cluster.engine)
    assert_same(there, here)


def test_what_goes_wrong_elsewhere_is_told_here(cluster, committee, files):
    def fails(candidates):
        raise ValueError("no such score")

    with pytest.raises(Exception, match="no such score"):
        committee.select(files, 40, strategy=fails, engine=cluster.engine)


@pytest.mark.parametrize("strategy", ["min-margin", "spread"])
def test_probabilities_that_are_given(strategy, cluster, tmp_path):
    """From arrays side by side, and from list columns of a file."""
    rng = np.random.default_rng(0)
    members, features = (
        rng.dirichlet(np.ones(4), size=(2, 9000)).astype(np.float32),
        rng.normal(size=(9000, 3)),
    )
    options = {"strategy": strategy, "random_state": 1}
    here = mm.select_from_probabilities(members, 40, features=features, **options)
    there = mm.select_from_probabilities(members, 40, features=features, engine=cluster.engine, **options)
    assert there.rows.tolist() == here.rows.tolist()
    assert there.scores.tolist() == here.scores.tolist()
    arrays = {"first": members[0], "second": members[1], "vector": features}
    table = pa.table({name: pa.array(list(array)) for name, array in arrays.items()})
    pq.write_table(table, tmp_path / "p.parquet", row_group_size=1000)
    stored = mm.select_from_probabilities(
        tmp_path / "p.parquet",
        40,
        columns=["first", "second"],
        features="vector",
        engine=cluster.engine,
        **options,
    )
    assert stored.rows.tolist() == here.rows.tolist()


def test_a_session_that_was_there_is_used_and_not_stopped(spark_cluster, committee, files, picked_here):
    there = committee.select(files, 40, engine="spark", **settings_of("min-margin"))
    assert_same(there, picked_here("min-margin"))
    assert spark_cluster.engine.range(3).count() == 3
    with pytest.raises(InputError) as caught:
        committee.select(files, 50, engine="spark", address="local[2]")
    assert str(caught.value) == (
        "address='local[2]' cannot be used: this process has a Spark session already. Leave address out, or stop that "
        "session first."
    )


def test_ray_is_asked_for_one_cluster_and_left_without_tasks(ray_cluster, committee, files, picked_here):
    ray = pytest.importorskip("ray")
    with pytest.raises(InputError) as caught:
        committee.select(files, 50, engine="ray", address="127.0.0.1:1")
    assert str(caught.value) == (
        "address='127.0.0.1:1' cannot be used: this process is connected to a Ray cluster already. Leave address out, "
        "or call ray.shutdown() first."
    )

    def work_long(number):
        for _ in range(600 if number else 0):  # one long sleep cannot be interrupted
            time.sleep(0.1)
        return number

    results = RayEngine().run(work_long, range(100))
    assert next(results) == 0
    results.close()  # as when the scan is interrupted
    until = time.monotonic() + 30
    while ray.available_resources().get("CPU") != ray.cluster_resources()["CPU"]:
        assert time.monotonic() < until, "tasks that nobody waits for go on"
        time.sleep(0.2)

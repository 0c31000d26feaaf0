"""The model of large clusters: where its answer is known, it gives it."""

from __future__ import annotations

import json
import statistics
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster_model import MEASURED, Cluster, Job, measured_cluster, simulate, what_binds

CLUSTERS = st.builds(
    Cluster,
    workers=st.integers(1, 40),
    rows_a_second=st.floats(1e3, 1e7),
    task=st.floats(0, 1),
    fixed=st.floats(0, 10),
    merge=st.tuples(st.floats(0, 1e-3), st.floats(0, 1e-6)),
    at_once=st.sampled_from([1, 3, 100]),
    spread=st.floats(0, 1),
    slow=st.tuples(st.floats(0, 0.5), st.floats(1, 5)),
    lifetime=st.just(float("inf")) | st.floats(2_000, 1e5),
)
JOBS = st.builds(
    Job, rows=st.integers(1, 10**6), batch=st.integers(1, 2_000), fragment_rows=st.integers(2_000, 10**5)
)


@given(workers=st.integers(1, 200), waves=st.integers(1, 20))
def test_without_overheads_time_is_rows_by_speed(workers: int, waves: int) -> None:
    job = Job(workers * waves * 1_000, fragment_rows=1_000)
    outcome = simulate(job, Cluster(workers, rows_a_second=500.0))
    assert outcome.seconds == pytest.approx(job.rows / (500.0 * workers))
    assert outcome.lost == 0


@given(job=JOBS, cluster=CLUSTERS)
def test_every_fragment_is_finished_once(job: Job, cluster: Cluster) -> None:
    outcome = simulate(job, cluster)
    assert outcome.finished == job.n_fragments
    if cluster.lifetime == float("inf"):
        assert outcome.lost == 0


@given(job=JOBS, cluster=CLUSTERS)
def test_nothing_is_faster_than_what_binds(job: Job, cluster: Cluster) -> None:
    cluster = replace(cluster, spread=0.0, storage=1e6)
    job = replace(job, bytes_a_row=100.0)
    alone = [
        cluster.fixed + job.rows / (cluster.rows_a_second * cluster.workers),
        cluster.fixed + job.n_fragments * cluster.merge[0],
        cluster.fixed + job.rows * job.bytes_a_row / cluster.storage,
    ]
    assert simulate(job, cluster).seconds >= max(alone) * (1 - 1e-9)


@given(job=JOBS, workers=st.integers(1, 40), task=st.floats(0, 1))
def test_more_workers_are_never_slower(job: Job, workers: int, task: float) -> None:
    few = Cluster(workers, rows_a_second=1e5, task=task)
    assert simulate(job, replace(few, workers=workers + 1)).seconds <= simulate(job, few).seconds + 1e-9


def test_lost_workers_cost_time_and_are_replaced() -> None:
    job = Job(10**6, fragment_rows=10**4)
    steady = Cluster(10, rows_a_second=1e3)
    outcome = simulate(job, replace(steady, lifetime=60.0, back=5.0))
    assert outcome.lost > 5
    assert outcome.finished == 100
    assert outcome.seconds > simulate(job, steady).seconds


def test_fragments_that_know_more_send_less() -> None:
    job = Job(10**8, batch=1_000, bytes_a_kept_row=40.0)
    cluster = Cluster(4, rows_a_second=1e6)
    told, untold = (simulate(job, replace(cluster, at_once=at_once)).to_driver for at_once in (1, 1 << 20))
    assert untold == job.n_fragments * 1_000 * 40.0
    assert told < untold / 8


def test_a_seed_gives_the_same_again() -> None:
    job, cluster = Job(10**9), Cluster(50, rows_a_second=1e6, spread=0.5, lifetime=500.0)
    assert simulate(job, cluster, seed=1) == simulate(job, cluster, seed=1)
    assert simulate(job, cluster, seed=1) != simulate(job, cluster, seed=2)


def test_workers_are_paid_by_the_hour() -> None:
    outcome = simulate(Job(3_600_000, fragment_rows=1_000), Cluster(10, rows_a_second=100.0))
    assert outcome.dollars(10, 0.5) == pytest.approx(5.0)


def test_what_binds_is_named() -> None:
    job = Job(10**9, bytes_a_row=100.0)
    cluster = Cluster(100, rows_a_second=1e6, merge=(1e-3, 0.0), storage=1e12)
    assert what_binds(job, cluster) == "workers"
    assert what_binds(job, replace(cluster, storage=1e9)) == "storage"
    assert what_binds(job, replace(cluster, merge=(1.0, 0.0))) == "driver"


@pytest.mark.parametrize("engine", ["local", "dask", "ray", "spark"])
def test_one_worker_takes_what_was_measured(engine: str) -> None:
    measured = json.loads(MEASURED.read_text())
    for run in measured["curves"]["engines"][engine]["1"]:
        predicted = simulate(Job(run["rows"]), measured_cluster(measured, engine, 1)).seconds
        assert predicted == pytest.approx(statistics.median(run["seconds"]), rel=0.05)

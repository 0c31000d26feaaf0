"""The same batch from any process and thread: started anew, forked, or one of many."""

from __future__ import annotations

import multiprocessing
import os
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from threading import Barrier, Event, Thread

import numpy as np
import pytest
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, ClassifierMixin

import minmargin as mm
from minmargin import execution
from picking import labeled_rows, pick, pick_elsewhere, threads_inside_and_after, write_pool

# Python 3.12 and later warn of every fork while there are threads. What is tested is that ours bear it.
pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")

TOGETHER = ["min-margin", "margin", "mean-margin", "committee", "entropy", "random", "k-centers", "spread"]


@pytest.fixture(scope="module")
def pool(tmp_path_factory):
    return write_pool(tmp_path_factory.mktemp("pool") / "pool.parquet")


def in_child(method, fn, *arguments):
    """Return what a function returns in another process, which is ended if that takes too long."""
    with ProcessPoolExecutor(1, multiprocessing.get_context(method)) as child:
        future = child.submit(fn, *arguments)
        try:
            return future.result(timeout=120)
        except TimeoutError:
            for process in child._processes.values():
                process.kill()
            raise


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_another_process_picks_the_same(method, pool):
    here = pick(pool)  # first: libraries have started what threads they have
    process, there = in_child(method, pick_elsewhere, pool)
    assert process != os.getpid()
    assert there == here


class Waiting(ClassifierMixin, BaseEstimator):
    """A classifier that waits in the middle of a prediction."""

    asked, go_on = Event(), Event()

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        self.asked.set()
        assert self.go_on.wait(300)
        return np.full((len(X), 2), 0.5)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork")
def test_a_process_that_is_forked_in_the_middle_of_a_selection_picks_the_same(pool):
    """What the other thread holds, nobody gives back in the forked process."""
    here = pick(pool)
    committee = mm.fit_committee(*labeled_rows(), learner=Waiting(), n_models=2, random_state=0)
    thread = Thread(target=committee.select, args=(pool, 1))
    thread.start()
    try:
        assert Waiting.asked.wait(60)
        _, there = in_child("fork", pick_elsewhere, pool)
    finally:
        Waiting.go_on.set()
        thread.join()
    assert there == here


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork")
def test_a_forked_process_counts_its_own_threads_only():
    with execution.one_thread_each(), execution._one_thread._lock:
        assert in_child("fork", threads_inside_and_after) == ({1}, {3})


def test_eight_threads_share_a_committee(pool):
    committee = mm.fit_committee(*labeled_rows(), n_models=3, random_state=0)
    together = Barrier(len(TOGETHER))

    def select(strategy):
        batch = committee.select(pool, 7, strategy=strategy)
        return batch.rows.tolist(), batch.scores.tolist()

    def select_with_others(strategy):
        together.wait(60)
        return select(strategy)

    with ThreadPoolExecutor(len(TOGETHER)) as threads:
        found = list(threads.map(select_with_others, TOGETHER))
    assert found == [select(strategy) for strategy in TOGETHER]


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_inside_joblib(backend, pool):
    asked = TOGETHER[:3]
    found = Parallel(n_jobs=2, backend=backend)(delayed(pick_elsewhere)(pool, strategy) for strategy in asked)
    assert [picked for _, picked in found] == [pick(pool, strategy) for strategy in asked]
    assert any(process != os.getpid() for process, _ in found) == (backend == "loky")

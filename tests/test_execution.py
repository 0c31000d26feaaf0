"""Threads of matrix libraries: one each while anybody works, and as many as before when all are done."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import minmargin as mm
from complaints import LABELED, LABELS, X
from minmargin.execution import one_thread_each


def threads_of_blas():
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


@pytest.fixture
def three_threads():
    with threadpool_limits(limits=3, user_api="blas"):
        assert threads_of_blas() == {3}
        yield


@pytest.mark.usefixtures("three_threads")
def test_whoever_leaves_last_gives_the_threads_back():
    """The first to come leaves first: what the second one found is one thread, which is not to be left."""
    first, second = one_thread_each(), one_thread_each()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert threads_of_blas() == {1}
    second.__exit__(None, None, None)
    assert threads_of_blas() == {3}


@pytest.mark.usefixtures("three_threads")
def test_selections_side_by_side_leave_the_threads_as_they_were():
    together = Barrier(4)

    def pick(seed):
        together.wait()
        return mm.select(LABELED, LABELS, X, 5, n_models=3, random_state=seed).rows

    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(pick, range(4)))
    assert threads_of_blas() == {3}
    for seed, rows in enumerate(found):
        np.testing.assert_array_equal(
            rows, mm.select(LABELED, LABELS, X, 5, n_models=3, random_state=seed).rows
        )

"""A selection that tests repeat elsewhere: by functions that other processes can import."""

from __future__ import annotations

import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from threadpoolctl import threadpool_info, threadpool_limits

import minmargin as mm
from minmargin.execution import one_thread_each

NAMES = ["a", "b", "c", "d"]


def labeled_rows():
    X = np.random.default_rng(0).normal(size=(40, 4))
    return pa.table(dict(zip(NAMES, X.T, strict=True))), (X[:, 0] + X[:, 1] > 0).astype(int)


def write_pool(path):
    """Write a pool that is read in several runs, by the threads of Arrow."""
    X = np.random.default_rng(1).normal(size=(20_000, 4))
    pq.write_table(pa.table(dict(zip(NAMES, X.T, strict=True))), path, row_group_size=5000)
    return str(path)


def pick(pool, strategy="min-margin", **settings):
    """Return the rows and scores of a batch."""
    batch = mm.select(*labeled_rows(), pool, 7, strategy=strategy, n_models=3, random_state=0, **settings)
    return batch.rows.tolist(), batch.scores.tolist()


def pick_elsewhere(pool, strategy="min-margin"):
    """Return the process that picked, and what it picked."""
    return os.getpid(), pick(pool, strategy)


def threads_of_blas():
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


def threads_inside_and_after():
    """Return how many threads the matrix libraries have while work is done, and then, where they had three."""
    with threadpool_limits(limits=3, user_api="blas"):
        with one_thread_each():
            inside = threads_of_blas()
        return inside, threads_of_blas()

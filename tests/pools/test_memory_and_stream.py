"""Pools in memory and streams of chunks: whatever holds the rows, the batch is the plain array's."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_iris

import minmargin as mm
from minmargin.data.rows import Block, Rows, blocks
from minmargin.pools import open_pool

NAMES = ["a", "b", "c", "d"]
X, y = load_iris(return_X_y=True)
LABELED, LABELS = X[::5], y[::5]


def pandas_frame(rows: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=NAMES)


def polars_frame(rows: np.ndarray) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=NAMES)


def arrow_table(rows: np.ndarray) -> pa.Table:
    return pa.table({name: rows[:, i] for i, name in enumerate(NAMES)})


FRAMES: dict[str, Callable[[np.ndarray], Any]] = {
    "pandas": pandas_frame,
    "polars": polars_frame,
    "pyarrow": arrow_table,
}
MATRICES: dict[str, Callable[[np.ndarray], Any]] = {
    "array": np.asarray,
    "Fortran order": np.asfortranarray,
    "every other row of a larger array": lambda rows: np.repeat(rows, 2, axis=0)[::2],
    "list of lists": lambda rows: rows.tolist(),
    "objects": lambda rows: rows.astype(object),
    "CSR array": sparse.csr_array,
    "CSR matrix": sparse.csr_matrix,
    "CSC": sparse.csc_array,
    "COO": sparse.coo_array,
}


def pick(labeled: Any, pool: Any, **settings: Any) -> mm.Batch:
    return mm.select(labeled, LABELS, pool, 20, **{"n_models": 3, "random_state": 0, "n_jobs": 1, **settings})


def assert_same(batch: mm.Batch, reference: mm.Batch) -> None:
    assert batch.rows.tolist() == reference.rows.tolist()
    assert batch.scores.tolist() == reference.scores.tolist()


@pytest.fixture(scope="module")
def reference() -> mm.Batch:
    """The batch of the plain array."""
    return pick(LABELED, X)


# In memory


@pytest.mark.parametrize("chunk_size", [1, 64, 1000])
@pytest.mark.parametrize("make", [*MATRICES.values(), *FRAMES.values()], ids=[*MATRICES, *FRAMES])
def test_a_pool_in_any_container_gives_the_array_batch(
    reference: mm.Batch, make: Callable[[np.ndarray], Any], chunk_size: int
) -> None:
    assert_same(pick(LABELED, make(X), chunk_size=chunk_size), reference)


@pytest.mark.parametrize("labeled", [*MATRICES.values()], ids=[*MATRICES])
def test_a_labeled_set_in_any_matrix_gives_the_array_batch(
    reference: mm.Batch, labeled: Callable[[np.ndarray], Any]
) -> None:
    batch = pick(labeled(LABELED), X)
    assert batch.rows.tolist() == reference.rows.tolist()
    np.testing.assert_allclose(batch.scores, reference.scores, rtol=1e-6)


@pytest.mark.parametrize("pool", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize("labeled", FRAMES.values(), ids=FRAMES)
def test_frames_of_any_two_kinds_go_together(
    reference: mm.Batch, labeled: Callable[[np.ndarray], Any], pool: Callable[[np.ndarray], Any]
) -> None:
    assert_same(pick(labeled(LABELED), pool(X)), reference)


def test_a_memory_map_is_scored_without_being_copied_as_a_whole(tmp_path: Path, reference: mm.Batch) -> None:
    np.save(tmp_path / "pool.npy", X)
    mapped = np.load(tmp_path / "pool.npy", mmap_mode="r")
    batch = pick(LABELED, mapped, chunk_size=40)
    assert_same(batch, reference)
    assert batch.manifest["pool"]["kind"] == "memory map"


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32, np.uint8, bool])
def test_arrays_of_any_numeric_type_give_the_batch_of_their_values(dtype: Any) -> None:
    rows = X.astype(dtype)
    batches = (pick(rows[::5].astype(float), pool, distinct=False) for pool in (rows, rows.astype(float)))
    assert_same(*batches)


def test_columns_of_a_frame_are_matched_by_name_and_others_ignored(reference: mm.Batch) -> None:
    pool = pandas_frame(X)[["d", "b", "c", "a"]].assign(note="text", time=pd.Timestamp("2020"))
    assert_same(pick(pandas_frame(LABELED), pool), reference)


def test_the_index_of_a_pandas_frame_does_not_matter(reference: mm.Batch) -> None:
    pool = pandas_frame(X).set_axis([f"row {i % 7}" for i in range(150)], axis=0)
    assert_same(pick(pandas_frame(LABELED), pool), reference)


def test_a_sparse_pool_may_have_unsorted_and_repeated_entries() -> None:
    messy = sparse.csr_array(
        (np.array([3.0, 1.0, 2.0, 5.0]), np.array([2, 0, 0, 3]), np.array([0, 3, 4])), shape=(2, 4)
    )
    scores = mm.fit_committee(LABELED, LABELS, n_models=3, random_state=0).score
    np.testing.assert_array_equal(scores(messy), scores(messy.toarray()))


# Streams


CUTS = [0, 1, 40, 40, 97, 150]


def in_chunks(make: Callable[[np.ndarray], Any]) -> Iterable[Any]:
    return (make(X[start:stop]) for start, stop in itertools.pairwise(CUTS))


@pytest.mark.parametrize(
    "make", [np.asarray, sparse.csr_array, *FRAMES.values()], ids=["array", "CSR", *FRAMES]
)
def test_a_generator_of_chunks_gives_the_array_batch(
    reference: mm.Batch, make: Callable[[np.ndarray], Any]
) -> None:
    batch = pick(LABELED, in_chunks(make))
    assert_same(batch, reference)
    assert batch.manifest["pool"] == {"rows": 150, "kind": "iterable of chunks"}


@pytest.mark.parametrize(
    "make", [np.asarray, sparse.csr_array, *FRAMES.values()], ids=["array", "CSR", *FRAMES]
)
def test_a_list_of_chunks_gives_the_array_batch(
    reference: mm.Batch, make: Callable[[np.ndarray], Any]
) -> None:
    assert_same(pick(LABELED, list(in_chunks(make))), reference)


def test_arrow_batches_and_readers_are_streams(reference: mm.Batch) -> None:
    batches = arrow_table(X).to_batches(max_chunksize=40)
    labeled = pandas_frame(LABELED)
    for source in (iter(batches), batches, arrow_table(X).to_reader(40)):
        assert_same(pick(labeled, source), reference)


def test_whole_numbers_in_one_chunk_and_fractions_in_the_next_go_together() -> None:
    rows = np.vstack([np.rint(X[:40]), X[40:]])
    for make in FRAMES.values():
        first, second = make(rows[:40].astype(int)), make(rows[40:])
        assert_same(pick(pandas_frame(LABELED), iter([first, second])), pick(LABELED, rows))


def test_an_object_that_can_be_iterated_is_a_stream(reference: mm.Batch) -> None:
    class Source:
        def __iter__(self) -> Any:
            return iter(in_chunks(np.asarray))

    assert_same(pick(LABELED, Source()), reference)


def test_chunks_of_frames_carry_ids_and_kept_columns(reference: mm.Batch) -> None:
    pool = pandas_frame(X).assign(
        id=[f"id-{i}" for i in range(150)], title=[f"title {i}" for i in range(150)]
    )
    chunks = (pool.iloc[start : start + 31] for start in range(0, 150, 31))
    batch = pick(pandas_frame(LABELED), chunks, id_column="id", keep="title")
    assert_same(batch, reference)
    assert batch.ids.tolist() == [f"id-{row}" for row in reference.rows]
    assert batch.kept["title"].to_pylist() == [f"title {row}" for row in reference.rows]


def test_a_stream_is_read_lazily_and_once() -> None:
    given_out = []

    def source() -> Iterable[np.ndarray]:
        for start in range(0, 150, 50):
            given_out.append(start)
            yield X[start : start + 50]

    pool = open_pool(source())
    assert given_out == [0]
    assert sum(len(chunk) for chunk in pool.chunks(None, 10)) == 150
    with pytest.raises(mm.InputError) as caught:
        next(iter(pool.chunks(None, 10)))
    assert str(caught.value) == "The pool is an iterable that was read already. Make a new one."


def test_an_error_of_the_source_reaches_the_caller() -> None:
    def source() -> Iterable[np.ndarray]:
        yield X
        raise ConnectionError("the cursor was closed")

    with pytest.raises(ConnectionError, match="the cursor was closed"):
        pick(LABELED, source())


# Blocks


def values_of(rows: Rows) -> list[Any]:
    if isinstance(rows, nw.DataFrame):
        return rows["a"].to_list()
    return (rows.toarray() if sparse.issparse(rows) else rows)[:, 0].tolist()


CONTAINERS: list[Callable[[np.ndarray], Rows]] = [
    lambda rows: rows,
    sparse.csr_array,
    lambda rows: nw.from_native(pl.DataFrame(rows, schema=["a"]), eager_only=True),
]


@given(
    sizes=st.lists(st.integers(0, 20), max_size=12),
    size=st.integers(1, 25),
    container=st.sampled_from(CONTAINERS),
)
def test_blocks_regroup_any_chunking_to_the_same_grid(
    sizes: list[int], size: int, container: Callable[[np.ndarray], Rows]
) -> None:
    rows = np.arange(1.0, sum(sizes) + 1)[:, np.newaxis]
    ends = np.cumsum(sizes)
    chunks = [container(rows[end - n : end]) for n, end in zip(sizes, ends, strict=True)]
    made: list[Block] = list(blocks(chunks, itertools.repeat(size)))
    expected = [(first, rows[first : first + size, 0].tolist()) for first in range(0, len(rows), size)]
    assert [(block.first_row, values_of(block.data)) for block in made] == expected

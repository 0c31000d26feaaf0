"""Rows that chance picks are chosen by their numbers: the batch is that of a full sort, and no other row is read."""

from __future__ import annotations

import functools

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import feather

import minmargin as mm
from minmargin.errors import InputError
from minmargin.pools import formats
from minmargin.scan import fragments
from minmargin.seeds import SeedTree, hashes_below

SEEDS = SeedTree(0)
RNG = np.random.default_rng(7)
X, POOL = RNG.normal(size=(40, 3)), RNG.normal(size=(3000, 3))
NAMES = ["a", "b", "c"]


@functools.cache
def committee(form="array"):
    labeled = X if form == "array" else pd.DataFrame(X, columns=NAMES)
    return mm.fit_committee(labeled, X[:, 0] > 0, n_models=0, random_state=0)


def in_line(n_rows):
    """Return all rows by their random numbers, the lowest first."""
    rows = np.arange(n_rows)
    return np.lexsort((rows, SEEDS.ties(rows), SEEDS.uniform(rows)))


def table(pool=POOL, ids=None):
    columns = dict(zip(NAMES, pool.T, strict=True))
    return pa.table({"id": [f"r{row}" for row in range(len(pool))] if ids is None else ids, **columns})


@given(number=st.floats(0, 1.5), bits=st.integers(0, 2**64 - 1))
def test_hashes_below_a_number_are_those_of_lower_uniform_numbers(number, bits):
    uniform = (bits >> 11) * 2.0**-53
    assert (bits < hashes_below(number)) == (uniform < number)


@settings(deadline=None)
@given(
    n_rows=st.integers(1, 400),
    size=st.integers(1, 60),
    n_kinds=st.sampled_from([None, 2, 7, 50]),
    distinct=st.booleans(),
    data=st.data(),
)
def test_the_batch_is_that_of_a_full_sort(n_rows, size, n_kinds, distinct, data):
    excluded = data.draw(st.sets(st.integers(0, n_rows - 1), max_size=n_rows // 2))
    kinds = np.arange(n_rows) if n_kinds is None else np.arange(n_rows) % n_kinds
    pool = kinds[:, None] * np.ones(3)
    expected, met, n_copies = [], set(), 0
    for row in in_line(n_rows):
        if len(expected) < size and row not in excluded:
            copy = distinct and kinds[row] in met
            n_copies += copy
            met.add(kinds[row])
            expected += [] if copy else [row]
    asked = {"strategy": "random", "exclude": sorted(excluded), "distinct": distinct}
    if len(expected) < size:
        with pytest.raises(InputError, match="is larger than"):
            committee().select(pool, size, **asked)
        return
    batch = committee().select(pool, size, **asked)
    assert batch.rows.tolist() == expected
    assert batch.scores.tolist() == SEEDS.uniform(np.array(expected)).tolist()
    assert batch.manifest["pool"]["rows"] == n_rows
    assert batch.manifest["excluded"]["rows"] == len(excluded)
    assert not distinct or batch.manifest["copies_passed_over"] == n_copies


def test_only_picks_are_looked_at():
    picked = in_line(len(POOL))[:20]
    holes = np.full_like(POOL, np.nan)
    holes[picked] = POOL[picked]
    expected = committee().select(POOL, 20, strategy="random")
    for pool in (holes, pd.DataFrame(holes, columns=NAMES)):
        batch = committee().select(pool, 20, strategy="random")
        assert batch.rows.tolist() == expected.rows.tolist() == picked.tolist()
        assert batch.predicted.tolist() == expected.predicted.tolist()
        assert batch.manifest["rows_scored_exactly"] == 20


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_pick_that_is_not_finite_is_named(n_jobs):
    """The first of them, by its own number and not by its place among the picks."""
    first, second = sorted(in_line(len(POOL))[5:7].tolist())
    pool = POOL.copy()
    pool[second, 0], pool[first, 1] = np.nan, np.inf
    with pytest.raises(InputError) as said:
        committee().select(pool, 20, strategy="random", n_jobs=n_jobs)
    assert str(said.value).startswith(f"Pool row {first:,}, column 1 ")


@pytest.fixture
def asked(monkeypatch):
    """What Parquet and Feather files are asked for: columns, and groups."""
    found = []
    for kind in (formats.ParquetFile, formats.FeatherFile):
        read = kind.chunks

        def chunks(self, wanted, chunk_size, groups=None, read=read):
            found.append((sorted(wanted), groups))
            return read(self, wanted, chunk_size, groups)

        monkeypatch.setattr(kind, "chunks", chunks)
    return found


@pytest.mark.parametrize("suffix", ["parquet", "feather"])
def test_files_are_read_where_picks_are(suffix, tmp_path, asked):
    path = tmp_path / f"pool.{suffix}"
    if suffix == "parquet":
        pq.write_table(table(), path, row_group_size=100)
    else:
        feather.write_feather(table(), path, chunksize=100)
    out = [f"r{row}" for row in in_line(len(POOL))[:3]]
    batch = committee("frame").select(path, 4, strategy="random", id_column="id", exclude=out)
    assert batch.rows.tolist() == in_line(len(POOL))[3:7].tolist()
    assert batch.ids.tolist() == [f"r{row}" for row in batch.rows]
    (ids, everywhere), *rest = asked
    assert ids == ["id"]
    assert everywhere in {None, range(30)}
    assert all(columns == ["a", "b", "c", "id"] for columns, _ in rest)
    assert sorted(group for _, groups in rest for group in groups) == sorted(set(batch.rows // 100))


def test_no_feature_is_read_for_ids_alone(tmp_path, asked):
    """Nor is anything read twice, where all that is out is known by its number."""
    pq.write_table(table(), tmp_path / "pool.parquet", row_group_size=1000)
    committee("frame").select(tmp_path / "pool.parquet", 30, strategy="random", exclude=[1, 2])
    assert asked == [(["a", "b", "c"], range(3))]


def test_fragments_give_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(fragments, "_FRAGMENT_ROWS", 500)
    pq.write_table(table(POOL.round(0)), tmp_path / "pool.parquet", row_group_size=250)
    for distinct in (False, True):
        how = {"strategy": "random", "id_column": "id", "exclude": ["r3", "r8"], "distinct": distinct}
        whole = committee("frame").select(tmp_path / "pool.parquet", 40, **how)
        by_parts = committee("frame").select(
            tmp_path / "pool.parquet", 40, **how, checkpoint=tmp_path / f"so-far-{distinct}"
        )
        assert by_parts == whole
        assert by_parts.manifest["pool"]["rows"] == whole.manifest["pool"]["rows"] == 3000
        assert by_parts.manifest.get("copies_passed_over") == whole.manifest.get("copies_passed_over")


def test_a_pool_of_unknown_length_gives_the_same(tmp_path):
    """It is read from its beginning to its end, and most rows are dismissed by their numbers."""
    table().to_pandas().to_csv(tmp_path / "pool.csv", index=False)
    expected = committee().select(POOL, 40, strategy="random", exclude=[5])
    parts = (POOL[start : start + 701] for start in range(0, len(POOL), 701))
    by_chunks = committee().select(parts, 40, strategy="random", exclude=[5])
    csv = committee("frame").select(
        tmp_path / "pool.csv", 40, strategy="random", id_column="id", exclude=["r5"]
    )
    assert by_chunks.rows.tolist() == csv.rows.tolist() == expected.rows.tolist()


def test_a_row_of_a_stream_that_is_not_finite_is_named_if_chance_comes_near_it():
    pool = POOL.copy()
    pool[in_line(len(POOL))[3]] = np.nan
    with pytest.raises(InputError) as said:
        committee().select(iter([pool]), 20, strategy="random")
    assert str(said.value).startswith(f"Pool row {in_line(len(POOL))[3]:,}, column 0 ")


@pytest.mark.usefixtures("large_work")
def test_half_a_batch_by_chance_scores_no_more_than_its_rows():
    pool = np.random.default_rng(1).normal(size=(100_000, 3))
    batch = committee().select(pool, 100, strategy="random-margin-mix", n_jobs=1)
    # The first block of 8,192 rows gives the first cut, and each later one a few rows below it.
    assert batch.manifest["rows_scored_exactly"] < 9_000

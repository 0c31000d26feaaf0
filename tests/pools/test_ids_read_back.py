"""Ids of any type that were written with a batch are excluded by it, in every format."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

import minmargin as mm

RNG = np.random.default_rng(0)
LABELED = {name: RNG.normal(size=40) for name in "abc"}
LABELS = (LABELED["a"] > 0).astype(int)
FEATURES = {name: RNG.normal(size=100) for name in "abc"}
IDS = {
    "decimals": pa.array([Decimal(n) for n in range(100)], pa.decimal128(10, 0)),
    "fractions": pa.array([Decimal(n) / 4 for n in range(100)], pa.decimal128(10, 2)),
    "floats": pa.array(np.arange(100) + 0.5),
    "large": pa.array(np.arange(100).astype(np.uint64) + np.uint64(2**63)),
    "bytes": pa.array([b"\xff%d" % n for n in range(100)]),
}


def pick(ids, **settings):
    pool = pa.table({**FEATURES, "id": ids})
    return mm.select(LABELED, LABELS, pool, 3, id_column="id", n_models=2, random_state=0, **settings)


@pytest.mark.parametrize("suffix", [None, ".parquet", ".feather", ".csv", ".jsonl"])
@pytest.mark.parametrize("kind", IDS)
def test_ids_that_were_written_are_read_back(tmp_path, kind, suffix):
    batch = pick(IDS[kind])
    exclude = batch if suffix is None else str(batch.write(tmp_path / f"batch{suffix}"))
    assert not set(pick(IDS[kind], exclude=exclude).rows) & set(batch.rows)


@pytest.mark.parametrize("suffix", [".parquet", ".feather", ".csv", ".jsonl"])
def test_a_batch_without_rows_excludes_none(tmp_path, suffix):
    ids = pa.array(np.arange(100))
    path = str(pick(ids)[:0].write(tmp_path / f"empty{suffix}"))
    assert pick(ids, exclude=path).rows.tolist() == pick(ids).rows.tolist()

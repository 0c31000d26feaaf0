"""Tables of Delta and Lance as pools and labeled sets, with the real libraries: `make test-libraries` installs them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import minmargin as mm


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    label = np.where(X[:, 0] + 0.3 * rng.normal(size=400) > 0, "up", "down")
    return pa.table(
        {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "id": [f"r{i}" for i in range(400)], "label": label}
    )


def write_delta(table, path):
    deltalake = pytest.importorskip("deltalake")
    # In several files, as tables grow.
    for start in range(0, len(table), 150):
        deltalake.write_deltalake(path, table.slice(start, 150), mode="append")
    return deltalake.DeltaTable(path)


def write_lance(table, path):
    lance = pytest.importorskip("lance")
    return lance.write_dataset(table, path, max_rows_per_file=150)


def pick(labeled, pool, **more):
    return mm.select(
        labeled,
        "label",
        pool,
        8,
        features=["a", "b", "c"],
        id_column="id",
        n_models=3,
        random_state=0,
        **more,
    )


@pytest.mark.parametrize("write", [write_delta, write_lance], ids=["Delta", "Lance"])
def test_a_table_is_read_in_its_order(write, rows, tmp_path):
    stored = write(rows.slice(40), str(tmp_path / "pool"))
    as_arrow = stored.to_pyarrow_dataset() if write is write_delta else stored
    in_order = as_arrow.to_table()
    batch = pick(rows.slice(0, 40), stored, chunk_size=64)
    assert batch == pick(rows.slice(0, 40), in_order)
    assert in_order["id"].take(batch.rows).to_pylist() == batch.ids.tolist()
    in_parts = pick(rows.slice(0, 40), stored, checkpoint=tmp_path / "found")
    assert in_parts == batch


@pytest.mark.parametrize("write", [write_delta, write_lance], ids=["Delta", "Lance"])
def test_a_table_is_a_labeled_set(write, rows, tmp_path):
    stored = write(rows.slice(0, 40), str(tmp_path / "labeled"))
    assert pick(stored, rows.slice(40)) == pick(rows.slice(0, 40), rows.slice(40))

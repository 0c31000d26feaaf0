"""Files of every kind that the package reads, ways to damage them, and readers of others to compare with."""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyarrow import csv as arrow_csv
from pyarrow import feather

FEATURES = ["x0", "x1", "x2"]
KINDS = ("parquet", "csv", "feather", "npy", "checkpoint", "committee")


def pool_table() -> pa.Table:
    """Return a small pool with an id column."""
    X = np.random.default_rng(1).normal(size=(120, len(FEATURES)))
    columns = {name: X[:, place] for place, name in enumerate(FEATURES)}
    return pa.table({**columns, "key": [f"row {number}" for number in range(len(X))]})


def write_pool(table: pa.Table, path: Path) -> None:
    """Write a pool in the format of the suffix, in several groups where there are groups."""
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=50, write_page_checksum=True)
    elif path.suffix == ".csv":
        arrow_csv.write_csv(table, path)
    elif path.suffix == ".feather":
        feather.write_feather(table, path, chunksize=50, compression="uncompressed")
    else:
        np.save(path, np.stack([table[name].to_numpy() for name in FEATURES], axis=1))


def read_by_others(path: Path) -> NDArray[np.float64]:
    """Return the features that are in a file, as another library reads them."""
    if path.suffix == ".npy":
        return np.load(io.BytesIO(path.read_bytes())).astype(np.float64)
    if path.suffix == ".csv":
        with path.open(newline="") as file:
            records = [[record[name] for name in FEATURES] for record in csv.DictReader(file)]
        return np.array(records, dtype=np.float64)
    if path.suffix == ".parquet":
        frame = pl.read_parquet(io.BytesIO(path.read_bytes()), columns=FEATURES)
    else:
        frame = pl.read_ipc(io.BytesIO(path.read_bytes()), columns=FEATURES)
    return frame.select(FEATURES).cast(pl.Float64).to_numpy()


def damaged(content: bytes, rng: random.Random) -> bytes:
    """Return content with some bits flipped, or cut, or with junk in it."""
    changed = bytearray(content)
    way = rng.choice(["flip", "flip", "flip", "flips", "cut", "junk", "zeros", "drop", "twice"])
    at = rng.randrange(len(changed))
    # Half of the damage goes to the ends, where headers and footers are.
    if rng.random() < 0.5:
        at = rng.choice([min(at, rng.randrange(200)), max(at, len(changed) - 1 - rng.randrange(400)), at])
        at = min(max(at, 0), len(changed) - 1)
    if way in {"flip", "flips"}:
        for _ in range(1 if way == "flip" else 20):
            changed[at] ^= 1 << rng.randrange(8)
            at = rng.randrange(len(changed)) if way == "flips" else at
    elif way == "cut":
        del changed[at:]
    elif way == "junk":
        changed[at:at] = rng.randbytes(rng.randrange(1, 64))
    elif way == "zeros":
        changed[at : at + 32] = bytes(len(changed[at : at + 32]))
    elif way == "drop":
        del changed[at : at + rng.randrange(1, 64)]
    else:
        changed += content
    return bytes(changed)


def other_schema(table: pa.Table, rng: random.Random) -> pa.Table:
    """Return a table with columns that are missing, renamed, reordered or of other types."""
    texts = pa.array([f"text {number}" for number in range(table.num_rows)])
    nulls = pa.nulls(table.num_rows, pa.float64())
    ways: list[Callable[[], pa.Table]] = [
        lambda: table.drop_columns([rng.choice(FEATURES)]),
        lambda: table.rename_columns(["x0", "x1", "x1", "key"]),
        lambda: table.rename_columns(["x0", "x1", "other", "key"]),
        lambda: table.select(["key", "x2", "x1", "x0"]),
        lambda: table.set_column(1, "x1", texts),
        lambda: table.set_column(1, "x1", nulls),
        lambda: table.set_column(1, "x1", table["x1"].cast(pa.string())),
        lambda: table.set_column(3, "key", table["key"].cast(pa.large_string())),
        lambda: table.slice(0, 0),
        lambda: table.slice(0, 3),
    ]
    return rng.choice(ways)()

"""The pool of the suites on bad input as tables and files, and a batch of it."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import minmargin as mm
from complaints import LABELS, NAMES, X

WHOLE = np.rint(X * 10)  # whole numbers


def table(rows: np.ndarray = X, **more: Any) -> pa.Table:
    """Return the rows as an Arrow table with columns a..d, and more columns."""
    return pa.table({**{name: rows[:, i] for i, name in enumerate(NAMES)}, **more})


def pick(labeled: Any, pool: Any, **settings: Any) -> mm.Batch:
    return mm.select(labeled, LABELS, pool, 20, **{"n_models": 3, "random_state": 0, "n_jobs": 1, **settings})


def assert_same(batch: mm.Batch, reference: mm.Batch) -> None:
    assert batch.rows.tolist() == reference.rows.tolist()
    assert batch.scores.tolist() == reference.scores.tolist()


def write_parquet(path: Path, rows: pa.Table, **options: Any) -> Path:
    pq.write_table(rows, path, **options)
    return path


def write_csv(path: Path, rows: pa.Table, mark: str = ",") -> Path:
    rows.to_pandas().to_csv(path, index=False, sep=mark, quoting=csv.QUOTE_NONNUMERIC)
    return path

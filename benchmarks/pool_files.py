"""Pools in files, written for a benchmark and removed after it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet as pq

ROW_GROUP = 1 << 20  # pyarrow's own default


@contextmanager
def folder_for_pools(parent: Path | None) -> Iterator[Path]:
    """Return a new folder, in `parent` or where temporary files go; it is removed at the end."""
    if parent is not None:
        parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="minmargin-bench-", dir=parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def write_files(
    folder: Path, n_files: int, n_rows: int, n_features: int, suffix: str, *, row_group: int = ROW_GROUP
) -> list[str]:
    """Write files of `n_rows` normal float32 rows each, with pyarrow's usual settings; return their paths."""
    schema = pa.schema([(f"f{i}", pa.float32()) for i in range(n_features)])
    open_writer = {
        ".parquet": pq.ParquetWriter,
        ".csv": pyarrow.csv.CSVWriter,
        ".feather": _feather_writer,
    }[suffix]
    paths = [str(folder / f"part-{i:03d}{suffix}") for i in range(n_files)]
    for seed, path in enumerate(paths):
        rng = np.random.default_rng(seed)
        with open_writer(path, schema) as writer:
            for first in range(0, n_rows, row_group):
                n = min(row_group, n_rows - first)
                columns = [rng.standard_normal(n, dtype=np.float32) for _ in range(n_features)]
                writer.write_table(pa.table(columns, schema=schema))
    return paths


def _feather_writer(path: str, schema: pa.Schema) -> pa.ipc.RecordBatchFileWriter:
    """Return a writer that compresses as `pyarrow.feather` does by itself."""
    return pa.ipc.new_file(path, schema, options=pa.ipc.IpcWriteOptions(compression="lz4"))

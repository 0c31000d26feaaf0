"""Batch files of every format, read back; and files of labels, given to a campaign."""

from __future__ import annotations

import json
import random
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import feather

from fuzz.changes import change_bytes, change_json, change_table, written
from fuzz.target import Change, Target
from made_up_batch import made_up_batch
from minmargin.integrations.batch_files import read_batch

_SUFFIXES = (".parquet", ".feather", ".jsonl", ".csv")


def _write(suffix: str, folder: Path) -> None:
    made_up_batch().write(folder / f"batch{suffix}")


def _use(suffix: str, folder: Path) -> Any:
    """Return everything that a batch file says, by what people do with it."""
    batch = read_batch(folder / f"batch{suffix}")
    repr(batch), batch._repr_html_()
    batch.to_csv(folder.parent / "again.csv")
    return batch.to_arrow().to_pylist()


def _check(answer: Any) -> None:
    rows = [each["row"] for each in answer]
    assert all(isinstance(each, int) and each >= 0 for each in rows), f"rows that no pool has: {rows}"
    assert len(set(rows)) == len(rows), f"rows twice: {rows}"


def _change(suffix: str, folder: Path, rng: random.Random) -> Change:
    path = folder / f"batch{suffix}"
    # These files have no checksums: a changed number is another number.
    if rng.random() < 0.35:
        return Change(change_bytes(path, rng), signed=True)
    if suffix == ".jsonl":
        records, words = change_json([json.loads(line) for line in path.read_text().splitlines()], rng)
        lines = records if isinstance(records, list) else [records]
        path.write_text(written("".join(json.dumps(each) + "\n" for each in lines)))
        return Change(words, signed=True)
    table, words = change_table(_table(path), rng)
    _write_table(table, path)
    return Change(words, signed=True)


def _table(path: Path) -> pa.Table:
    if path.suffix == ".parquet":
        return pq.read_table(path)
    return feather.read_table(path) if path.suffix == ".feather" else read_batch(path).to_arrow()


def _write_table(table: pa.Table, path: Path) -> None:
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    elif path.suffix == ".feather":
        feather.write_feather(table, path)
    else:
        rows = [table.column_names, *(row.values() for row in table.to_pylist())]
        path.write_text(
            "\n".join(",".join("" if cell is None else str(cell) for cell in row) for row in rows)
        )


TARGETS = {
    f"batch{suffix.replace('.', '-')}": Target(
        f"batch files ({suffix})",
        partial(_write, suffix),
        partial(_change, suffix),
        partial(_use, suffix),
        _check,
    )
    for suffix in _SUFFIXES
}

"""Batch files of every format: read back, or named as rows to leave out; and files of labels."""

from __future__ import annotations

import json
import random
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import feather

import minmargin as mm
from fuzz.changes import change_bytes, change_json, change_table, written
from fuzz.target import Change, Target
from made_up_batch import made_up_batch
from minmargin.campaign.labels import Known, check_labels, read_labels
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


def _use_as_excluded(suffix: str, folder: Path) -> Any:
    """Return the batch of a pool without the rows of a batch file."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 2)), np.arange(20) % 2
    pool = pa.table(
        {"x0": rng.normal(size=50), "x1": rng.normal(size=50), "key": [f"r{row}" for row in range(50)]}
    )
    labeled = pa.table({"x0": X[:, 0], "x1": X[:, 1], "y": y})
    try:
        batch = mm.select(
            *(labeled, "y", pool, 5),
            id_column="key",
            exclude=folder / f"batch{suffix}",
            n_models=2,
            random_state=0,
            n_jobs=1,
        )
    except mm.MinMarginError as error:
        # What ids are is told of all that is left out, not of a file.
        raise mm.InputError(f"{folder.name}: {error}") from error
    return [{"row": row} for row in batch.rows.tolist()]


def _write_labels(suffix: str, folder: Path) -> None:
    table = pa.table({"id": [f"r{row}" for row in range(6)], "label": ["card", "cash"] * 3})
    if suffix == ".jsonl":
        (folder / "batch.jsonl").write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    else:
        _write_table(table, folder / f"batch{suffix}")


def _use_labels(suffix: str, folder: Path) -> Any:
    """Return the labels that a file gives to rows which were picked."""
    path = folder / f"batch{suffix}"
    returned = read_labels(path, id_columns=("id",), label_columns=("label",))
    known = Known({f"r{row}": 1 for row in range(6)}, {}, ["card", "cash"], "text", "text")
    return sorted(check_labels(returned, known, replace=False, new_classes=True).labels.items())


def _check_labels(answer: Any) -> None:
    assert all(isinstance(text, str) for each, label in answer for text in (each, label.label)), (
        "labels of no type"
    )


TARGETS = (
    {
        f"batch{suffix.replace('.', '-')}": Target(
            f"batch files ({suffix})",
            partial(_write, suffix),
            partial(_change, suffix),
            partial(_use, suffix),
            _check,
        )
        for suffix in _SUFFIXES
    }
    | {
        f"excluded{suffix.replace('.', '-')}": Target(
            f"batch files that are left out ({suffix})",
            partial(_write, suffix),
            partial(_change, suffix),
            partial(_use_as_excluded, suffix),
            _check,
            share=0.5,
        )
        for suffix in _SUFFIXES
    }
    | {
        f"labels{suffix.replace('.', '-')}": Target(
            f"files of labels ({suffix})",
            partial(_write_labels, suffix),
            partial(_change, suffix),
            partial(_use_labels, suffix),
            _check_labels,
            share=0.5,
        )
        for suffix in (".parquet", ".jsonl")
    }
)

"""Batch files read back: what `minmargin select` wrote is a Batch again."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from minmargin.batch import Batch
from minmargin.batch.formulas import as_written
from minmargin.errors import InputError, listing

OUR_COLUMNS = ("rank", "row", "id", "score", "member", "first_class", "second_class", "predicted")
_NUMBERS = {"rank": pa.int64(), "row": pa.int64(), "score": pa.float64(), "member": pa.int64()}


def read_batch(path: str | Path) -> Batch:
    """Return the batch that a file holds. Only Parquet keeps the manifest; CSV makes every id and class a text."""
    path = Path(path)
    read = _READERS.get(path.suffix.lower())
    if read is None:
        raise InputError(
            f"{str(path)!r} ends in no format a batch is written in. Use one of {listing(_READERS)}."
        )
    if not path.is_file():
        raise InputError(f"There is no file {str(path)!r}. Give the file that minmargin select wrote.")
    try:
        table = read(path)
    except (pa.ArrowException, OSError, ValueError, csv.Error) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise InputError(f"{str(path)!r} cannot be read as a batch ({reason}).") from error
    return as_batch(table, str(path))


def as_batch(table: pa.Table, name: str) -> Batch:
    """Return the batch of a table as it is read from a file, in the order of its ranks; `name` is for errors."""
    missing = [column for column in OUR_COLUMNS if column != "id" and column not in table.column_names]
    if missing:
        raise InputError(
            f"{name!r} is no batch: it has no column {listing(missing)}. Give the file that minmargin select wrote."
        )
    table = table.sort_by("rank")
    manifest = json.loads((table.schema.metadata or {}).get(b"minmargin", b"{}"))
    # Without a manifest, as in CSV files, names of members are a column like any other.
    named = ["member_name"] if "member_names" in manifest.get("settings", {}) else []
    names = table.column_names
    # A pool may have a column of this name, too, which comes after ours.
    audited = ["audit"] if "audit" in names[: names.index("predicted")] else []
    kept = [name for name in names if name not in (*OUR_COLUMNS, *named, *audited)]
    contested = [_values(table["first_class"]), _values(table["second_class"])]
    return Batch(
        rows=table["row"].to_numpy(),
        ids=_values(table["id"]) if "id" in table.column_names else None,
        scores=table["score"].to_numpy(),
        member=np.array([-1 if each is None else each for each in table["member"].to_pylist()], np.int32),
        top_classes=np.stack(contested, axis=1),
        predicted=_values(table["predicted"]),
        kept=table.select(kept) if kept else None,
        manifest=manifest,
        audit=np.array([str(each).lower() == "true" for each in table["audit"].to_pylist()])
        if audited
        else None,
    )


def _values(column: pa.ChunkedArray) -> Any:
    """Return a column as Python's own values, which numpy would round or widen."""
    values = np.empty(len(column), dtype=object)
    values[:] = column.to_pylist()
    return values


def _read_parquet(path: Path) -> pa.Table:
    import pyarrow.parquet as pq  # noqa: PLC0415 - 50 ms that other formats need not pay

    return pq.ParquetFile(path).read()


def _read_feather(path: Path) -> pa.Table:
    from pyarrow import feather  # noqa: PLC0415 - as for Parquet

    return feather.read_table(path)


def _read_jsonl(path: Path) -> pa.Table:
    with path.open(encoding="utf-8") as file:
        return pa.Table.from_pylist([json.loads(line) for line in file])


def _read_csv(path: Path) -> pa.Table:
    from pyarrow import csv as arrow_csv  # noqa: PLC0415 - as for Parquet

    with path.open(newline="", encoding="utf-8") as file:
        names = next(csv.reader(file), [])
    table = arrow_csv.read_csv(
        path,
        parse_options=arrow_csv.ParseOptions(newlines_in_values=True),
        convert_options=arrow_csv.ConvertOptions(
            column_types={name: _NUMBERS.get(name, pa.string()) for name in names},
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )
    for place, name in enumerate(table.column_names):
        if name not in _NUMBERS:
            texts = [None if text is None else as_written(text) for text in table[name].to_pylist()]
            table = table.set_column(place, name, pa.array(texts, pa.string()))
    return table.rename_columns(list(map(as_written, table.column_names)))


_READERS: dict[str, Callable[[Path], pa.Table]] = {
    ".parquet": _read_parquet,
    ".csv": _read_csv,
    ".jsonl": _read_jsonl,
    ".feather": _read_feather,
}

"""Batch files read back: what `minmargin select` wrote is a Batch again."""

from __future__ import annotations

import csv
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from minmargin.batch import Batch
from minmargin.batch.formulas import as_written
from minmargin.errors import InputError, listing
from minmargin.fields import Fields, parse_json

OUR_COLUMNS = ("rank", "row", "id", "score", "member", "first_class", "second_class", "predicted")
_NUMBERS = {"rank": pa.int64(), "row": pa.int64(), "score": pa.float64(), "member": pa.int64()}
_MOST_MEMBERS = 10**9


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
        table.validate(full=True)  # texts with ends that are none would take memory that is not ours
    except (pa.ArrowException, OSError, ValueError, OverflowError, csv.Error) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise InputError(f"{str(path)!r} cannot be read as a batch ({reason}).") from error
    return as_batch(table, str(path))


def as_batch(table: pa.Table, name: str) -> Batch:
    """Return the batch of a table as it is read from a file, in the order of its ranks; `name` is for errors."""
    names = table.column_names
    missing = [column for column in OUR_COLUMNS if column != "id" and column not in names]
    if missing:
        raise InputError(
            f"{name!r} is no batch: it has no column {listing(missing)}. Give the file that minmargin select wrote."
        )
    wrong = partial(_no_batch, name)
    table = _check_columns(table, wrong).sort_by("rank")
    manifest = _manifest_of(table, wrong)
    # Without a manifest, as in CSV files, names of members are a column like any other.
    named = ["member_name"] if "member_names" in manifest.get("settings", {}) else []
    # A pool may have a column of this name, too, which comes after ours.
    audited = ["audit"] if "audit" in names[: names.index("predicted")] else []
    kept = [name for name in names if name not in (*OUR_COLUMNS, *named, *audited)]
    contested = [_values(table["first_class"]), _values(table["second_class"])]
    return Batch(
        rows=table["row"].to_numpy(),
        ids=_values(table["id"]) if "id" in names else None,
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


def _no_batch(name: str, reason: str) -> InputError:
    return InputError(f"{name!r} is no batch: {reason}. Give the file that minmargin select wrote.")


def _check_columns(table: pa.Table, wrong: Callable[[str], InputError]) -> pa.Table:
    """Return a table with its numbers in their own types, or say what no batch has, such as rows twice."""
    names = table.column_names
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise wrong(f"it has column {twice[0]!r} {names.count(twice[0])} times")
    for name, kind in _NUMBERS.items():
        column = table[name]
        try:
            numbers = column.cast(kind) if _is_numeric(column) else None
        except pa.ArrowException:  # fractions, where there must be none
            numbers = None
        if numbers is None:
            raise wrong(f"its column {name!r} is {column.type}, and must be numbers")
        table = table.set_column(names.index(name), name, numbers)
        if name != "member" and column.null_count:
            raise wrong(f"its column {name!r} is empty in {column.null_count:,} rows")
    for name in ("id", "first_class", "second_class", "predicted"):
        if name in names and pa.types.is_nested(table[name].type):
            raise wrong(f"its column {name!r} holds lists or objects")
    rows, scores, member = (table[name].to_numpy() for name in ("row", "score", "member"))
    if len(np.unique(rows)) != len(rows) or (rows < 0).any():
        raise wrong("it has a row twice, or one with a negative number")
    if not np.isfinite(scores).all():
        raise wrong("a score is not finite")
    if len(member) and np.nanmax(np.abs(np.append(member.astype(float), 0.0))) > _MOST_MEMBERS:
        raise wrong("the number of a member has more than nine digits")
    return table


def _is_numeric(column: pa.ChunkedArray) -> bool:
    """Return whether a column holds numbers, or nothing at all."""
    numeric = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    return bool(numeric or column.null_count == len(column))


def _manifest_of(table: pa.Table, wrong: Callable[[str], InputError]) -> dict[str, Any]:
    """Return the manifest of a table, as far as there is one, with what others look up in it checked."""
    try:
        found = parse_json((table.schema.metadata or {}).get(b"minmargin", b"{}"))
    except ValueError as error:
        raise wrong(f"its manifest cannot be read ({error})") from error
    manifest = Fields(found, lambda reason: wrong(f"of its manifest, {reason}"))
    for name in ("settings", "labeled", "pool"):
        manifest.optional(name, dict)
    if manifest.optional("classes", list) is not None:
        manifest.each("classes", str)
    if manifest.optional("labeled", dict) is not None:
        counts = manifest.inner("labeled")
        if counts.optional("class_counts", dict) is not None:
            for name in counts.inner("class_counts").names:
                counts.inner("class_counts").size(name)
    return dict(found)


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
        records = [parse_json(line) for line in file]
    if not all(isinstance(each, dict) for each in records):
        raise ValueError("a line is no JSON object")
    return pa.Table.from_pylist(records)


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

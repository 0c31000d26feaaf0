"""Files of a batch: tables as Parquet, Feather, CSV and JSON lines, each written whole or not at all."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from minmargin.batch.formulas import harmless
from minmargin.files import write_whole


def write_parquet(table: pa.Table, path: str | Path, manifest: Mapping[str, Any]) -> Path:
    """Write a table, with a manifest in its metadata under the key "minmargin", and return the path."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - 50 ms that other formats need not pay

    metadata = {**(table.schema.metadata or {}), b"minmargin": json.dumps(manifest).encode()}
    return write_whole(path, lambda file: pq.write_table(table.replace_schema_metadata(metadata), file))


def write_feather(table: pa.Table, path: str | Path) -> Path:
    """Write a table, and return the path."""
    from pyarrow import feather  # noqa: PLC0415 - as for Parquet

    return write_whole(path, lambda file: feather.write_feather(table, file))


def write_jsonl(table: pa.Table, path: str | Path) -> Path:
    """Write a table as one JSON object a line, and return the path."""

    def write(file: IO[bytes]) -> None:
        for record in table.to_pylist():
            file.write(json.dumps(record, ensure_ascii=False, default=_as_json).encode() + b"\n")

    return write_whole(path, write)


def write_csv(table: pa.Table, path: str | Path) -> Path:
    """Write a table as `Batch.to_csv` does, and return the path."""
    from pyarrow import csv  # noqa: PLC0415 - 50 ms that other formats need not pay

    for place, name in enumerate(table.column_names):
        if pa.types.is_nested(table.schema.field(name).type):
            values = [json.dumps(each, default=_as_json) for each in table[name].to_pylist()]
            table = table.set_column(place, name, pa.array(values))
        elif _is_bytes(table.schema.field(name).type):
            encoded = [None if each is None else _as_json(each) for each in table[name].to_pylist()]
            table = table.set_column(place, name, pa.array(encoded, pa.string()))
        elif _is_text(table.schema.field(name).type):
            texts = [None if text is None else harmless(text) for text in table[name].to_pylist()]
            table = table.set_column(place, name, pa.array(texts, pa.string()))
    table = table.rename_columns(list(map(harmless, table.column_names)))
    return write_whole(path, lambda file: csv.write_csv(table, file))


def _is_bytes(kind: pa.DataType) -> bool:
    """Return whether cells of an Arrow type are bytes, such as images."""
    tests = (
        pa.types.is_binary,
        pa.types.is_large_binary,
        pa.types.is_fixed_size_binary,
        pa.types.is_binary_view,
    )
    return any(test(kind) for test in tests)


def _as_json(value: Any) -> str:
    """Return a text for a value that JSON has no form for."""
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)


def _is_text(kind: pa.DataType) -> bool:
    """Return whether cells of an Arrow type are texts, however they are kept."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))

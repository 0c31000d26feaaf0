"""Tables of results on disk, with a checksum of what they hold, which is checked when they are read.

The checksum stands in the file's metadata. A table without one is of an earlier version, and read as it is.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from minmargin.files import write_whole

_CHECKSUM = b"minmargin sha256"


def write_sealed(path: Path, table: pa.Table) -> Path:
    """Write a table with its metadata and a checksum, whole or not at all, and return the path."""
    metadata = {**(table.schema.metadata or {}), _CHECKSUM: _digest(table).encode()}
    return write_whole(path, lambda file: pq.write_table(table.replace_schema_metadata(metadata), file))


def read_sealed(path: Path, schema: pa.Schema) -> pa.Table:
    """Return the table in a file, in these columns; its metadata is that of the file.

    Whatever is wrong with it is a ValueError, with the reason in a line.
    """
    try:
        file = pq.ParquetFile(path, page_checksum_verification=True)
        metadata = file.schema_arrow.metadata or {}
        lacking = [name for name in schema.names if file.schema_arrow.names.count(name) != 1]
        if lacking:
            raise ValueError(f"it has no column {lacking[0]!r}")  # noqa: TRY301 - told like all others
        table = file.read(columns=schema.names).select(schema.names).replace_schema_metadata(None)
        table = table.cast(schema).combine_chunks()
        table.validate(full=True)
    except (OSError, ValueError, KeyError, pa.ArrowException) as error:
        raise ValueError((str(error).splitlines() or [type(error).__name__])[0].rstrip(".")) from error
    # Figures may be missing, where a score cannot be found.
    gaps = [
        each.name for each in schema if table[each.name].null_count and not pa.types.is_floating(each.type)
    ]
    if gaps:
        raise ValueError(f"column {gaps[0]!r} has gaps")
    if _CHECKSUM in metadata and metadata[_CHECKSUM] != _digest(table).encode():
        raise ValueError("it does not have its checksum")
    return table.replace_schema_metadata(metadata)


def _digest(table: pa.Table) -> str:
    """Return a checksum of the values, by column, however they are encoded."""
    digest = hashlib.sha256()
    for name in table.column_names:
        digest.update(repr((name, table[name].to_pylist())).encode(errors="surrogatepass"))
    return digest.hexdigest()

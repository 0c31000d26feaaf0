"""Files that hold rows: Parquet, CSV, Feather and .npy, each opened by its schema and read in order.

Opening a file reads its header or footer only, so that a wrong column or a damaged file is found before
any model is trained. Reading never holds more than a few chunks.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol, TypeVar

import narwhals as nw
import numpy as np
import pyarrow as pa

from minmargin.errors import InputError
from minmargin.pools.base import Wanted
from minmargin.rows import Frame, Rows, count_rows, slice_rows
from minmargin.schema import Column, Schema, as_rows, kind_of, schema_of

_CSV_BLOCK_BYTES = 4 << 20
_READ_BUFFER_BYTES = 1 << 20
_ROW_GROUP_BYTES = 160 << 20

_Result = TypeVar("_Result")


class DataFile(Protocol):
    """One file of a pool."""

    path: Path
    schema: Schema
    arrow: pa.Schema | None  # None: an array, which has no columns
    n_rows: int | None

    def chunks(self, wanted: Wanted, chunk_size: int) -> Iterator[Rows]:
        """Return the rows in order, in runs of about `chunk_size`."""
        ...


def open_file(path: Path) -> DataFile:
    """Return the file at `path`, opened by the reader of its suffix."""
    return FORMATS[suffix_of(path)](path)


def suffix_of(path: Path) -> str:
    """Return the suffix that tells the format, without that of a compression."""
    name = path.name.lower()
    for compression in (".gz", ".bz2", ".zst"):
        if name.endswith((".csv" + compression, ".tsv" + compression)):
            name = name.removesuffix(compression)
    return Path(name).suffix


def arrow_schema(schema: pa.Schema, *, parsed: bool = True) -> Schema:
    """Return the schema of an Arrow table or file, without the index that pandas may have stored with it."""
    index = (schema.pandas_metadata or {}).get("index_columns", [])
    empty = nw.from_native(schema.empty_table(), eager_only=True)
    columns = []
    for name in schema.names:
        if name not in index:
            kind, width = kind_of(empty.schema[name])
            columns.append(Column(name, kind, str(empty.schema[name]), width))
    return Schema(tuple(columns), parsed=parsed)


def as_frame(table: pa.Table | pa.RecordBatch) -> Frame:
    """Return an Arrow table or record batch as a narwhals frame."""
    if isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    return nw.from_native(table, eager_only=True)


class ParquetFile:
    """A Parquet file: row count and types come from its footer, columns are read as needed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        file = reading(path, "Parquet", self._open)
        self.arrow: pa.Schema | None = reading(path, "Parquet", lambda: file.schema_arrow)
        self.schema = arrow_schema(self.arrow)
        self.n_rows: int | None = file.metadata.num_rows
        file.close()

    def _open(self) -> Any:
        import pyarrow.parquet as pq  # noqa: PLC0415 - 50 ms that a pool in memory need not pay

        # Without pre-buffering a row group is read page by page: memory does not follow its size.
        return pq.ParquetFile(
            self.path, pre_buffer=False, buffer_size=_READ_BUFFER_BYTES, page_checksum_verification=True
        )

    def chunks(self, wanted: Wanted, chunk_size: int) -> Iterator[Rows]:
        """Return the rows in order, in row groups, or in runs of `chunk_size` where a row group is too large."""
        with reading(self.path, "Parquet", self._open) as file:
            columns = list(self.schema.names if wanted is None else wanted)
            tables = self._tables(file, columns, chunk_size)
            yield from map(as_frame, guarded(self.path, "Parquet", tables))

    @staticmethod
    def _tables(file: Any, columns: list[str], chunk_size: int) -> Iterator[Any]:
        share = len(columns) / max(len(file.schema_arrow.names), 1)
        for group in range(file.num_row_groups):
            described = file.metadata.row_group(group)
            # A whole row group is read in half the time that its batches take.
            if described.total_byte_size * share > _ROW_GROUP_BYTES:
                yield from file.iter_batches(
                    chunk_size, row_groups=[group], columns=columns, use_threads=True
                )
            elif described.num_rows:
                yield file.read_row_group(group, columns=columns, use_threads=True)


class FeatherFile:
    """A Feather (Arrow IPC) file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with reading(path, "Feather", self._open) as reader:
            self.arrow: pa.Schema | None = reader.schema
        self.schema = arrow_schema(self.arrow)
        self.n_rows: int | None = reading(path, "Feather", self._count)

    def _open(self) -> Any:
        return pa.ipc.open_file(pa.OSFile(str(self.path)))

    def _count(self) -> int:
        import pyarrow.dataset as ds  # noqa: PLC0415 - as for Parquet

        return int(ds.dataset(self.path, format="ipc").count_rows())

    def chunks(self, wanted: Wanted, chunk_size: int) -> Iterator[Rows]:
        """Return the rows in order; the runs are the file's own record batches, cut to size."""
        with reading(self.path, "Feather", self._open) as reader:
            batches = (reader.get_batch(i) for i in range(reader.num_record_batches))
            for batch in guarded(self.path, "Feather", batches):
                frame = as_frame(batch.select(list(self.schema.names if wanted is None else wanted)))
                for start in range(0, count_rows(frame), chunk_size):
                    yield slice_rows(frame, start, start + chunk_size)


class CsvFile:
    """A CSV file with a header line; the delimiter is found, compression follows the suffix."""

    n_rows: int | None = None
    arrow: pa.Schema | None = None

    def __init__(self, path: Path) -> None:
        self.path = path
        self._delimiter = reading(path, "CSV", lambda: _find_delimiter(path))
        with reading(path, "CSV", lambda: self._open(None)) as reader:
            self.arrow = reader.schema
        self.schema = reading(path, "CSV", lambda: arrow_schema(self.arrow, parsed=False))

    def _open(self, wanted: Wanted) -> Any:
        from pyarrow import csv as arrow_csv  # noqa: PLC0415 - as for Parquet

        # A labeled file is read as it is; a pool's columns are read as what they are wanted for. Columns that
        # are only carried along stay text, so that an id such as 007 comes out as it went in.
        types = {}
        for name, kind in ({} if wanted is None else wanted).items():
            is_flag = self.arrow is not None and pa.types.is_boolean(self.arrow.field(name).type)
            numeric = pa.bool_() if is_flag else pa.float64()
            types[name] = numeric if kind == "number" else pa.string()
        return arrow_csv.open_csv(
            self.path,
            read_options=arrow_csv.ReadOptions(block_size=_CSV_BLOCK_BYTES),
            parse_options=arrow_csv.ParseOptions(delimiter=self._delimiter, newlines_in_values=True),
            convert_options=arrow_csv.ConvertOptions(
                include_columns=None if wanted is None else list(wanted),
                column_types=types,
            ),
        )

    def chunks(self, wanted: Wanted, chunk_size: int) -> Iterator[Rows]:
        """Return the rows in order, in runs of some megabytes of text."""
        with reading(self.path, "CSV", lambda: self._open(wanted), self._explain) as reader:
            yield from map(as_frame, guarded(self.path, "CSV", reader, self._explain))

    def _explain(self, reason: str) -> str:
        """Return Arrow's reason with the column's name in place of its number."""
        found = re.match(r"In CSV column #(\d+): CSV conversion error to (\w+): invalid value '(.*)'", reason)
        if found is None or self.arrow is None:
            return reason
        name = self.arrow.names[int(found[1])]
        return (
            f"column {name!r} holds {found[3]!r} where a {found[2]} was expected; a missing one is left empty"
        )


class NpyFile:
    """A numpy array file, mapped rather than read."""

    arrow: pa.Schema | None = None

    def __init__(self, path: Path) -> None:
        self.path = path
        mapped = reading(path, ".npy", lambda: np.load(path, mmap_mode="r", allow_pickle=False))
        self._rows = as_rows(mapped, str(path))
        self.schema = schema_of(self._rows, str(path))
        self.n_rows: int | None = count_rows(self._rows)

    def chunks(self, wanted: Wanted, chunk_size: int) -> Iterator[Rows]:
        """Return all rows at once, whatever the chunk size: they are read when they are used."""
        yield self._rows


FORMATS: dict[str, Callable[[Path], DataFile]] = {
    ".parquet": ParquetFile,
    ".pq": ParquetFile,
    ".csv": CsvFile,
    ".tsv": CsvFile,
    ".feather": FeatherFile,
    ".arrow": FeatherFile,
    ".ipc": FeatherFile,
    ".npy": NpyFile,
}


def _find_delimiter(path: Path) -> str:
    with pa.input_stream(str(path)) as stream:  # decompresses by suffix
        header = stream.read(1 << 16).decode("utf-8", "replace").partition("\n")[0]
    # Delimiters inside quoted names do not count.
    counts = {mark: len(next(csv.reader(io.StringIO(header), delimiter=mark), [])) for mark in ",;\t|"}
    return max(counts, key=lambda mark: counts[mark])


def reading(
    path: Path | str, format_name: str, read: Callable[[], _Result], explain: Callable[[str], str] = str
) -> _Result:
    """Return read(), with the file named in any error; `explain` may put its reason in better words."""
    try:
        return read()
    except FileNotFoundError:
        raise InputError(f"There is no file {str(path)!r}.") from None
    except (pa.ArrowException, OSError, ValueError, EOFError) as error:
        if isinstance(error, InputError):
            raise
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise InputError(
            f"{str(path)!r} cannot be read as {format_name} ({explain(reason).rstrip('.')}). "
            "Mend or remove the file; nothing was written."
        ) from error


def guarded(
    path: Path | str, format_name: str, batches: Any, explain: Callable[[str], str] = str
) -> Iterator[Any]:
    """Return the batches, with the file named in any error on the way."""
    iterator = iter(batches)
    end = object()
    while (batch := reading(path, format_name, lambda: next(iterator, end), explain)) is not end:
        yield batch

"""Files that hold rows: Parquet, CSV, Feather and .npy, each opened by its schema and read in order.

Opening a file reads its header or footer only, so that a wrong column or a damaged file is found before
any model is trained. Reading never holds more than a few chunks. What is kept of a file is small and can be
pickled: another process can read it, or some of its groups, by itself.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from minmargin.data.conversion import Conversion
from minmargin.data.rows import Frame, Rows, count_rows, slice_rows
from minmargin.data.schema import Column, Schema, check_distinct_names, kind_of
from minmargin.errors import InputError
from minmargin.pools.base import Wanted
from minmargin.pools.csv_faults import NOT_UTF8, explain
from minmargin.pools.npy import NpyFile
from minmargin.pools.storage import Location, PoolFile, checked, guarded, reading

_CSV_BLOCK_BYTES = 4 << 20
_READ_BUFFER_BYTES = 1 << 20
_ROW_GROUP_BYTES = 160 << 20
_FEW_ROWS = 4096
_BLANKS = [
    " " * n for n in range(1, 33)
]  # cells that hold nothing else, among numbers: as where types are guessed


def open_file(location: Location) -> PoolFile:
    """Return the file at a location, opened by the reader of its suffix."""
    return FORMATS[suffix_of(location.name)](location)


def suffix_of(name: str | Path) -> str:
    """Return the suffix that tells the format, without that of a compression."""
    lower = PurePath(name).name.lower()
    for compression in (".gz", ".bz2", ".zst"):
        if lower.endswith((".csv" + compression, ".tsv" + compression)):
            lower = lower.removesuffix(compression)
    return PurePath(lower).suffix


def arrow_schema(schema: pa.Schema, *, parsed: bool = True, what: str = "The pool") -> Schema:
    """Return the schema of an Arrow table or file, without the index that pandas may have stored with it.

    `what` names it in errors.
    """
    check_distinct_names(schema.names, what)
    index = (schema.pandas_metadata or {}).get("index_columns", [])
    types = nw.from_native(schema.empty_table(), eager_only=True).schema  # made anew whenever it is asked for
    columns = []
    for name in schema.names:
        if name not in index:
            kind, width = kind_of(types[name])
            type_name = str(types[name])
            if kind == "empty" and not pa.types.is_null(schema.field(name).type):
                kind, type_name = "other", str(schema.field(name).type)
            columns.append(Column(name, kind, type_name, width))
    return Schema(tuple(columns), parsed=parsed)


def as_frame(table: pa.Table | pa.RecordBatch) -> Frame:
    """Return an Arrow table or record batch as a narwhals frame."""
    if isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    return nw.from_native(table, eager_only=True)


class ParquetFile:
    """A Parquet file. Row groups are read one at a time, since their pages are decoded at once."""

    def __init__(self, location: Location) -> None:
        self.location = location
        self.stamp = reading(location, "Parquet", location.stamp)
        with self._opened() as file:
            self.arrow: pa.Schema | None = reading(location, "Parquet", lambda: file.schema_arrow)
            metadata = file.metadata
            self.groups: tuple[int, ...] | None = tuple(
                metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)
            )
            self.n_rows: int | None = metadata.num_rows
        self.schema = reading(location, "Parquet", lambda: arrow_schema(self.arrow, what=repr(location.name)))
        if sum(self.groups) != self.n_rows:
            raise InputError(
                f"{location.name!r} cannot be read as Parquet (its footer counts {self.n_rows:,} rows, and its row "
                f"groups {sum(self.groups):,}). Mend or remove the file; nothing was written."
            )

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        import pyarrow.parquet as pq  # noqa: PLC0415 - needed for files only

        def parse() -> Any:
            # On disk a row group is read page by page, without reading ahead: memory does not follow its size. From
            # storage, where each request takes long, the wanted parts of a row group are asked for at once.
            return pq.ParquetFile(
                source,
                pre_buffer=self.location.store is not None,
                buffer_size=_READ_BUFFER_BYTES if self.location.store is None else 0,
                page_checksum_verification=True,
            )

        with reading(self.location, "Parquet", self.location.open) as source:
            yield reading(self.location, "Parquet", parse)

    def chunks(self, wanted: Wanted, chunk_size: int, groups: range | None = None) -> Iterator[Rows]:
        """Return the rows in order, in row groups, or in runs of `chunk_size` where a row group is too large."""
        return checked(self, "Parquet", groups, self._chunks(wanted, chunk_size, groups))

    def _chunks(self, wanted: Wanted, chunk_size: int, groups: range | None) -> Iterator[Rows]:
        columns = list(self.schema.names if wanted is None else wanted)
        with self._opened() as file:
            among = range(file.num_row_groups) if groups is None else groups
            tables = self._tables(file, columns, chunk_size, among)
            yield from map(as_frame, guarded(self.location, "Parquet", map(_validated, tables)))

    @staticmethod
    def _tables(file: Any, columns: list[str], chunk_size: int, groups: range) -> Iterator[Any]:
        share = len(columns) / max(len(file.schema_arrow.names), 1)
        for group in groups:
            described = file.metadata.row_group(group)
            # A whole row group is read in half the time that its batches take; but few rows are wanted by who reads on.
            if described.total_byte_size * share > _ROW_GROUP_BYTES or chunk_size <= _FEW_ROWS:
                yield from file.iter_batches(
                    chunk_size, row_groups=[group], columns=columns, use_threads=True
                )
            elif described.num_rows:
                yield file.read_row_group(group, columns=columns, use_threads=True)


class FeatherFile:
    """A Feather (Arrow IPC) file, whose groups are its record batches."""

    def __init__(self, location: Location) -> None:
        self.location = location
        self.stamp = reading(location, "Feather", location.stamp)
        with self._opened(None) as reader:
            self.arrow: pa.Schema | None = reader.schema
        self.schema = reading(location, "Feather", lambda: arrow_schema(self.arrow, what=repr(location.name)))
        # No footer counts rows: the column that is read soonest tells.
        types = self.arrow.types if self.arrow is not None else []
        narrowest = min(range(len(types)), key=lambda place: _bits(types[place]), default=None)
        with self._opened(None if narrowest is None else [narrowest]) as reader:
            batches = guarded(location, "Feather", map(reader.get_batch, range(reader.num_record_batches)))
            self.groups: tuple[int, ...] | None = tuple(batch.num_rows for batch in batches)
        self.n_rows: int | None = sum(self.groups)

    @contextmanager
    def _opened(self, fields: list[int] | None) -> Iterator[Any]:
        options = pa.ipc.IpcReadOptions(included_fields=fields)
        with reading(self.location, "Feather", self.location.open) as source:
            yield reading(self.location, "Feather", lambda: pa.ipc.open_file(source, options=options))

    def chunks(self, wanted: Wanted, chunk_size: int, groups: range | None = None) -> Iterator[Rows]:
        """Return the rows in order; the runs are the file's own record batches, cut to size."""
        return checked(self, "Feather", groups, self._chunks(wanted, chunk_size, groups))

    def _chunks(self, wanted: Wanted, chunk_size: int, groups: range | None) -> Iterator[Rows]:
        columns = list(self.schema.names if wanted is None else wanted)
        places = {} if self.arrow is None else {name: place for place, name in enumerate(self.arrow.names)}
        with self._opened([places[name] for name in columns]) as reader:
            among = range(reader.num_record_batches) if groups is None else groups
            batches = (_validated(reader.get_batch(group)) for group in among)
            for batch in guarded(self.location, "Feather", batches):
                frame = as_frame(batch.select(columns))
                for start in range(0, count_rows(frame), chunk_size):
                    yield slice_rows(frame, start, start + chunk_size)


class CsvFile:
    """A CSV file with a header line; the delimiter is found, compression follows the suffix."""

    n_rows: int | None = None
    groups: tuple[int, ...] | None = None

    def __init__(self, location: Location) -> None:
        self.location = location
        self.stamp = reading(location, "CSV", location.stamp)
        self.delimiter = reading(location, "CSV", lambda: _find_delimiter(location))
        self.arrow: pa.Schema | None = None
        with self._opened(None) as reader:
            self.arrow = reader.schema
        self.schema = reading(
            location,
            "CSV",
            lambda: arrow_schema(self.arrow, parsed=False, what=repr(location.name)),
            self._explain,
        )

    @contextmanager
    def _opened(self, wanted: Wanted) -> Iterator[Any]:
        with reading(self.location, "CSV", self.location.stream) as stream:
            yield reading(self.location, "CSV", lambda: self._parse(stream, wanted), self._explain)

    def _parse(self, stream: Any, wanted: Wanted) -> Any:
        from pyarrow import csv as arrow_csv  # noqa: PLC0415 - as for Parquet

        # A labeled file is read as it is; a pool's columns are read as what they are wanted for. Columns that
        # are only carried along stay text, so that an id such as 007 comes out as it went in.
        types = {}
        for name, kind in ({} if wanted is None else wanted).items():
            is_flag = self.arrow is not None and pa.types.is_boolean(self.arrow.field(name).type)
            numeric = pa.bool_() if is_flag else pa.float64()
            moment = pa.timestamp("us") if self._has_plain_dates(name) else pa.string()
            types[name] = {"number": numeric, "date": moment}.get(kind or "", pa.string())
        return arrow_csv.open_csv(
            stream,
            read_options=arrow_csv.ReadOptions(block_size=_CSV_BLOCK_BYTES),
            parse_options=arrow_csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
            convert_options=arrow_csv.ConvertOptions(
                include_columns=None if wanted is None else list(wanted),
                column_types=types,
                null_values=[*arrow_csv.ConvertOptions().null_values, *_BLANKS],
            ),
        )

    def chunks(self, wanted: Wanted, chunk_size: int, groups: range | None = None) -> Iterator[Rows]:
        """Return the rows in order, in runs of some megabytes of text."""
        assert groups is None, "a CSV file has no groups"
        return checked(self, "CSV", None, self._chunks(wanted))

    def _chunks(self, wanted: Wanted) -> Iterator[Rows]:
        dates = [
            name
            for name, kind in ({} if wanted is None else wanted).items()
            if kind == "date" and not self._has_plain_dates(name)
        ]
        n_rows = 0
        with self._opened(wanted) as reader:
            for batch in guarded(self.location, "CSV", reader, self._explain):
                yield as_frame(self._with_dates(batch, dates, n_rows) if dates else batch)
                n_rows += batch.num_rows

    def _has_plain_dates(self, name: str) -> bool:
        """Return whether a column begins with dates without a zone, which Arrow reads by itself."""
        kind = pa.null() if self.arrow is None else self.arrow.field(name).type
        return bool(pa.types.is_date(kind) or (pa.types.is_timestamp(kind) and kind.tz is None))

    def _with_dates(self, batch: pa.RecordBatch, names: list[str], n_before: int) -> pa.Table:
        """Return a batch, which has so many rows before it, with dates for texts that stand for them."""
        table = pa.Table.from_batches([batch])
        for name in names:

            def where(place: int, name: str = name) -> str:
                return f"{self.location.name!r} row {n_before + place:,}, column {name!r},"

            dates = Conversion("date")(table[name], where)
            table = table.set_column(table.column_names.index(name), name, dates)
        return table

    def _explain(self, reason: str) -> str:
        """Return Arrow's reason in better words."""
        return explain(reason, self.location, self.delimiter, self.arrow)


FORMATS: dict[str, Callable[[Location], PoolFile]] = {
    ".parquet": ParquetFile,
    ".pq": ParquetFile,
    ".csv": CsvFile,
    ".tsv": CsvFile,
    ".feather": FeatherFile,
    ".arrow": FeatherFile,
    ".ipc": FeatherFile,
    ".npy": NpyFile,
}


def _find_delimiter(location: Location) -> str:
    with location.stream() as stream:  # decompresses by suffix
        beginning = stream.read(1 << 16)
    if beginning.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise ValueError(NOT_UTF8)
    # Old spreadsheets end lines with \r alone.
    header = re.split("[\r\n]", beginning.decode("utf-8", "replace"), maxsplit=1)[0]
    if re.fullmatch(r"\W*sep=.\W*", header):
        raise ValueError(f"its first line is {header!r}, which only Excel understands; remove that line")
    # Delimiters inside quoted names do not count.
    counts = {mark: len(next(csv.reader(io.StringIO(header), delimiter=mark), [])) for mark in ",;\t|"}
    return max(counts, key=lambda mark: counts[mark])


def _validated(batch: Any) -> Any:
    """Return a batch whose texts are texts, and lie within it: Arrow believes a file, and would read beyond."""
    batch.validate(full=True)
    return batch


def _bits(kind: pa.DataType) -> float:
    try:
        return float(kind.bit_width)
    except ValueError:  # of no fixed width
        return np.inf

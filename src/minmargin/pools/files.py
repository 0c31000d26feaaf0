"""Pools in files and Arrow datasets: one pass over them, bounded memory, rows numbered across files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePath, PurePosixPath
from typing import Any, cast

import narwhals as nw
import pyarrow as pa

from minmargin.data.conversion import moments_of
from minmargin.data.guessing import guess_types
from minmargin.data.reading import Reading
from minmargin.data.rows import Frame, Rows, concat_rows, count_rows
from minmargin.data.schema import Kind, Schema
from minmargin.errors import InputError, listing
from minmargin.manifest import fingerprint_files
from minmargin.pools.base import Pool, Wanted
from minmargin.pools.disk import check_ordinary, each_once, find_on_disk
from minmargin.pools.formats import FORMATS, CsvFile, arrow_schema, as_frame, open_file, suffix_of
from minmargin.pools.storage import (
    Location,
    PoolFile,
    Stamp,
    find_stored,
    guarded,
    identity,
    local_path,
    printable,
)
from minmargin.pools.stores import ObjectStore
from minmargin.pools.uris import is_uri, shown

_OPENED_AT_ONCE = 16
_TYPES: dict[Kind | None, pa.DataType] = {
    "number": pa.float64(),
    "text": pa.string(),
    "date": pa.timestamp("us"),  # in UTC: zones may differ between files
}


class FilePool:
    """Files of one format, in sorted path order, on disk or in object storage."""

    def __init__(self, source: str | Path | Iterable[str | Path]) -> None:
        self.name = _name(source)
        self.files: list[PoolFile] = _open_all(locate(source))
        first = self.files[0]
        self.schema: Schema = first.schema
        for file in self.files[1:]:
            _check_same_columns(first, file)
        self._types = _common_types([file.arrow for file in self.files if file.arrow is not None])
        counts = [file.n_rows for file in self.files]
        self.n_rows: int | None = None if None in counts else sum(n for n in counts if n is not None)

    @property
    def has_semicolons(self) -> bool:
        """Whether these are CSV files with semicolons between cells."""
        return any(isinstance(file, CsvFile) and file.delimiter == ";" for file in self.files)

    def chunks(self, wanted: Wanted, chunk_size: int) -> Iterator[Rows]:
        """Return the rows of all files in order, in runs of about `chunk_size`."""
        for file in self.files:
            for rows in file.chunks(wanted, chunk_size):
                yield self.cast(rows, wanted or {}) if isinstance(rows, nw.DataFrame) else rows

    def units(self) -> list[int]:
        """Return how many rows each group of each file has. A CSV file is one unit, and read to count its rows."""
        return [n for file in self.files for n in (_counted(file) if file.groups is None else file.groups)]

    @property
    def n_units(self) -> int:
        """How many units there are, without their rows being counted."""
        return sum(1 if file.groups is None else len(file.groups) for file in self.files)

    def read_units(self, first: int, stop: int, wanted: Wanted, chunk_size: int) -> Iterator[Rows]:
        """Return the rows of units first..stop-1 in order, in runs of about `chunk_size`."""
        at = 0
        for file in self.files:
            n_groups = 1 if file.groups is None else len(file.groups)
            among = range(max(first - at, 0), min(stop - at, n_groups))
            at += n_groups
            if not among:
                continue
            for rows in file.chunks(wanted, chunk_size, None if file.groups is None else among):
                yield self.cast(rows, wanted or {}) if isinstance(rows, nw.DataFrame) else rows

    def cast(self, frame: Frame, kinds: Mapping[str, Kind | None]) -> Frame:
        """Return the frame with the types that all files share: rows of two files meet in one block."""
        table: pa.Table = frame.to_native()
        types = dict(zip(table.column_names, table.schema.types, strict=True))
        for name, own in types.items():
            if pa.types.is_null(own) and kinds.get(name) in _TYPES:
                types[name] = _TYPES[kinds[name]]
            elif not self.schema.parsed and name in kinds and kinds[name] is None:
                types[name] = (
                    pa.string()
                )  # as it stands in the file, whatever a file without ids might suggest
            elif name in self._types:
                kind = kinds.get(name)
                types[name] = _TYPES[kind] if kind in {"number", "date"} else self._types[name]
        # A new schema, without each file's own notion of which columns may hold nulls.
        for place, name in enumerate(types):
            if types[name] == _TYPES["date"] != table.schema.types[place]:
                table = table.set_column(place, name, moments_of(table[name]))
        return as_frame(table.replace_schema_metadata(None).cast(pa.schema(types)))

    def describe(self) -> dict[str, Any]:
        """Return what the manifest records of this pool."""
        return {
            "kind": "files",
            "source": self.name,
            "files": len(self.files),
            "fingerprint": fingerprint_files(map(identity, self.files)),
        }


class DatasetPool:
    """A pyarrow dataset: its own file order, partition columns and filesystem."""

    name = "the dataset"

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset
        self.schema: Schema = arrow_schema(dataset.schema)
        self.n_rows: int | None = dataset.count_rows()

    def chunks(self, wanted: Wanted, chunk_size: int) -> Iterator[Rows]:
        """Return the rows in the dataset's order, in runs of at most `chunk_size`."""
        # Little read-ahead: the default holds up to 16 batches of 4 fragments.
        return self._read(self._dataset, wanted, chunk_size, fragment_readahead=1)

    def units(self) -> list[int]:
        """Return how many rows each of the dataset's own fragments has."""
        return [fragment.count_rows() for fragment in self._dataset.get_fragments()]

    def read_units(self, first: int, stop: int, wanted: Wanted, chunk_size: int) -> Iterator[Rows]:
        """Return the rows of units first..stop-1 in order, in runs of at most `chunk_size`."""
        for fragment in list(self._dataset.get_fragments())[first:stop]:
            # A fragment of Arrow's has a schema of its own; others, such as Lance's, have the dataset's.
            own = type(fragment).__module__.startswith("pyarrow")
            schema = {"schema": self._dataset.schema} if own else {}
            yield from self._read(fragment, wanted, chunk_size, **schema)

    def _read(self, part: Any, wanted: Wanted, chunk_size: int, **more: Any) -> Iterator[Rows]:
        columns = None if wanted is None else list(wanted)
        scanner = part.scanner(columns=columns, batch_size=chunk_size, batch_readahead=2, **more)
        yield from map(as_frame, guarded(Location.on_disk(self.name), "a dataset", scanner.to_batches()))

    def stamps(self) -> dict[str, str]:
        """Return the size and time of each file, by name; nothing for a dataset without files."""
        files = list(getattr(self._dataset, "files", []))
        infos = self._dataset.filesystem.get_file_info(files) if files else []
        return {
            info.path: str(Stamp(info.size, "" if info.mtime_ns is None else str(info.mtime_ns)))
            for info in infos
        }

    def describe(self) -> dict[str, Any]:
        """Return what the manifest records of this pool."""
        files = list(getattr(self._dataset, "files", []))
        return {"kind": "dataset", "source": listing(files, most=3), "files": len(files)}


def stamps_of(pool: Pool) -> dict[str, str]:
    """Return the size, time and tag of each file of a pool, by name; nothing for a pool without files."""
    if isinstance(pool, FilePool):
        return {file.location.name: str(file.stamp) for file in pool.files}
    return pool.stamps() if isinstance(pool, DatasetPool) else {}


def _counted(file: PoolFile) -> list[int]:
    """Return how many rows a file has that does not say: it is read, one column of it."""
    names = list(file.schema.names)[:1]
    return [sum(count_rows(rows) for rows in file.chunks(dict.fromkeys(names), 1 << 20))]


def read_frame(
    source: str | Path | Iterable[str | Path], reading: Reading | None = None, *, label: object = None
) -> Rows:
    """Return the rows of files that fit in memory: a frame, or an array from .npy files.

    Types of CSV files are guessed, but for columns of which `reading` says more; always for the `label` column.
    """
    pool = FilePool(source)
    wanted = None if pool.schema.parsed else dict.fromkeys(pool.schema.names)  # texts, as they stand
    chunks = list(pool.chunks(wanted, 1 << 20))
    if not chunks:
        raise InputError(f"{pool.name} has no rows.")
    rows = concat_rows(chunks)
    if wanted is None:
        return rows
    leave = (reading or Reading()).left_as_text(wanted) - {label}
    table = cast("Frame", rows).to_native()
    return as_frame(guess_types(table, leave=leave, semicolons=pool.has_semicolons))


def find_files(source: str | Path | Iterable[str | Path]) -> list[Path]:
    """Return the files on this machine that a path, folder, glob or list of these names, sorted.

    What is in object storage is not asked for.
    """
    sources = [source] if isinstance(source, (str, Path)) else source
    here = [each for each in map(local_path, sources) if not is_uri(each)]
    return [Path(location.path) for location in locate(here)]


def locate(source: str | Path | Iterable[str | Path]) -> list[Location]:
    """Return the files that a path, URI, folder, glob or list of these names, each once, sorted."""
    sources = [source] if isinstance(source, (str, Path)) else source
    stores: dict[str, ObjectStore] = {}
    found = {each.key: each for source in sources for each in _find(source, stores)}
    here = each_once(Path(each.path) for each in found.values() if each.store is None)
    stored = [each for each in found.values() if each.store is not None]
    locations = [*map(Location.on_disk, here), *sorted(stored, key=lambda each: PurePosixPath(each.name))]
    suffixes = sorted({suffix_of(each.name) for each in locations})
    unknown = [each for each in locations if suffix_of(each.name) not in FORMATS]
    for path in here:
        check_ordinary(path)
    for each in unknown:
        if each.store is None and not Path(each.path).exists():
            raise InputError(f"There is no file or folder {each.name!r}.")
    if unknown:
        raise InputError(
            f"{unknown[0].name!r} is not in a format that can be read. Use one of {listing(sorted(FORMATS))}."
        )
    if len({FORMATS[suffix] for suffix in suffixes}) > 1:
        raise InputError(f"The files are of several formats ({listing(suffixes)}). Give files of one format.")
    return locations


def _find(source: str | Path, stores: dict[str, ObjectStore]) -> list[Location]:
    path = local_path(source)
    if isinstance(path, str) and "://" in path and is_uri(path):
        return find_stored(path, stores, _is_data)
    return [Location.on_disk(found) for found in find_on_disk(path, _is_data)]


def _is_data(path: str | Path) -> bool:
    return suffix_of(path) in FORMATS and not PurePath(path).name.startswith(("_", "."))


def _open_all(locations: list[Location]) -> list[PoolFile]:
    """Return the files, opened. Those in storage are opened several at a time: each takes a few round trips."""
    if all(location.store is None for location in locations):
        return [open_file(location) for location in locations]
    with ThreadPoolExecutor(_OPENED_AT_ONCE) as pool:
        return list(pool.map(open_file, locations))


def _name(source: str | Path | Iterable[str | Path]) -> str:
    if not isinstance(source, (str, Path)):
        return "the pool's files"
    return shown(source) if "://" in str(source) else printable(source)


def _common_types(schemas: list[pa.Schema]) -> dict[str, pa.DataType]:
    """Return, for every column whose type differs between files, a type that holds the values of all."""
    types: dict[str, pa.DataType] = {}
    for name in schemas[0].names if schemas else ():
        fields = [schema.field(name) for schema in schemas]
        if any(field.type != fields[0].type for field in fields):
            types[name] = _wider([pa.schema([field.with_name("_")]) for field in fields])
    return types


def _wider(schemas: list[pa.Schema]) -> pa.DataType:
    try:
        return pa.unify_schemas(schemas, promote_options="permissive").field(0).type
    except pa.ArrowException:
        return pa.string()  # numbers in one CSV file and texts in another: the texts of both


def _check_same_columns(first: PoolFile, file: PoolFile) -> None:
    here, there = first.location.name, file.location.name
    if first.schema.columns is None or file.schema.columns is None:
        if first.schema.row_shape != file.schema.row_shape:
            raise InputError(
                f"{there!r} has rows of shape {file.schema.row_shape} and {here!r} has rows of shape "
                f"{first.schema.row_shape}. Give all files of the pool the same."
            )
        return
    for column in first.schema.columns:
        found = file.schema.find(column.name)
        if found is None:
            raise InputError(
                f"Column {column.name!r} of {here!r} is not in {there!r}. "
                "Give all files of the pool the same columns."
            )
        if found.kind != column.kind and first.schema.parsed:
            raise InputError(
                f"Column {column.name!r} is {column.type_name} in {here!r} but {found.type_name} in "
                f"{there!r}. Cast it to the same type in all files."
            )

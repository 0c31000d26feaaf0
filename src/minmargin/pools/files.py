"""Pools in files and Arrow datasets: one pass over them, bounded memory, rows numbered across files."""

from __future__ import annotations

import glob
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import narwhals as nw
import pyarrow as pa

from minmargin.errors import InputError, listing
from minmargin.fingerprint import fingerprint_files
from minmargin.pools.base import Wanted
from minmargin.pools.formats import FORMATS, arrow_schema, as_frame, guarded, open_file, suffix_of
from minmargin.rows import Frame, Rows, concat_rows
from minmargin.schema import Kind, Schema

_GLOB_MARKS = "*?["
_TYPES: dict[Kind | None, pa.DataType] = {"number": pa.float64(), "text": pa.string()}


class FilePool:
    """Files of one format, in sorted path order."""

    def __init__(self, source: str | Path | Iterable[str | Path]) -> None:
        self.name = _name(source)
        paths = find_files(source)
        self._files = [open_file(path) for path in paths]
        self.schema: Schema = self._files[0].schema
        for file in self._files[1:]:
            _check_same_columns(self._files[0].schema, paths[0], file.schema, file.path)
        self._types = _common_types([file.arrow for file in self._files if file.arrow is not None])
        counts = [file.n_rows for file in self._files]
        self.n_rows: int | None = None if None in counts else sum(n for n in counts if n is not None)

    def chunks(self, wanted: Wanted, chunk_size: int) -> Iterator[Rows]:
        """Return the rows of all files in order, in runs of about `chunk_size`."""
        for file in self._files:
            for rows in file.chunks(wanted, chunk_size):
                yield self._cast(rows, wanted or {}) if isinstance(rows, nw.DataFrame) else rows

    def _cast(self, frame: Frame, kinds: Mapping[str, Kind | None]) -> Frame:
        """Return the frame with the types that all files share: rows of two files meet in one block."""
        table: pa.Table = frame.to_native()
        types = dict(zip(table.column_names, table.schema.types, strict=True))
        for name, own in types.items():
            if pa.types.is_null(own) and kinds.get(name) in _TYPES:
                types[name] = _TYPES[kinds[name]]
            elif name in self._types:
                types[name] = _TYPES["number"] if kinds.get(name) == "number" else self._types[name]
        # A new schema, without each file's own notion of which columns may hold nulls.
        return as_frame(table.replace_schema_metadata(None).cast(pa.schema(types)))

    def describe(self) -> dict[str, Any]:
        """Return what the manifest records of this pool."""
        paths = [file.path for file in self._files]
        return {
            "kind": "files",
            "source": self.name,
            "files": len(paths),
            "fingerprint": fingerprint_files(paths),
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
        columns = None if wanted is None else list(wanted)
        # Little read-ahead: the default holds up to 16 batches of 4 fragments.
        scanner = self._dataset.scanner(
            columns=columns, batch_size=chunk_size, batch_readahead=2, fragment_readahead=1
        )
        yield from map(as_frame, guarded(self.name, "a dataset", scanner.to_batches()))

    def describe(self) -> dict[str, Any]:
        """Return what the manifest records of this pool."""
        files = list(getattr(self._dataset, "files", []))
        return {"kind": "dataset", "source": listing(files, most=3), "files": len(files)}


def read_frame(source: str | Path | Iterable[str | Path]) -> Rows:
    """Return the rows of files that fit in memory: a frame, or an array from .npy files."""
    pool = FilePool(source)
    chunks = list(pool.chunks(None, 1 << 20))
    if not chunks:
        raise InputError(f"{pool.name} has no rows.")
    return concat_rows(chunks)


def find_files(source: str | Path | Iterable[str | Path]) -> list[Path]:
    """Return the files that a path, folder, glob or list of these names, sorted."""
    sources = [source] if isinstance(source, (str, Path)) else list(source)
    paths = sorted({path for each in sources for path in _expand(each)})
    suffixes = sorted({suffix_of(path) for path in paths})
    unknown = [path for path in paths if suffix_of(path) not in FORMATS]
    for path in unknown:
        if not path.exists():
            raise InputError(f"There is no file or folder {str(path)!r}.")
    if unknown:
        raise InputError(
            f"{str(unknown[0])!r} is not in a format that can be read. Use one of {listing(sorted(FORMATS))}."
        )
    if len({FORMATS[suffix] for suffix in suffixes}) > 1:
        raise InputError(f"The files are of several formats ({listing(suffixes)}). Give files of one format.")
    return paths


def _expand(source: str | Path) -> list[Path]:
    path = Path(source)
    if path.is_dir():
        found = [p for p in path.rglob("*") if p.is_file() and _is_data(p)]
        if not found:
            raise InputError(f"Folder {str(source)!r} holds no file in a format that can be read.")
        return found
    if path.exists() or not any(mark in str(source) for mark in _GLOB_MARKS):
        return [path]
    matches = [Path(match) for match in glob.glob(str(source), recursive=True)]  # noqa: PTH207 - absolute patterns
    if not matches:
        raise InputError(f"No file matches {str(source)!r}.")
    return [file for match in matches for file in (_expand(match) if match.is_dir() else [match])]


def _is_data(path: Path) -> bool:
    return suffix_of(path) in FORMATS and not path.name.startswith(("_", "."))


def _name(source: str | Path | Iterable[str | Path]) -> str:
    return str(source) if isinstance(source, (str, Path)) else "the pool's files"


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


def _check_same_columns(first: Schema, first_path: Path, other: Schema, path: Path) -> None:
    if first.columns is None or other.columns is None:
        if first.row_shape != other.row_shape:
            raise InputError(
                f"{str(path)!r} has rows of shape {other.row_shape} and {str(first_path)!r} has rows of shape "
                f"{first.row_shape}. Give all files of the pool the same."
            )
        return
    for column in first.columns:
        found = other.find(column.name)
        if found is None:
            raise InputError(
                f"Column {column.name!r} of {str(first_path)!r} is not in {str(path)!r}. "
                "Give all files of the pool the same columns."
            )
        if found.kind != column.kind and first.parsed:
            raise InputError(
                f"Column {column.name!r} is {column.type_name} in {str(first_path)!r} but {found.type_name} in "
                f"{str(path)!r}. Cast it to the same type in all files."
            )

"""Where a file is: on this machine's disks, or in object storage, and how to read it so that every fault names it.

A path is opened as ever, and nothing is connected to unless a URI is given.
"""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from tokenize import TokenError
from typing import Any, NamedTuple, Protocol, TypeVar
from urllib.request import url2pathname

import numpy as np
import pyarrow as pa

from minmargin.data.rows import Rows, count_rows
from minmargin.data.schema import Schema
from minmargin.errors import InputError, MinMarginError
from minmargin.pools.base import Wanted
from minmargin.pools.stores import ObjectStore, open_store, reason_of, unreachable
from minmargin.pools.uris import shown, split_uri

_GLOB_MARKS = "*?["
_SAMPLED_BYTES = 1 << 20
# A damaged header of a .npy file is a Python text that cannot be parsed.
_READ_ERRORS = (pa.ArrowException, OSError, ValueError, EOFError, SyntaxError, TokenError)
_COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}

_Result = TypeVar("_Result")


class Stamp(NamedTuple):
    """What tells a file from one that took its place; empty texts where a file system does not know."""

    size: int
    modified: str
    tag: str = ""

    def __str__(self) -> str:
        when = str(np.datetime64(int(self.modified), "ns")) if self.modified.isdigit() else self.modified
        return ", ".join(filter(None, [f"{self.size:,} bytes", when, self.tag]))


@dataclass(frozen=True)
class Location:
    """One file. It is small and can be pickled, and whoever gets it can open the file.

    Attributes:
        path: on disk, or in the store.
        name: what messages and manifests call it; never with credentials.
        store: where it is kept; None for this machine's disks.
    """

    path: str = field(repr=False)
    name: str
    store: ObjectStore | None = None

    @classmethod
    def on_disk(cls, path: str | Path) -> Location:
        """Return the location of a file on this machine."""
        return cls(str(path), printable(path))

    @property
    def key(self) -> tuple[int, str]:
        """What is equal for two locations that are the same file, as far as can be told."""
        return 0 if self.store is None else self.store.token, self.path

    def open(self) -> Any:
        """Return the file for reading at any place, as a pyarrow file."""
        if self.store is None:
            return pa.OSFile(os.fsencode(self.path))  # since Arrow would make UTF-8 of a name
        return self.store.connection[0].open_input_file(self.path)

    def stream(self) -> Any:
        """Return the file for reading from its beginning, decompressed as its suffix tells."""
        compression = _COMPRESSIONS.get(PurePosixPath(self.name).suffix.lower())
        if self.store is None:
            return pa.input_stream(self.open(), compression=compression)
        return self.store.connection[0].open_input_stream(self.path, compression=compression)

    def stamp(self) -> Stamp:
        """Return the file's size, time and tag, as they are now."""
        if self.store is None:
            found = Path(self.path).stat()
            return Stamp(found.st_size, str(found.st_mtime_ns))
        filesystem = self.store.connection[0]
        with filesystem.open_input_file(self.path) as file:
            described = {name.lower(): value.decode() for name, value in (file.metadata() or {}).items()}
            if "etag" in described:
                return Stamp(file.size(), described.get("last-modified", ""), described["etag"])
        info = filesystem.get_file_info(self.path)
        return Stamp(info.size, "" if info.mtime_ns is None else str(info.mtime_ns))

    def identity(self, stamp: Stamp) -> Iterator[str | bytes]:
        """Return what a fingerprint is made of: what is known of the file, and both its ends where that is cheap."""
        name = PurePosixPath(self.name).name if self.store is not None else Path(self.path).name
        if self.store is None:
            yield repr((name, stamp.size))
        else:
            yield repr((name, *stamp))
            if stamp.modified or stamp.tag:
                return
        with self.open() as file:
            yield file.read(_SAMPLED_BYTES)
            file.seek(max(stamp.size - _SAMPLED_BYTES, 0))
            yield file.read(_SAMPLED_BYTES)

    def check_unchanged(self, stamp: Stamp) -> None:
        """Raise an error if the file is no longer the one that had this stamp."""
        now = None
        with suppress(FileNotFoundError):
            now = self.stamp()
        if now is None:
            raise InputError(
                f"{self.name!r} was removed since it was opened. Put it back and start again; nothing was written."
            )
        if now != stamp:
            sizes = (
                f"{stamp.size:,} bytes then, {now.size:,} now" if now.size != stamp.size else "of equal size"
            )
            raise InputError(
                f"{self.name!r} was replaced or changed since it was opened ({sizes}). Start again when nothing "
                "writes to it; nothing was written."
            )

    def failure(self, error: Exception, format_name: str, explain: Callable[[str], str] = str) -> InputError:
        """Return the error for a file that could not be read; `explain` may put the reason in better words."""
        if isinstance(error, FileNotFoundError):
            return InputError(f"There is no file {self.name!r}.")
        if isinstance(error, PermissionError) and self.store is None:
            return InputError(
                f"{self.name!r} may not be read by this user. Change its permissions, or leave it out; nothing was "
                "written."
            )
        reason = explain(reason_of(error, self.store.uri if self.store else "")).rstrip(".")
        fix = (
            "Mend or remove the file"
            if self.store is None
            else "Check the file, the credentials and the connection"
        )
        return InputError(
            f"{self.name!r} cannot be read as {format_name} ({reason}). {fix}; nothing was written."
        )


def printable(path: str | Path) -> str:
    """Return a path as a text that can be written anywhere, if not read: file names may be any bytes."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


class PoolFile(Protocol):
    """One file of a pool.

    Attributes:
        location: where it is.
        stamp: its size and time when it was opened.
        schema: its columns.
        arrow: its columns as Arrow sees them; None for an array, which has none.
        n_rows: how many rows it has; None if only reading them can tell.
        groups: the rows of each part that can be read by itself; None if it can only be read whole.
    """

    location: Location
    stamp: Stamp
    schema: Schema
    arrow: pa.Schema | None
    n_rows: int | None
    groups: tuple[int, ...] | None

    def chunks(self, wanted: Wanted, chunk_size: int, groups: range | None = None) -> Iterator[Rows]:
        """Return the rows in order, in runs of about `chunk_size`; those of some groups, or all."""
        ...


def identity(file: PoolFile) -> list[str | bytes]:
    """Return what the fingerprint of a file is made of, or say that it is no longer the one that was read."""

    def read() -> list[str | bytes]:
        if file.location.store is None:  # elsewhere, to ask for thousands of files takes minutes
            file.location.check_unchanged(file.stamp)
        return list(file.location.identity(file.stamp))

    return reading(file.location, "a file", read)


def reading(
    location: Location, format_name: str, read: Callable[[], _Result], explain: Callable[[str], str] = str
) -> _Result:
    """Return read(), with the file named in any error; `explain` may put its reason in better words."""
    cause: Exception | None = None
    try:
        return read()
    except InputError:
        raise
    except Exception as error:
        # Whatever a library of storage raises is a fault of storage. Its words may show credentials: no cause is kept.
        if location.store is None and not isinstance(error, _READ_ERRORS):
            raise
        failure = location.failure(error, format_name, explain)
        if location.store is None and not isinstance(error, FileNotFoundError):
            cause = error
    raise failure from cause


def guarded(
    location: Location, format_name: str, batches: Any, explain: Callable[[str], str] = str
) -> Iterator[Any]:
    """Return the batches, with the file named in any error on the way."""
    iterator = iter(batches)
    end = object()
    while (batch := reading(location, format_name, lambda: next(iterator, end), explain)) is not end:
        yield batch


def checked(file: PoolFile, format_name: str, groups: range | None, chunks: Iterator[Rows]) -> Iterator[Rows]:
    """Return the chunks, with an error if the file is not, or does not stay, what it was when it was opened."""

    def check() -> None:
        reading(file.location, format_name, lambda: file.location.check_unchanged(file.stamp))

    n_rows = 0
    check()
    try:
        for chunk in chunks:
            n_rows += count_rows(chunk)
            yield chunk
    except InputError:
        check()  # half of a file and half of another look like a damaged one
        raise
    check()
    if file.groups is not None:
        expected = sum(file.groups if groups is None else (file.groups[group] for group in groups))
        if n_rows != expected:
            why = ValueError(f"it has {n_rows:,} rows in place of {expected:,}")
            raise file.location.failure(why, format_name)


def local_path(source: str | Path) -> str | Path:
    """Return the path that a file:// URI names; a path as it is."""
    if isinstance(source, Path) or not source.lower().startswith("file://"):
        return source
    host, path, _ = split_uri(source)
    if host.lower() not in {"", "localhost"}:
        raise InputError(f"{shown(source)!r} is on another machine. Use file:///path for files on this one.")
    return url2pathname(f"/{path}")


def find_stored(uri: str, stores: dict[str, ObjectStore], is_data: Callable[[str], bool]) -> list[Location]:
    """Return the files that a URI, of a file, a folder or a glob, names.

    Args:
        uri: what to look for.
        stores: connections made so far, by their URI; a new one is put there.
        is_data: tells by its name whether a file of a folder is read.
    """
    try:
        store, path = open_store(uri, stores)
        found = _paths_of(store, path, is_data)
    except MinMarginError:
        raise
    except Exception as error:  # noqa: BLE001 - fsspec's file systems raise what their libraries raise
        failure = unreachable(uri, error)
    else:
        if found is None:
            raise InputError(f"There is no file or folder {shown(uri)!r}.")
        if not found and has_marks(path):
            raise InputError(f"No file matches {shown(uri)!r}.")
        if not found:
            raise InputError(f"Folder {shown(uri)!r} holds no file in a format that can be read.")
        return [Location(each, store.name_of(each), store) for each in found]
    raise failure  # outside the handler: the cause may show the credentials


def _paths_of(store: ObjectStore, path: str, is_data: Callable[[str], bool]) -> list[str] | None:
    """Return the paths of what `path` names; None if there is nothing."""
    from pyarrow.fs import FileType  # noqa: PLC0415 - it starts the libraries of all stores

    kind = store.connection[0].get_file_info(path).type
    if kind == FileType.File:
        return [path]
    if kind == FileType.Directory:
        return _data_in(store, path, is_data)
    if not has_marks(path):
        return None
    parts = path.split("/")
    n_fixed = next(place for place, part in enumerate(parts) if has_marks(part))
    if n_fixed == 0:
        raise InputError(f"{store.name_of(path)!r} has a wildcard in place of a bucket. Name the bucket.")
    found: list[str] = []
    for info in _list(store, "/".join(parts[:n_fixed]), recursive=len(parts) > n_fixed + 1 or "**" in parts):
        if matches(info.path.strip("/").split("/"), path.strip("/").split("/")):
            found += _data_in(store, info.path, is_data) if info.type == FileType.Directory else [info.path]
    return found


def _data_in(store: ObjectStore, folder: str, is_data: Callable[[str], bool]) -> list[str]:
    return [info.path for info in _list(store, folder, recursive=True) if info.is_file and is_data(info.path)]


def _list(store: ObjectStore, folder: str, *, recursive: bool) -> Sequence[Any]:
    from pyarrow.fs import FileSelector  # noqa: PLC0415 - as above

    selector = FileSelector(folder, allow_not_found=True, recursive=recursive)
    found: Sequence[Any] = store.connection[0].get_file_info(selector)
    return found


def has_marks(path: str) -> bool:
    """Return whether a path is a pattern."""
    return any(mark in path for mark in _GLOB_MARKS)


def matches(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Return whether a path fits a pattern, both in parts; ** stands for any folders, as in Python's glob."""
    if not pattern:
        return not parts
    first, rest = pattern[0], pattern[1:]
    if first == "**":
        folded = (n for n in range(len(parts) + 1) if not any(part.startswith(".") for part in parts[:n]))
        return any(matches(parts[n:], rest) for n in folded)
    hidden = bool(parts) and parts[0].startswith(".") and not first.startswith(".")
    return bool(parts) and not hidden and fnmatch.fnmatchcase(parts[0], first) and matches(parts[1:], rest)

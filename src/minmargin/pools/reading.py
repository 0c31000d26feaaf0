"""What a file of a pool is, and how it is read so that every fault names it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from tokenize import TokenError
from typing import Any, Protocol, TypeVar

import pyarrow as pa

from minmargin.data.rows import Rows, count_rows
from minmargin.data.schema import Schema
from minmargin.errors import InputError
from minmargin.pools.base import Wanted
from minmargin.pools.storage import Location, Stamp

# A damaged header of a .npy file is a Python text that cannot be parsed.
_READ_ERRORS = (pa.ArrowException, OSError, ValueError, EOFError, SyntaxError, TokenError)

_Result = TypeVar("_Result")


class DataFile(Protocol):
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


def identity(file: DataFile) -> list[str | bytes]:
    """Return what the fingerprint of a file is made of."""
    return reading(file.location, "a file", lambda: list(file.location.identity(file.stamp)))


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


def checked(file: DataFile, format_name: str, groups: range | None, chunks: Iterator[Rows]) -> Iterator[Rows]:
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

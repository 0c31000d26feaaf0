"""What a pool is: rows that are read in order, in chunks, with only the columns that are needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol, TypeAlias

from minmargin.data.rows import Rows
from minmargin.data.schema import Kind, Schema

#: The columns to read. A kind tells a reader that parses text (CSV) what to parse a column as;
#: None leaves the type to the reader. Arrays have no columns: None in place of the mapping.
Wanted: TypeAlias = Mapping[str, Kind | None] | None


class Pool(Protocol):
    """The candidates: rows that may be picked, numbered from 0 in the order they are read."""

    @property
    def name(self) -> str:
        """What error messages call this pool."""
        ...

    @property
    def schema(self) -> Schema:
        """The columns, known before any row is read."""
        ...

    @property
    def n_rows(self) -> int | None:
        """How many rows there are; None if only reading them can tell."""
        ...

    def chunks(self, wanted: Wanted, chunk_size: int) -> Iterator[Rows]:
        """Return the rows in order, in runs of about `chunk_size`."""
        ...

    def describe(self) -> dict[str, Any]:
        """Return what the manifest records of this pool."""
        ...

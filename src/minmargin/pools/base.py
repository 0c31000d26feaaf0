"""What a pool is: rows that are read in order, in chunks, with only the columns that are needed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol, TypeAlias

from minmargin.data.rows import Rows, concat_rows, count_rows, slice_rows
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


class Block(NamedTuple):
    """The pool rows first_row, first_row + 1, ..., one run of a fixed grid."""

    first_row: int
    data: Rows


def blocks(
    chunks: Iterable[Rows], sizes: Iterable[int], *, least: int | None = None, first_row: int = 0
) -> Iterator[Block]:
    """Return the rows of `chunks` cut anew into blocks of the given sizes; the last one may be shorter.

    However the pool is chunked or split into files, a row is always handed to a model in the same block
    and at the same place in it. A model whose results depend on the shape of its input, or on where in
    it a row stands (any that multiplies matrices), therefore still gives one result per row.

    For models whose results do not, blocks may be as short as `least`: then they end where chunks do, and hardly any
    rows of two chunks need to be joined. The first row of all has the number `first_row`.
    """
    held: list[Rows] = []
    n_held = 0
    remaining = iter(sizes)
    size = next(remaining)
    for chunk in chunks:
        start, n = 0, count_rows(chunk)
        while n_held + n - start >= size:
            stop = start + size - n_held
            held.append(slice_rows(chunk, start, stop))
            yield Block(first_row, concat_rows(held))
            held, n_held, first_row, start = [], 0, first_row + size, stop
            size = next(remaining)
        if start < n:
            held.append(slice_rows(chunk, start, n))
            n_held += n - start
        if least is not None and n_held >= least:
            yield Block(first_row, concat_rows(held))
            held, n_held, first_row = [], 0, first_row + n_held
    if n_held:
        yield Block(first_row, concat_rows(held))

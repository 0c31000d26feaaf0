"""A pool that is an iterable of chunks, read once: a generator, a database cursor, a queue."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import narwhals as nw

from minmargin.data.rows import Rows
from minmargin.data.schema import Schema, as_rows, schema_of
from minmargin.errors import InputError, listing
from minmargin.pools.base import Wanted


class StreamPool:
    """A pool whose length is not known before its end; the first chunk tells the schema."""

    name = "the pool"
    n_rows: int | None = None

    def __init__(self, source: Iterable[Any]) -> None:
        self._source = iter(source)
        first = next(self._source, None)
        if first is None:
            raise InputError("The pool is empty: its iterable gave no chunk (a generator can be read once).")
        rows = self._rows(first)
        self.schema: Schema = schema_of(rows, "A chunk of the pool")
        self._container = _container(rows)
        self._chunks: Iterator[Rows] | None = itertools.chain([rows], map(self._rows, self._source))

    def chunks(self, wanted: Wanted, chunk_size: int) -> Iterator[Rows]:
        """Return the chunks as the iterable gives them, whatever their size."""
        if self._chunks is None:
            raise InputError("The pool is an iterable that was read already. Make a new one.")
        chunks, self._chunks = self._chunks, None
        for place, rows in enumerate(chunks):
            if _container(rows) != self._container:
                raise InputError(
                    f"Chunk {place:,} of the pool is a {_container(rows)} and the first is a {self._container}. "
                    "Give every chunk in the same container."
                )
            self._check_like_the_first(schema_of(rows), place)
            if isinstance(rows, nw.DataFrame) and wanted is not None:
                numbers = [name for name, kind in wanted.items() if kind == "number"]
                # One chunk's whole numbers may be the next one's fractions: they meet in one block.
                frame = rows.select(list(wanted))
                yield frame.with_columns(nw.col(*numbers).cast(nw.Float64)) if numbers else frame
            else:
                yield rows

    def _check_like_the_first(self, schema: Schema, place: int) -> None:
        first = self.schema
        if schema.names != first.names or schema.row_shape != first.row_shape:
            raise InputError(
                f"Chunk {place:,} of the pool has {_shape(schema)} and the first has {_shape(first)}. "
                "Give every chunk the same columns."
            )
        for mine, theirs in zip(schema.columns or (), first.columns or (), strict=True):
            if mine.kind != theirs.kind:
                raise InputError(
                    f"Column {mine.name!r} is {theirs.type_name} in the first chunk of the pool but {mine.type_name} "
                    f"in chunk {place:,}. Give every chunk the same types."
                )

    def describe(self) -> dict[str, Any]:
        """Return what the manifest records of this pool."""
        return {"kind": "iterable of chunks"}

    @staticmethod
    def _rows(chunk: Any) -> Rows:
        return as_rows(chunk, "A chunk of the pool")


def _container(rows: Rows) -> str:
    return str(rows.implementation) if isinstance(rows, nw.DataFrame) else type(rows).__name__


def _shape(schema: Schema) -> str:
    if schema.columns is not None:
        return f"the columns {listing(schema.names)}"
    rows = schema.row_shape or ()
    return f"rows of shape {rows}" if len(rows) > 1 else f"{schema.width} features"

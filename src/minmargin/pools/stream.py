"""A pool that is an iterable of chunks, read once: a generator, a database cursor, a queue."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import narwhals as nw

from minmargin.errors import InputError
from minmargin.pools.base import Wanted
from minmargin.rows import Rows
from minmargin.schema import Schema, as_rows, schema_of


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
        self.schema: Schema = schema_of(rows)
        self._chunks: Iterator[Rows] | None = itertools.chain([rows], map(self._rows, self._source))

    def chunks(self, wanted: Wanted, chunk_size: int) -> Iterator[Rows]:
        """Return the chunks as the iterable gives them, whatever their size."""
        if self._chunks is None:
            raise InputError("The pool is an iterable that was read already. Make a new one.")
        chunks, self._chunks = self._chunks, None
        for rows in chunks:
            if schema_of(rows).names != self.schema.names:
                raise InputError("The chunks of the pool have different columns. Give each the same ones.")
            yield rows.select(list(wanted)) if isinstance(rows, nw.DataFrame) and wanted is not None else rows

    def describe(self) -> dict[str, Any]:
        """Return what the manifest records of this pool."""
        return {"kind": "iterable of chunks"}

    @staticmethod
    def _rows(chunk: Any) -> Rows:
        return as_rows(chunk, "A chunk of the pool")

"""Pools in memory or mapped from it: arrays, memory maps, CSR matrices and data frames."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from minmargin.data.rows import Frame, Rows, count_rows, slice_rows, take_rows
from minmargin.data.schema import Schema, schema_of
from minmargin.manifest import fingerprint_rows
from minmargin.pools.base import Wanted
from minmargin.pools.storage import Location, Stamp

_UNIT = 1 << 16  # rows; any number of them can be read by itself


class MemoryPool:
    """A pool whose rows are at hand: one chunk, of which blocks are slices and not copies."""

    def __init__(self, rows: Rows, name: str = "the pool") -> None:
        self._rows = rows
        self.name = name
        self.schema: Schema = schema_of(rows)
        self.n_rows: int = count_rows(rows)
        self._unit = _UNIT
        self._mapped = _mapped_file(rows)

    @property
    def frame(self) -> Frame | None:
        """The rows as a data frame; None if they are an array."""
        return self._rows if isinstance(self._rows, nw.DataFrame) else None

    def chunks(self, wanted: Wanted, chunk_size: int) -> Iterator[Rows]:
        """Return all rows at once, whatever the chunk size: nothing is read."""
        yield self._columns(wanted)

    def units(self) -> list[int]:
        """Return how many rows each part has that can be read by itself."""
        return [min(self._unit, self.n_rows - start) for start in range(0, self.n_rows, self._unit)]

    def read_units(self, first: int, stop: int, wanted: Wanted, chunk_size: int) -> Iterator[Rows]:
        """Return the rows of units first..stop-1 at once: nothing is read."""
        for rows in self.chunks(wanted, chunk_size):
            yield slice_rows(rows, first * self._unit, min(stop * self._unit, self.n_rows))

    def take(self, rows: NDArray[np.int64], wanted: Wanted = None) -> Rows:
        """Return some of the rows."""
        return take_rows(self._columns(wanted), rows)

    def _columns(self, wanted: Wanted) -> Rows:
        rows = self._rows
        return rows.select(list(wanted)) if isinstance(rows, nw.DataFrame) and wanted is not None else rows

    def describe(self) -> dict[str, Any]:
        """Return what the manifest records of this pool, or say that the file it is mapped from has changed."""
        if self._mapped is not None:
            location, stamp = self._mapped
            location.check_unchanged(stamp)
        return {"kind": _container(self._rows), "fingerprint": fingerprint_rows(self._rows)}


def _mapped_file(rows: Rows) -> tuple[Location, Stamp] | None:
    """Return the file that an array was mapped from, and its size and time; None if there is none."""
    if not isinstance(rows, np.memmap) or rows.filename is None or not Path(rows.filename).exists():
        return None
    location = Location.on_disk(rows.filename)
    return location, location.stamp()


def _container(rows: Rows) -> str:
    if isinstance(rows, nw.DataFrame):
        return f"{rows.implementation} frame"
    if sparse.issparse(rows):
        return "sparse array"
    return "memory map" if isinstance(rows, np.memmap) else "array"

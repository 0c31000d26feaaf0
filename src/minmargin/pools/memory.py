"""Pools in memory or mapped from it: arrays, memory maps, CSR matrices and data frames."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import narwhals as nw
import numpy as np
from scipy import sparse

from minmargin.fingerprint import fingerprint_rows
from minmargin.pools.base import Wanted
from minmargin.rows import Rows, count_rows, slice_rows
from minmargin.schema import Schema, schema_of


class MemoryPool:
    """A pool whose rows are at hand; chunks are slices, not copies, where the container allows."""

    def __init__(self, rows: Rows, name: str = "the pool") -> None:
        self._rows = rows
        self.name = name
        self.schema: Schema = schema_of(rows)
        self.n_rows: int = count_rows(rows)

    def chunks(self, wanted: Wanted, chunk_size: int) -> Iterator[Rows]:
        """Return the rows in order, in runs of `chunk_size`."""
        rows = self._rows
        if isinstance(rows, nw.DataFrame) and wanted is not None:
            rows = rows.select(list(wanted))
        for start in range(0, self.n_rows, chunk_size):
            yield slice_rows(rows, start, min(start + chunk_size, self.n_rows))

    def describe(self) -> dict[str, Any]:
        """Return what the manifest records of this pool."""
        return {"kind": _container(self._rows), "fingerprint": fingerprint_rows(self._rows)}


def _container(rows: Rows) -> str:
    if isinstance(rows, nw.DataFrame):
        return f"{rows.implementation} frame"
    if sparse.issparse(rows):
        return "sparse array"
    return "memory map" if isinstance(rows, np.memmap) else "array"

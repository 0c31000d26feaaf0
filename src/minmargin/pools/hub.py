"""Pools that are datasets of Hugging Face: read in parts, in their own order, shuffled or selected as they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from minmargin.data.containers import HubRows
from minmargin.data.rows import Rows
from minmargin.data.schema import Schema
from minmargin.manifest import fingerprint_rows
from minmargin.pools.base import Wanted
from minmargin.pools.formats import arrow_schema, as_frame

_UNIT = 1 << 16  # rows; any number of them can be read by itself
_SAMPLED_ROWS = 1024


class HubPool:
    """A `datasets.Dataset`. A row's number is its position in it, after shuffling and selecting."""

    name = "the dataset"

    def __init__(self, dataset: Any) -> None:
        self._rows = HubRows(dataset, "The pool")
        self.schema: Schema = arrow_schema(self._rows.schema)
        self.n_rows: int = len(dataset)

    def chunks(self, wanted: Wanted, chunk_size: int) -> Iterator[Rows]:
        """Return the rows in the dataset's order, in runs of `chunk_size`."""
        return self._read(0, self.n_rows, wanted, chunk_size)

    def units(self) -> list[int]:
        """Return how many rows each part has that can be read by itself."""
        return [min(_UNIT, self.n_rows - start) for start in range(0, self.n_rows, _UNIT)]

    def read_units(self, first: int, stop: int, wanted: Wanted, chunk_size: int) -> Iterator[Rows]:
        """Return the rows of units first..stop-1 in order, in runs of `chunk_size`."""
        return self._read(first * _UNIT, min(stop * _UNIT, self.n_rows), wanted, chunk_size)

    def _read(self, first: int, stop: int, wanted: Wanted, chunk_size: int) -> Iterator[Rows]:
        names = None if wanted is None else list(wanted)
        for start in range(first, stop, chunk_size):
            yield as_frame(self._rows.read(start, min(start + chunk_size, stop), names))

    def describe(self) -> dict[str, Any]:
        """Return what the manifest records of this pool. Images and the like are left out of the fingerprint."""
        names = [column.name for column in self.schema.columns or () if column.kind != "other"]
        rows = np.unique(
            np.linspace(0, max(self.n_rows - 1, 0), min(self.n_rows, _SAMPLED_ROWS)).astype(np.intp)
        )
        sample = as_frame(self._rows.take(rows, names))
        return {"kind": "Hugging Face dataset", "fingerprint": fingerprint_rows(sample)}

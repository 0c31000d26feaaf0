"""Files of numpy arrays, read part by part.

They are not mapped into memory where that can be avoided: if such a file is cut short, the system ends the process.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from minmargin.data.rows import Rows, count_rows, slice_rows
from minmargin.data.schema import as_rows, schema_of
from minmargin.pools.base import Wanted
from minmargin.pools.storage import Location, checked, local_path, reading

_GROUP = 1 << 20  # rows
_PART_BYTES = 32 << 20


def load_npy(path: str | Path) -> NDArray[Any]:
    """Return the array of one file on this machine, mapped, or say what is wrong with the file."""
    location = Location.on_disk(local_path(path))
    return reading(location, ".npy", lambda: npy_format.open_memmap(location.path, mode="r"))


class NpyFile:
    """A numpy array file. Its groups are runs of so many rows that one is a good piece of work."""

    arrow: pa.Schema | None = None

    def __init__(self, location: Location) -> None:
        self.location = location
        self.stamp = reading(location, ".npy", location.stamp)
        array = self._mapped() if location.store is None else self._outline()
        self._by_column = array.flags.f_contiguous and not array.flags.c_contiguous
        rows = as_rows(array, location.name)
        self.schema = schema_of(rows, location.name)
        n_rows = count_rows(rows)
        self.n_rows: int | None = n_rows
        self.groups: tuple[int, ...] | None = tuple(
            min(_GROUP, n_rows - start) for start in range(0, n_rows, _GROUP)
        )

    def chunks(self, wanted: Wanted, chunk_size: int, groups: range | None = None) -> Iterator[Rows]:
        """Return the rows in order, in runs of at most `chunk_size`.

        Columns of a file on disk that has one after the other are mapped: all are read to have any row.
        """
        among = range(len(self.groups or ())) if groups is None else groups
        mapped = self.location.store is None and self._by_column
        parts = self._mapped_rows(among) if mapped else self._read(among, chunk_size)
        return checked(self, ".npy", groups, (as_rows(part, self.location.name) for part in parts))

    def _mapped(self) -> NDArray[Any]:
        path = self.location.path
        return reading(self.location, ".npy", lambda: np.load(path, mmap_mode="r", allow_pickle=False))

    def _mapped_rows(self, groups: range) -> Iterator[Any]:
        yield slice_rows(self._mapped(), groups.start * _GROUP, groups.stop * _GROUP)

    def _outline(self) -> NDArray[Any]:
        """Return an array of the file's shape and type that takes no memory."""
        with reading(self.location, ".npy", self.location.open) as file:
            layout = reading(self.location, ".npy", lambda: _layout(file))
        if layout.dtype.hasobject:
            raise self.location.failure(ValueError("it holds Python objects"), ".npy")
        needed = layout.first_byte + layout.shape[0] * layout.row_bytes if layout.shape else 0
        if needed > self.stamp.size:
            why = f"its header promises {needed:,} bytes, and it has {self.stamp.size:,}"
            raise self.location.failure(ValueError(why), ".npy")
        return np.broadcast_to(np.zeros((), layout.dtype), layout.shape)

    def _read(self, groups: range, chunk_size: int) -> Iterator[NDArray[Any]]:
        with reading(self.location, ".npy", self.location.open) as file:
            layout = reading(self.location, ".npy", lambda: _layout(file))
            n_rows = layout.shape[0]
            if layout.by_column:  # a row's numbers lie apart: all are read to have any
                content = reading(self.location, ".npy", lambda: layout.read(file, 0, n_rows))
                whole = content.reshape(layout.shape, order="F")
                yield whole[groups.start * _GROUP : groups.stop * _GROUP]
                return
            end = min(groups.stop * _GROUP, n_rows)
            size = max(min(chunk_size, _PART_BYTES // max(layout.row_bytes, 1)), 1)
            for start in range(groups.start * _GROUP, end, size):
                shape = (min(size, end - start), *layout.shape[1:])
                yield reading(
                    self.location,
                    ".npy",
                    lambda: layout.read(file, start, start + shape[0]).reshape(shape),  # noqa: B023 - called here
                )


class _Layout(NamedTuple):
    """What the header of a file tells."""

    shape: tuple[int, ...]
    by_column: bool
    dtype: np.dtype[Any]
    first_byte: int

    @property
    def row_bytes(self) -> int:
        return int(np.prod(self.shape[1:], dtype=np.int64)) * self.dtype.itemsize

    def read(self, file: Any, start: int, stop: int) -> NDArray[Any]:
        """Return as many numbers as rows start..stop-1 have, from where these begin if rows are in one piece."""
        file.seek(self.first_byte + start * self.row_bytes)
        return np.frombuffer(file.read((stop - start) * self.row_bytes), self.dtype)


def _layout(file: Any) -> _Layout:
    # The third version of the format is the second, with names of columns in another encoding.
    first_version = npy_format.read_magic(file) == (1, 0)
    read = npy_format.read_array_header_1_0 if first_version else npy_format.read_array_header_2_0
    shape, by_column, dtype = read(file)
    return _Layout(shape, by_column, dtype, file.tell())

"""Runs of rows, whatever holds them: how to count, cut, pick and join them.

Features, ids and kept columns travel through the package in the container they came in. These functions are all that
the loop over the pool needs to know about that container.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias, cast

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Frame: TypeAlias = nw.DataFrame[Any]
Matrix: TypeAlias = NDArray[Any] | sparse.csr_array
Rows: TypeAlias = NDArray[Any] | sparse.csr_array | Frame


class ColumnBlock:
    """(n, D) floats whose columns lie apart in memory, as a reader left them. A view: nothing is copied.

    Attributes:
        columns: D arrays (n,) of one float type, each in one piece.
    """

    def __init__(self, columns: Sequence[NDArray[Any]]) -> None:
        self.columns = columns

    @property
    def shape(self) -> tuple[int, int]:
        """N and D."""
        return len(self.columns[0]), len(self.columns)

    def __getitem__(self, index: NDArray[np.intp]) -> NDArray[Any]:
        """Return some of the rows, as a matrix."""
        return np.stack([column[index] for column in self.columns], axis=1)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return all rows, as a matrix."""
        return np.stack(self.columns, axis=1, dtype=dtype, casting="same_kind")


class SideBySide:
    """(n, D) numbers of several arrays, whose rows belong together. Nothing is copied but the rows that are taken.

    Attributes:
        parts: arrays of n rows each, memory maps among them.
    """

    def __init__(self, parts: Sequence[NDArray[Any]]) -> None:
        self.parts = parts

    @property
    def shape(self) -> tuple[int, int]:
        """N and D."""
        return len(self.parts[0]), sum(part.shape[1] for part in self.parts)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type that all parts go into."""
        return np.result_type(*self.parts)

    def __getitem__(self, index: slice | NDArray[np.intp]) -> NDArray[Any]:
        """Return some of the rows, as a matrix."""
        return np.hstack([part[index] for part in self.parts])


def count_rows(rows: Rows) -> int:
    """Return how many rows there are."""
    return int(rows.shape[0])


def slice_rows(rows: Rows, start: int, stop: int) -> Rows:
    """Return rows start..stop-1, as a view where the container can give one."""
    return rows[start:stop]


def take_rows(rows: Rows, index: NDArray[np.intp]) -> Rows:
    """Return the rows at `index`, in that order."""
    if isinstance(rows, nw.DataFrame):
        return rows[index, :]
    return cast("Rows", rows[index])


def n_bytes(rows: Matrix) -> int:
    """Return how much memory a matrix takes."""
    parts = (rows.data, rows.indices) if isinstance(rows, sparse.csr_array) else (rows,)
    return sum(int(part.nbytes) for part in parts)


def concat_rows(parts: Sequence[Rows]) -> Rows:
    """Return the parts, which must be of one kind, one below the other."""
    if len(parts) == 1:
        return parts[0]
    first = parts[0]
    if isinstance(first, nw.DataFrame):
        return nw.concat(cast("Sequence[Frame]", parts), how="vertical")
    if isinstance(first, sparse.csr_array):
        return sparse.csr_array(sparse.vstack(cast("Sequence[sparse.csr_array]", parts), format="csr"))
    return np.concatenate(cast("Sequence[NDArray[Any]]", parts))


class Block(NamedTuple):
    """The pool rows first_row, first_row + 1, ..., one run of a fixed grid; or rows from anywhere in a run.

    Attributes:
        first_row: the number of the run's first row.
        data: the rows.
        scattered: (n,) the numbers of rows from anywhere in it; None for the whole run.
    """

    first_row: int
    data: Rows
    scattered: NDArray[np.int64] | None = None

    @property
    def rows(self) -> NDArray[np.int64] | range:
        """The rows' numbers in the pool."""
        if self.scattered is not None:
            return self.scattered
        return range(self.first_row, self.first_row + count_rows(self.data))

    @property
    def n_read(self) -> int:
        """How many rows the pool has at least, since it has these."""
        if self.scattered is not None:
            return int(self.scattered.max(initial=self.first_row - 1)) + 1
        return self.first_row + count_rows(self.data)


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

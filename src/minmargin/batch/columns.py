"""Columns of a batch: from frames of any kind to Arrow and numpy, as texts for people, and compared."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from minmargin.data.objects import chunks_or_texts
from minmargin.data.rows import Frame


def to_table(frame: Frame, integers: Collection[str]) -> pa.Table:
    """Return an Arrow table of a frame's columns, and of nothing else (a pandas frame has an index too)."""
    return pa.table({name: to_column(frame[name], whole=name in integers) for name in frame.columns})


def to_column(values: nw.Series[Any], *, whole: bool) -> Any:
    """Return an Arrow column of a frame's; `whole` if its floats are whole numbers."""
    column = chunks_or_texts(values)
    return column.cast(pa.int64()) if whole and pa.types.is_floating(column.type) else column


def to_numpy(column: pa.ChunkedArray) -> NDArray[Any]:
    """Return a column as an array; of Python objects where values are missing."""
    if column.null_count:  # numpy has no missing integer: as floats, large ids would change
        return np.array(column.to_pylist(), dtype=object)
    return np.asarray(column.to_numpy())


def cells_of(table: pa.Table, *, most: int = 40) -> list[list[str]]:
    """Return the cells of a table, row by row, as texts of at most so many characters."""
    return [[cell_text(value, most=most) for value in record.values()] for record in table.to_pylist()]


def cell_text(value: object, *, most: int = 40) -> str:
    """Return a value as a text of one line and at most so many characters, for a table."""
    if value is None:
        return ""
    text = f"{value:.4g}" if isinstance(value, float) else " ".join(str(value).split())
    return text if len(text) <= most else text[: most - 1] + "…"


def same_values(ours: NDArray[Any] | None, theirs: NDArray[Any] | None) -> bool:
    """Return whether two arrays hold the same values, or are both missing; NaN is the same as NaN."""
    if ours is None or theirs is None:
        return ours is theirs
    if ours.shape != theirs.shape:
        return False
    if ours.dtype.kind == theirs.dtype.kind and ours.dtype.kind in "biufmM":
        return np.array_equal(ours, theirs, equal_nan=True)
    return _same(ours.tolist(), theirs.tolist())


def same_table(ours: pa.Table | None, theirs: pa.Table | None) -> bool:
    """Return whether two tables have the same columns with the same values, or are both missing."""
    if ours is None or theirs is None:
        return ours is theirs
    if ours.column_names != theirs.column_names or len(ours) != len(theirs):
        return False
    # To Arrow, NaN is no NaN, and texts are not the same where their offsets are of another size.
    return ours.equals(theirs) or _same(ours.to_pydict(), theirs.to_pydict())


def _same(ours: Any, theirs: Any) -> bool:
    """Return whether two Python values are the same, nested ones too.

    >>> _same([1, None, {"a": [float("nan")]}], [1.0, None, {"a": [float("nan")]}]), _same(["a", 1], ["a", None])
    (True, False)
    """
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(_same, ours, theirs))
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(_same(ours[name], theirs[name]) for name in ours)
    return bool(ours is theirs or ours == theirs or (ours != ours and theirs != theirs))

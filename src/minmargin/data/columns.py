"""What learners take, made of columns: matrices of numbers, texts, frames of one kind.

A cell that will not do is named by its row and column.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy import sparse

from minmargin.data.containers import dense, holds_objects
from minmargin.data.conversion import moments_of
from minmargin.data.objects import chunks_of
from minmargin.data.rows import ColumnBlock, Frame, Matrix
from minmargin.data.schema import column_of, is_missing, schema_of
from minmargin.errors import InputError


@dataclass(frozen=True)
class Where:
    """Where rows came from, so that an error can name the row and the column."""

    what: str
    first_row: int = 0
    frame: Frame | None = None

    def row(self, row: int) -> str:
        """Return what a row is called."""
        return f"{self.what.capitalize()} row {self.first_row + row:,}"

    def cell(self, row: int, column: int) -> str:
        """Return what a cell of a matrix is called."""
        if self.frame is None:
            return f"{self.row(row)}, column {column:,}"
        labels: list[str] = []
        for each in schema_of(self.frame).columns or ():
            width = each.width or 1
            vector = each.kind in {"embedding", "date"}
            labels += [f"{each.name!r}[{i}]" for i in range(width)] if vector else [repr(each.name)]
        return f"{self.row(row)}, column {labels[column]}"


def check_finite(X: Matrix, where: Where, *, missing: bool) -> None:
    """Raise an error that names the first NaN or infinite cell; NaN is let through if `missing`."""
    values = X.data if isinstance(X, sparse.csr_array) else X
    # One sum tells of nearly every block that it is clean, without a mask of its size.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum(dtype=np.float64)):
            return
    bad = np.isinf(values) if missing else ~np.isfinite(values)
    if not bad.any():
        return
    if isinstance(X, sparse.csr_array):
        at = int(np.flatnonzero(bad)[0])
        row, column = int(np.searchsorted(X.indptr, at, side="right")) - 1, int(X.indices[at])
        value = values[at]
    else:
        row, column = (int(i) for i in np.argwhere(bad)[0])
        value = values[row, column]
    problem = "is missing (NaN)" if np.isnan(value) else "is infinite"
    fix = "Replace it" if np.isinf(value) else "Fill it, drop the row, or use preprocess='auto'"
    raise InputError(f"{where.cell(row, column)} {problem}. {fix}.")


def as_floats(X: Matrix, where: Where) -> Matrix:
    """Return an array as floats, or say which cell is no number."""
    if isinstance(X, sparse.csr_array) and X.dtype.kind in "iub":
        return X
    if X.dtype in {np.dtype(np.float32), np.dtype(np.float64)}:
        return X
    if X.dtype.kind in "iub":
        return X.astype(np.float64)
    if X.dtype.kind not in "fO":
        raise InputError(f"The {where.what} array holds {X.dtype}, not numbers. Convert it to float64.")
    try:
        return X.astype(np.float64)
    except (TypeError, ValueError):
        pass
    for row, column in np.ndindex(X.shape):
        try:
            float(X[row, column])
        except (TypeError, ValueError):
            raise InputError(
                f"{where.cell(row, column)} is {X[row, column]!r}, which is not a number. "
                "Use a learner that encodes it, or preprocess='auto' with a data frame."
            ) from None
    raise AssertionError("every cell converts, yet the array does not")


def to_matrix(frame: Frame, where: Where | None = None) -> NDArray[Any]:
    """Return (n, D) floats of numeric and embedding columns, column by column; missing values become NaN."""
    where = where or Where("")
    parts: list[NDArray[Any]] = []
    for values in frame.iter_columns():
        kind = column_of(values.name, values).kind
        if kind == "embedding":
            parts.append(_embedding(values, values.name, where))
        elif kind == "date":
            parts.append(_date_parts(values))
        else:
            parts.append(_numbers(dense(values))[:, np.newaxis])
    if len(parts) == 1:
        return parts[0]
    dtype = np.float32 if all(part.dtype == np.float32 for part in parts) else np.float64
    n, width = frame.shape[0], sum(part.shape[1] for part in parts)
    # Columns apart by more than their length: at powers of two they would all fall into the same cache sets.
    X = np.empty((width, n + 16), dtype=dtype)[:, :n].T
    start = 0
    for part in parts:
        X[:, start : start + part.shape[1]] = part
        start += part.shape[1]
    return X


def as_columns(table: pa.Table) -> ColumnBlock | None:
    """Return Arrow columns as they lie in memory: this is how nearly all of a large pool is read.

    None if they have to be converted: if they are not all floats of one type, have nulls, or lie in several pieces.
    """
    kind = table.schema.types[0] if table.num_columns else pa.null()
    if kind not in {pa.float32(), pa.float64()} or any(other != kind for other in table.schema.types):
        return None
    if any(column.num_chunks != 1 or column.null_count for column in table.columns):
        return None
    return ColumnBlock([column.chunk(0).to_numpy() for column in table.columns])


def _numbers(values: nw.Series[Any]) -> NDArray[Any]:
    if holds_objects(values):
        return np.asarray(chunks_of(values).cast(pa.float64()).to_numpy())
    wanted = nw.Float32 if values.dtype == nw.Float32 else nw.Float64
    return np.asarray(values.cast(wanted).to_numpy())


def table_of(frame: Frame) -> pa.Table:
    """Return the columns of a frame as Arrow keeps them, and nothing else (a pandas frame has an index too)."""
    return pa.table({name: chunks_of(frame[name]) for name in frame.columns})


def _date_parts(values: nw.Series[Any]) -> NDArray[np.float64]:
    """Return (n, 5) numbers of dates, as `DATE_PARTS` names them; NaN for a missing one."""
    moments = moments_of(chunks_of(values))
    days = np.asarray(moments.cast(pa.int64()).cast(pa.float64()).to_numpy(zero_copy_only=False)) / 86_400e6
    parts = [part(moments).cast(pa.float64()) for part in (pc.year, pc.month, pc.day_of_week, pc.hour)]
    return np.stack([*(np.asarray(part.to_numpy(zero_copy_only=False)) for part in parts), days], axis=1)


def _embedding(values: nw.Series[Any], name: str, where: Where) -> NDArray[Any]:
    arrow = values.to_arrow()
    arrow = arrow.combine_chunks() if hasattr(arrow, "combine_chunks") else arrow
    if arrow.null_count:
        row = int(np.flatnonzero(arrow.is_null().to_numpy(zero_copy_only=False))[0])
        raise InputError(f"{where.row(row)}, column {name!r} is missing. Fill it or drop the row.")
    lengths = arrow.value_lengths().to_numpy(zero_copy_only=False)
    if len(lengths) and (lengths != lengths[0]).any():
        row = int(np.flatnonzero(lengths != lengths[0])[0])
        raise InputError(
            f"{where.row(row)}, column {name!r} holds {int(lengths[row]):,} numbers and the rows before it "
            f"hold {int(lengths[0]):,}. An embedding needs the same width in every row."
        )
    flat = np.asarray(arrow.flatten().to_numpy(zero_copy_only=False))
    if flat.dtype != np.float32:
        flat = flat.astype(np.float64)
    return flat.reshape(len(arrow), -1)


def text_array(values: nw.Series[Any]) -> NDArray[Any]:
    """Return a 1-D array of Python strings; a missing one becomes the empty string."""
    # Nearly every cell is a text already, and a function call for each would be most of the time.
    return np.array(
        [each if type(each) is str else as_text_cell(each) for each in values.to_list()], dtype=object
    )


def joined_texts(frame: Frame) -> NDArray[Any]:
    """Return a 1-D array of Python strings: the texts of each row, one to a line."""
    texts = [text_array(values) for values in frame.iter_columns()]
    if len(texts) == 1:
        return texts[0]
    return np.array(["\n".join(each) for each in zip(*texts, strict=True)], dtype=object)


def as_text_cell(value: Any) -> str:
    """Return a value as a text, an empty one if it is missing."""
    return "" if is_missing(value) else str(value)


def to_backend(frame: Frame, backend: nw.Implementation | None) -> Any:
    """Return a frame of this kind, in one memory layout; an Arrow table if there is no kind."""
    if backend is None or backend.is_pyarrow():
        return table_of(frame)
    if backend.is_polars():
        return frame.to_polars()
    pandas = frame.to_pandas().reset_index(drop=True)
    # Built anew from its columns: a slice of one array and a join of chunks differ in memory layout, which
    # reaches the learner's matrix products, and their bits.
    return type(pandas)({name: pandas[name] for name in pandas.columns})

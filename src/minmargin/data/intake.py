"""How rows become what a learner takes: columns matched by name, values checked.

The labeled set fixes an `Intake`: the form in which the learner was given its rows. Every run of pool rows,
whatever it is kept in, is converted to that same form before a model sees it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse

from minmargin.data.rows import ColumnBlock, Frame, Matrix, Rows
from minmargin.data.schema import (
    Column,
    Kind,
    Schema,
    column_of,
    is_missing,
    missing_column,
    not_a_table,
    schema_of,
)
from minmargin.errors import InputError, listing, nearest

#: matrix: 2-D numeric array; sparse: CSR; text: 1-D array of strings; objects: 2-D array of anything;
#: frame: the labeled set's own kind of data frame; table: a narwhals frame, for our preprocessing;
#: any: as the pool has them, for models that were trained elsewhere.
Form: TypeAlias = Literal["matrix", "sparse", "text", "objects", "frame", "table", "any"]


class Converted(NamedTuple):
    """Rows in a learner's form, and a function that raises an error if a value is missing or infinite."""

    X: Any
    check: Callable[[], None] = lambda: None


@dataclass(frozen=True)
class Intake:
    """The form in which a learner takes rows, fixed by the labeled set.

    Attributes:
        form: the container handed to the learner.
        columns: the feature columns of a named labeled set, in order; None for an array.
        width: how many numbers a row of a matrix holds.
        backend: the kind of data frame to hand over, for form "frame".
        missing: whether a missing value may reach the learner.
    """

    form: Form
    columns: tuple[Column, ...] | None
    width: int
    backend: nw.Implementation | None = None
    missing: bool = False

    #: Whose rows errors compare the pool with.
    rows_of: ClassVar[str] = "labeled set"

    def match(
        self, pool: Schema, *, features: Sequence[str] | None = None, reserved: Sequence[str] = ()
    ) -> tuple[str, ...] | None:
        """Return the pool's feature columns in the learner's order; None where the pool has no names.

        Args:
            pool: the pool's schema.
            features: the pool columns to use, for a labeled set without names.
            reserved: pool columns with another use (id, kept), for a labeled set without names.
        """
        if pool.columns is None:
            self._match_array(pool)
            return None
        if self.columns is None:
            return self._match_by_position(pool, features, reserved)
        for wanted in self.columns:
            self._match_column(wanted, pool)
        return tuple(column.name for column in self.columns)

    def _match_array(self, pool: Schema) -> None:
        if self.columns is not None and self.form != "text":
            raise InputError(
                f"The {self.rows_of} has column names ({listing(c.name for c in self.columns)}) and the pool "
                "has none. Give both as frames or files, or both as arrays."
            )
        if self.form == "text" and (pool.row_shape or self.width > 1):
            have = "is a list of texts"
            if self.columns is not None:
                have = f"has texts in {listing(column.name for column in self.columns)}"
            raise InputError(
                f"The {self.rows_of} {have}, and the pool is an array of shape {pool.shape}. Give both in the same "
                "form."
            )
        if len(pool.row_shape or ()) > 1:
            raise not_a_table(pool.what, pool.shape or ())
        if pool.width != self.width and self.form != "text":
            raise InputError(
                f"The pool has {pool.width:,} features and the {self.rows_of} has {self.width:,}. "
                "Give both the same columns in the same order."
            )

    def _match_column(self, wanted: Column, pool: Schema) -> None:
        found = pool.find(wanted.name)
        if found is None:
            raise InputError(
                f"Column {wanted.name!r} of the {self.rows_of} is not in the pool (columns: "
                f"{listing(pool.names)}).{nearest(wanted.name, pool.names)} Rename it, or leave it out "
                "with features=[...]."
            )
        parsed_as_text = wanted.kind == "text" and not pool.parsed
        if found.kind not in {wanted.kind, "empty"} and not parsed_as_text:
            raise InputError(
                f"Column {wanted.name!r} is {wanted.type_name} in the {self.rows_of} but {found.type_name} in "
                "the pool. Cast it to the same type in both."
            )
        if found.width is not None and wanted.width is not None and found.width != wanted.width:
            raise InputError(
                f"Embedding column {wanted.name!r} holds {wanted.width:,} numbers in the {self.rows_of} but "
                f"{found.width:,} in the pool. Use the same embedding for both."
            )

    def _match_by_position(
        self, pool: Schema, features: Sequence[str] | None, reserved: Sequence[str]
    ) -> tuple[str, ...]:
        wanted: Kind = "text" if self.form == "text" else "number"
        if features is None:
            chosen = [c for c in pool.columns or () if c.name not in reserved]
        else:
            chosen = [self._named(pool, name) for name in features]
        by_kind = len(chosen) == self.width and all(c.kind == wanted for c in chosen)
        vector = len(chosen) == 1 and chosen[0].kind == "embedding" and chosen[0].width in {None, self.width}
        if not (by_kind or (vector and wanted == "number")):
            need = (
                "one text column" if wanted == "text" else f"{self.width:,} numeric columns or one embedding"
            )
            raise InputError(
                f"The {self.rows_of} is an array without column names, so the pool must have {need}, but it has "
                f"{listing(c.name for c in chosen)}. Name the pool's columns with features=[...], or give the "
                f"{self.rows_of} as a frame."
            )
        return tuple(column.name for column in chosen)

    @staticmethod
    def _named(pool: Schema, name: str) -> Column:
        found = pool.find(name)
        if found is None:
            raise missing_column(name, pool.names, "the pool")
        return found

    def convert(self, rows: Rows, names: Sequence[str] | None, *, first_row: int, what: str) -> Converted:
        """Return rows in the learner's form and one memory layout, checked for missing and infinite values.

        Args:
            rows: a run of rows.
            names: its feature columns, as `match` gave them.
            first_row: the number of the first of these rows, for error messages.
            what: "pool" or "labeled", for error messages.
        """
        X, check = self.convert_unchecked(rows, names, first_row=first_row, what=what)
        check()
        # One memory layout, whatever the pool's: a product's bits may depend on it.
        return Converted(np.ascontiguousarray(X) if self.form == "matrix" else X)

    def convert_unchecked(
        self, rows: Rows, names: Sequence[str] | None, *, first_row: int, what: str
    ) -> Converted:
        """Return rows in the learner's form, in any memory layout, and what checks their values.

        For those who find out on the way whether all values are finite: the check is one more pass over them.
        """
        origin = _Origin(what, first_row)
        if isinstance(rows, nw.DataFrame):
            frame = rows.select(list(names or ()))
            return self._convert_frame(frame, replace(origin, frame=frame))
        if self.form == "text":
            return Converted(np.array([_text(each) for each in rows], dtype=object))
        if self.form == "objects":
            return Converted(rows)
        return self._numbers(rows if isinstance(rows, sparse.csr_array) else _as_floats(rows, origin), origin)

    def _convert_frame(self, frame: Frame, origin: _Origin) -> Converted:
        if self.form == "table":
            return Converted(frame, lambda: self._check_table(frame, origin))
        if self.form == "frame":
            return Converted(to_backend(frame, self.backend), lambda: self._check_table(frame, origin))
        if self.form == "text":
            return Converted(joined_texts(frame))
        columns = _as_columns(frame.to_native()) if frame.implementation.is_pyarrow() else None
        return self._numbers(to_matrix(frame, origin) if columns is None else columns, origin)

    def _numbers(self, X: Matrix | ColumnBlock, origin: _Origin) -> Converted:
        self._check_width(X, self.width, origin)
        if isinstance(X, sparse.csr_array) and self.form != "sparse":
            X = X.toarray()
        elif self.form == "sparse":
            X = sparse.csr_array(np.asarray(X) if isinstance(X, ColumnBlock) else X)

        def check() -> None:
            rows = np.asarray(X) if isinstance(X, ColumnBlock) else X
            check_finite(rows, origin, missing=self.missing)

        return Converted(X, check)

    def _check_table(self, frame: Frame, origin: _Origin) -> None:
        numeric = [c for c in self.columns or () if c.kind in {"number", "embedding"}]
        if numeric:
            table = frame.select([column.name for column in numeric])
            X = to_matrix(table, origin)
            self._check_width(X, sum(column.width or 1 for column in numeric), origin)
            check_finite(X, replace(origin, frame=table), missing=self.missing)

    def _check_width(self, X: Matrix | ColumnBlock, width: int, origin: _Origin) -> None:
        if X.shape[1] != width:
            raise InputError(
                f"{origin.row(0)} has {X.shape[1]:,} features and the {self.rows_of} has {width:,}. "
                "Give both the same columns in the same order."
            )


@dataclass(frozen=True)
class _Origin:
    """Where rows came from, so that an error can name the row and the column."""

    what: str
    first_row: int = 0
    frame: Frame | None = None

    def row(self, row: int) -> str:
        return f"{self.what.capitalize()} row {self.first_row + row:,}"

    def cell(self, row: int, column: int) -> str:
        if self.frame is None:
            return f"{self.row(row)}, column {column:,}"
        labels: list[str] = []
        for each in schema_of(self.frame).columns or ():
            width = each.width or 1
            vector = each.kind == "embedding"
            labels += [f"{each.name!r}[{i}]" for i in range(width)] if vector else [repr(each.name)]
        return f"{self.row(row)}, column {labels[column]}"


def check_finite(X: Matrix, origin: _Origin, *, missing: bool) -> None:
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
    raise InputError(f"{origin.cell(row, column)} {problem}. {fix}.")


def _as_floats(X: NDArray[Any], origin: _Origin) -> NDArray[Any]:
    if X.dtype in {np.dtype(np.float32), np.dtype(np.float64)}:
        return X
    if X.dtype.kind in "iub":
        return X.astype(np.float64)
    if X.dtype.kind not in "fO":
        raise InputError(f"The {origin.what} array holds {X.dtype}, not numbers. Convert it to float64.")
    try:
        return X.astype(np.float64)
    except (TypeError, ValueError):
        pass
    for row, column in np.ndindex(X.shape):
        try:
            float(X[row, column])
        except (TypeError, ValueError):
            raise InputError(
                f"{origin.cell(row, column)} is {X[row, column]!r}, which is not a number. "
                "Use a learner that encodes it, or preprocess='auto' with a data frame."
            ) from None
    raise AssertionError("every cell converts, yet the array does not")


def to_matrix(frame: Frame, origin: _Origin | None = None) -> NDArray[Any]:
    """Return (n, D) floats of numeric and embedding columns, column by column; missing values become NaN."""
    origin = origin or _Origin("")
    parts: list[NDArray[Any]] = []
    for values in frame.iter_columns():
        if column_of(values.name, values).kind == "embedding":
            parts.append(_embedding(values, values.name, origin))
        else:
            parts.append(_numbers(values)[:, np.newaxis])
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


def _as_columns(table: pa.Table) -> ColumnBlock | None:
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
    wanted = nw.Float32 if values.dtype == nw.Float32 else nw.Float64
    return np.asarray(values.cast(wanted).to_numpy())


def _embedding(values: nw.Series[Any], name: str, origin: _Origin) -> NDArray[Any]:
    arrow = values.to_arrow()
    arrow = arrow.combine_chunks() if hasattr(arrow, "combine_chunks") else arrow
    if arrow.null_count:
        row = int(np.flatnonzero(arrow.is_null().to_numpy(zero_copy_only=False))[0])
        raise InputError(f"{origin.row(row)}, column {name!r} is missing. Fill it or drop the row.")
    lengths = arrow.value_lengths().to_numpy(zero_copy_only=False)
    if len(lengths) and (lengths != lengths[0]).any():
        row = int(np.flatnonzero(lengths != lengths[0])[0])
        raise InputError(
            f"{origin.row(row)}, column {name!r} holds {int(lengths[row]):,} numbers and the rows before it "
            f"hold {int(lengths[0]):,}. An embedding needs the same width in every row."
        )
    flat = np.asarray(arrow.flatten().to_numpy(zero_copy_only=False))
    if flat.dtype != np.float32:
        flat = flat.astype(np.float64)
    return flat.reshape(len(arrow), -1)


def text_array(values: nw.Series[Any]) -> NDArray[Any]:
    """Return a 1-D array of Python strings; a missing one becomes the empty string."""
    # Nearly every cell is a text already, and a function call for each would be most of the time.
    return np.array([each if type(each) is str else _text(each) for each in values.to_list()], dtype=object)


def joined_texts(frame: Frame) -> NDArray[Any]:
    """Return a 1-D array of Python strings: the texts of each row, one to a line."""
    texts = [text_array(values) for values in frame.iter_columns()]
    if len(texts) == 1:
        return texts[0]
    return np.array(["\n".join(each) for each in zip(*texts, strict=True)], dtype=object)


def _text(value: Any) -> str:
    return "" if is_missing(value) else str(value)


def to_backend(frame: Frame, backend: nw.Implementation | None) -> Any:
    """Return a frame of this kind, in one memory layout; an Arrow table if there is no kind."""
    if backend is None or backend.is_pyarrow():
        return frame.to_arrow()
    if backend.is_polars():
        return frame.to_polars()
    pandas = frame.to_pandas().reset_index(drop=True)
    # Built anew from its columns: a slice of one array and a join of chunks differ in memory layout, which
    # reaches the learner's matrix products, and their bits.
    return type(pandas)({name: pandas[name] for name in pandas.columns})

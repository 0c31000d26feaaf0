"""What rows are kept in and which columns they have, known before a model sees them."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Iterable, Sequence, Sized
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Literal, TypeAlias, cast

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse

from minmargin.data.containers import dense, holds_objects, is_dict, read_whole, table_of_arrays, unwrap
from minmargin.data.conversion import Conversion
from minmargin.data.rows import Frame, Rows
from minmargin.errors import InputError, is_unicode, listing, nearest, not_unicode
from minmargin.properties import cached_property

#: What a column can serve as; one without any value (empty) can serve as anything.
Kind: TypeAlias = Literal["number", "text", "embedding", "date", "empty", "other"]

#: What a date tells: its year, month, weekday and hour, and the days from 1970 on.
DATE_PARTS = ("year", "month", "weekday", "hour", "days")

#: Types that tell what a column can serve as, and how many numbers a value gives.
_KINDS: tuple[tuple[Kind, Any, int], ...] = (
    ("number", nw.Boolean, 1),
    ("text", (nw.String, nw.Categorical, nw.Enum), 1),
    ("date", (nw.Date, nw.Datetime), len(DATE_PARTS)),
    ("empty", nw.Unknown, 1),
)

#: Types that do not tell what a column holds: a value has to be looked at.
_UNTOLD = (nw.Object, nw.List, nw.Unknown)

#: Types of Python's values in a column of objects that serve as numbers, or as dates.
_NUMBERS = (bool, int, float, Decimal, np.bool_, np.integer, np.floating)
_DATES = (dt.date, np.datetime64)


@dataclass(frozen=True)
class Column:
    """A column of a frame or file.

    Attributes:
        name: its name.
        kind: what it serves as, once it is converted.
        type_name: of the values as they came.
        width: how many numbers a value gives; None for an embedding whose type does not fix it.
        conversion: what becomes of the values before a learner sees them; None: nothing.
    """

    name: str
    kind: Kind
    type_name: str
    width: int | None = 1
    conversion: Conversion | None = None

    @property
    def is_free_text(self) -> bool:
        """Whether it was declared to be read word by word."""
        return self.conversion is not None and self.conversion.to == "text"

    def read_by(self, conversion: Conversion | None) -> Column:
        """Return the column as it is once its values are converted."""
        if conversion is None:
            return self
        kind: Kind = conversion.to if conversion.to in {"number", "date"} else "text"
        return replace(self, kind=kind, width=len(DATE_PARTS) if kind == "date" else 1, conversion=conversion)


@dataclass(frozen=True)
class Schema:
    """What is known of rows before reading them: named columns, or the shape of an array.

    Attributes:
        columns: the columns of a frame or file; None for an array.
        shape: the shape of an array, or of its first chunk; None for named columns.
        parsed: False if types were guessed from text (CSV) and another may be asked for.
        what: what errors call these rows.
    """

    columns: tuple[Column, ...] | None
    shape: tuple[int, ...] | None = None
    parsed: bool = True
    what: str = "The pool"

    @property
    def row_shape(self) -> tuple[int, ...] | None:
        """The shape of one row of an array; None for named columns."""
        return None if self.shape is None else self.shape[1:]

    @property
    def width(self) -> int | None:
        """The features of an array, if it is a table; None for named columns."""
        return None if self.shape is None else (*self.shape, 1)[1]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The column names; none for an array."""
        return tuple(column.name for column in self.columns or ())

    def find(self, name: str) -> Column | None:
        """Return the column called `name`, or None."""
        return self._by_name.get(name)

    @cached_property
    def _by_name(self) -> dict[str, Column]:
        return {column.name: column for column in self.columns or ()}


def as_rows(data: Any, what: str) -> Rows:
    """Return in-memory data as an array, a CSR array or a narwhals frame; `what` names it in errors.

    An array may have more than two dimensions: few learners take one, and the others refuse it.
    """
    data = read_whole(unwrap(data, what), what)
    if is_dict(data):
        data = table_of_arrays(data, what)
    if sparse.issparse(data):
        rows = sparse.csr_array(cast("Any", data))
        return rows if rows.has_sorted_indices else rows.sorted_indices()
    if isinstance(data, np.ma.MaskedArray):
        raise InputError(f"{what} is a masked array. Use X.filled(np.nan), so that missing cells are NaN.")
    if isinstance(data, (list, tuple)) and not data:
        raise InputError(f"{what} has no rows.")
    if isinstance(data, (list, tuple)):
        text = len(data) > 0 and all(isinstance(each, str) for each in data)
        data = np.array(data, dtype=object) if text else _as_array(data, what)
    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    if not isinstance(data, np.ndarray):
        frame = _as_frame(data, what)
        if frame is not None:
            return frame
        data = np.asarray(data)
    if isinstance(data, np.matrix):  # which multiplies in its own way
        data = np.asarray(data)
    if data.ndim == 1 and data.dtype.kind in "OUT":
        return cast("Rows", data.astype(object))
    if data.ndim < 2:
        raise not_a_table(what, data.shape)
    return cast("Rows", data)


def _as_array(rows: Sequence[Any], what: str) -> NDArray[Any]:
    """Return a list of rows as an array, or say which row does not fit."""
    try:
        return np.asarray(rows)
    except (ValueError, TypeError, RuntimeError) as error:
        lengths = [len(row) if isinstance(row, Sized) else None for row in rows]
        odd = next((row for row, length in enumerate(lengths) if length != lengths[0]), None)
        if odd is None or lengths[0] is None or lengths[odd] is None:
            reason = str(error).partition(".")[0]
            raise InputError(
                f"{what} is a list that goes into no array ({reason}). Give an array."
            ) from error
        raise InputError(
            f"Row {odd:,} of {what[0].lower()}{what[1:]} has {lengths[odd]:,} values and the rows before it have "
            f"{lengths[0]:,}. Give every row the same features."
        ) from error


def not_a_table(what: str, shape: Sequence[int]) -> InputError:
    """Return the error for an array that is not one of rows and features, where only that will do."""
    return InputError(
        f"{what} has shape {tuple(shape)}, but rows and features need two dimensions. "
        "Use X.reshape(len(X), -1)."
    )


def _as_frame(data: Any, what: str) -> Frame | None:
    """Return a narwhals frame of a data frame, None for what is none (a series, a list of lists)."""
    if nw.dependencies.is_into_series(data):
        return None
    try:
        frame: Frame = nw.from_native(data, eager_only=True)
        names = frame.columns
    except nw.exceptions.DuplicateError:
        check_distinct_names(data.column_names if isinstance(data, pa.Table) else data.columns, what)
        raise
    except TypeError as error:
        if isinstance(nw.from_native(data, pass_through=True), nw.LazyFrame):
            raise InputError(f"{what} is a lazy frame. Use .collect(), or pass its files.") from error
        if hasattr(data, "__array__"):
            return None
        raise InputError(
            f"{what} is a {type(data).__name__}, which cannot be read as rows. Use a numpy array, a scipy "
            "sparse matrix, a pandas, polars or pyarrow frame, or a path to Parquet, CSV or Feather files."
        ) from error
    if not all(isinstance(name, str) for name in names):
        raise InputError(
            f"{what} has column names that are not strings ({listing(names, most=3)}). "
            "Use X.columns = X.columns.astype(str)."
        )
    for name in names:
        if not is_unicode(name):
            raise not_unicode(f"{what} has a column called", name)
    return frame


def check_distinct_names(names: Iterable[object], what: str) -> None:
    """Raise an error if two columns have the same name."""
    repeated = sorted(str(name) for name, times in Counter(names).items() if times > 1)
    if repeated:
        raise InputError(f"{what} has several columns called {listing(repeated)}. Rename them.")


def schema_of(rows: Rows, what: str = "The pool") -> Schema:
    """Return the schema of rows in memory; `what` names them in errors."""
    if isinstance(rows, nw.DataFrame):
        objects = rows.implementation.is_pandas_like()
        types = rows.schema.items()  # to ask for each column would take long where there are 100,000
        return Schema(
            tuple(
                column_of(name, rows[name])
                if isinstance(dtype, (*_UNTOLD, nw.String) if objects else _UNTOLD)
                else _typed(name, dtype)
                for name, dtype in types
            )
        )
    return Schema(None, tuple(int(n) for n in rows.shape), what=what)


def column_of(name: str, values: nw.Series[Any]) -> Column:
    """Return what is known of a column in memory."""
    column = _typed(name, values.dtype)
    if isinstance(values.dtype, nw.Unknown):
        return _untyped(column, values)
    objects = holds_objects(values)
    if not objects and not isinstance(values.dtype, _UNTOLD):
        return column
    known = values.drop_nulls()
    if not len(known):
        return replace(column, kind="empty")
    kind, width = _kind_of_value(known[0], column, objects=objects)
    if objects and kind not in {"text", "embedding"}:
        column = replace(column, type_name=type(known[0]).__name__)
    return replace(column, kind=kind, width=width)


def _kind_of_value(value: Any, column: Column, *, objects: bool) -> tuple[Kind, int | None]:
    """Return what a column with such a value can serve as, and its width; `objects` if pandas keeps it as objects."""
    if isinstance(value, str):  # pandas may keep strings, and keeps vectors, as Python objects
        return "text", 1
    if column.kind == "embedding" or isinstance(value, (list, tuple, np.ndarray)):
        return "embedding", len(value)
    if objects and isinstance(value, _NUMBERS):
        return "number", 1
    return ("date", len(DATE_PARTS)) if objects and isinstance(value, _DATES) else ("other", 1)


def _untyped(column: Column, values: nw.Series[Any]) -> Column:
    """Return a column of a type that narwhals has no name for: of nothing, or one of pandas's own."""
    if values.null_count() == len(values):
        return column
    native = values.to_native()
    own = str(getattr(native, "dtype", getattr(native, "type", values.dtype)))
    kind, width = kind_of(dense(values[:1]).dtype)
    return replace(column, kind="other" if kind == "empty" else kind, type_name=own, width=width)


def _typed(name: str, dtype: nw.dtypes.DType) -> Column:
    """Return what the type of a column tells."""
    kind, width = kind_of(dtype)
    return Column(name, kind, str(dtype), width)


def kind_of(dtype: nw.dtypes.DType) -> tuple[Kind, int | None]:
    """Return what a column of this type can serve as, and its width."""
    for kind, types, width in _KINDS:
        if isinstance(dtype, types):
            return kind, width
    if isinstance(dtype, nw.Array) and _is_numeric(dtype.inner) and len(dtype.shape) == 1:
        return "embedding", dtype.size
    if isinstance(dtype, nw.List) and _is_numeric(dtype.inner):
        return "embedding", None
    return ("number", 1) if dtype.is_numeric() else ("other", 1)


def _is_numeric(dtype: Any) -> bool:
    return isinstance(dtype, nw.dtypes.DType) and dtype.is_numeric()


def is_missing(value: Any) -> bool:
    """Return whether a Python value stands for a missing one: None, NaN, or one of pandas's own."""
    # pandas's answer no comparison with yes or no, so they are known by their names.
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        return True
    try:
        return bool(value != value)
    except (ValueError, RuntimeError):  # an array, or a tensor
        return False


def require_numbers(columns: Sequence[Column], declare: Callable[[Column], str] = lambda _: "") -> None:
    """Raise an error that names the first column which holds no numbers.

    `declare(column)` is how texts that look like numbers are declared to be some; empty: they do not.
    """
    for column in columns:
        if column.kind not in {"number", "embedding"}:
            fix = "Leave"
            if column.kind == "text" and (mend := declare(column)):
                raise InputError(f"Column {column.name!r} holds texts that look like numbers, {mend}.")
            if column.kind == "text":
                fix = "Use preprocess='auto' for categories or learner='text' for free text, leave"
            if column.kind == "date":
                fix = "Use preprocess='auto', which makes numbers of dates, leave"
            raise InputError(
                f"Column {column.name!r} is {column.type_name}, which is not a number. {fix} it out with "
                "features=[...], or use a scikit-learn pipeline that encodes it."
            )


def missing_column(name: str, names: Sequence[str], where: str) -> InputError:
    """Return the error for a column that was asked for and is not there."""
    return InputError(
        f"Column {name!r} is not in {where} (columns: {listing(names, most=20)}).{nearest(name, names)}"
    )

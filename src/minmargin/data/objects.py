"""Columns as Arrow keeps them, whatever a data frame keeps them as; among that are Python objects of any type.

A column of one kind of value goes into an Arrow column. One of several is an error, with an example of each.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from minmargin.data.containers import dense, holds_objects
from minmargin.data.rows import Frame
from minmargin.data.schema import Column, column_of, is_missing
from minmargin.errors import ColumnError, not_unicode

_NUMBERS = (int, float, Decimal, np.integer, np.floating)
#: Nearly all columns of objects hold nothing else, and are not looked at value by value.
_PLAIN = {str, type(None)}
_LISTS = (list, tuple, np.ndarray)
#: What comes of several kinds of values, and what is no kind of its own.
_MENDS = (
    ({"a boolean", "a number"}, "Use .astype(float)"),
    ({"a day", "a moment", "a moment with a time zone"}, "Use pd.to_datetime(..., utc=True)"),
)
_DERIVED = {
    "period": "use .dt.to_timestamp()",
    "interval": "use .astype(str)",
    "complex": "use its real and its imaginary part",
    "Duration": "use .dt.total_seconds()",
}
#: Types of Arrow that few of its functions take, and whose values are read as texts.
_TYPES_SHOWN_AS_TEXTS = {"pandas.period", "pandas.interval", "arrow.uuid"}


def chunks_of(values: nw.Series[Any], what: str = "") -> pa.ChunkedArray:
    """Return a column as Arrow keeps it; `what` names the rows in errors, if they are not only some of these."""
    values = dense(values)
    if holds_objects(values) or isinstance(values.dtype, nw.Object):
        check_one_type(values, what)
    try:
        arrow = values.to_arrow()
    except UnicodeEncodeError as error:
        raise not_unicode(f"Column {values.name!r} holds the text", error.object) from error
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError) as error:
        arrow = _as_numbers(values)
        if arrow is None:
            raise _unknown(values, what) from error
    arrow = arrow if isinstance(arrow, pa.ChunkedArray) else pa.chunked_array([arrow])
    kind = arrow.type.value_type if pa.types.is_dictionary(arrow.type) else arrow.type
    if getattr(kind, "extension_name", "") in _TYPES_SHOWN_AS_TEXTS:
        return _as_texts(values)
    return arrow


def chunks_or_texts(values: nw.Series[Any]) -> pa.ChunkedArray:
    """Return a column as Arrow keeps it, as texts if its values are of several types: to be carried along."""
    try:
        return chunks_of(values)
    except ColumnError:
        return _as_texts(values)


def _as_texts(values: nw.Series[Any]) -> pa.ChunkedArray:
    texts = [None if is_missing(value) else str(value) for value in values.to_list()]
    return pa.chunked_array([pa.array(texts, pa.string())])


def _as_numbers(values: nw.Series[Any]) -> pa.Array | None:
    """Return numbers that Arrow has no one type for, such as decimals among floats; None if they are no numbers."""
    column = column_of(values.name, values)
    if column.kind != "number":
        return None
    whole = not holds_objects(values)  # of 128 bits
    try:
        return values.cast(nw.Int64 if whole else nw.Float64).to_arrow()
    except Exception:  # noqa: BLE001 - polars has errors of its own for numbers that are too large
        return None


def check_one_type(values: nw.Series[Any], what: str = "") -> None:
    """Raise an error if a column of objects holds values of several types; `what` names the rows."""
    if not holds_objects(values):
        raise _unknown(values, what)
    found = _mixture(values.to_list())
    if found is None:
        return
    (first, one), (second, other) = found
    places = (f"row {first:,} holds ", f"row {second:,} holds ") if what else ("", "")
    kinds = _kind(one), _kind(other)
    mend = next((mend for known, mend in _MENDS if known.issuperset(kinds)), "Use .astype(str)")
    raise ColumnError(
        f"Column {values.name!r}{f' of {what}' if what else ''} mixes types: {places[0]}{one!r}, {kinds[0]}, and "
        f"{places[1]}{other!r}, {kinds[1]}. {mend}, so that all are of one type."
    )


def check_one_type_each(frame: Frame, names: Iterable[str], what: str) -> None:
    """Raise an error if one of these columns of a frame has values of several types; `what` names the rows."""
    for name in names:
        if holds_objects(frame[name]):
            check_one_type(frame[name], what)


def mixes_types(values: nw.Series[Any]) -> bool:
    """Return whether a column holds values of several types."""
    return holds_objects(values) and _mixture(values.to_list()) is not None


def how_to_derive(column: Column) -> str:
    """Return what makes a feature of a column that is none as it is."""
    known = (mend for kind, mend in _DERIVED.items() if column.type_name.startswith(kind))
    return next(known, "derive numbers from it")


def _mixture(values: list[Any]) -> tuple[tuple[int, Any], tuple[int, Any]] | None:
    """Return the places and values of the first two that are not of one kind; None if all are."""
    types = set(map(type, values)) - {type(None)}
    if types <= _PLAIN or all(issubclass(each, _LISTS) for each in types):
        return None
    first: tuple[int, Any] | None = None
    for place, value in enumerate(values):
        if value is None or is_missing(value):
            continue
        if first is None:
            first = place, value
        elif _kind(value) != _kind(first[1]):
            return first, (place, value)
    return None


def _kind(value: Any) -> str:
    """Return what a value of a column of objects is called: values of one name go into one column.

    >>> _kind(Decimal("1.5")) == _kind(2), _kind(True), _kind("A7")
    (True, 'a boolean', 'a text')
    """
    if isinstance(value, (bool, np.bool_)):
        return "a boolean"
    if isinstance(value, _NUMBERS):
        return "a number"
    if isinstance(value, str):
        return "a text"
    if isinstance(value, (dt.datetime, np.datetime64)):
        return "a moment" if getattr(value, "tzinfo", None) is None else "a moment with a time zone"
    return "a day" if isinstance(value, dt.date) else f"a {type(value).__name__}"


def _unknown(values: nw.Series[Any], what: str) -> ColumnError:
    """Return the error for a column of a type that Arrow has no counterpart of."""
    column = column_of(values.name, values)
    hint = how_to_derive(column) if column.type_name.startswith("complex") else "use .astype(str)"
    if values.implementation.is_polars():
        hint = (
            "make texts of its values"
            if isinstance(values.dtype, nw.Object)
            else "cast it to Float64 or String"
        )
    return ColumnError(
        f"Column {values.name!r}{f' of {what}' if what else ''} is {column.type_name}, which cannot be read. Leave it "
        f"out, or {hint}."
    )

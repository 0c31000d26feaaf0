"""Rows that must not be picked, such as those that are being labeled: named by their number or by their id.

Excluded rows stay where they are. They are read, numbered and handed to models like all others, so that nothing else
changes; they only never enter what is kept. The batch is therefore the one of a pool where they score infinity.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, NamedTuple, cast

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from minmargin.data.ids import without_point_zero
from minmargin.data.objects import chunks_of, chunks_or_texts
from minmargin.data.rows import Block, Frame, count_rows
from minmargin.data.schema import Column, Kind
from minmargin.errors import InputError, not_unicode, warn
from minmargin.manifest import fingerprint_values

# Arrow builds its table of ids anew for every block. From so many ids on, one that is built once is faster.
_MANY_IDS = 1 << 18
_CONVERSION_ERRORS = (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError)


class Named(NamedTuple):
    """Rows that are out, where more is known of them than the ids or row numbers themselves.

    Attributes:
        values: the ids or row numbers.
        by_row: whether they are row numbers, whatever column holds the ids.
        n_pool_rows: how many rows the pools had that the numbers are of, as far as is known.
        expected: whether the pool should have all of them.
    """

    values: Any
    by_row: bool = False
    n_pool_rows: tuple[int, ...] = ()
    expected: bool = True


@dataclass(frozen=True)
class Exclusion:
    """Which rows of a pool are out.

    Attributes:
        column: the pool's column that holds ids; None if rows are named by their numbers.
        values: the ids or row numbers, each once; numbers are sorted.
        expected: those that the pool should have; None: all of them.
    """

    column: str | None
    values: pa.Array
    expected: pa.Array | None = None
    _met: list[pa.Array] = field(default_factory=list, repr=False, compare=False)
    _lookups: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def by_row(cls, exclude: Any, n_rows: int | None) -> Exclusion:
        """Return the exclusion of rows by number; `n_rows` is the length of the pool, if it is known."""
        values = _values_of(exclude, "row numbers")
        rows = _whole_numbers(values)
        if rows is None or not pa.types.is_int64(rows.type):
            raise InputError(
                f"exclude holds {_shown(values)}, and without id_column it must hold row numbers. "
                "Name the pool's column that holds these ids as id_column."
            )
        rows = pa.array(np.unique(rows.to_numpy()))
        wrong = [row for row in rows[:1].to_pylist() if row < 0]
        if n_rows:
            wrong += [row for row in rows[-1:].to_pylist() if row >= n_rows]
        if wrong:
            length = f" to {n_rows - 1:,}" if n_rows else ""
            raise InputError(
                f"exclude holds {wrong[0]:,}, and the pool's rows are numbered from 0{length}. "
                "Name the pool's column as id_column if these are ids."
            )
        return cls(None, rows)

    @classmethod
    def by_id(cls, exclude: Any, column: Column, read_as: Kind | None) -> Exclusion:
        """Return the exclusion of rows by id.

        Args:
            exclude: the ids.
            column: what is known of the pool's id column.
            read_as: what it is read as: a number, a text, or None for whatever it is.
        """
        values = _values_of(exclude, f"ids of column {column.name!r}")
        kind = read_as or column.kind
        booleans = pa.types.is_boolean(values.type)
        if kind == "number" and column.type_name.startswith("Decimal") and not booleans:
            return cls(column.name, _decimals(values, column))
        if kind == "number" and not (pa.types.is_decimal(values.type) or booleans):
            if _is_text(values.type) and column.type_name.startswith("Float"):
                values = _floats(values, column)
            numbers = _whole_numbers(values)
            if numbers is None and not pa.types.is_floating(values.type):
                raise _cannot_match(values, column.name, column.type_name)
            values = values if numbers is None else numbers
            return cls(column.name, pa.array(np.unique(values.to_numpy())))
        if column.type_name == "Binary" and _is_text(values.type):
            values = _from_base64(values, column)
        if kind == "text" and len(values) and not _is_text(values.type):
            raise _cannot_match(values, column.name, "texts")
        return cls(column.name, values)

    def not_expected(self) -> Exclusion:
        """Return the same, where the pool need not have any of them."""
        return replace(self, expected=self.values[:0])

    def joined(self, more: Exclusion) -> Exclusion:
        """Return the exclusion of these ids and more; the pool should have of these what it should have had before."""
        if (self.column, self.values.type) != (more.column, more.values.type):
            raise InputError(f"Ids of types {self.values.type} and {more.values.type} cannot be joined.")
        values = pa.concat_arrays([self.values, more.values]).unique()
        if _is_number(values.type):
            values = pa.array(np.unique(values.to_numpy()))
        expected = self.values if self.expected is None else self.expected
        return replace(self, values=values, expected=expected, _lookups={}, _met=[])

    def __len__(self) -> int:
        """Return how many row numbers or ids are out, whether or not the pool has them."""
        return len(self.values)

    @property
    def n_certain(self) -> int:
        """How many rows are certain to be out before the pool is read."""
        return len(self) if self.column is None else 0

    def places(self, block: Block) -> NDArray[np.intp]:
        """Return where in a block the rows stand that are out, in order."""
        if self.column is None:
            rows = self.values.to_numpy()
            if block.scattered is not None:
                return np.flatnonzero(np.isin(block.scattered, rows))
            start, stop = np.searchsorted(rows, [block.first_row, block.first_row + count_rows(block.data)])
            return cast("NDArray[np.intp]", rows[start:stop] - block.first_row)
        ids = _to_arrow(chunks_or_texts(cast("Frame", block.data)[self.column]))  # as a batch has them
        out = self._are_out(ids)
        if out.any():
            self._met.append(ids.filter(pa.array(out)).unique())
        return np.flatnonzero(out)

    def warn_of_absent(self, n_rows: int, *, read_here: bool) -> None:
        """Warn of what the pool should have and has not, now that it was read, and `n_rows` of its rows are out.

        Ids that were met elsewhere are not known: then as many are missing, at least, as there are more ids than rows,
        unless rows are out for another reason, too.
        """
        expected = self.values if self.expected is None else self.expected
        if not len(expected):
            return
        if self.column is None:
            if n_rows < len(self):
                warn(
                    f"exclude holds {len(self):,} row numbers, of which the pool has {n_rows:,} (the last is "
                    f"{self.values[-1].as_py():,}). Name the pool's column as id_column if these are ids."
                )
            return
        absent = self._absent(expected) if read_here else None
        n_absent = (len(self) - n_rows if self.expected is None else 0) if absent is None else len(absent)
        if n_absent > 0:
            such = "" if absent is None else f" (such as {absent[0].as_py()!r})"
            none = n_absent == len(expected)
            are = (
                "none of them is" if none else f"{n_absent:,} of them {'is' if n_absent == 1 else 'are'} not"
            )
            fix = " Give the ids as they stand in the pool." if none else ""
            warn(
                f"exclude holds {len(expected):,} ids, and {are} in column {self.column!r} of the pool{such}.{fix}"
            )

    def _absent(self, expected: pa.Array) -> pa.Array | None:
        """Return the ids that were expected and not met; None if they are of another type than the pool's."""
        if not self._met:
            return expected
        try:
            met = pa.concat_arrays(self._met).unique().cast(expected.type)
            return expected.filter(pc.invert(pc.is_in(expected, value_set=met)))
        except _CONVERSION_ERRORS:
            return None

    def count(self, ids: pa.ChunkedArray) -> int:
        """Return how many of these ids are out."""
        return int(self._are_out(_to_arrow(ids)).sum())

    def fingerprint(self) -> str:
        """Return a hash of all that is out."""
        return fingerprint_values(self.values.take(pc.sort_indices(self.values)))

    def _are_out(self, ids: pa.ChunkedArray) -> NDArray[np.bool_]:
        kind = ids.type
        if not len(self) or pa.types.is_null(kind):
            return np.zeros(len(ids), dtype=bool)
        if _is_number(kind) and _is_number(self.values.type):
            found = self._among_numbers(np.asarray(ids.fill_null(0).to_numpy()))
            return found & ids.is_valid().to_numpy() if ids.null_count else found
        if _is_number(kind) or (_is_text(kind) and not _is_text(self.values.type)):
            raise _cannot_match(self.values, str(self.column), "texts" if _is_text(kind) else str(kind))
        if len(self) >= _MANY_IDS and _is_text(kind):
            known = self._lookup("texts", lambda: frozenset(self.values.to_pylist()))
            return np.fromiter(map(known.__contains__, ids.to_pylist()), bool, len(ids))
        return np.asarray(pc.is_in(ids, value_set=self._like(kind)).to_numpy())

    def _among_numbers(self, ids: NDArray[Any]) -> NDArray[np.bool_]:
        known = self._lookup(ids.dtype, lambda: _as_type(self.values.to_numpy(), ids.dtype))
        if not len(known):
            return np.zeros(len(ids), dtype=bool)
        at = np.minimum(np.searchsorted(known, ids), len(known) - 1)
        return np.asarray(known[at] == ids)

    def _like(self, kind: pa.DataType) -> pa.Array:
        """Return the ids in the type of the pool's column."""
        try:
            return self._lookup(kind, lambda: self.values.cast(kind))
        except _CONVERSION_ERRORS as error:
            raise _cannot_match(self.values, str(self.column), str(kind)) from error

    def _lookup(self, key: Any, make: Any) -> Any:
        """Return what the ids are compared with, made once (or twice, if two threads ask at the same time)."""
        if key not in self._lookups:
            self._lookups[key] = make()
        return self._lookups[key]


def _values_of(exclude: Any, what: str) -> pa.Array:
    """Return what the caller gave as an Arrow array without nulls, each value once."""
    if isinstance(exclude, (str, bytes)) or nw.dependencies.is_into_dataframe(exclude):
        raise _no_values(exclude, what)
    try:
        values = _as_array(exclude)
    except UnicodeEncodeError as error:
        raise not_unicode("exclude holds", error.object) from error
    except (*_CONVERSION_ERRORS, TypeError, OverflowError) as error:
        raise _no_values(exclude, what) from error
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if pa.types.is_float16(values.type):
        values = _widened(values)
    if pa.types.is_boolean(values.type):
        raise InputError(f"exclude is a mask of bools. Use np.flatnonzero(mask), or give {what}.")
    n_missing = values.null_count
    if pa.types.is_floating(values.type):
        n_missing += int(np.isnan(values.drop_null().to_numpy()).sum())
    if n_missing:
        raise InputError(
            f"exclude has {n_missing:,} missing values, which name no row. Leave them out, or give {what} for all."
        )
    if _is_text(values.type):
        values = without_point_zero(values.cast(pa.large_string()))
    return values.unique()


def _as_array(exclude: Any) -> pa.Array:
    if isinstance(exclude, pa.ChunkedArray):
        return exclude.combine_chunks() if exclude.num_chunks != 1 else exclude.chunk(0)
    if isinstance(exclude, pa.Array):
        return exclude
    if nw.dependencies.is_into_series(exclude):
        return _as_array(chunks_of(nw.from_native(exclude, series_only=True)))
    if isinstance(exclude, np.ndarray):
        return pa.array(exclude)
    if not isinstance(exclude, Iterable):
        raise TypeError
    values = list(exclude)
    try:
        return pa.array(values)
    except OverflowError:
        return pa.array(values, pa.uint64())


def _decimals(values: pa.Array, column: Column) -> pa.Array:
    """Return numbers, or texts of them as our files have them, as decimals; their type is the narrowest that does."""
    whole = None if pa.types.is_decimal(values.type) else _whole_numbers(values)
    try:
        found = [Decimal(each) for each in (values if whole is None else whole).to_pylist()]
        return pa.array(found, None if found else pa.decimal128(38, 0))
    except (ArithmeticError, TypeError, *_CONVERSION_ERRORS) as error:
        raise _cannot_match(values, column.name, column.type_name) from error


def _floats(texts: pa.Array, column: Column) -> pa.Array:
    """Return the floats that texts are, as a CSV file has them."""
    try:
        return texts.cast(pa.float64())
    except _CONVERSION_ERRORS:
        raise _cannot_match(texts, column.name, column.type_name) from None


def _from_base64(texts: pa.Array, column: Column) -> pa.Array:
    """Return the bytes that texts stand for, as CSV and JSON files have them."""
    try:
        return pa.array([b64decode(each, validate=True) for each in texts.to_pylist()], pa.binary())
    except ValueError:
        raise _cannot_match(texts, column.name, "bytes") from None


def _whole_numbers(values: pa.Array) -> pa.Array | None:
    """Return values as int64, or uint64 where they need it; None if that would change what they say."""
    if pa.types.is_floating(values.type) and _largest(values) > 2.0**53:
        return None
    for kind in (pa.int64(), pa.uint64()):
        try:
            return values.cast(kind)
        except _CONVERSION_ERRORS:
            continue
    return None


def _widened(halves: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return numbers of 16 bits as such of 32: older versions of Arrow can do little with them."""
    return pa.array([None if each is None else float(each) for each in halves.to_pylist()], pa.float32())


def _largest(floats: pa.Array) -> float:
    return float(np.abs(floats.to_numpy().astype(np.float64)).max(initial=0.0))


def _as_type(values: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return sorted numbers in the type of a column, without those that it cannot hold."""
    if values.dtype.kind == "f":
        values = values.astype(np.float64)
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            held = values.astype(dtype)
        return np.unique(held[_are_equal(held, values)])
    if values.dtype.kind == "f":
        values = values[(np.abs(values) <= 2.0**53) & (values == np.floor(values))].astype(np.int64)
    limits = np.iinfo(dtype)
    return values[(values >= limits.min) & (values <= limits.max)].astype(dtype)


def _are_equal(floats: NDArray[Any], values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which floats are exactly the values that they were made of. To numpy, 2.0**53 is equal to 2**53 + 1."""
    floats = floats.astype(np.float64)
    if values.dtype.kind == "f":
        return np.asarray(floats == values)
    limits = np.iinfo(values.dtype)
    # The largest whole number is no float: what is rounded up to the next one is not to be cast back.
    inside = (floats >= float(limits.min)) & (floats < float(limits.max))
    return np.asarray(inside & (np.where(inside, floats, 0.0).astype(values.dtype) == values))


def _to_arrow(values: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if pa.types.is_float16(values.type):
        values = _widened(values)
    if _is_text(values.type):
        values = without_point_zero(values.cast(pa.large_string()))
    return values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values])


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _shown(values: pa.Array) -> str:
    kind = "texts" if _is_text(values.type) else str(values.type)
    return f"{kind} (such as {values[0].as_py()!r})"


def _no_values(exclude: Any, what: str) -> InputError:
    return InputError(
        f"exclude is a {type(exclude).__name__} that cannot be read as {what}. "
        "Give a list, an array or a series of them, or a batch."
    )


def _cannot_match(values: pa.Array, column: str, kind: str) -> InputError:
    if _is_text(values.type):  # those that are numbers would have done
        odd = values.filter(pc.invert(pc.match_substring_regex(values, "^[0-9]+$")))
        values = odd if len(odd) else values
    return InputError(
        f"exclude holds {_shown(values)}, and column {column!r} of the pool holds {kind}. "
        "Give the ids as they stand in the pool."
    )

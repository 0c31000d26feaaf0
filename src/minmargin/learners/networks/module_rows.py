"""What a module is given: rows as numbers in the shape and the type that it takes, or columns by their names."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, cast

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from minmargin.data.intake import Converted, Intake
from minmargin.data.rows import Frame, Rows
from minmargin.data.schema import Column, Schema, column_of, missing_column, require_numbers
from minmargin.errors import InputError, listing
from minmargin.labeled import LabeledSet

_LARGEST_WHOLE = 2.0**53  # rows pass through float64, which holds every whole number up to here


@dataclass(frozen=True)
class ShapedIntake(Intake):
    """How rows become flat numbers for a learner that knows their shape.

    Attributes:
        row_shape: the shape of a labeled row. An array as pool must have rows of the same.
        whole: whether all numbers must be whole.
    """

    row_shape: tuple[int, ...] = ()
    whole: bool = False

    def match(
        self, pool: Schema, *, features: Sequence[str] | None = None, reserved: Sequence[str] = ()
    ) -> tuple[str, ...] | None:
        """Return the pool's feature columns in the learner's order; None where the pool has no names."""
        theirs = pool.row_shape
        tables = theirs is not None and len(theirs) <= 1 and len(self.row_shape) == 1
        if theirs is None or self.columns is not None or tables:
            return super().match(pool, features=features, reserved=reserved)
        if theirs != self.row_shape:
            fix = f" Use pool.reshape{(-1, *self.row_shape)}." if math.prod(theirs) == self.width else ""
            raise InputError(
                f"The pool has rows of shape {theirs} and the labeled set has rows of shape {self.row_shape}."
                f"{fix or ' Give both the same.'}"
            )
        return None

    def convert_unchecked(
        self, rows: Rows, names: Sequence[str] | None, *, first_row: int, what: str
    ) -> Converted:
        """Return rows as (n, D) numbers, and what checks their values."""
        flat = rows.reshape(len(rows), -1) if isinstance(rows, np.ndarray) and rows.ndim > 2 else rows
        X, check = super().convert_unchecked(flat, names, first_row=first_row, what=what)
        if not self.whole:
            return Converted(X, check)

        def check_whole() -> None:
            check()
            numbers = np.asarray(X)
            wrong = _first_fraction(numbers)
            if wrong is not None:
                row, column = wrong
                raise InputError(
                    f"{what.capitalize()} row {first_row + row:,}, column {column:,} is {numbers[row, column]}, and "
                    "dtype='int64' takes whole numbers up to 2^53. Use dtype='float32', or mend it."
                )

        return Converted(X, check_whole)


@dataclass(frozen=True)
class NamedIntake(Intake):
    """How columns become numbers for a module that takes each by its name.

    Attributes:
        whole: for each column, whether all its numbers must be whole, as in the labeled set.
    """

    whole: tuple[bool, ...] = ()

    @classmethod
    def of(cls, labeled: LabeledSet, names: Sequence[str]) -> NamedIntake:
        """Return the form in which a module takes these columns of a labeled set."""
        if not isinstance(labeled.rows, nw.DataFrame):
            raise InputError(
                f"inputs names columns ({listing(names)}), and the labeled set is an array without names. Give a "
                "frame, files, or a dict of arrays."
            )
        by_name = {column.name: column for column in labeled.columns or ()}
        for name in names:
            if name not in by_name:
                raise missing_column(name, tuple(by_name), "the labeled set")
        columns = tuple(by_name[name] for name in names)
        require_numbers(columns, labeled.how_to_declare)
        width = sum(column.width or 1 for column in columns)
        whole = tuple(_holds_whole(labeled.rows[name]) for name in names)
        return cls("matrix", columns, width, whole=whole)

    def convert_unchecked(
        self, rows: Rows, names: Sequence[str] | None, *, first_row: int, what: str
    ) -> Converted:
        """Return rows as (n, D) numbers, one column after the other, and what checks their values."""
        # Each by itself: two columns whose lists have other lengths might make up for each other.
        parts = [
            self._convert_column(column, cast("Frame", rows), whole=whole, first_row=first_row, what=what)
            for column, whole in zip(self.columns or (), self.whole, strict=True)
        ]

        def check() -> None:
            for part in parts:
                part.check()

        return Converted(np.hstack([np.asarray(part.X) for part in parts]), check)

    def _convert_column(
        self, column: Column, frame: Frame, *, whole: bool, first_row: int, what: str
    ) -> Converted:
        where = f"{what.capitalize()} row"
        found = column_of(column.name, frame[column.name]).width
        if found is not None and found != column.width:
            raise InputError(
                f"{where} {first_row:,}, column {column.name!r} holds {found:,} numbers, and in the labeled set "
                f"{column.width:,}. Pad both to one length."
            )
        alone = Intake("matrix", (column,), column.width or 1)
        X, check = alone.convert_unchecked(frame, [column.name], first_row=first_row, what=what)

        def check_whole() -> None:
            check()
            numbers = np.asarray(X)
            wrong = _first_fraction(numbers) if whole else None
            if wrong is not None:
                row, place = wrong
                raise InputError(
                    f"{where} {first_row + row:,}, column {column.name!r} holds {numbers[row, place]}, and the labeled "
                    "set has whole numbers there, up to 2^53. Mend it."
                )

        return Converted(X, check_whole)


def _first_fraction(numbers: NDArray[Any]) -> tuple[int, int] | None:
    """Return the row and the column of the first number that float64 cannot carry to int64; None if there is none."""
    wrong = np.argwhere((numbers != np.floor(numbers)) | (np.abs(numbers) > _LARGEST_WHOLE))
    return (int(wrong[0, 0]), int(wrong[0, 1])) if len(wrong) else None


def _holds_whole(values: nw.Series[Any]) -> bool:
    """Return whether a column is of whole numbers, or of lists of them, by its type."""
    kind = values.to_arrow().type
    lists = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    inner = kind.value_type if any(is_one(kind) for is_one in lists) else kind
    return bool(pa.types.is_integer(inner) or pa.types.is_boolean(inner))


class ModuleRows(Protocol):
    """What makes a module's input of rows."""

    @property
    def size(self) -> int:
        """How many numbers a row has."""
        ...

    def vectors(self, X: NDArray[Any]) -> NDArray[Any]:
        """Return (n, D) the rows, as distances are measured between them."""
        ...

    def make(self, X: NDArray[Any]) -> NDArray[Any] | dict[str, NDArray[Any]]:
        """Return the rows as a module takes them: one array, or one for each name."""
        ...


@dataclass(frozen=True)
class RowMaker:
    """What makes a module's input of rows: (n, D) numbers become (n, *shape) of the module's type.

    Attributes:
        shape: the shape of one row.
        dtype: "float32" or "int64".
        standard: (D,) what is subtracted, and (D,) what is divided by then; None to leave the rows as they are.
    """

    shape: tuple[int, ...]
    dtype: str
    standard: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None

    @classmethod
    def of(cls, X: NDArray[Any], shape: tuple[int, ...], dtype: str, standardize: bool) -> RowMaker:
        """Return what makes input of rows like the labeled ones."""
        if not standardize:
            return cls(shape, dtype)
        scale = X.std(axis=0, dtype=np.float64)
        return cls(shape, dtype, (X.mean(axis=0, dtype=np.float64), np.where(scale > 0.0, scale, 1.0)))

    @property
    def size(self) -> int:
        """How many numbers a row has."""
        return math.prod(self.shape)

    def vectors(self, X: NDArray[Any]) -> NDArray[Any]:
        """Return (n, D) the rows, standardized if that was asked for."""
        if self.standard is None:
            return X
        mean, scale = self.standard
        return np.asarray((X - mean) / scale)

    def make(self, X: NDArray[Any]) -> NDArray[Any]:
        """Return (n, *shape) the rows as a module takes them."""
        return np.ascontiguousarray(self.vectors(X), dtype=self.dtype).reshape(-1, *self.shape)


class Input(NamedTuple):
    """One input that a module takes by its name.

    Attributes:
        name: the column, and the argument of the module's `forward`.
        width: how many numbers it has in each row; None for a column of plain numbers, one in each.
        dtype: "int64" for whole numbers, "float32" for others.
    """

    name: str
    width: int | None
    dtype: str


@dataclass(frozen=True)
class NamedRows:
    """What makes a module's inputs of rows: (n, D) numbers become an array for each name, (n, width) or (n,).

    Attributes:
        inputs: what the module takes, in the order of the numbers.
    """

    inputs: tuple[Input, ...]

    @classmethod
    def of(cls, intake: NamedIntake) -> NamedRows:
        """Return what makes the inputs of rows that were taken in so."""
        return cls(
            tuple(
                Input(
                    column.name,
                    column.width if column.kind == "embedding" else None,
                    "int64" if whole else "float32",
                )
                for column, whole in zip(intake.columns or (), intake.whole, strict=True)
            )
        )

    @property
    def size(self) -> int:
        """How many numbers a row has."""
        return sum(each.width or 1 for each in self.inputs)

    def vectors(self, X: NDArray[Any]) -> NDArray[Any]:
        """Return (n, D) the rows as they are."""
        return X

    def make(self, X: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Return an array for each name."""
        made, start = {}, 0
        for name, width, dtype in self.inputs:
            part = X[:, start] if width is None else X[:, start : start + width]
            made[name] = np.ascontiguousarray(part, dtype=dtype)
            start += width or 1
        return made

"""What a module is given: rows as numbers, in the shape and the type that it takes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minmargin.data.intake import Converted, Intake
from minmargin.data.rows import Rows
from minmargin.data.schema import Schema
from minmargin.errors import InputError

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
            wrong = np.argwhere((numbers != np.floor(numbers)) | (np.abs(numbers) > _LARGEST_WHOLE))
            if len(wrong):
                row, column = (int(place) for place in wrong[0])
                raise InputError(
                    f"{what.capitalize()} row {first_row + row:,}, column {column:,} is {numbers[row, column]}, and "
                    "dtype='int64' takes whole numbers up to 2^53. Use dtype='float32', or mend it."
                )

        return Converted(X, check_whole)


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

    def vectors(self, X: NDArray[Any]) -> NDArray[Any]:
        """Return (n, D) the rows, standardized if that was asked for."""
        if self.standard is None:
            return X
        mean, scale = self.standard
        return np.asarray((X - mean) / scale)

    def make(self, X: NDArray[Any]) -> NDArray[Any]:
        """Return (n, *shape) the rows as a module takes them."""
        return np.ascontiguousarray(self.vectors(X), dtype=self.dtype).reshape(-1, *self.shape)

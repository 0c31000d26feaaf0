"""How rows become what a learner takes: columns matched by name, values checked.

The labeled set fixes an `Intake`: the form in which the learner was given its rows. Every run of pool rows,
whatever it is kept in, is converted to that same form before a model sees it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias, cast

import narwhals as nw
import numpy as np
from scipy import sparse

from minmargin.data.columns import (
    Where,
    as_columns,
    as_floats,
    as_text_cell,
    check_finite,
    joined_texts,
    table_of,
    to_backend,
    to_matrix,
)
from minmargin.data.containers import holds_objects
from minmargin.data.conversion import Conversion, moments_of
from minmargin.data.rows import ColumnBlock, Frame, Matrix, Rows
from minmargin.data.schema import (
    Column,
    Kind,
    Schema,
    missing_column,
    not_a_table,
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
        if wanted.conversion is not None:  # which says itself what it cannot read
            return
        # Of a CSV file, where the types of columns are guesses: what is read as dates says itself what is none.
        guessed = not pool.parsed and (
            wanted.kind == "text" or (wanted.kind == "date" and found.kind == "text")
        )
        if found.kind not in {wanted.kind, "empty"} and not guessed:
            raise InputError(
                f"Column {wanted.name!r} is {wanted.type_name} in the {self.rows_of} but {found.type_name} in "
                "the pool. Cast it to the same type in both."
            )
        widths = {found.width, wanted.width} - {None}
        if wanted.kind == "embedding" and len(widths) > 1:
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
        where = Where(what, first_row)
        if isinstance(rows, nw.DataFrame):
            frame = self._as_read(rows.select(list(names or ())), where)
            return self._convert_frame(frame, replace(where, frame=frame))
        if self.form == "text":
            return Converted(np.array([as_text_cell(each) for each in rows], dtype=object))
        if self.form == "objects":
            return Converted(rows)
        return self._numbers(as_floats(rows, where), where)

    def _as_read(self, frame: Frame, where: Where) -> Frame:
        """Return the frame with values as they are to be read."""
        converted = [column for column in self.columns or () if column.conversion is not None]
        untold = [] if self.form == "frame" else self._dates_of_no_type(frame)
        if not converted and not untold:
            return frame
        table = table_of(frame)
        for name in untold:
            table = table.set_column(table.column_names.index(name), name, moments_of(table[name]))
        for column in converted:
            named = partial(_named_cell, where, column.name)
            values = cast("Conversion", column.conversion)(table[column.name], named)
            table = table.set_column(table.column_names.index(column.name), column.name, values)
        return cast("Frame", nw.from_native(table, eager_only=True))

    def _dates_of_no_type(self, frame: Frame) -> list[str]:
        """Return the columns of dates whose type does not tell it: Python objects, or nothing at all."""
        dates = [each.name for each in self.columns or () if each.kind == "date" and each.conversion is None]
        return [name for name in dates if not isinstance(frame[name].dtype, (nw.Date, nw.Datetime))]

    def _convert_frame(self, frame: Frame, where: Where) -> Converted:
        if self.form == "table":
            return Converted(frame, lambda: self._check_table(frame, where))
        if self.form == "frame":
            return Converted(to_backend(frame, self.backend), lambda: self._check_table(frame, where))
        if self.form == "text":
            return Converted(joined_texts(frame))
        columns = as_columns(frame.to_native()) if frame.implementation.is_pyarrow() else None
        return self._numbers(to_matrix(frame, where) if columns is None else columns, where)

    def _numbers(self, X: Matrix | ColumnBlock, where: Where) -> Converted:
        self._check_width(X, self.width, where)
        if isinstance(X, sparse.csr_array) and self.form != "sparse":
            X = X.toarray()
        elif self.form == "sparse":
            X = sparse.csr_array(np.asarray(X) if isinstance(X, ColumnBlock) else X)

        def check() -> None:
            rows = np.asarray(X) if isinstance(X, ColumnBlock) else X
            check_finite(rows, where, missing=self.missing)

        return Converted(X, check)

    def _check_table(self, frame: Frame, where: Where) -> None:
        numeric = [c for c in self.columns or () if c.kind in {"number", "embedding"}]
        if self.form == "frame":  # objects are handed over as they are: what they mean, the learner knows
            numeric = [c for c in numeric if c.kind != "number" or not holds_objects(frame[c.name])]
        if numeric:
            table = frame.select([column.name for column in numeric])
            X = to_matrix(table, where)
            self._check_width(X, sum(column.width or 1 for column in numeric), where)
            check_finite(X, replace(where, frame=table), missing=self.missing)

    def _check_width(self, X: Matrix | ColumnBlock, width: int, where: Where) -> None:
        if X.shape[1] != width:
            raise InputError(
                f"{where.row(0)} has {X.shape[1]:,} features and the {self.rows_of} has {width:,}. "
                "Give both the same columns in the same order."
            )


def _named_cell(where: Where, column: str, place: int) -> str:
    return f"{where.row(place)}, column {column!r},"

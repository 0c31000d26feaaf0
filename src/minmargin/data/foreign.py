"""How rows reach foreign models, trained elsewhere, of which only names and a width are known, or not even these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import narwhals as nw
import numpy as np
from scipy import sparse

from minmargin.data.columns import to_backend, to_matrix
from minmargin.data.intake import Converted, Intake
from minmargin.data.rows import Rows
from minmargin.data.schema import Schema
from minmargin.errors import InputError, listing, nearest


@dataclass(frozen=True)
class ForeignIntake(Intake):
    """The form in which models that were trained elsewhere take rows.

    Attributes:
        names: the columns that the models were trained on, if they tell; of what kind those are, the pool says.
        sized: whether `width` is known.
    """

    names: tuple[str, ...] | None = None
    sized: bool = True

    rows_of: ClassVar[str] = "training set of the models"

    def match(
        self, pool: Schema, *, features: Sequence[str] | None = None, reserved: Sequence[str] = ()
    ) -> tuple[str, ...] | None:
        """Return the pool's feature columns in the models' order; None where the pool has no names."""
        if self.names is not None:
            return self._match_names(pool, self.names)
        if self.sized or self.form != "any":
            return super().match(pool, features=features, reserved=reserved)
        if pool.columns is None:
            return None
        if features is not None:
            return tuple(self._named(pool, name).name for name in features)
        return tuple(name for name in pool.names if name not in reserved)

    @staticmethod
    def _match_names(pool: Schema, names: tuple[str, ...]) -> tuple[str, ...]:
        if pool.columns is None:
            raise InputError(
                f"The models were trained on columns with names ({listing(names)}), and the pool has none. Give it as "
                "a frame or as files."
            )
        missing = [name for name in names if pool.find(name) is None]
        if missing:
            raise InputError(
                f"The models were trained on column {missing[0]!r}, which is not in the pool (columns: "
                f"{listing(pool.names)}).{nearest(missing[0], pool.names)} Rename it."
            )
        return names

    def convert_unchecked(
        self, rows: Rows, names: Sequence[str] | None, *, first_row: int, what: str
    ) -> Converted:
        """Return rows in the models' form; whether they can do with missing values, they have to say themselves."""
        if self.form != "any":
            return super().convert_unchecked(rows, names, first_row=first_row, what=what)
        if isinstance(rows, nw.DataFrame):
            frame = rows.select(list(names or ()))
            # Files are read as Arrow tables, which few models take; a frame of the caller's stays what it is.
            kind = self.backend if frame.implementation.is_pyarrow() else frame.implementation
            return Converted(
                np.ascontiguousarray(to_matrix(frame)) if self.sized else to_backend(frame, kind)
            )
        if isinstance(rows, sparse.csr_array) or rows.ndim == 1:
            return Converted(rows)
        return Converted(np.ascontiguousarray(rows))

"""Deals: which rows of a table are labeled from the start, which may be picked, and which models are tried on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from minmargin.data.rows import take_rows
from minmargin.labeled import LabeledSet

#: Numbers of rows in a table.
RowNumbers: TypeAlias = NDArray[np.intp]


class Deal(NamedTuple):
    """The rows of one draw.

    Attributes:
        table: all rows, and their labels.
        labeled: (N,) which rows are labeled from the start.
        pool: (m,) which rows may be picked.
        test: (t,) which rows a model is tried on.
        seed: of everything that is random after the deal.
        foreseen: whether models that can have outputs for classes without rows of theirs have them.
    """

    table: LabeledSet
    labeled: RowNumbers
    pool: RowNumbers
    test: RowNumbers
    seed: int
    foreseen: bool = False

    def part(self, rows: RowNumbers) -> LabeledSet:
        """Return the labeled set of some rows, with the classes that are among them, or all that are foreseen."""
        if self.foreseen:
            table = self.table
            return replace(table, rows=take_rows(table.rows, rows), y=table.y[rows], codes=table.codes[rows])
        return part_of(self.table, rows)

    @property
    def X(self) -> Any:  # noqa: N802 - the field's name for a feature matrix
        """(n, D) all rows, in whatever holds them."""
        return self.table.rows

    @property
    def y(self) -> NDArray[np.intp]:
        """(n,) their classes, as 0..C-1."""
        return self.table.codes


def part_of(table: LabeledSet, rows: RowNumbers) -> LabeledSet:
    """Return the labeled set of some rows, with the classes that are among them."""
    known, codes = np.unique(table.codes[rows], return_inverse=True)
    return replace(
        table,
        rows=take_rows(table.rows, rows),
        y=table.y[rows],
        classes=table.classes[known],
        codes=codes,
    )

"""Numbers that were declared to stand for missing values, and are found among values that they may well be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from minmargin.data.conversion import WHOLE, Conversion
from minmargin.data.objects import chunks_of
from minmargin.data.reading import Reading
from minmargin.data.rows import Frame, Rows
from minmargin.data.schema import Column
from minmargin.inspection.findings import Finding

_RARE = 0.05  # of the rows: what is there more often stands for something


def find_declared(rows: Rows, columns: Sequence[Column] | None, reading: Reading | None) -> list[Finding]:
    """Return a finding for each declared number that few rows have, between the other values of a column."""
    declared = [] if reading is None else [each for each in reading.missing if WHOLE.fullmatch(each)]
    found = []
    for mark in declared if columns else ():
        there = {
            column.name: n
            for column in columns or ()
            if column.kind == "number" and (n := _count(mark, column, cast("Frame", rows)))
        }
        if there:
            told = [
                f"{n:,} labeled row{'s' if n > 1 else ''} of column {name!r}" for name, n in there.items()
            ]
            more = f" and in {len(told) - 3:,} more columns" if len(told) > 3 else ""
            message = (
                f"missing=[{mark!r}] holds for all columns, and so {mark} is taken for a missing value in "
                f"{', '.join(told[:3])}{more}, where other values lie below and above it. If it is a value there, give "
                "cells that are empty in place of what stands for none elsewhere."
            )
            found.append(Finding(next(iter(there)), message, tuple(there)[1:]))
    return found


def _count(mark: str, column: Column, rows: Frame) -> int:
    """Return how many rows have a number that lies between others; 0 if it is below or above all, or usual."""
    if column.conversion is None:
        return 0
    marks = column.conversion.marks
    left = tuple(each for each in marks.missing if each != mark)
    read, _ = Conversion("number", replace(marks, missing=left)).read(chunks_of(rows[column.name]))
    values = np.asarray(read.to_numpy(), dtype=np.float64)
    known = values[np.isfinite(values)]
    n = int((known == float(mark)).sum())
    between = n > 0 and known.min() < float(mark) < known.max()
    return n if between and n <= max(_RARE * len(known), 1) else 0

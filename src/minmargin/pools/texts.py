"""Texts in a CSV pool where the labeled set has numbers: the first one is named, with what declares it."""

from __future__ import annotations

from typing import cast

import pyarrow.compute as pc

from minmargin.data.conversion import NO_NUMBERS, Marks
from minmargin.data.guessing import guess_marks
from minmargin.data.intake import Intake
from minmargin.data.objects import chunks_of
from minmargin.data.rows import Frame
from minmargin.data.schema import Column
from minmargin.errors import InputError
from minmargin.pools.base import Pool
from minmargin.pools.files import FilePool

_SOME_ROWS = 4096


def refuse_texts(pool: Pool, intake: Intake) -> None:
    """Raise an error for a column of numbers that a CSV file of the pool has texts in, as its beginning tells."""
    if not isinstance(pool, FilePool) or pool.schema.parsed:
        return
    for column in intake.columns or ():
        found = pool.schema.find(column.name)
        as_numbers = column.kind == "number" and column.conversion is None and column.type_name != "Boolean"
        if not as_numbers or found is None or found.kind != "text":
            continue
        rows = cast("Frame", next(iter(pool.chunks({column.name: None}, _SOME_ROWS))))
        for row, text in enumerate(pc.utf8_trim_whitespace(chunks_of(rows[column.name])).to_pylist()):
            if text is not None and text not in NO_NUMBERS and not _is_number(text):
                raise InputError(
                    f"Column {column.name!r} is {column.type_name} in the {intake.rows_of}, and row {row:,} of the "
                    f"pool has {text!r} there. {_fix(column, text)}"
                )


def _fix(column: Column, text: str) -> str:
    written = guess_marks([(text, 1)], Marks())
    if written is None:
        return (
            f"If it stands for a missing value, use missing=[{text!r}]; if the column is one of names, "
            f"category=[{column.name!r}]."
        )
    if not column.type_name.startswith("Float"):
        return f"If this is a number, use {written.use}."
    # There are points before decimals in the labeled set, so commas in the pool can only be between thousands.
    use = guess_marks([(text, 1), ("0.5", 1)], Marks())
    if use is not None:
        return f"If this is a number with a mark between thousands, use {use.use}."
    return f"Write decimals alike in both, or use drop=[{column.name!r}]."


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True

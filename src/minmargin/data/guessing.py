"""Types of columns that came as texts, from a CSV file: guessed from all values, by rules that hold for any file.

A column is of numbers if every value is one. What looks like numbers with other marks is not taken for numbers, but
pointed out.
"""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from minmargin.data.conversion import NO_NUMBERS, Conversion, Marks
from minmargin.data.thousands import doubtful_points, points_in, with_notes

_WHOLE = r"^[+-]?\d{1,18}$"
_FLAGS = pa.array(["true", "false"])
_WRITTEN = (Marks(","), Marks(",", "."), Marks(",", " "), Marks(".", ","), Marks(".", "'"), Marks(".", " "))
_MOST = 0.9  # of the values: the others are typing errors
_FEW_ROWS = 20  # in fewer rows, all values being different means little
_NEARLY_ALL = 0.9  # of the rows have a value of their own: that is no column of categories


def guess_types(table: pa.Table, *, leave: Container[str] = (), semicolons: bool = False) -> pa.Table:
    """Return a table of texts with numbers, dates and truth values where all values of a column are that.

    Columns that are to be left stay texts. Numbers whose points may stand between thousands have a note of it;
    `semicolons` says whether these are between the cells of the file.
    """
    typed = pa.table(
        {name: table[name] if name in leave else _typed(table[name]) for name in table.column_names}
    )
    fractions = [field.name for field in typed.schema if pa.types.is_floating(field.type)]
    points = {name: points_in(table[name]) for name in fractions}
    return with_notes(typed, doubtful_points(points, semicolons=semicolons))


def _typed(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    trimmed = pc.utf8_trim_whitespace(texts)
    missing = pc.is_in(trimmed, value_set=pa.array(NO_NUMBERS))
    known = pc.if_else(missing, pa.scalar(None, pa.string()), trimmed)
    if known.null_count == len(known):
        return pa.chunked_array([pa.nulls(len(texts))])
    if Conversion("number").fits(texts):
        whole = pc.all(pc.match_substring_regex(known, _WHOLE)).as_py()
        return pc.utf8_ltrim(known, "+").cast(pa.int64() if whole else pa.float64())
    if pc.all(pc.is_in(pc.utf8_lower(known.drop_null()), value_set=_FLAGS)).as_py():
        return pc.equal(pc.utf8_lower(known), "true")
    return Conversion("date")(texts, str) if Conversion("date").fits(texts) else texts


def tell_nothing(n_different: int, n_rows: int) -> bool:
    """Return whether so many different texts in so many rows are no categories, but ids or free text."""
    return n_rows >= _FEW_ROWS and n_different > _NEARLY_ALL * n_rows


class Written(NamedTuple):
    """How texts that look like numbers are written: one of them, and the settings that read them."""

    example: str
    use: str


def guess_marks(texts: Sequence[tuple[str, int]], known: Marks, decimal: str | None = None) -> Written | None:
    """Return how texts are written, if most are numbers with other marks than the known ones; None if not.

    >>> guess_marks([("1,5", 3), ("2,25", 1)], Marks())
    Written(example='1,5', use="decimal=','")
    >>> guess_marks([("1,500", 3)], Marks()).use, guess_marks([("1,500", 3)], Marks(), ",").use
    ("decimal=',' or thousands=','", "decimal=','")

    Args:
        texts: without blanks around them, each with how often it occurs.
        known: the marks by which they were read.
        decimal: what comes before decimals in other columns of the same file, if that is known.
    """
    written = _ways_written(texts, known)
    alike = [marks for marks in written if decimal in {None, marks.decimal}] or written
    for text, _ in texts:
        if not re.match(known.number, text) and any(re.match(marks.number, text) for marks in alike):
            return Written(text, " or ".join(_settings(marks) for marks in _simplest(alike)))
    return None


def decimal_of(texts: Sequence[tuple[str, int]], known: Marks) -> str | None:
    """Return what comes before decimals in texts, if they are numbers with other marks and leave no doubt of it."""
    found = {marks.decimal for marks in _ways_written(texts, known)}
    return found.pop() if len(found) == 1 else None


def _ways_written(texts: Sequence[tuple[str, int]], known: Marks) -> list[Marks]:
    """Return the marks by which most of texts are numbers."""
    ways = [marks for marks in _WRITTEN if marks.decimal == "," or known.decimal == "."]
    read = [share(texts, marks.number) for marks in ways]
    # A value that only some of them read, such as 0,5 or 1.234,5, tells that it is one of these.
    return [marks for marks, most in zip(ways, read, strict=True) if most > _MOST and most == max(read)]


def share(texts: Sequence[tuple[str, int]], pattern: str) -> float:
    """Return how many of texts that occur so often are of a form."""
    found = re.compile(pattern)
    return sum(n for text, n in texts if found.fullmatch(text)) / sum(n for _, n in texts)


def _simplest(written: Sequence[Marks]) -> list[Marks]:
    """Return the ways of writing numbers that need the fewest marks."""
    fewest = min(bool(marks.thousands) + (marks.decimal == ",") for marks in written)
    return [marks for marks in written if bool(marks.thousands) + (marks.decimal == ",") == fewest]


def _settings(marks: Marks) -> str:
    decimal = [f"decimal={marks.decimal!r}"] if marks.decimal == "," else []
    return " and ".join([*decimal, *([f"thousands={marks.thousands!r}"] if marks.thousands else [])])

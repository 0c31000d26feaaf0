"""Points that may stand between thousands: 1.250 is 1250 where commas come before decimals, and 1.25 elsewhere.

A file does not tell which of the two it is, and numbers are read by the point. So whoever reads the texts keeps a note
of columns that leave a doubt, and it is asked about. These must hold:

- All values that have a point have three digits behind it, and no zero alone before it; there are a few of these.
- All others are below 1000, as they are where larger ones have a mark.

Where there are such others beside zero, this is telling: whoever writes 0.5 as 0.500 writes 980 as 980.000. Where all
values have a point, these may be three decimals as well. Then it is telling in a file with semicolons, which is what
spreadsheets write where commas come before decimals, if no other column of the file has decimal points; and where the
other table, labeled set or pool, has whole numbers below 1000 in that column.
"""

from __future__ import annotations

import json
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from minmargin.data.conversion import NO_NUMBERS

_FEW = 5  # values with a point: fewer have three digits by chance
_GROUPED, _BELOW, _ABOVE_ZERO = r"^[+-]?[1-9]\d{0,2}\.\d{3}$", r"^[+-]?\d{1,3}$", r"[1-9]"
_NOTE = b"minmargin: thousands"


class Points(NamedTuple):
    """What the points of a column of numbers tell, of which the texts are known.

    Attributes:
        n: how many values have one.
        example: such a value; empty if there is none.
        doubtful: whether they may stand between thousands.
        telling: whether more speaks for that than that they may.
    """

    n: int
    example: str
    doubtful: bool
    telling: bool


def points_in(texts: pa.ChunkedArray, missing: tuple[str, ...] = ()) -> Points:
    """Return what the points in texts tell, all of which are numbers or stand for none."""
    trimmed = pc.utf8_trim_whitespace(texts).drop_null()
    trimmed = trimmed.filter(pc.invert(pc.is_in(trimmed, value_set=pa.array([*NO_NUMBERS, *missing]))))
    has_point = pc.match_substring(trimmed, ".")
    with_point, others = trimmed.filter(has_point), trimmed.filter(pc.invert(has_point))
    example = with_point[0].as_py() if len(with_point) else ""
    doubtful = len(with_point) >= _FEW and _all(with_point, _GROUPED) and _all(others, _BELOW)
    telling = doubtful and pc.any(pc.match_substring_regex(others, _ABOVE_ZERO)).as_py() is True
    return Points(len(with_point), example, doubtful, telling)


def doubtful_points(columns: dict[str, Points], *, semicolons: bool) -> dict[str, Points]:
    """Return the columns of one file whose points may stand between thousands."""
    spreadsheet = semicolons and not any(points.n and not points.doubtful for points in columns.values())
    return {
        name: points._replace(telling=points.telling or spreadsheet)
        for name, points in columns.items()
        if points.doubtful
    }


def with_notes(table: pa.Table, doubtful: dict[str, Points]) -> pa.Table:
    """Return a table whose columns of numbers have a note of the points that their texts had."""
    fields = [
        field.with_metadata({_NOTE: json.dumps(doubtful[field.name])}) if field.name in doubtful else field
        for field in table.schema
    ]
    return table.cast(pa.schema(fields, table.schema.metadata)) if doubtful else table


def notes_of(table: pa.Table) -> dict[str, Points]:
    """Return the notes of columns that have one."""
    notes = {field.name: (field.metadata or {}).get(_NOTE) for field in table.schema}
    return {name: Points(*json.loads(note)) for name, note in notes.items() if note is not None}


def _all(texts: pa.ChunkedArray, pattern: str) -> bool:
    return pc.all(pc.match_substring_regex(texts, pattern)).as_py() is not False

"""Types of columns that came as texts, from a CSV file: guessed from all values, by rules that hold for any file.

A column is of numbers if every value is one.
"""

from __future__ import annotations

from collections.abc import Container

import pyarrow as pa
import pyarrow.compute as pc

from minmargin.data.conversion import NO_NUMBERS, Conversion

_WHOLE = r"^[+-]?\d{1,18}$"
_FLAGS = pa.array(["true", "false"])


def guess_types(table: pa.Table, *, leave: Container[str] = ()) -> pa.Table:
    """Return a table of texts with numbers, dates and truth values where all values of a column are that.

    Columns that are to be left stay texts.
    """
    return pa.table(
        {name: table[name] if name in leave else _typed(table[name]) for name in table.column_names}
    )


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

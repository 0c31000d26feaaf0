"""Ids as spreadsheets leave them: without leading zeros, with `.0` at the end, with blanks around them."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc


def bare(ids: pa.Array) -> pa.Array:
    """Return texts without what programs add to ids and take from them, to find those that are meant to be the same.

    >>> bare(pa.array(["0020", "20.0", " 20", "A020", "000"])).to_pylist()
    ['20', '20', '20', 'A020', '0']
    """
    trimmed = pc.replace_substring_regex(pc.utf8_trim_whitespace(ids), r"^([+-]?[0-9]+)\.0*$", r"\1")
    return pc.replace_substring_regex(trimmed, "^0+([0-9])", r"\1")

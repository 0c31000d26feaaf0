"""Ids as programs leave them: without leading zeros, with `.0` at the end, with blanks around them, in capitals."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc


def without_point_zero(ids: pa.Array) -> pa.Array:
    """Return texts with whole numbers as such: pandas writes 5 as 5.0 where a column has gaps.

    >>> without_point_zero(pa.array(["5.0", "-5.00", "5", "5.10", "v5.0"])).to_pylist()
    ['5', '-5', '5', '5.10', 'v5.0']
    """
    if not pc.any(pc.match_substring(ids, ".0")).as_py():  # which is far quicker
        return ids
    return pc.replace_substring_regex(ids, r"^([+-]?[0-9]+)\.0+$", r"\1")


def without_thousands(ids: pa.Array) -> pa.Array:
    """Return texts with whole numbers as they were before somebody set their thousands apart.

    >>> without_thousands(pa.array(["7,074", "7.074", "1'234 567", "7074", "7,07"])).to_pylist()
    ['7074', '7074', '1234567', '7074', '7,07']
    """
    apart = pc.match_substring_regex(ids, r"^[0-9]{1,3}([.,' \x{a0}\x{202f}][0-9]{3})+$")
    return pc.if_else(apart, pc.replace_substring_regex(ids, "[^0-9]", ""), ids)


def bare(ids: pa.Array) -> pa.Array:
    """Return texts without what programs add to ids and take from them, to find those that are meant to be the same.

    >>> bare(pa.array(["0020", "20.0", "20,0", " 20", "A020", "000"])).to_pylist()
    ['20', '20', '20', '20', 'a020', '0']
    """
    trimmed = pc.replace_substring_regex(pc.utf8_trim_whitespace(ids), r"^([+-]?[0-9]+)[.,]0*$", r"\1")
    return pc.utf8_lower(pc.replace_substring_regex(trimmed, "^0+([0-9])", r"\1"))

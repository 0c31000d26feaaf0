"""Ids and labels as the journal writes them: texts, and the kind of value that each text stands for.

A row's id may be 7 in the pool, "7" in a CSV file and 7.0 in a data frame with holes. One text stands for all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa

Kind: TypeAlias = Literal["text", "integer", "number", "boolean"]

KINDS: tuple[Kind, ...] = ("text", "integer", "number", "boolean")
ARROW_TYPES: dict[Kind, pa.DataType] = {
    "text": pa.string(),
    "integer": pa.int64(),
    "number": pa.float64(),
    "boolean": pa.bool_(),
}

# Python refuses to read thousands of digits, and no id has hundreds.
_WHOLE = re.compile(r"([+-]?\d{1,100})(\.0*)?", re.ASCII)
_EXACT = 2.0**53  # past it, a float stands for several whole numbers
_BOOLEANS = {"true": "true", "false": "false", "1": "true", "0": "false"}


def kind_of(values: Iterable[Any]) -> Kind | None:
    """Return the kind that values of one type are; None if the journal cannot keep them.

    >>> kind_of(["cat", "dog"]), kind_of([0, 1]), kind_of([0.0, 1.0]), kind_of([True]), kind_of([b"cat"])
    ('text', 'integer', 'number', 'boolean', None)
    """
    types = {type(value) for value in values}
    known: dict[type, Kind] = {str: "text", int: "integer", float: "number", bool: "boolean"}
    return known.get(types.pop()) if len(types) == 1 else None


def to_text(value: Any, kind: Kind) -> str | None:
    """Return the text that stands for a value; None if it cannot be one of this kind.

    >>> [to_text(value, "integer") for value in (7, "7", 7.0, "7.0", "seven", 7.5)]
    ['7', '7', '7', '7', None, None]
    >>> [to_text(value, "text") for value in ("007", 7, 7.0)]
    ['007', '7', '7']
    """
    if isinstance(value, np.generic):
        value = value.item()
    if kind == "boolean":
        return _BOOLEANS.get(str(value).lower())
    if isinstance(value, float) and value.is_integer() and abs(value) <= _EXACT and kind != "number":
        value = int(value)
    if kind == "text":
        return str(value)
    if isinstance(value, bool):
        return None
    if kind == "number":
        try:
            return repr(float(value))
        except (TypeError, ValueError):
            return None
    found = _WHOLE.fullmatch(str(value).strip())
    return None if found is None else str(int(found[1]))


def from_text(text: str, kind: Kind) -> Any:
    """Return the value that a text stands for.

    >>> from_text("7", "integer"), from_text("7", "text"), from_text("true", "boolean")
    (7, '7', True)
    """
    if kind == "boolean":
        return text == "true"
    return {"text": str, "integer": int, "number": float}[kind](text)


def id_array(ids: Sequence[Any], kind: Kind) -> pa.Array:
    """Return ids, None for those that are missing, as an Arrow array; hashes may need all 64 bits without a sign.

    >>> id_array([7, None], "integer").type, id_array([2**63], "integer").type
    (DataType(int64), DataType(uint64))
    """
    large = kind == "integer" and any(each is not None and each >= 2**63 for each in ids)
    return pa.array(ids, pa.uint64() if large else ARROW_TYPES[kind])

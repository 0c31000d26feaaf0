"""What a server answers, checked before it is believed: JSON of a bounded size, with values of the right types.

A message tells what is wrong and where, and repeats no text of the answer.
"""

from __future__ import annotations

import json
from typing import Any, NoReturn

_MOST_VALUES = 5_000_000  # as Python objects they take about 100 bytes each
_NAMES = {dict: "an object", list: "a list", str: "a text", bool: "true or false", float: "a number"}


class AnswerError(Exception):
    """An answer cannot be right; the message says what is wrong."""


class TooManyValuesError(AnswerError):
    """An answer holds more values than memory may have room for."""


def parse_json(content: bytes) -> Any:
    """Return what the bytes of an answer say in JSON."""
    # Each value but the first of its list or object has a comma before it. (Commas in texts are counted, too.)
    if sum(content.count(mark) for mark in (b",", b"[", b"{")) > _MOST_VALUES:
        raise TooManyValuesError(f"it holds more than {_MOST_VALUES:,} values")
    try:
        return json.loads(content.decode(), parse_constant=_refuse_constant)
    except RecursionError:
        raise AnswerError("its JSON is nested too deep") from None
    except ValueError:  # also a number of thousands of digits
        raise AnswerError("it is no JSON") from None


def as_object(value: Any, what: str) -> dict[str, Any]:
    """Return a value that must be an object; `what` names it in errors."""
    return value if isinstance(value, dict) else _refuse(what, value, "an object")


def as_list(value: Any, what: str) -> list[Any]:
    """Return a value that must be a list."""
    return value if isinstance(value, list) else _refuse(what, value, "a list")


def as_number(value: Any, what: str, *, least: int = 0, most: int = 2**63 - 1) -> int:
    """Return a value that must be a whole number from `least` to `most`."""
    if isinstance(value, bool) or not isinstance(value, int):
        _refuse(what, value, "a whole number")
    if not least <= value <= most:
        raise AnswerError(f"{what} is out of range")
    return value


def as_text(value: Any, what: str) -> str:
    """Return a value that must be a text of whole characters."""
    if not isinstance(value, str):
        _refuse(what, value, "a text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise AnswerError(f"{what} holds half a character") from None
    return value


def as_truth(value: Any, what: str) -> bool:
    """Return a value that must be true or false, or null for false."""
    return bool(value) if value is None or isinstance(value, bool) else _refuse(what, value, "true or false")


def _refuse(what: str, value: Any, wanted: str) -> NoReturn:
    found = "missing or null" if value is None else _NAMES.get(type(value), "a whole number")
    raise AnswerError(f"{what} is {found}, where {wanted} should be")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)  # NaN and Infinity, which are no JSON

"""JSON that somebody may have changed: every value is checked when it is asked for, before it is believed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from minmargin.errors import InputError, listing

T = TypeVar("T")

_NAMES = {
    dict: "an object",
    list: "a list",
    str: "a string",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
}


def parse_json(text: str | bytes) -> Any:
    """Return what a JSON text says; whatever is wrong with it, the error is a ValueError."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


class Fields:
    """A JSON object of unknown origin.

    Args:
        values: what the file holds.
        wrong: makes the error of a reason; it names the file, and says how to mend it.
    """

    def __init__(self, values: Any, wrong: Callable[[str], InputError]) -> None:
        if not isinstance(values, dict):
            raise wrong(f"it holds {type(values).__name__} where an object was expected")
        self._values: dict[str, Any] = values
        self.wrong = wrong

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all values."""
        return tuple(self._values)

    def get(self, name: str, kind: type[T]) -> T:
        """Return a value of exactly this type: true is no number, and 1 is not 1.0."""
        value = self._values.get(name)
        if type(value) is not kind:
            raise self.wrong(f"{name!r} is {_shown(value)} and must be {_NAMES[kind]}")
        return value

    def value(self, name: str) -> Any:
        """Return a value of any type, to be compared; None where there is none."""
        return self._values.get(name)

    def optional(self, name: str, kind: type[T]) -> T | None:
        """Return a value, or None where the file says null."""
        return None if self._values.get(name) is None else self.get(name, kind)

    def each(self, name: str, kind: type[T]) -> list[T]:
        """Return a list whose elements are all of one type."""
        values = self.get(name, list)
        for value in values:
            if type(value) is not kind:
                raise self.wrong(f"{name!r} holds {_shown(value)}, where each must be {_NAMES[kind]}")
        return values

    def choice(self, name: str, known: Iterable[str]) -> Any:
        """Return a string that must be one of the known ones."""
        value, known = self.get(name, str), tuple(known)
        if value not in known:
            raise self.wrong(f"{name!r} is {_shown(value)} and must be one of {listing(known)}")
        return value

    def size(self, name: str) -> int:
        """Return a whole number that must not be negative."""
        value = self.get(name, int)
        if value < 0:
            raise self.wrong(f"{name!r} is {value}")
        return value

    def inner(self, name: str) -> Fields:
        """Return an object inside this one."""
        return Fields(self.get(name, dict), self.wrong)

    def each_inner(self, name: str) -> list[Fields]:
        """Return a list of objects."""
        return [Fields(value, self.wrong) for value in self.get(name, list)]

    def part(self, value: Any) -> Fields:
        """Return a value from inside this one as an object."""
        return Fields(value, self.wrong)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:40] + "…"

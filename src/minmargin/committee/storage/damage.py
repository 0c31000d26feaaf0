"""Errors of saved files, and JSON values that are checked before they are believed."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
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


def damaged(file: Path, reason: str) -> InputError:
    """Return the error for a file that is not, or no longer, what was saved."""
    return InputError(
        f"{str(file)!r} cannot be loaded: {reason}. Restore the folder as it was saved, or save the committee again."
    )


class Fields:
    """A JSON object of unknown origin: every value is checked when it is asked for."""

    def __init__(self, values: Any, file: Path) -> None:
        if not isinstance(values, dict):
            raise damaged(file, f"it holds {type(values).__name__} where an object was expected")
        self._values: dict[str, Any] = values
        self._file = file

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all values."""
        return tuple(self._values)

    def get(self, name: str, kind: type[T]) -> T:
        """Return a value of exactly this type: true is no number, and 1 is not 1.0."""
        value = self._values.get(name)
        if type(value) is not kind:
            raise damaged(self._file, f"{name!r} is {_shown(value)} and must be {_NAMES[kind]}")
        return value

    def optional(self, name: str, kind: type[T]) -> T | None:
        """Return a value, or None where the file says null."""
        return None if self._values.get(name) is None else self.get(name, kind)

    def each(self, name: str, kind: type[T]) -> list[T]:
        """Return a list whose elements are all of one type."""
        values = self.get(name, list)
        for value in values:
            if type(value) is not kind:
                raise damaged(
                    self._file, f"{name!r} holds {_shown(value)}, where each must be {_NAMES[kind]}"
                )
        return values

    def choice(self, name: str, known: Iterable[str]) -> Any:
        """Return a string that must be one of the known ones."""
        value, known = self.get(name, str), tuple(known)
        if value not in known:
            raise damaged(self._file, f"{name!r} is {_shown(value)} and must be one of {listing(known)}")
        return value

    def size(self, name: str) -> int:
        """Return a whole number that must not be negative."""
        value = self.get(name, int)
        if value < 0:
            raise self.wrong(f"{name!r} is {value}")
        return value

    def inner(self, name: str) -> Fields:
        """Return an object inside this one."""
        return Fields(self.get(name, dict), self._file)

    def each_inner(self, name: str) -> list[Fields]:
        """Return a list of objects."""
        return [Fields(value, self._file) for value in self.get(name, list)]

    def part(self, value: Any) -> Fields:
        """Return a value from inside this one as an object."""
        return Fields(value, self._file)

    def wrong(self, reason: str) -> InputError:
        """Return the error for values that do not fit together."""
        return damaged(self._file, reason)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:40] + "…"

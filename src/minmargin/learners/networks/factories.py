"""Factories of modules by name: what a saved committee says of the function that makes its modules."""

from __future__ import annotations

import functools
import importlib
import json
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any, NamedTuple

from minmargin.errors import InputError


class FactoryName(NamedTuple):
    """Where a factory can be found, and what it is called with.

    Attributes:
        name: "package.module:function".
        arguments: its keyword arguments, as values that JSON knows.
    """

    name: str
    arguments: dict[str, Any]

    def __str__(self) -> str:
        arguments = ", ".join(f"{name}={value!r}" for name, value in self.arguments.items())
        return f"{self.name!r}{f' with {arguments}' if arguments else ''}"


def find_name(factory: Any) -> FactoryName | None:
    """Return the name of a function or a class, or of a partial one with keyword arguments; None if it has none."""
    arguments: dict[str, Any] = {}
    if isinstance(factory, functools.partial):
        if factory.args or not _is_json(factory.keywords):
            return None
        factory, arguments = factory.func, dict(factory.keywords)
    # A lambda, a function inside another, and an object that can be called cannot be found again.
    if not isinstance(factory, (FunctionType, type)):
        return None
    found: Any = sys.modules.get(factory.__module__)
    for part in factory.__qualname__.split("."):
        found = vars(found).get(part) if found is not None else None
    return (
        FactoryName(f"{factory.__module__}:{factory.__qualname__}", arguments) if found is factory else None
    )


def import_factory(named: FactoryName) -> Callable[[], Any]:
    """Return the factory of this name. Its module is imported, so the name must come from someone who is trusted."""
    module, _, path = named.name.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    except Exception as error:
        raise InputError(
            f"The factory {named.name!r} cannot be imported: {type(error).__name__}: {error}. Use "
            "load_committee(..., factory=...) with the function itself."
        ) from error
    return functools.partial(found, **named.arguments)


def _is_json(arguments: dict[str, Any]) -> bool:
    """Return whether these values come back from JSON as they were."""
    try:
        return bool(json.loads(json.dumps(arguments)) == arguments)
    except (TypeError, ValueError):
        return False

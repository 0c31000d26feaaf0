"""Properties that are made once for an object."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from functools import cached_property
else:

    class cached_property:  # noqa: N801 - the name it has in Python
        """Python's own `cached_property`, as it is since Python 3.12: without a lock.

        That of Python 3.11 has one for all objects of a class, and holds it while a value is made. Threads would score
        their blocks one after the other, and a process that is forked meanwhile would wait for ever. Without it, two
        threads that ask the same object at once may both make the value, which is the same.
        """

        def __init__(self, make: Callable[[Any], Any]) -> None:
            self._make = make
            self.__doc__ = make.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self._name = name

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            # Python looks here first from now on, and comes to this function no more.
            value = instance.__dict__[self._name] = self._make(instance)
            return value


__all__ = ["cached_property"]

"""What an engine is: one function over independent pieces of work, whose results come in any order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar, runtime_checkable

Item = TypeVar("Item")
Result = TypeVar("Result")


@runtime_checkable
class Engine(Protocol):
    """Where work runs."""

    @property
    def name(self) -> str:
        """What the manifest calls it."""
        ...

    @property
    def elsewhere(self) -> bool:
        """Whether work runs in other processes, to which what it needs is sent."""
        ...

    def run(self, fn: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Return fn of every item, in any order; items are taken as there is room for them."""
        ...


def call_it(fn: Callable[[Item], Result], item: Item) -> Result:
    """Return fn of an item: a task, for clusters that hand over what was sent before as an argument."""
    return fn(item)

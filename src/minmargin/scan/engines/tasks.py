"""Tasks, for clusters that hand over what was sent before as an argument."""

from __future__ import annotations

from collections.abc import Callable

from minmargin.execution import Item, Result


def call_it(fn: Callable[[Item], Result], item: Item) -> Result:
    """Return fn of an item: a task, for clusters that hand over what was sent before as an argument."""
    return fn(item)


def hand_over(fn: Callable[[Item], Result]) -> Callable[[Item], Result]:
    """Return a function as it is: a task whose result other tasks are given."""
    return fn

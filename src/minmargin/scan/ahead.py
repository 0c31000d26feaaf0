"""Reading ahead: the next chunk of a pool is read while somebody works on this one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

from minmargin.execution import Item


def one_ahead(items: Iterable[Item]) -> Iterator[Item]:
    """Return the items in order; each is made in a thread while the one before it is in use.

    An error in making one is raised where it would have come: after the items before it.
    """
    remaining = iter(items)
    with ThreadPoolExecutor(1) as reader:
        coming = reader.submit(_take_one, remaining)
        while taken := coming.result():
            coming = reader.submit(_take_one, remaining)
            yield taken.pop()


def _take_one(remaining: Iterator[Item]) -> list[Item]:
    """Return the next item in a list, which is empty if there is none: a thread cannot raise StopIteration."""
    for item in remaining:
        return [item]
    return []

"""Reading ahead: the same items in the same order, one of them made before it is asked for."""

from __future__ import annotations

import gc
import weakref
from threading import Event

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minmargin.scan.ahead import one_ahead


@given(st.lists(st.none() | st.integers()))
def test_items_come_as_they_are_made(items):
    assert list(one_ahead(items)) == items


def test_the_next_item_is_made_while_this_one_is_in_use():
    begun = Event()

    def make():
        yield 1
        begun.set()
        yield 2

    items = one_ahead(make())
    assert next(items) == 1
    assert begun.wait(60)
    assert list(items) == [2]


def test_an_error_comes_after_the_items_before_it():
    def make():
        yield 1
        raise ValueError("no more")

    items = one_ahead(make())
    assert next(items) == 1
    with pytest.raises(ValueError, match=r"^no more$"):
        next(items)


def test_whoever_stops_early_leaves_no_item_unmade_halfway():
    made = []

    def make():
        for number in range(10):
            made.append(number)
            yield number

    items = one_ahead(make())
    next(items)
    items.close()
    assert made in ([0], [0, 1])


def test_an_item_that_is_done_with_is_not_held():
    class Chunk:
        pass

    items = one_ahead(Chunk() for _ in range(3))
    held = weakref.ref(next(items))
    gc.collect()
    assert held() is None
    items.close()

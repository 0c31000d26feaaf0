"""What follows from bounds: rows that are near, and those that get a closer look."""

from __future__ import annotations

import numpy as np
import pytest

from minmargin.compute.bounds import lowest, two_looks
from minmargin.compute.reductions import Bounds

SCORES = np.array([0.1, 0.2, 0.3, 0.4, 0.5])


def around(scores, width):
    return Bounds(scores - width, scores + width)


class Closer:
    """A closer look at the scores above that remembers at which rows."""

    def __init__(self):
        self.rows = []

    def __call__(self, index):
        self.rows += index.tolist()
        return around(SCORES[index], 1e-3)


def test_rows_are_near_if_they_may_be_among_the_lowest():
    near, threshold = lowest(around(SCORES, 0.06), 0.45, 2)
    assert near.tolist() == [0, 1, 2]
    assert threshold == pytest.approx(0.26)


def test_only_rows_in_doubt_get_a_closer_look():
    closer = Closer()
    near, bounds = two_looks(around(SCORES, 0.06), closer, threshold=0.32, size=None)
    assert closer.rows == [2]
    assert near.tolist() == [0, 1, 2]
    np.testing.assert_allclose(bounds.upper - bounds.lower, [0.12, 0.12, 0.002])


def test_wide_bounds_are_a_reason_to_look_closer():
    closer = Closer()
    near, bounds = two_looks(around(SCORES, 0.06), closer, threshold=0.32, size=None, width=0.0)
    assert closer.rows == near.tolist() == [0, 1, 2]
    np.testing.assert_allclose(bounds.upper - bounds.lower, 0.002)


def test_nothing_is_looked_at_closer_while_nothing_can_be_dismissed():
    closer = Closer()
    near, _ = two_looks(around(SCORES, 0.06), closer, threshold=np.inf, size=10, width=0.0)
    assert (closer.rows, near.tolist()) == ([], [0, 1, 2, 3, 4])


def test_too_few_rows_are_not_worth_a_closer_look():
    closer = Closer()
    near, _ = two_looks(around(SCORES, 0.06), closer, threshold=0.32, size=None, at_least=2)
    assert (closer.rows, near.tolist()) == ([], [0, 1, 2])


def test_where_there_is_no_closer_look_the_first_one_decides():
    near, bounds = two_looks(around(SCORES, 0.06), None, threshold=0.32, size=None)
    assert near.tolist() == [0, 1, 2]
    np.testing.assert_allclose(bounds.lower, SCORES[:3] - 0.06)


def test_a_look_that_knows_nothing_of_a_row_dismisses_it_not_and_spoils_nothing():
    first = around(SCORES, 0.06)
    first.lower[4] = first.upper[4] = np.nan
    near, bounds = two_looks(first, Closer(), threshold=0.32, size=None, width=0.0)
    assert near.tolist() == [0, 1, 2], "the closer look has dismissed it"
    near, bounds = two_looks(
        around(SCORES, 0.06),
        lambda index: around(np.full(len(index), np.nan), 0.0),
        threshold=0.32,
        size=None,
    )
    assert near.tolist() == [0, 1, 2]
    np.testing.assert_allclose(bounds.lower, SCORES[:3] - 0.06)

"""TopB is a full sort, in any number of pieces, merged in any order and grouping."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from minmargin.seeds import SeedTree
from minmargin.topb import TopB

# Few distinct values, so that ties are the rule; and both zeros.
SCORES = st.lists(st.sampled_from([-1.5, -0.0, 0.0, 0.25, 1e-300, 1.0]), min_size=1, max_size=400)


def sorted_rows(scores, seeds, size):
    rows = np.arange(len(scores))
    return np.lexsort((rows, seeds.ties(rows), np.array(scores)))[:size]


def top_of(rows, scores, size, seeds, bound=None):
    top = TopB(size, seeds, bound)
    if len(rows):
        top.update(rows, scores[rows], lambda index: {"twice": 2 * rows[index]})
    return top


@given(scores=SCORES, size=st.integers(1, 50), seed=st.integers(0, 1000), data=st.data())
def test_any_grouping_and_order_gives_the_sorted_rows(scores, size, seed, data):
    seeds, values = SeedTree(seed), np.array(scores)
    owner = data.draw(st.lists(st.integers(0, 6), min_size=len(values), max_size=len(values)))
    pieces = [np.flatnonzero(np.array(owner) == piece) for piece in range(7)]
    tops = [top_of(rows, values, size, seeds) for rows in data.draw(st.permutations(pieces))]
    while len(tops) > 1:
        first = tops.pop(data.draw(st.integers(0, len(tops) - 1)))
        second = tops.pop(data.draw(st.integers(0, len(tops) - 1)))
        first.merge(second)
        tops.append(first)
    found = tops[0].finish()
    expected = sorted_rows(scores, seeds, size)
    assert found.rows.tolist() == expected.tolist()
    assert found.scores.tolist() == values[expected].tolist()
    assert found.details["twice"].tolist() == (2 * expected).tolist()


@given(scores=SCORES, size=st.integers(1, 20), seed=st.integers(0, 1000), cut=st.integers(1, 399))
def test_a_bound_from_elsewhere_dismisses_only_what_cannot_win(scores, size, seed, cut):
    seeds, values = SeedTree(seed), np.array(scores)
    rows = np.arange(len(values))
    top = top_of(rows[:cut], values, size, seeds)
    top.finish()
    top.merge(top_of(rows[cut:], values, size, seeds, top.last_place))
    assert top.finish().rows.tolist() == sorted_rows(scores, seeds, size).tolist()


def test_memory_is_of_the_order_of_the_batch():
    seeds, held = SeedTree(0), []
    top = TopB(10, seeds)
    rng = np.random.default_rng(0)
    for first in range(0, 200_000, 1000):
        top.update(np.arange(first, first + 1000), rng.random(1000))
        held.append(sum(len(part.rows) for part in top._parts))
    assert max(held) <= 2 * 10 + 1024 + 10


def test_rows_beyond_float32_keep_their_numbers():
    top = TopB(2, SeedTree(0))
    rows = np.array([2**24 + 1, 2**53 + 1, 2**62 + 1])
    top.update(rows, np.array([0.1, 0.2, 0.3]))
    assert top.finish().rows.tolist() == [2**24 + 1, 2**53 + 1]


def test_a_topb_without_size_keeps_every_row_in_order():
    top = TopB(None, SeedTree(0))
    top.update(np.arange(5000), np.arange(5000)[::-1].astype(float))
    assert top.finish().rows.tolist() == list(range(4999, -1, -1))


def test_an_empty_topb_finishes_empty():
    assert len(TopB(3, SeedTree(0)).finish().rows) == 0

"""No row that belongs is behind the cut, whatever is known of the scores and in whatever order it comes."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from minmargin.seeds import SeedTree
from minmargin.topb import Cut, LastPlace

SEEDS = SeedTree(3)
SCORES = arrays(np.float64, st.integers(0, 200), elements=st.floats(0.0, 1.0))


@given(scores=SCORES, size=st.integers(1, 60), n_parts=st.integers(1, 8), data=st.data())
def test_the_lowest_rows_do_not_exceed_the_cut(scores, size, n_parts, data):
    slack = data.draw(
        arrays(np.float64, len(scores), elements=st.sampled_from([0.0, 1e-9, 0.5, math.inf, math.nan]))
    )
    cut = Cut(size, SEEDS)
    seen = np.empty(0)
    for part in np.array_split(np.arange(len(scores)), n_parts):
        before = cut.score
        cut.take_in(part, scores[part] + slack[part])
        seen = np.concatenate([seen, scores[part]])
        assert cut.score <= before
        assert np.count_nonzero(seen <= cut.score) >= size or cut.score == math.inf


@given(scores=SCORES, size=st.integers(1, 60))
def test_scores_that_are_known_exactly_give_the_lowest_cut_there_is(scores, size):
    cut = Cut(size, SEEDS)
    cut.take_in(np.arange(len(scores)), scores)
    assert cut.score == (np.sort(scores)[size - 1] if len(scores) >= size else math.inf)


@given(
    votes=st.lists(st.integers(0, 3), max_size=120),
    size=st.integers(1, 30),
    n_parts=st.integers(1, 8),
    data=st.data(),
)
def test_rows_with_the_score_of_the_last_pick_are_told_apart_by_their_hashes(votes, size, n_parts, data):
    """No row of the batch is behind the cut; if all scores are known exactly, every other row is."""
    scores, rows = np.array(votes, dtype=np.float64), np.arange(len(votes))
    doubts = np.array(data.draw(st.lists(st.integers(0, 1), min_size=len(votes), max_size=len(votes))))
    known = data.draw(st.booleans())
    slack = np.zeros(len(votes)) if known else doubts.astype(np.float64)
    cut, batch = Cut(size, SEEDS), np.lexsort((rows, SEEDS.ties(rows), scores))[:size]
    for part in np.array_split(rows, n_parts):
        cut.take_in(part, scores[part] + slack[part])
    cut.settle()
    left = np.flatnonzero(cut.not_behind(rows, scores - slack))
    assert set(batch.tolist()) <= set(left.tolist())
    if known:
        assert sorted(batch.tolist()) == left.tolist()


def test_of_a_row_of_which_nothing_is_known_it_is_never_said_that_it_is_behind():
    cut, rows = Cut(2, SEEDS), np.arange(3)
    cut.take_in(rows, np.zeros(3))
    assert cut.not_behind(rows, np.array([np.nan, -np.inf, 1e-300])).tolist() == [True, True, False]


def test_what_is_known_from_elsewhere_counts_too():
    first, second = sorted(SEEDS.ties(np.arange(2)))
    cut = Cut(2, SEEDS, last_place=LastPlace(0.5, second, 1))
    cut.lower_to(LastPlace(0.7, first, 0))
    assert cut.score == 0.5
    cut.lower_to(LastPlace(0.3, second, 1))
    assert cut.score == 0.3
    assert cut.not_behind(np.arange(2), np.full(2, 0.3)).all()
    cut.lower_to(LastPlace(0.3, first, 1))
    assert cut.not_behind(np.arange(2), np.full(2, 0.3)).sum() == 1
    cut.take_in(np.arange(200), np.linspace(0.0, 0.2, 200))
    assert cut.score < 0.01


def test_where_every_row_is_needed_there_is_no_cut():
    cut = Cut(None, SEEDS)
    cut.take_in(np.arange(10), np.zeros(10))
    assert cut.score == math.inf

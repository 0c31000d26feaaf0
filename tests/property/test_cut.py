"""The cut never lies below the B-th lowest score, whatever is known of the scores and in whatever order it comes."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from minmargin.topb import Cut

SCORES = arrays(np.float64, st.integers(0, 200), elements=st.floats(0.0, 1.0))


@given(scores=SCORES, size=st.integers(1, 60), n_parts=st.integers(1, 8), data=st.data())
def test_the_lowest_rows_do_not_exceed_the_cut(scores, size, n_parts, data):
    slack = data.draw(
        arrays(np.float64, len(scores), elements=st.sampled_from([0.0, 1e-9, 0.5, math.inf, math.nan]))
    )
    cut = Cut(size)
    seen = np.empty(0)
    for part in np.array_split(np.arange(len(scores)), n_parts):
        before = cut.score
        cut.take_in(scores[part] + slack[part])
        seen = np.concatenate([seen, scores[part]])
        assert cut.score <= before
        assert np.count_nonzero(seen <= cut.score) >= size or cut.score == math.inf


@given(scores=SCORES, size=st.integers(1, 60))
def test_scores_that_are_known_exactly_give_the_lowest_cut_there_is(scores, size):
    cut = Cut(size)
    cut.take_in(scores)
    assert cut.score == (np.sort(scores)[size - 1] if len(scores) >= size else math.inf)


def test_what_is_known_from_elsewhere_counts_too():
    cut = Cut(2, 0.5)
    cut.lower_to(0.7)
    assert cut.score == 0.5
    cut.lower_to(0.3)
    assert cut.score == 0.3
    cut.take_in(np.linspace(0.0, 0.2, 200))
    assert cut.score < 0.01


def test_where_every_row_is_needed_there_is_no_cut():
    cut = Cut(None)
    cut.take_in(np.zeros(10))
    assert cut.score == math.inf

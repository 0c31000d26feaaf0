"""A shortlist has the rows that a full sort would give, however rough its screen, in whatever pieces rows come."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import narwhals as nw
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from known_scores import KnownScores, OneModel
from minmargin.scan import waiting
from minmargin.scan.shortlisting import CandidateBlock, Deciders, Shortlisting
from minmargin.seeds import SeedTree
from minmargin.strategies import Shortlist
from minmargin.strategies.candidates import Candidates
from minmargin.topb import Near

SEEDS = SeedTree(3)


class VagueScreen:
    """Knows scores to within a slack; of some rows it knows nothing from above."""

    def __init__(self, slack, silent):
        self.slack, self.silent = slack, silent

    def near(self, X, *, cut, size):
        scores = X[:, 0]
        lower, upper = scores - self.slack, scores + self.slack
        if self.silent:
            upper[::2] = np.inf
        places = np.flatnonzero(~(lower > cut.score))
        return Near(places, lower[places], upper[places])


def shortlisted(scores, size, cuts, slack, silent, excluded, threads=None, share=None):
    making = Shortlisting(
        Shortlist(KnownScores(), size),
        VagueScreen(slack, silent),
        SEEDS,
        deciders=Deciders(threads, share),
    )
    n_decided = 0
    for start, stop in zip([0, *cuts], [*cuts, len(scores)], strict=True):
        rows = range(start, stop)
        carried = nw.from_native(pa.table({"name": [f"row {row}" for row in rows]}), eager_only=True)
        candidates = Candidates(
            rows, scores[start:stop, None], OneModel(), seeds=SEEDS, device="cpu", carried=carried
        )
        places = np.array([row - start for row in rows if row in excluded], np.intp)
        n_decided += making.take_in(CandidateBlock(candidates, start, places, len(scores), lambda: None, 2))
    n_decided += making.decide_rest()
    return making.top.finish(), n_decided


@pytest.fixture(autouse=True, scope="module")
def few_may_wait():
    """So that rows which wait become many every now and then."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(waiting, "_FEW_ROWS", 4)
        patch.setattr(waiting, "_MOST_BYTES", 400)
        yield


@given(
    scores=st.lists(st.integers(0, 12), min_size=1, max_size=80),
    size=st.integers(1, 20),
    slack=st.sampled_from([0.0, 1e-9, 0.1, 5.0]),
    silent=st.booleans(),
    data=st.data(),
)
def test_the_lowest_rows_come_with_their_columns(scores, size, slack, silent, data):
    scores = np.array(scores, np.float64)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(scores)), max_size=6)))
    excluded = data.draw(st.sets(st.integers(0, len(scores) - 1), max_size=5))
    found, _ = shortlisted(scores, size, cuts, slack, silent, excluded)
    rows = np.array([row for row in range(len(scores)) if row not in excluded], np.int64)
    in_line = rows[np.lexsort((rows, SEEDS.ties(rows), scores[rows]))][:size]
    np.testing.assert_array_equal(found.rows, in_line)
    np.testing.assert_array_equal(found.scores, scores[in_line])
    if len(in_line):
        names = found.details["carried"].to_dict(as_series=False)["name"]
        assert names == [f"row {row}" for row in in_line]


def test_threads_share_out_what_is_scored_canonically():
    scores = np.random.default_rng(0).random(1000)
    alone, _ = shortlisted(scores, 50, [500], 0.5, False, set())
    with ThreadPoolExecutor(2) as threads:
        shared, _ = shortlisted(scores, 50, [500], 0.5, False, set(), threads, 7)
    np.testing.assert_array_equal(alone.rows, shared.rows)


def test_with_a_sharp_screen_hardly_more_than_the_batch_is_scored_canonically(monkeypatch):
    monkeypatch.setattr(waiting, "_FEW_ROWS", 4096)
    monkeypatch.setattr(waiting, "_MOST_BYTES", 1 << 24)
    scores = np.random.default_rng(0).random(20_000)
    _, n_decided = shortlisted(scores, 100, list(range(1000, 20_000, 1000)), 1e-12, False, set())
    assert n_decided == 100

"""Distinct rows: the first of each kind, in the order of a full sort, however the pool is read and looked at."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import brute_force
import minmargin as mm
from known_scores import KnownScores, OneModel
from minmargin.data.keys import keys_of_numbers
from minmargin.pools import memory
from minmargin.scan import checkpoint, fragments, waiting
from minmargin.scan.engines import LocalEngine
from minmargin.scan.shortlisting import CandidateBlock, Shortlisting
from minmargin.scan.wire import from_table, to_table
from minmargin.seeds import SeedTree
from minmargin.strategies import BUILT_IN, Shortlist
from minmargin.strategies.candidates import Candidates
from minmargin.topb import Cut, Near, TopB

#: Rows as pairs of a score and a kind: copies are those that have the same kind, whatever their scores.
PAIR = st.tuples(st.sampled_from([-1.5, -0.0, 0.0, 0.25, 1.0]), st.integers(0, 12))
PAIRS = st.lists(PAIR, min_size=1, max_size=20) | st.lists(PAIR, min_size=40, max_size=150)
SEEDS = SeedTree(3)


def first_of_each(scores, kinds, rows, size):
    """Return the first `size` rows of different kinds, and how many others have lower scores than the last of them."""
    picked, seen = [], set()
    for row in rows[np.lexsort((rows, SEEDS.ties(rows), scores[rows]))].tolist():
        if kinds[row] not in seen and (size is None or len(picked) < size):
            picked.append(row)
            seen.add(kinds[row])
    full = size is not None and len(picked) == size
    below = scores[picked[-1]] if full else math.inf
    return picked, sum(row not in picked and scores[row] < below for row in rows.tolist())


def top_of(rows, scores, kinds, size, last_place=None):
    keys = keys_of_numbers(kinds[:, np.newaxis].astype(float))
    top = TopB(size, SEEDS, last_place, distinct=True)
    top.update(
        rows, scores[rows], lambda index: {"twice": 2 * rows[index]}, keys=lambda index: keys[rows[index]]
    )
    return top


@given(pairs=PAIRS, size=st.none() | st.integers(1, 15), wired=st.booleans(), data=st.data())
def test_any_grouping_and_order_of_topbs_gives_the_same_rows_and_counts_the_same_copies(
    pairs, size, wired, data
):
    scores, kinds = np.array([score for score, _ in pairs]), np.array([kind for _, kind in pairs])
    owner = np.array(data.draw(st.lists(st.integers(0, 6), min_size=len(pairs), max_size=len(pairs))))
    tops: list[TopB] = []
    for piece in data.draw(st.permutations(range(7))):
        known = data.draw(st.sampled_from([None, *(top.last_place for top in tops)]))
        top = top_of(np.flatnonzero(owner == piece), scores, kinds, size, known)
        tops.append(from_table(to_table(top), size, SEEDS, distinct=True) if wired else top)
    while len(tops) > 1:
        first = tops.pop(data.draw(st.integers(0, len(tops) - 1)))
        first.merge(tops.pop(data.draw(st.integers(0, len(tops) - 1))))
        tops.append(first)
    found, counts = tops[0].finish(), tops[0].passed_over().counts
    picked, n_copies = first_of_each(scores, kinds, np.arange(len(pairs)), size)
    assert found.rows.tolist() == picked
    assert found.details["twice"].tolist() == [2 * row for row in picked]
    assert counts.sum() == n_copies


def test_copies_take_no_memory_but_a_number():
    top = TopB(10, SEEDS, distinct=True)
    for first in range(0, 100_000, 1000):
        rows = np.arange(first, first + 1000)
        kinds = rows % 12
        top.update(
            rows, kinds * 0.1, keys=lambda index, kinds=kinds: keys_of_numbers(kinds[index, None] * 1.0)
        )
        assert sum(len(part.rows) for part in top._parts) <= 2 * 10 + 12 + 128
        assert len(top._passed.scores) <= 12
    assert top.passed_over().counts.sum() == np.count_nonzero(np.arange(100_000) % 12 < 9) - 9


@given(pairs=PAIRS, size=st.integers(1, 15), n_parts=st.integers(1, 8), data=st.data())
def test_the_lowest_distinct_rows_do_not_exceed_the_cut(pairs, size, n_parts, data):
    scores, kinds = np.array([score for score, _ in pairs]), np.array([kind for _, kind in pairs])
    slack = data.draw(
        st.lists(st.sampled_from([0.0, 0.5, math.inf]), min_size=len(pairs), max_size=len(pairs))
    )
    keys, seen = keys_of_numbers(kinds[:, None] * 1.0), np.empty(0, int)
    cut = Cut(size, SEEDS, distinct=True)
    for part in np.array_split(np.arange(len(pairs)), n_parts):
        cut.take_in(part, scores[part] + np.array(slack)[part], lambda index, part=part: keys[part[index]])
        seen = np.concatenate([seen, part])
        lowest = sorted({kind: scores[seen][kinds[seen] == kind].min() for kind in kinds[seen]}.values())
        cut.settle()
        assert cut.score == math.inf or lowest[size - 1] <= cut.score


class StrictScreen:
    """Dismisses all that it may: each row that is above the cut, or above as many others as are asked for."""

    def __init__(self, slack):
        self.slack, self.n_looks = slack, 0

    def near(self, X, *, cut, size):
        self.n_looks += 1
        lower, upper = X[:, 0] - self.slack, X[:, 0] + self.slack
        threshold = cut.score if len(X) <= size else min(cut.score, np.sort(upper)[size - 1])
        places = np.flatnonzero(~(lower > threshold))
        return Near(places, lower[places], upper[places])


def shortlist(X, size, cuts, screen, excluded=()):
    making = Shortlisting(Shortlist(KnownScores(), size, distinct=True), screen, SEEDS)
    for start, stop in zip([0, *cuts], [*cuts, len(X)], strict=True):
        candidates = Candidates(range(start, stop), X[start:stop], OneModel(), seeds=SEEDS, device="cpu")
        places = np.array([row - start for row in range(start, stop) if row in excluded], np.intp)
        making.take_in(CandidateBlock(candidates, start, places, len(X), lambda: None, 2))
    making.decide_rest()
    return making.top


@given(
    pairs=PAIRS,
    size=st.integers(1, 15),
    slack=st.sampled_from([0.0, 1e-9, 0.1, 5.0]),
    few=st.booleans(),
    data=st.data(),
)
def test_a_screen_may_dismiss_all_that_it_was_not_asked_for(pairs, size, slack, few, data):
    X = np.array(pairs)
    X[:, 1] %= 2  # so that most rows are copies
    cuts = sorted(data.draw(st.sets(st.integers(0, len(X)), max_size=6)))
    excluded = data.draw(st.sets(st.integers(0, len(X) - 1), max_size=5))
    with pytest.MonkeyPatch.context() as patched:
        if few:  # may wait, so that some are decided early
            patched.setattr(waiting, "_FEW_ROWS", 4)
            patched.setattr(waiting, "_MOST_BYTES", 400)
        top = shortlist(X, size, cuts, StrictScreen(slack), excluded)
    rows = np.array([row for row in range(len(X)) if row not in excluded], np.int64)
    picked, n_copies = first_of_each(X[:, 0], list(map(tuple, X.tolist())), rows, size)
    assert top.finish().rows.tolist() == picked
    assert top.passed_over().counts.sum() == n_copies


def test_a_block_without_copies_is_looked_at_once():
    X = np.random.default_rng(0).random((1000, 2))
    screen = StrictScreen(1e-9)
    shortlist(X, 50, [300, 600], screen)
    assert screen.n_looks == 3
    screen = StrictScreen(1e-9)
    shortlist(np.tile(X[:100], (10, 1)), 50, [300, 600], screen)
    assert 3 < screen.n_looks < 10


# --- whole selections -------------------------------------------------------------------------------------------


@functools.cache
def committee():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 4))
    y = (X @ [1.0, -0.5, 0.2, 0.0] + rng.normal(scale=0.5, size=40) > 0).astype(int)
    return mm.fit_committee(X, y, n_models=5, random_state=3, n_jobs=1)


@functools.cache
def pool_rows(n_kinds):
    """Return 400 rows of few kinds, in which zeros have either sign."""
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(n_kinds, 4)).astype(np.float32)
    rows[rng.random(rows.shape) < 0.3] = 0.0
    pool = rows[rng.integers(0, n_kinds, 400)]
    pool[(pool == 0) & (rng.random(pool.shape) < 0.5)] = -0.0
    return pool


@functools.cache
def expected(strategy, batch_size, n_kinds, out):
    pool, scorer = pool_rows(n_kinds), committee().scorer
    base = brute_force.linear_class_scores(pool, scorer.base_weights, scorer.base_intercepts)[0]
    members = brute_force.linear_class_scores(pool, scorer.member_weights, scorer.member_intercepts)
    return brute_force.pick(
        strategy,
        base,
        members,
        pool,
        committee().provenance.vectors(),
        batch_size,
        3,
        out=sorted(out),
        distinct=True,
    )


KINDS = {
    "float32": lambda X: X,
    "float64": lambda X: X.astype(np.float64),
    "fortran": np.asfortranarray,
    "csr": sparse.csr_array,
    "generator": lambda X: (X[start : start + 23] for start in range(0, len(X), 23)),
}


@settings(max_examples=80)
@given(
    strategy=st.sampled_from([name for name in BUILT_IN if name not in {"balanced-margin", "k-centers"}]),
    kind=st.sampled_from([*KINDS]),
    batch_size=st.sampled_from([1, 7, 20]),
    n_kinds=st.sampled_from([40, 300]),
    out=st.sampled_from([frozenset(), frozenset(range(0, 400, 3))]),
    chunk_size=st.integers(1, 500),
    n_jobs=st.sampled_from([1, 2, 5]),
    way=st.sampled_from(["threads", "fragments", "checkpoint"]),
    small_work=st.sampled_from([0, 100_000]),
)
@pytest.mark.usefixtures("small_blocks")
def test_no_way_of_reading_the_pool_changes_a_distinct_batch(
    tmp_path_factory, strategy, kind, batch_size, n_kinds, out, chunk_size, n_jobs, way, small_work
):
    """Nor how many copies are passed over."""
    rows = pool_rows(n_kinds)
    asked = {"strategy": brute_force.made(strategy), "exclude": sorted(out) or None, "distinct": True}
    plain = committee().select(rows, batch_size, n_jobs=1, **asked)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("minmargin.compute.models.SMALL_WORK", small_work)
        patched.setattr(fragments, "_FRAGMENT_ROWS", 64)
        patched.setattr(fragments, "_TIMES_THE_BATCH", 1)
        patched.setattr(memory, "_UNIT", 16)
        patched.setattr(checkpoint, "_SECONDS", 0.0)
        how = {"chunk_size": chunk_size, "n_jobs": n_jobs}
        pool = KINDS[kind](rows)
        if way == "fragments" and kind != "generator":
            how["engine"] = LocalEngine(n_jobs)
        if way == "checkpoint" and kind != "generator":
            how["checkpoint"] = tmp_path_factory.mktemp("state")
            stop_once(committee(), pool, batch_size, asked, how)
        batch = committee().select(pool, batch_size, **asked, **how)
    picked, scores = expected(strategy, batch_size, n_kinds, out)
    assert batch.rows.tolist() == picked.tolist()
    np.testing.assert_array_equal(batch.scores, scores)
    assert batch.manifest["copies_passed_over"] == plain.manifest["copies_passed_over"]
    assert len({tuple(row) for row in rows[batch.rows].tolist()}) == batch_size


def stop_once(trained, pool, batch_size, asked, how):
    """Interrupt a selection that keeps what it has found."""

    def interrupt(stage, done, _):
        if stage == "scanning" and done > 150:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        trained.select(pool, batch_size, **asked, **how, progress=interrupt)


@pytest.mark.usefixtures("either_way", "small_blocks")
@pytest.mark.parametrize("strategy", ["min-margin", "margin", "random", "var-softmax"])
def test_copies_are_the_rows_below_the_last_pick_that_were_not_picked(strategy):
    rows = pool_rows(40)
    batch = committee().select(rows, 20, strategy=strategy, distinct=True)
    scores = committee().score(rows, strategy=strategy)
    below = np.flatnonzero(scores < batch.scores[-1])
    assert batch.manifest["copies_passed_over"] == len(set(below) - set(batch.rows)) > 0

"""Strategies that pick rows apart: badge by gradients, cluster-margin by clusters."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import LinearSVC

import minmargin as mm
from brute_force import Pool, pick_cluster_margin

rng = np.random.default_rng(0)
X, POOL = rng.normal(size=(60, 4)), rng.normal(size=(500, 4))
Y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 1)


@pytest.fixture(scope="module")
def committee():
    return mm.fit_committee(X, Y, n_models=0, random_state=3)


def test_badge_begins_with_the_longest_gradient_and_has_minus_its_length_as_score(committee):
    base = committee.scorer.base_scores(POOL)
    gradients = base - np.eye(3)[base.argmax(axis=1)]
    squares = (gradients**2).sum(axis=1) * ((POOL**2).sum(axis=1) + 1.0)
    batch = committee.select(POOL, 5, strategy="badge")
    assert batch.rows[0] == squares.argmax()
    assert batch.scores[0] == pytest.approx(-np.sqrt(squares.max()))
    assert (batch.scores < 0).all()
    assert (batch.member == -1).all()


def test_badge_picks_no_copy_while_there_is_another_row(committee):
    kinds = POOL[:6]
    copies = rng.integers(0, 6, 200)
    batch = committee.select(kinds[copies], 20, strategy="badge", distinct=False)
    assert sorted(copies[batch.rows[:6]]) == list(range(6))
    assert (batch.scores[6:] == 0.0).all()
    by_margin = committee.select(kinds[copies], 200, strategy="margin", distinct=False).rows
    rest = [row for row in by_margin.tolist() if row not in batch.rows[:6]]
    assert batch.rows[6:].tolist() == rest[:14]


def test_badge_picks_otherwise_with_another_seed():
    batches = [mm.select(X, Y, POOL, 10, strategy="badge", random_state=seed) for seed in (0, 1)]
    assert batches[0].rows.tolist() != batches[1].rows.tolist()


def test_badge_counts_gradients_as_memory(committee):
    """A row takes 4 numbers of its vector and 3 of its gradient, held twice."""
    with pytest.raises(mm.InputError) as error:
        committee.select(POOL, 10, strategy=mm.Badge(memory_limit=2 * 8 * 7 * 80))
    assert str(error.value) == (
        "Strategy 'badge' compares all candidates in memory: 500 rows need about 0.1 MB and 0.0 MB may be used. "
        "Use prefilter=80 to keep only the rows with the lowest margin."
    )
    fitting = mm.Badge(memory_limit=2 * 8 * 7 * 80, prefilter=80)
    assert len(committee.select(POOL, 10, strategy=fitting)) == 10


def test_badge_is_refused_without_probabilities():
    with pytest.raises(mm.InputError) as error:
        mm.select(X, Y, POOL, 3, strategy="badge", learner=LinearSVC())
    assert str(error.value) == (
        "Strategy 'badge' needs class probabilities, and LinearSVC() has only decision_function. Wrap it in "
        "CalibratedClassifierCV(..., ensemble=False)."
    )


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(("oversample", "n_clusters"), [(5, 2), (30, 7), (1, 3), (50, 1), (10, None)])
def test_clusters_of_a_sample_are_those_of_the_oracle(committee, form, oversample, n_clusters):
    """With few clusters the centers come from a sample: 32 rows a cluster."""
    base = committee.scorer.base_scores(POOL)
    pool = Pool(base, base[np.newaxis], POOL, POOL, X, 3)
    rows, scores = pick_cluster_margin(pool, 12, oversample, n_clusters)
    strategy = mm.ClusterMargin(oversample=oversample, n_clusters=n_clusters)
    batch = committee.select(form(POOL), 12, strategy=strategy)
    assert batch.rows.tolist() == rows.tolist()
    assert batch.scores.tolist() == scores.tolist()


def test_cluster_margin_takes_turns_over_clusters(committee):
    """Three heaps of one kind each: the smaller heap is first, and every heap gives its lowest margins."""
    heaps = np.repeat([0, 1, 2], [50, 5, 20])
    pool = np.array([[0.1, 30.0, 0, 0], [0.2, 0, 30.0, 0], [0.3, 0, 0, 30.0]])[heaps]
    pool = pool + 0.01 * rng.normal(size=pool.shape)
    batch = committee.select(pool, 20, strategy=mm.ClusterMargin(n_clusters=3))
    turns = heaps[batch.rows].tolist()
    assert turns[:15] == [1, 2, 0] * 5
    assert turns[15:] == [2, 0, 2, 0, 2]
    for heap in range(3):
        given = batch.scores[heaps[batch.rows] == heap]
        margins = committee.score(pool, strategy="margin")[heaps == heap]
        assert given.tolist() == np.sort(margins)[: len(given)].tolist()


def test_cluster_margin_refuses_what_does_not_fit_into_memory(committee):
    with pytest.raises(mm.InputError) as error:
        committee.select(POOL, 10, strategy=mm.ClusterMargin(memory_limit=2 * 32 * 35))
    assert str(error.value) == (
        "Strategy 'cluster-margin' compares all candidates in memory: 100 rows need about 0.0 MB and 0.0 MB may be "
        "used. Use oversample=3."
    )
    fitting = mm.ClusterMargin(memory_limit=2 * 32 * 35, oversample=3)
    assert len(committee.select(POOL, 10, strategy=fitting)) == 10
    with pytest.raises(mm.InputError) as error:
        committee.select(POOL, 10, strategy=mm.ClusterMargin(memory_limit=2 * 32 * 5))
    assert str(error.value).endswith("may be used. Raise memory_limit, or pick fewer rows.")


def test_the_options_of_cluster_margin_are_checked_and_recorded(committee):
    for name in ("oversample", "n_clusters"):
        with pytest.raises(mm.InputError) as error:
            mm.ClusterMargin(**{name: 0})
        assert str(error.value) == f"{name}=0 must be a whole number >= 1."
    batch = committee.select(POOL, 3, strategy=mm.ClusterMargin(n_clusters=2, memory_limit=1 << 20))
    assert batch.manifest["settings"]["strategy_options"] == {"oversample": 10, "n_clusters": 2}
    batch = committee.select(POOL, 3, strategy="badge")
    assert batch.manifest["settings"]["strategy_options"] == {"prefilter": None}

"""What each strategy adds to its score: reasons, options, the registry, greedy behavior."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris

import minmargin as mm
from minmargin import margins
from minmargin.strategies import registry, resolve_strategy

X, Y = load_iris(return_X_y=True)
LABELED, POOL = slice(0, 150, 5), np.delete(np.arange(150), np.arange(0, 150, 5))


@pytest.fixture(scope="module")
def committee():
    return mm.fit_committee(X[LABELED], Y[LABELED], n_models=6, random_state=0)


def member_scores(committee, rows):
    return committee.scorer.each_member(X[POOL][rows])


def test_strategies_lists_all_eleven_with_meaning_and_cost():
    entries = mm.strategies()
    names = [entry.name for entry in entries]
    assert names[:11] == [
        "min-margin",
        "margin",
        "mean-margin",
        "margin-of-mean",
        "committee",
        "var-softmax",
        "random",
        "random-margin-mix",
        "balanced-margin",
        "k-centers",
        "true-margin",
    ]
    assert all(entry.summary.endswith(".") and entry.cost for entry in entries)


def test_min_margin_names_the_member_whose_boundary_it_is_and_its_two_classes(committee):
    batch = committee.select(X[POOL], 10)
    members = member_scores(committee, batch.rows)
    for place in range(10):
        scores = members[batch.member[place], place]
        assert np.sort(scores)[-1] - np.sort(scores)[-2] == batch.scores[place]
        assert set(batch.top_classes[place]) == set(np.argsort(scores)[-2:])


def test_margin_has_no_member_and_the_base_classes(committee):
    batch = committee.select(X[POOL], 10, strategy="margin")
    base = committee.scorer.base_scores(X[POOL][batch.rows])
    assert (batch.member == -1).all()
    assert batch.to_arrow()["member"].null_count == 10
    np.testing.assert_array_equal(batch.top_classes, np.stack(margins.top_two(base), axis=1))
    np.testing.assert_array_equal(batch.predicted, base.argmax(axis=1))


def test_committee_names_the_two_classes_with_most_votes(committee):
    batch = committee.select(X[POOL], 5, strategy="committee")
    votes = margins.votes(member_scores(committee, batch.rows))
    np.testing.assert_array_equal(batch.top_classes, np.stack(margins.top_two(votes), axis=1))


def test_mean_strategies_pick_the_lowest_mean(committee):
    members = committee.scorer.each_member(X[POOL])
    scores = np.mean(np.sort(members)[..., -1] - np.sort(members)[..., -2], axis=0)
    batch = committee.select(X[POOL], 5, strategy="mean-margin")
    np.testing.assert_allclose(batch.scores, np.sort(scores)[:5], rtol=1e-12)


def test_the_mix_is_half_margin_and_half_others(committee):
    batch = committee.select(X[POOL], 11, strategy="random-margin-mix")
    by_margin = committee.select(X[POOL], 6, strategy="margin").rows
    assert batch.rows[:6].tolist() == by_margin.tolist()
    assert len(set(batch.rows.tolist())) == 11


def test_the_mix_can_take_the_whole_pool(committee):
    batch = committee.select(X[POOL], len(POOL), strategy="random-margin-mix")
    assert sorted(batch.rows.tolist()) == list(range(len(POOL)))


@pytest.mark.parametrize("strategy", ["balanced-margin", "k-centers"])
def test_greedy_strategies_can_take_the_whole_pool(committee, strategy):
    batch = committee.select(X[POOL], len(POOL), strategy=strategy)
    assert sorted(batch.rows.tolist()) == list(range(len(POOL)))


def test_a_prefilter_keeps_the_rows_with_the_lowest_margin(committee):
    kept = set(committee.select(X[POOL], 20, strategy="margin").rows.tolist())
    for strategy in (mm.KCenters(prefilter=20), mm.BalancedMargin(prefilter=20)):
        assert set(committee.select(X[POOL], 8, strategy=strategy).rows.tolist()) <= kept


def test_balance_one_is_margin_and_balance_zero_ignores_it(committee):
    margin = committee.select(X[POOL], 8, strategy="margin").rows.tolist()
    assert committee.select(X[POOL], 8, strategy=mm.BalancedMargin(balance=1)).rows.tolist() == margin
    assert committee.select(X[POOL], 8, strategy=mm.BalancedMargin(balance=0)).rows.tolist() != margin


def test_k_centers_reaches_distances_that_only_fall(committee):
    distances = -committee.select(X[POOL], 30, strategy="k-centers").scores
    assert (np.diff(distances) <= 0).all()


def test_k_centers_without_labeled_rows_starts_anywhere_at_the_greatest_distance(committee):
    batch = committee.select(X[POOL], 3, strategy=mm.KCenters(include_labeled=False))
    assert batch.scores[0] == -2.0


def test_greedy_refuses_a_stream_that_outgrows_memory(committee):
    strategy = mm.KCenters(memory_limit=2 * 32 * 70)  # 70 rows of 4 float64, held twice
    chunks = (X[POOL][i : i + 40] for i in range(0, len(POOL), 40))
    with pytest.raises(mm.InputError) as error:
        committee.select(chunks, 3, strategy=strategy)
    assert str(error.value) == (
        "Strategy 'k-centers' compares all candidates in memory: 120 rows need about 0.0 MB and 0.0 MB may be "
        "used. Use prefilter=70 to keep only the rows with the lowest margin."
    )
    assert (
        len(committee.select(X[POOL], 3, strategy=mm.KCenters(memory_limit=2 * 32 * 70, prefilter=70))) == 3
    )


def test_true_margin_scores_by_the_given_function(committee):
    batch = committee.select(X[POOL], 4, strategy=mm.TrueMargin(lambda rows: np.abs(rows[:, 0] - 6.0)))
    expected = np.sort(np.abs(X[POOL][:, 0] - 6.0))[:4]
    np.testing.assert_array_equal(batch.scores, expected)


def test_strategies_that_need_no_members_train_none():
    batch = mm.select(X[LABELED], Y[LABELED], X[POOL], 3, strategy="margin", random_state=0)
    assert batch.manifest["settings"]["n_models"] == 0


class LongestSepal:
    """A strategy of a third party: an object with a score."""

    name = "longest-sepal"
    needs = "nothing"

    def score(self, candidates):
        return -candidates.X[:, 0]


def test_an_object_or_a_function_with_a_score_is_a_strategy(committee):
    by_object = committee.select(X[POOL], 3, strategy=LongestSepal())
    by_function = committee.select(X[POOL], 3, strategy=lambda candidates: -candidates.X[:, 0])
    assert by_object.rows.tolist() == by_function.rows.tolist()
    assert by_object.manifest["settings"]["strategy"] == "longest-sepal"


def test_a_registered_function_is_found_by_name_and_listed(committee, monkeypatch):
    monkeypatch.setattr(registry, "_ENTRIES", dict(registry._ENTRIES))

    @mm.register_strategy("entropy", needs="base", cost="cheap")
    def entropy(candidates):
        """Minus the entropy of the base."""
        p = candidates.base_scores
        return (p * np.log(p)).sum(axis=1)

    assert mm.strategies()[-1][:3] == ("entropy", "Minus the entropy of the base.", "cheap")
    scores = committee.score(X[POOL], strategy="entropy")
    assert committee.select(X[POOL], 1, strategy="entropy").rows[0] == scores.argmin()


def test_options_reach_the_strategies_that_have_them():
    assert resolve_strategy("k-centers", prefilter=7) == mm.KCenters(prefilter=7)
    with pytest.raises(mm.InputError) as error:
        resolve_strategy("margin", prefilter=7)
    assert str(error.value) == "Strategy 'margin' has no option 'prefilter'."


def test_the_pool_and_the_learner_are_left_as_they_were(committee):
    before = X[POOL].copy()
    pool = X[POOL]
    for entry in mm.strategies():
        if entry.name != "true-margin":
            committee.select(pool, 5, strategy=entry.name)
    np.testing.assert_array_equal(pool, before)


def test_a_larger_batch_begins_with_the_smaller_one(committee):
    for strategy in ("min-margin", "committee", "var-softmax", "random", "k-centers", "balanced-margin"):
        small = committee.select(X[POOL], 5, strategy=strategy).rows.tolist()
        assert committee.select(X[POOL], 17, strategy=strategy).rows.tolist()[:5] == small

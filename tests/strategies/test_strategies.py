"""What each strategy adds to its score: reasons, options, the registry, greedy behavior."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris

import minmargin as mm
from brute_force import made
from minmargin import margins
from minmargin.strategies import BUILT_IN, RowScore, Shortlist, Strategy, resolve_strategy
from minmargin.strategies.registry import by_base
from minmargin.topb import Ranked

X, Y = load_iris(return_X_y=True)
LABELED, POOL = slice(0, 150, 5), np.delete(np.arange(150), np.arange(0, 150, 5))


@pytest.fixture(scope="module")
def committee():
    return mm.fit_committee(X[LABELED], Y[LABELED], n_models=6, random_state=0)


def member_scores(committee, rows):
    return committee.scorer.each_member(X[POOL][rows])


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
    batch = committee.select(X[POOL], len(POOL), strategy="random-margin-mix", distinct=False)
    assert sorted(batch.rows.tolist()) == list(range(len(POOL)))


@pytest.mark.parametrize("strategy", ["balanced-margin", "k-centers", "badge", "cluster-margin"])
def test_greedy_strategies_can_take_the_whole_pool(committee, strategy):
    batch = committee.select(X[POOL], len(POOL), strategy=strategy, distinct=False)
    assert sorted(batch.rows.tolist()) == list(range(len(POOL)))


def test_a_prefilter_keeps_the_rows_with_the_lowest_margin(committee):
    kept = set(committee.select(X[POOL], 20, strategy="margin").rows.tolist())
    for strategy in (mm.KCenters(prefilter=20), mm.BalancedMargin(prefilter=20), mm.Badge(prefilter=20)):
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


def test_a_registered_function_is_found_by_name_and_listed(committee):
    @mm.register_strategy("base-entropy", needs="base", cost="cheap")
    def entropy(candidates):
        """Minus the entropy of the base."""
        p = candidates.base_scores
        return (p * np.log(p)).sum(axis=1)

    assert mm.strategies()[-1][:3] == ("base-entropy", "Minus the entropy of the base.", "cheap")
    scores = committee.score(X[POOL], strategy="base-entropy")
    assert committee.select(X[POOL], 1, strategy="base-entropy").rows[0] == scores.argmin()


def test_options_reach_the_strategies_that_have_them():
    assert resolve_strategy("k-centers", prefilter=7) == mm.KCenters(prefilter=7)
    with pytest.raises(mm.InputError) as error:
        resolve_strategy("margin", prefilter=7)
    assert str(error.value) == "Strategy 'margin' has no option 'prefilter'."


def test_the_pool_and_the_learner_are_left_as_they_were(committee):
    before = X[POOL].copy()
    pool = X[POOL]
    for strategy in BUILT_IN:
        committee.select(pool, 5, strategy=made(strategy))
    np.testing.assert_array_equal(pool, before)


@pytest.mark.parametrize("strategy", BUILT_IN)
def test_a_larger_batch_begins_with_the_smaller_one_where_the_strategy_is_nested(strategy, committee):
    small = committee.select(X[POOL], 5, strategy=made(strategy)).rows.tolist()
    large = committee.select(X[POOL], 17, strategy=made(strategy)).rows.tolist()
    assert (large[:5] == small) == made(strategy).nested


def test_a_name_is_not_taken_twice():
    before = mm.strategies()
    with pytest.raises(mm.InputError) as error:
        mm.register_strategy("margin")
    assert str(error.value) == (
        "There is a strategy 'margin' already. Use another name, or replace=True to take its place."
    )
    assert mm.strategies() == before


def test_a_name_can_be_given_to_another_strategy_on_purpose(committee):
    @mm.register_strategy("margin", needs="nothing", replace=True)
    def by_row(candidates):
        """The row's number."""
        return candidates.rows.astype(float)

    assert committee.select(X[POOL], 3, strategy="margin").rows.tolist() == [0, 1, 2]
    assert [entry.summary for entry in mm.strategies() if entry.name == "margin"] == ["The row's number."]


class ShortestSepal:
    """A score that says less than `RowScore` has members."""

    needs = "nothing"

    def score(self, candidates):
        return candidates.X[:, 0]


class EverySecond:
    """A whole strategy of a third party, with the five members that CONTRIBUTING names."""

    name = "every-second"
    needs = "base"
    probabilistic = False

    def shortlists(self, batch_size):
        return [Shortlist(ShortestSepal(), 2 * batch_size)]

    def finish(self, shortlists, context):
        kept = shortlists[0]
        details = {name: values[::2] for name, values in kept.details.items()}
        return Ranked(kept.rows[::2], kept.scores[::2], details)


class EverySecondAndItsScore(EverySecond):
    score = ShortestSepal.score

    def explain(self, candidates):
        return by_base(candidates)


def test_what_a_whole_strategy_leaves_out_is_added_where_it_comes_in(committee):
    batch = committee.select(X[POOL], 4, strategy=EverySecond())
    in_line = committee.select(X[POOL], 8, strategy=ShortestSepal())
    assert batch.rows.tolist() == in_line.rows.tolist()[::2]
    assert batch.manifest["settings"]["strategy_options"] == {}
    assert isinstance(resolve_strategy(EverySecond()), Strategy)
    assert not isinstance(resolve_strategy(EverySecond()), RowScore)


def test_a_whole_strategy_is_nested_only_if_it_says_so_and_a_row_score_always_is():
    class NestedEverySecond(EverySecond):
        nested = True

    assert not resolve_strategy(EverySecond()).nested
    assert not resolve_strategy(EverySecondAndItsScore()).nested
    assert resolve_strategy(NestedEverySecond()).nested
    assert resolve_strategy(ShortestSepal()).nested


def test_a_whole_strategy_may_have_a_score_of_rows_too(committee):
    assert isinstance(resolve_strategy(EverySecondAndItsScore()), RowScore)
    scores = committee.score(X[POOL], strategy=EverySecondAndItsScore(), fast=True)
    np.testing.assert_array_equal(scores, X[POOL][:, 0])
    by_base_alone = resolve_strategy(EverySecondAndItsScore())
    assert by_base_alone.contest == "model"


def test_a_registered_function_stands_for_all_that_it_was_registered_with():
    @mm.register_strategy("for this test", needs="base", probabilistic=True)
    def base_confidence(candidates):
        return candidates.base_scores.max(axis=1)

    assert resolve_strategy(base_confidence) is resolve_strategy("for this test")
    assert resolve_strategy(base_confidence).needs == "base"

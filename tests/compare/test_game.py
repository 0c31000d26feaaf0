"""The game: what is picked is what `select` picks, and what is trained is what its trainer says."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris
from sklearn.linear_model import LogisticRegression

import minmargin as mm
from minmargin.compare.game import Deal, Game
from minmargin.compare.results import NONE
from minmargin.compare.trainers import EstimatorTrainer, LogisticTrainer

X, Y = load_iris(return_X_y=True)
SIZES = (3, 10, 20)


def iris_deal(seed=0, n_labeled=15):
    order = np.random.default_rng(seed).permutation(len(X))
    return Deal(X, Y.astype(np.intp), order[:n_labeled], np.sort(order[n_labeled:100]), order[100:], seed)


def outcomes_of(game, deal):
    return {(one.strategy, one.batch_size): one for one in game.play([deal], device="cpu")[0]}


@pytest.mark.parametrize("strategy", ["min-margin", "margin", "random", "random-margin-mix", "k-centers"])
def test_smaller_batches_are_those_that_select_picks(strategy):
    deal = iris_deal()
    game = Game(LogisticTrainer(), (strategy,), SIZES)
    picks = game.pick(deal, device="cpu")
    labeled = deal.X[deal.labeled], deal.y[deal.labeled]
    for size in SIZES:
        batch = mm.select(*labeled, deal.X[deal.pool], size, strategy=strategy, random_state=deal.seed)
        np.testing.assert_array_equal(picks.rows[strategy, size], deal.pool[batch.rows])


def test_accuracies_are_those_of_scikit_learn_at_the_optimum():
    deal = iris_deal(1)
    game = Game(LogisticTrainer(), ("min-margin", "random"), SIZES)
    picks = game.pick(deal, device="cpu")
    found = outcomes_of(game, deal)
    exact = LogisticRegression(tol=1e-10, max_iter=10_000)
    for key, rows in {(NONE, 0): deal.labeled[:0], **picks.rows}.items():
        train = np.concatenate([deal.labeled, rows])
        expected = exact.fit(X[train], Y[train]).score(X[deal.test], Y[deal.test])
        assert found[key].accuracy == pytest.approx(expected)


def test_a_class_that_nobody_has_seen_counts_as_wrong():
    order = np.concatenate([np.arange(0, 20), np.arange(50, 70)])
    rest = np.setdiff1d(np.arange(150), order)
    deal = Deal(X, Y.astype(np.intp), order, rest[:70], rest[70:], 0)
    before = outcomes_of(Game(LogisticTrainer(), ("random",), (5,)), deal)[NONE, 0]
    assert before.accuracy <= (Y[deal.test] != 2).mean()


def test_any_classifier_can_be_tried():
    deal = iris_deal()
    trainer = EstimatorTrainer(LogisticRegression(solver="newton-cg", tol=1e-10))
    ours = outcomes_of(Game(LogisticTrainer(), ("margin",), SIZES), deal)
    theirs = outcomes_of(Game(trainer, ("margin",), SIZES), deal)
    assert [one.accuracy for one in ours.values()] == [one.accuracy for one in theirs.values()]


def test_deals_that_are_played_together_give_what_each_gives_alone():
    game = Game(LogisticTrainer(), ("min-margin", "committee"), SIZES)
    deals = [iris_deal(seed) for seed in range(3)]
    together = game.play(deals, device="cpu", n_threads=2)
    alone = [game.play([deal], device="cpu")[0] for deal in deals]
    strip = [[one[:3] for one in of_deal] for of_deal in together]
    assert strip == [[one[:3] for one in of_deal] for of_deal in alone]


def test_a_class_too_rare_for_a_small_draw_is_unknown_to_members():
    order = np.concatenate([np.arange(0, 8), np.arange(50, 58), [100]])
    rest = np.setdiff1d(np.arange(150), order)
    deal = Deal(X, Y.astype(np.intp), order, rest[:70], rest[70:], 0)
    game = Game(LogisticTrainer(), ("min-margin",), (5,), bootstrap_fraction=0.5)
    known = mm.select(
        X[order[:-1]], Y[order[:-1]], X[deal.pool], 5, bootstrap_fraction=0.5, random_state=deal.seed
    )
    np.testing.assert_array_equal(game.pick(deal, device="cpu").rows["min-margin", 5], deal.pool[known.rows])


def test_networks_of_several_deals_are_trained_in_one_stack_and_alone_alike():
    pytest.importorskip("torch")
    from minmargin.compare.trainers import NetworkTrainer  # noqa: PLC0415
    from minmargin.learners.mlp import MLPLearner  # noqa: PLC0415

    images, digits = load_digits(return_X_y=True)
    images = (images / 16).astype(np.float32)
    deals = []
    for seed in range(2):
        order = np.random.default_rng(seed).permutation(len(images))
        deals.append(Deal(images, digits.astype(np.intp), order[:60], order[60:400], order[400:900], seed))
    learner = MLPLearner(hidden=(16,), epochs=15, standardize=False)
    game = Game(NetworkTrainer(learner, n_classes=10), ("min-margin", "random"), (20, 60), n_models=3)
    together = game.play(deals, device="cpu")
    alone = [game.play([deal], device="cpu")[0] for deal in deals]
    for some, one in zip(together, alone, strict=True):
        np.testing.assert_allclose(
            [outcome.accuracy for outcome in some], [outcome.accuracy for outcome in one], atol=0.01
        )
    by_key = {(one.strategy, one.batch_size): one.accuracy for one in together[0]}
    assert by_key["random", 60] > by_key[NONE, 0]
    classes = MLPLearner(hidden=(16,), epochs=15, standardize=False)
    committee = mm.fit_committee(
        images[deals[0].labeled], digits[deals[0].labeled], learner=classes, n_models=2
    )
    predicted = committee.classes_[committee.scorer.base_scores(images[deals[0].test]).argmax(axis=1)]
    assert by_key[NONE, 0] == pytest.approx((predicted == digits[deals[0].test]).mean(), abs=0.12)

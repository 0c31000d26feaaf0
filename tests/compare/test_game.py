"""The game: what is picked is what `select` picks, and what is trained is what its trainer says."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import minmargin as mm
from minmargin.compare.deals import Deal
from minmargin.compare.game import Game
from minmargin.compare.outcome import NONE
from minmargin.compare.scoring import Accuracy, resolve_scoring
from minmargin.compare.trainers import AnyTrainer, EstimatorTrainer, LogisticTrainer
from minmargin.labeled import LabeledSet
from minmargin.strategies import Shortlist, resolve_strategy
from minmargin.topb import Ranked

X, Y = load_iris(return_X_y=True)
TABLE = LabeledSet.of(X, Y)
SIZES = (3, 10, 20)


def iris_deal(seed=0, n_labeled=15):
    order = np.random.default_rng(seed).permutation(len(X))
    return Deal(TABLE, order[:n_labeled], np.sort(order[n_labeled:100]), order[100:], seed)


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


class MarginBackwards:
    """The lowest margins, the highest of them first: no batch is the beginning of a larger one."""

    name = "margin-backwards"
    needs = "base"
    probabilistic = False

    def __init__(self):
        self.asked = []

    def shortlists(self, batch_size):
        self.asked.append(batch_size)
        return [Shortlist(resolve_strategy("margin"), batch_size)]

    def finish(self, shortlists, context):
        kept = shortlists[0]
        details = {name: values[::-1] for name, values in kept.details.items()}
        return Ranked(kept.rows[::-1], kept.scores[::-1], details)


class MarginBackwardsButNested(MarginBackwards):
    nested = True


def test_where_too_few_rows_are_different_chance_fills_the_places_that_are_left():
    deal = iris_deal()
    rows = X.copy()
    rows[deal.pool] = X[deal.pool[np.arange(len(deal.pool)) % 12]]
    deal = deal._replace(table=LabeledSet.of(rows, Y))
    game = Game(LogisticTrainer(), ("spread", "random"), (10, 20), n_models=3)
    picks = game.pick(deal, device="cpu").rows
    assert len(np.unique(rows[picks["spread", 10]], axis=0)) == 10
    batch = picks["spread", 20]
    n_kinds = len(np.unique(X[deal.pool[:12]], axis=0))
    assert len(set(batch.tolist())) == 20
    assert len(np.unique(rows[batch[:n_kinds]], axis=0)) == n_kinds
    by_chance = [row for row in picks["random", 20].tolist() if row not in batch[:n_kinds]]
    assert batch[n_kinds:].tolist() == by_chance[: 20 - n_kinds]


def test_a_strategy_that_does_not_say_that_it_is_nested_picks_each_size_by_itself():
    deal, strategy = iris_deal(), MarginBackwards()
    picks = Game(LogisticTrainer(), ("margin", strategy), SIZES).pick(deal, device="cpu")
    for size in SIZES:
        backwards = picks.rows["margin", size][::-1]
        np.testing.assert_array_equal(picks.rows["margin-backwards", size], backwards)
    assert strategy.asked == list(SIZES)


def test_a_strategy_that_says_that_it_is_nested_picks_once():
    deal, strategy = iris_deal(), MarginBackwardsButNested()
    picks = Game(LogisticTrainer(), (strategy,), SIZES).pick(deal, device="cpu")
    largest = picks.rows["margin-backwards", SIZES[-1]]
    for size in SIZES:
        np.testing.assert_array_equal(picks.rows["margin-backwards", size], largest[:size])
    assert strategy.asked == [SIZES[-1]]


def test_accuracies_are_those_of_scikit_learn_at_the_optimum():
    deal = iris_deal(1)
    game = Game(LogisticTrainer(), ("min-margin", "random"), SIZES)
    picks = game.pick(deal, device="cpu")
    found = outcomes_of(game, deal)
    exact = LogisticRegression(tol=1e-10, max_iter=10_000)
    for key, rows in {(NONE, 0): deal.labeled[:0], **picks.rows}.items():
        train = np.concatenate([deal.labeled, rows])
        expected = exact.fit(X[train], Y[train]).score(X[deal.test], Y[deal.test])
        assert found[key].score == pytest.approx(expected)


def test_a_class_that_nobody_has_seen_counts_as_wrong():
    order = np.concatenate([np.arange(0, 20), np.arange(50, 70)])
    rest = np.setdiff1d(np.arange(150), order)
    deal = Deal(TABLE, order, rest[:70], rest[70:], 0)
    before = outcomes_of(Game(LogisticTrainer(), ("random",), (5,)), deal)[NONE, 0]
    assert before.score <= (Y[deal.test] != 2).mean()


def test_any_classifier_can_be_tried():
    deal = iris_deal()
    trainer = EstimatorTrainer(LogisticRegression(solver="newton-cg", tol=1e-10))
    ours = outcomes_of(Game(LogisticTrainer(), ("margin",), SIZES), deal)
    theirs = outcomes_of(Game(trainer, ("margin",), SIZES), deal)
    assert [one.score for one in ours.values()] == [one.score for one in theirs.values()]


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
    deal = Deal(TABLE, order, rest[:70], rest[70:], 0)
    game = Game(LogisticTrainer(), ("min-margin",), (5,), bootstrap_fraction=0.5)
    known = mm.select(
        X[order[:-1]], Y[order[:-1]], X[deal.pool], 5, bootstrap_fraction=0.5, random_state=deal.seed
    )
    np.testing.assert_array_equal(game.pick(deal, device="cpu").rows["min-margin", 5], deal.pool[known.rows])


@pytest.mark.parametrize("strategy", ["min-margin", "margin", "random-margin-mix", "k-centers"])
@pytest.mark.parametrize("preprocess", ["none", "auto"])
def test_rounds_are_selections_with_the_labels_of_earlier_ones_added(strategy, preprocess):
    deal = iris_deal()
    game = Game(AnyTrainer("logistic", preprocess), (strategy, "random"), (7, 20), n_models=5, rounds=3)
    picks = game.pick(deal, device="cpu")
    for size, parts in ((7, [3, 2, 2]), (20, [7, 7, 6])):
        labeled, pool = deal.labeled, deal.pool
        for part in parts:
            batch = mm.select(
                X[labeled],
                Y[labeled],
                X[pool],
                part,
                strategy=strategy,
                n_models=5,
                preprocess=preprocess,
                random_state=deal.seed,
            )
            labeled, pool = np.append(labeled, pool[batch.rows]), np.delete(pool, batch.rows)
        np.testing.assert_array_equal(picks.rows[strategy, size], labeled[len(deal.labeled) :])
        np.testing.assert_array_equal(np.sort(np.append(picks.rows[strategy, size], pool)), deal.pool)


def test_one_round_is_one_selection_by_hand():
    deal = iris_deal(2)
    found = outcomes_of(Game(AnyTrainer("logistic", "auto"), ("min-margin",), SIZES, n_models=5), deal)
    for size in SIZES:
        batch = mm.select(
            X[deal.labeled],
            Y[deal.labeled],
            X[deal.pool],
            size,
            n_models=5,
            preprocess="auto",
            random_state=deal.seed,
        )
        rows = np.append(deal.labeled, deal.pool[batch.rows])
        model = make_pipeline(StandardScaler(), LogisticRegression(tol=1e-10, max_iter=10_000))
        expected = model.fit(X[rows], Y[rows]).score(X[deal.test], Y[deal.test])
        assert found["min-margin", size].score == pytest.approx(expected)


@pytest.mark.parametrize(
    "rows", [sparse.csr_array(X), pd.DataFrame(X, columns=list("abcd"))], ids=["csr", "frame"]
)
def test_whatever_holds_the_rows_the_game_is_the_same(rows):
    deal = iris_deal()
    game = Game(AnyTrainer("logistic"), ("min-margin", "random"), SIZES, n_models=5)
    other = deal._replace(table=LabeledSet.of(rows, Y))
    scores = [[one.score for one in outcomes_of(game, each).values()] for each in (deal, other)]
    assert scores[0] == scores[1]
    together = outcomes_of(Game(LogisticTrainer(), ("min-margin", "random"), SIZES, n_models=5), deal)
    assert scores[0] == [one.score for one in together.values()]


def test_networks_of_several_deals_are_trained_in_one_stack_and_alone_alike():
    pytest.importorskip("torch")
    from minmargin.compare.network_trainer import NetworkTrainer  # noqa: PLC0415
    from minmargin.learners.mlp import MLPLearner  # noqa: PLC0415

    images, digits = load_digits(return_X_y=True)
    images = (images / 16).astype(np.float32)
    table = LabeledSet.of(images, digits)
    deals = []
    for seed in range(2):
        order = np.random.default_rng(seed).permutation(len(images))
        deals.append(Deal(table, order[:60], order[60:400], order[400:900], seed))
    learner = MLPLearner(hidden=(16,), epochs=15, standardize=False)
    game = Game(NetworkTrainer(learner, n_classes=10), ("min-margin", "random"), (20, 60), n_models=3)
    together = game.play(deals, device="cpu")
    alone = [game.play([deal], device="cpu")[0] for deal in deals]
    for some, one in zip(together, alone, strict=True):
        np.testing.assert_allclose(
            [outcome.score for outcome in some], [outcome.score for outcome in one], atol=0.01
        )
    by_key = {(one.strategy, one.batch_size): one.score for one in together[0]}
    assert by_key["random", 60] > by_key[NONE, 0]
    classes = MLPLearner(hidden=(16,), epochs=15, standardize=False)
    committee = mm.fit_committee(
        images[deals[0].labeled], digits[deals[0].labeled], learner=classes, n_models=2, random_state=0
    )
    predicted = committee.classes_[committee.scorer.base_scores(images[deals[0].test]).argmax(axis=1)]
    assert by_key[NONE, 0] == pytest.approx((predicted == digits[deals[0].test]).mean(), abs=0.12)


@pytest.mark.parametrize("standardize", [False, True])
def test_networks_are_scored_as_scikit_learn_scores_their_probabilities(standardize):
    pytest.importorskip("torch")
    from minmargin.compare.network_trainer import NetworkTrainer  # noqa: PLC0415
    from minmargin.learners.mlp import MLPLearner  # noqa: PLC0415

    deal = iris_deal(n_labeled=30)
    learner = MLPLearner(hidden=(16,), epochs=60, lr=0.01, standardize=standardize)
    seen = []

    def look(model, rows, labels):
        seen.append((model.predict_proba(rows), (model.predict(rows) == labels).mean()))
        return 0.0

    sets = [deal.labeled, np.append(deal.labeled, deal.pool[:20])]
    trainer = NetworkTrainer(learner, n_classes=3)
    trainer.scores([deal], [sets], [resolve_scoring(look)], device="cpu")
    (accuracies,) = trainer.scores([deal], [sets], [Accuracy()], device="cpu")
    np.testing.assert_allclose([right for _, right in seen], accuracies[:, 0])
    np.testing.assert_allclose(seen[0][0].sum(axis=1), 1)
    (one_by_one,) = AnyTrainer(learner).scores([deal], [sets], [Accuracy()], device="cpu")
    np.testing.assert_allclose(accuracies, one_by_one, atol=0.15)  # other weights to begin with

"""The rules of ALPBench, held to a plain loop over scikit-learn's models."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from minmargin.experiments.published import alpbench
from minmargin.experiments.published.alpbench import (
    THEIR_MIN_MARGIN,
    code_columns,
    deal,
    fit,
    play,
    strategies_of,
)
from minmargin.experiments.published.curves import Task
from minmargin.experiments.published.rows import Rows, load_rows


@pytest.fixture
def rows(packed):
    return load_rows(packed, "satimage")


def task(strategy, learner="logistic", batch_size=10):
    return Task("alpbench", "satimage", learner, alpbench.SIZES[batch_size], batch_size, 0, strategy)


def play_plainly(rows, make, score):
    """How many test rows are right after each of twenty rounds of ten picks."""
    dealt = deal(rows, 30, 0)
    X, labeled, pool, right = code_columns(rows.X), list(dealt.labeled), list(dealt.pool), []
    for number in range(21):
        seed = int(np.random.SeedSequence([dealt.seed, number]).generate_state(1)[0])
        model = make(seed).fit(X[labeled], rows.y[labeled])
        right.append(int((model.predict(X[dealt.test]) == rows.y[dealt.test]).sum()))
        picked = [pool[place] for place in np.argsort(score(model, X[pool]), kind="stable")[:10]]
        labeled += picked
        pool = [row for row in pool if row not in picked]
    return right


def margins(probabilities):
    two = np.sort(probabilities, axis=-1)
    return two[..., -1] - two[..., -2]


@pytest.mark.filterwarnings("ignore:lbfgs failed to converge")
def test_margin_with_logistic_regression_is_the_plain_loop(rows):
    expected = play_plainly(
        rows, lambda _: LogisticRegression(), lambda model, X: margins(model.predict_proba(X))
    )
    assert play(task("margin"), rows).right.tolist() == expected


def test_their_min_margin_is_the_smallest_among_ten_trees_of_the_forest(rows):
    model = fit("forest", code_columns(rows.X)[:60], rows.y[:60], 0)
    assert isinstance(model, RandomForestClassifier)
    game = alpbench._Round(
        "forest", model, code_columns(rows.X), rows.y, np.arange(60), np.arange(60, 400), 5
    )
    picked = game.pick(THEIR_MIN_MARGIN, 10)
    trees = [margins(tree.predict_proba(code_columns(rows.X)[60:])) for tree in model.estimators_[:10]]
    scores = np.min(trees, axis=0)  # many rows have the same: whichever of them are picked
    assert scores[picked - 60].max() <= np.sort(scores)[9]
    assert len(set(picked.tolist())) == 10


def test_rows_are_drawn_by_class_and_every_class_is_labeled():
    y = np.array([0] * 200 + [1] * 95 + [2] * 5)
    rows = Rows("made up", np.arange(300.0)[:, np.newaxis], y)
    dealt = deal(rows, 30, 0)
    assert np.bincount(y[dealt.test]).tolist() == [66, 31, 2]
    assert np.bincount(y[dealt.labeled]).tolist()[:2] == [20, 10]
    assert np.bincount(y[dealt.labeled], minlength=3)[2] == 1  # put there: by share, it would have none
    assert sorted([*dealt.labeled, *dealt.pool, *dealt.test]) == list(range(300))


@pytest.mark.parametrize(("strategy", "n_models"), [("random", 3), ("margin", 3), ("min-margin", 3 + 2 * 10)])
def test_members_are_trained_only_for_those_who_ask_them(rows, monkeypatch, strategy, n_models):
    trained = []

    def count(*given):
        trained.append(given)
        return fit(*given)

    monkeypatch.setattr(alpbench, "fit", count)
    monkeypatch.setattr(alpbench, "N_ROUNDS", 2)
    play(task(strategy), rows)
    assert len(trained) == n_models


@pytest.mark.parametrize("learner", alpbench.LEARNERS)
def test_every_strategy_plays_with_every_learner(rows, learner, monkeypatch):
    monkeypatch.setattr(alpbench, "N_ROUNDS", 1)
    monkeypatch.setattr(alpbench, "N_MEMBERS", 2)
    firsts = {name: play(task(name, learner), rows) for name in strategies_of(learner)}
    assert len({int(curve.right[0]) for curve in firsts.values()}) == 1
    assert all(len(curve.right) == 2 for curve in firsts.values())
    assert (THEIR_MIN_MARGIN in firsts) == (learner == "forest")


def test_a_pool_that_is_used_up_ends_the_game(rows):
    curve = play(task("random", batch_size=50), rows)
    assert curve.n_train == 268
    assert curve.labels.tolist() == [100, 150, 200, 250, 268]

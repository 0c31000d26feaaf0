"""Drawn batches: how likely rows are, what sharpness does, what is kept in memory."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import minmargin as mm
from minmargin import margins
from minmargin.seeds import SeedTree
from minmargin.strategies.base import Context
from minmargin.topb import Ranked

X, Y = load_iris(return_X_y=True)
LABELED, POOL = slice(0, 150, 5), np.delete(X, np.arange(0, 150, 5), axis=0)
NAMES = ["a", "b", "c", "d"]


@pytest.fixture(scope="module")
def committee():
    return mm.fit_committee(X[LABELED], Y[LABELED], n_models=6, random_state=0)


def drawn_first(strategy, n_rows, n_draws):
    """Return how often each rank is drawn first, by as many seeds."""
    rows = np.arange(n_rows)
    kept = [Ranked(rows, np.linspace(0, 1, n_rows), {})]
    picks = [
        strategy.finish(kept, Context(1, SeedTree(seed), lambda: np.empty((0, 0)))).rows[0]
        for seed in range(n_draws)
    ]
    return np.bincount(picks, minlength=n_rows)


@pytest.mark.parametrize("sharpness", [0.0, 1.0, 2.0])
def test_soft_rank_draws_ranks_in_proportion_to_a_power_of_one_over_rank(sharpness):
    counts = drawn_first(mm.SoftRank(sharpness=sharpness), 5, 2000)
    weights = (1.0 / np.arange(1, 6)) ** sharpness
    expected = 2000 * weights / weights.sum()
    assert ((counts - expected) ** 2 / expected).sum() < 23.5, "4 degrees of freedom: 1 in 10,000"


@pytest.mark.parametrize("sharpness", [0.0, 1.0, 3.0])
def test_power_margin_draws_rows_in_proportion_to_a_power_of_their_doubt(committee, sharpness):
    by_margin = committee.select(POOL, 120, strategy="margin-of-mean", distinct=False).rows
    three = POOL[by_margin[[0, 25, 45]]]
    strategy = mm.PowerMargin(sharpness=sharpness)
    batch = committee.select(np.tile(three, (8000, 1)), 400, strategy=strategy, distinct=False)
    doubt = 1.0 - committee.score(three, strategy="margin-of-mean")
    expected = 400 * doubt**sharpness / (doubt**sharpness).sum()
    assert expected.min() > 5, "else the test has no teeth"
    counts = np.bincount(batch.rows % 3, minlength=3)
    assert ((counts - expected) ** 2 / expected).sum() < 18.4, "2 degrees of freedom: 1 in 10,000"


@pytest.mark.parametrize("strategy", [mm.PowerMargin, mm.SoftRank])
def test_a_very_sharp_draw_is_margin_of_mean(committee, strategy):
    expected = committee.select(POOL, 12, strategy="margin-of-mean").rows.tolist()
    assert committee.select(POOL, 12, strategy=strategy(sharpness=1e6)).rows.tolist() == expected
    assert committee.select(POOL, 12, strategy=strategy()).rows.tolist() != expected


def test_rows_that_all_members_are_certain_of_have_finite_scores():
    certain = margins.sigmoid_pair(np.array([800.0]))
    assert margins.margin(certain)[0] == 1.0
    committee = mm.fit_committee(X[:100:4], Y[:100:4], n_models=3, random_state=0)
    far = 1e4 * POOL[:50]
    assert committee.score(far, strategy="margin-of-mean").max() == 1.0
    scores = committee.score(far, strategy=mm.PowerMargin(sharpness=1e6))
    assert np.isfinite(scores).all()


def test_the_manifest_records_the_sharpness(committee):
    for strategy in (mm.PowerMargin(sharpness=2), mm.SoftRank(sharpness=2, memory_limit=10**9)):
        manifest = committee.select(POOL, 3, strategy=strategy).manifest
        assert manifest["settings"]["strategy_options"] == {"sharpness": 2.0}


@pytest.mark.parametrize("strategy", [mm.PowerMargin, mm.SoftRank])
@pytest.mark.parametrize("sharpness", [-0.5, float("nan"), float("inf"), 1e7])
def test_a_sharpness_that_makes_no_sense_is_refused(strategy, sharpness):
    with pytest.raises(mm.InputError) as error:
        strategy(sharpness=sharpness)
    assert str(error.value) == (
        f"sharpness={sharpness} must lie between 0 (chance alone) and 1e6 (hardly any); 1 is usual."
    )


def test_soft_rank_refuses_a_stream_that_outgrows_memory(committee):
    chunks = (POOL[i : i + 40] for i in range(0, len(POOL), 40))
    with pytest.raises(mm.InputError) as error:
        committee.select(chunks, 3, strategy=mm.SoftRank(memory_limit=2 * 56 * 119))
    assert str(error.value) == (
        "Strategy 'soft-rank' ranks all candidates in memory: 120 rows need about 0.0 MB and 0.0 MB may be used. Raise "
        "memory_limit, or use strategy='power-margin', which keeps no more than the batch."
    )
    assert len(committee.select(POOL, 3, strategy=mm.SoftRank(memory_limit=2 * 56 * 120))) == 3
    enough_for_copies = mm.SoftRank(memory_limit=2 * 40 * 120)
    assert len(committee.select(POOL, 3, strategy=enough_for_copies, distinct=False)) == 3


def test_columns_that_are_carried_along_count_as_memory():
    committee = mm.fit_committee(
        pd.DataFrame(X[LABELED], columns=NAMES), Y[LABELED], n_models=3, random_state=0
    )
    pool = pd.DataFrame(POOL, columns=NAMES).assign(id=np.arange(120))
    enough_without = mm.SoftRank(memory_limit=2 * 56 * 120)
    assert len(committee.select(pool, 3, strategy=enough_without)) == 3
    with pytest.raises(mm.InputError, match="ranks all candidates in memory"):
        committee.select(pool, 3, strategy=enough_without, id_column="id")
    batch = committee.select(pool, 3, strategy="soft-rank", id_column="id")
    assert batch.ids.tolist() == batch.rows.tolist()

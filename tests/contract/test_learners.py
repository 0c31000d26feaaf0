"""Selection equals the brute-force reference, for every strategy of the package and every kind of learner."""

from __future__ import annotations

import numpy as np
import pytest

import brute_force
import minmargin as mm
from contract_cases import EVERY_CLASS, LEARNERS, check, committee, data, pools_for, texts
from minmargin.strategies import BUILT_IN

pytestmark = pytest.mark.usefixtures("small_blocks")


def in_turns(learners, strategies=BUILT_IN):
    """Return pairs of a learner and a strategy, each with one kind of pool, so that both meet all kinds."""
    return [
        (learner, strategy, pools_for(learner)[(i + j) % len(pools_for(learner))])
        for i, learner in enumerate(learners)
        for j, strategy in enumerate(strategies)
    ]


@pytest.mark.parametrize(
    ("learner", "strategy", "pool_kind"), in_turns(LEARNERS, ["min-margin", "random-margin-mix", "k-centers"])
)
def test_every_learner_can_be_asked_for_distinct_rows(learner, strategy, pool_kind):
    check(learner, strategy, pool_kind, distinct=True)


@pytest.mark.parametrize(
    ("learner", "strategy", "pool_kind"), in_turns([name for name in LEARNERS if name != "logistic"])
)
def test_every_strategy_with_every_learner(learner, strategy, pool_kind, request):
    """Small and large work take turns, so that every strategy and every learner meets both."""
    if (BUILT_IN.index(strategy) + list(LEARNERS).index(learner)) % 2:
        request.getfixturevalue("large_work")
    if brute_force.made(strategy).probabilistic and not committee(learner, named=False).scorer.probabilistic:
        with pytest.raises(mm.InputError, match="needs class probabilities"):
            check(learner, strategy, pool_kind)
    else:
        check(learner, strategy, pool_kind)


@pytest.mark.parametrize("learner", LEARNERS)
def test_empty_classes_leave_the_batch_as_it_is_and_score_lowest(learner):
    """None of these learners can tell of a class that no row has."""
    plain, wide = (committee(learner, named=False, classes=each) for each in (None, tuple(EVERY_CLASS)))
    pool = texts(data()[2]) if learner == "text" else data()[2]
    assert wide.classes_.tolist() == EVERY_CLASS
    assert wide.select(pool, 9) == plain.select(pool, 9)
    scores = wide.class_scores(pool)
    seen = np.isin(EVERY_CLASS, plain.classes_)
    np.testing.assert_array_equal(scores[:, seen], plain.class_scores(pool))
    assert (scores[:, ~seen].max(axis=1) <= scores[:, seen].min(axis=1)).all()
    if wide.scorer.probabilistic:
        assert not scores[:, ~seen].any()

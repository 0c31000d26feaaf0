"""Selection equals the brute-force reference, for every strategy of the package and every kind of learner."""

from __future__ import annotations

import pytest

import brute_force
import minmargin as mm
from contract_cases import LEARNERS, check, committee, pools_for
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

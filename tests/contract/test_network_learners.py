"""Selection equals the brute-force reference for learners that need torch, too."""

from __future__ import annotations

import pytest

from contract_cases import NETWORK_LEARNERS, check, pools_for
from minmargin.strategies import BUILT_IN

pytest.importorskip("torch")
pytestmark = pytest.mark.usefixtures("small_blocks", "large_work", "one_torch_thread")


@pytest.mark.parametrize("strategy", BUILT_IN)
@pytest.mark.parametrize("learner", NETWORK_LEARNERS)
def test_every_strategy_with_every_learner(learner, strategy):
    pools = pools_for(learner)
    check(learner, strategy, pools[BUILT_IN.index(strategy) % len(pools)])


@pytest.mark.parametrize("strategy", ["min-margin", "random-margin-mix", "k-centers"])
@pytest.mark.parametrize("learner", NETWORK_LEARNERS)
def test_every_learner_can_be_asked_for_distinct_rows(learner, strategy):
    for pool_kind in pools_for(learner):
        check(learner, strategy, pool_kind, distinct=True)

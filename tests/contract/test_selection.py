"""Selection equals the brute-force reference, for every strategy of the package and every kind of pool."""

from __future__ import annotations

import numpy as np
import pytest

import brute_force
from contract_cases import NUMBER_POOLS, SEED, check, committee, data, known
from minmargin.strategies import BUILT_IN

pytestmark = pytest.mark.usefixtures("small_blocks")


@pytest.mark.parametrize("pool_kind", NUMBER_POOLS)
@pytest.mark.parametrize("strategy", BUILT_IN)
def test_every_strategy_on_every_pool(strategy, pool_kind, request):
    """Small and large work take turns, so that every strategy and every pool meets both."""
    if (BUILT_IN.index(strategy) + list(NUMBER_POOLS).index(pool_kind)) % 2:
        request.getfixturevalue("large_work")
    check("logistic", strategy, pool_kind)


@pytest.mark.parametrize(
    ("strategy", "pool_kind"),
    [
        (strategy, [*NUMBER_POOLS][(5 * place + turn) % len(NUMBER_POOLS)])
        for place, strategy in enumerate(BUILT_IN)
        for turn in range(2)
    ],
)
@pytest.mark.usefixtures("either_way")
def test_every_strategy_can_be_asked_for_distinct_rows(strategy, pool_kind):
    """Each meets two kinds of pool, whose rows come five times."""
    check("logistic", strategy, pool_kind, distinct=True)


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("learner", ["logistic", "tree"])
@pytest.mark.parametrize("strategy", [*brute_force.ROW_SCORES])
def test_score_gives_every_row_its_score(strategy, learner):
    of_pool = known(learner, named=False)
    scores = committee(learner, named=False).score(
        data()[2], strategy=brute_force.made(strategy), chunk_size=13
    )
    expected = brute_force.row_scores(strategy, of_pool.base, of_pool.members, SEED, of_pool.X)
    np.testing.assert_array_equal(scores, expected)

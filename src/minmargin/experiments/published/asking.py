"""Asking a strategy of the package for a batch, with what models say of a pool."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minmargin.compare.game import fill_by_chance
from minmargin.learners.given import Values
from minmargin.selection import select_from_probabilities
from minmargin.strategies import Strategy, resolve_strategy


def ask(
    strategy: Strategy,
    size: int,
    told: Any,
    *,
    seed: int,
    values: Values = "probabilities",
    base: NDArray[np.float64] | None = None,
    features: NDArray[np.float64] | None = None,
    labeled_features: NDArray[np.float64] | None = None,
) -> NDArray[np.intp]:
    """Return the places in the pool that a strategy picks.

    Copies of rows may be picked, as in the tables. A strategy that never picks them may find too few rows; chance then
    picks the rest.

    Args:
        strategy: who picks.
        size: how many.
        told: (n, C) what the base says of the pool, or (K, n, C) what members do.
        seed: of the round.
        values: what the numbers are.
        base: (n, C) what the base says, beside members.
        features: (n, D) for strategies that compare rows.
        labeled_features: (N, D) for those that keep away from labeled ones.
    """

    def pick(n_rows: int, by: Strategy) -> NDArray[np.intp]:
        batch = select_from_probabilities(
            told,
            n_rows,
            values=values,
            base=base,
            strategy=by,
            features=features,
            labeled_features=labeled_features,
            distinct=False,
            random_state=seed,
            n_jobs=1,
        )
        return np.asarray(batch.rows, dtype=np.intp)

    return fill_by_chance(partial(pick, by=strategy), partial(pick, by=resolve_strategy("random")), size)

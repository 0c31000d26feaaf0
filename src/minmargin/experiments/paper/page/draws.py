"""Draws of the Gaussian simulation, played anew to see what is picked: results only hold what it was worth."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from minmargin.committee.training import fit_committee
from minmargin.compare.trainers import LogisticTrainer
from minmargin.experiments.paper.claims.measured import Floats, GaussianDraw
from minmargin.experiments.paper.gaussian import TwoGaussians
from minmargin.typing import StrategyName

_PICKERS: tuple[StrategyName, ...] = ("margin", "committee", "min-margin")


def play_anew(draw: int, *, distance: float = 2.0, n_picks: int = 50) -> GaussianDraw:
    """Return a draw of the experiment, its models' boundaries, and the first picks of the figure's strategies."""
    deal = TwoGaussians(distance)(draw, None)
    pool = deal.X[deal.pool]
    committee = fit_committee(
        deal.X[deal.labeled], deal.y[deal.labeled], learner=LogisticTrainer().learner, random_state=deal.seed
    )
    scorer: Any = committee.scorer
    picks: dict[str, Floats] = {
        name: pool[committee.select(pool, n_picks, strategy=name, distinct=False).rows] for name in _PICKERS
    }
    return GaussianDraw(
        deal.X[deal.labeled],
        deal.y[deal.labeled],
        np.array([1.0, 0.0, 0.0]),
        _lines(scorer.base_weights, scorer.base_intercepts)[0],
        _lines(scorer.member_weights, scorer.member_intercepts),
        picks,
    )


def _lines(weights: NDArray[Any], intercepts: NDArray[Any]) -> Floats:
    """Return (K, 3) where models with (2, K, 1) weights are torn between the two classes."""
    return np.column_stack([weights[0, :, 0], weights[1, :, 0], intercepts[:, 0]]).astype(np.float64)

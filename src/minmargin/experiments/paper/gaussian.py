"""Section 2.3: two Gaussians in the plane, and logistic regression.

The paper does not say how far apart the means are. At distance 2 the best possible classifier is right on 84% of rows;
1 and 3 are played too.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minmargin.compare.deals import Deal
from minmargin.compare.game import Game
from minmargin.compare.trainers import LogisticTrainer
from minmargin.experiments.paper.experiment import ROW_SCORES, Experiment, Setting, seeds_of
from minmargin.labeled import LabeledSet
from minmargin.strategies import TrueMargin

N_LABELED, N_POOL, N_TEST = 40, 8_000, 10_000
BATCH_SIZES = (10, 25, 50, 100, 200, 400, 800, 1600)
DISTANCES = (2.0, 1.0, 3.0)


@dataclass(frozen=True)
class TwoGaussians:
    """Deals from two Gaussians with identity covariance, whose means lie on the first axis, around zero."""

    distance: float
    n_pool: int = N_POOL
    n_test: int = N_TEST

    @property
    def dataset(self) -> str:
        """What results call it."""
        return f"distance-{self.distance:g}"

    def __call__(self, draw: int, data_dir: Path | None) -> Deal:
        """Return the deal of a draw."""
        del data_dir  # nothing has to be read
        seeds = seeds_of("gaussian", self.dataset, draw)
        rng = np.random.default_rng(seeds)
        n = N_LABELED + self.n_pool + self.n_test
        y = rng.integers(0, 2, n).astype(np.intp)
        while len(np.unique(y[:N_LABELED])) == 1:
            y = rng.integers(0, 2, n).astype(np.intp)
        X = rng.normal(size=(n, 2))
        X[:, 0] += (y - 0.5) * self.distance
        labeled, pool, test = np.split(np.arange(n), [N_LABELED, N_LABELED + self.n_pool])
        return Deal(LabeledSet.of(X, y), labeled, pool, test, int(seeds.generate_state(1)[0]))


def true_margin(X: NDArray[Any]) -> NDArray[np.float64]:
    """Return (n,) how far rows are from the true boundary, which is the second axis."""
    return np.abs(np.asarray(X, dtype=np.float64)[:, 0])


def experiment(*, quick: bool = False) -> Experiment:
    """Return the experiment."""
    strategies = (*ROW_SCORES, TrueMargin(true_margin))
    sizes = (10, 50, 200) if quick else BATCH_SIZES
    game = Game(LogisticTrainer(), strategies, sizes)
    deals = [TwoGaussians(2.0, 1000, 1000)] if quick else [TwoGaussians(distance) for distance in DISTANCES]
    settings = tuple(Setting(deal.dataset, "main", game, deal) for deal in deals)
    return Experiment("gaussian", "2.3", settings, n_draws=20 if quick else 500)

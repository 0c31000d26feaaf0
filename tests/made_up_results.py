"""Made-up results whose differences are known: a base that varies with the draw, and what each strategy adds to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from minmargin.compare.outcome import NONE
from minmargin.experiments.paper.claims.measured import GaussianDraw, Place
from minmargin.experiments.paper.results import Results

SIZES = (10, 20, 40, 80, 160, 320)
N_DRAWS = 8


def rows(
    place: Place,
    gains: Mapping[str, float | Sequence[float]],
    *,
    sizes: Sequence[int] = SIZES,
    noise: float = 1e-4,
) -> list[dict[str, Any]]:
    """Return rows of a place, in which a strategy's accuracy is 0.5 plus its gain, one number or one per size."""
    rng = np.random.default_rng(1)
    hard = rng.normal(0, 0.02, N_DRAWS)
    cells = [(NONE, 0, 0.0)]
    for strategy, gain in gains.items():
        at_sizes = np.broadcast_to(np.asarray(gain, dtype=np.float64), len(sizes)).tolist()
        cells += [(strategy, size, each) for size, each in zip(sizes, at_sizes, strict=True)]
    found = []
    for strategy, size, gain in cells:
        by_chance = rng.normal(0, noise, N_DRAWS)
        by_chance -= by_chance.mean()  # so that means differ by the gains alone
        found += [
            {
                "experiment": place.experiment,
                "dataset": place.dataset,
                "variant": place.variant,
                "draw": draw,
                "strategy": strategy,
                "batch_size": size,
                "accuracy": 0.5 + hard[draw] + gain + by_chance[draw],
                "seconds": 0.0,
            }
            for draw in range(N_DRAWS)
        ]
    return found


def results(*parts: list[dict[str, Any]]) -> dict[str, Results]:
    """Return results by experiment."""
    by_experiment: dict[str, list[dict[str, Any]]] = {}
    for row in (row for part in parts for row in part):
        by_experiment.setdefault(row["experiment"], []).append(row)
    return {name: Results.of(found) for name, found in by_experiment.items()}


def angles(means: Mapping[tuple[int, str], tuple[float, float]], *, noise: float = 0.01) -> pa.Table:
    """Return the theorem's table; means of margin and min-margin, by m and pool factor, in units of the bounds."""
    rng = np.random.default_rng(2)
    found = []
    for (m, factor), pair in means.items():
        unit = np.pi**2 / ((m + 1) * (m + 2))
        for strategy, mean in zip(("margin", "min-margin"), pair, strict=True):
            found += [
                {
                    "m": m,
                    "batch_size": 7,
                    "draw": draw,
                    "strategy": strategy,
                    "pool_factor": factor,
                    "squared_angle": mean * unit * (1 + noise * rng.normal()),
                }
                for draw in range(N_DRAWS)
            ]
    return pa.Table.from_pylist(found)


def gaussian_draws(spreads: Mapping[str, float]) -> list[GaussianDraw]:
    """Return draws whose picks lie so far from the base's boundary, which is the second axis."""
    rng = np.random.default_rng(3)

    def one() -> GaussianDraw:
        picks = {name: rng.normal(size=(50, 2)) * [spread, 1] for name, spread in spreads.items()}
        points, classes = rng.normal(size=(40, 2)), np.arange(40) % 2
        axis = np.array([1.0, 0.0, 0.0])
        return GaussianDraw(
            points, classes, axis, axis, np.tile(axis, (25, 1)) + rng.normal(0, 0.1, (25, 3)), picks
        )

    return [one() for _ in range(4)]

"""Several strategies on one pool in memory, and the loop over scikit-learn models, in a process of their own.

Prints, as JSON, the seconds of each way in each round, and the rows that each strategy scored exactly. It asks for
nothing that earlier versions of the package lack.

    python benchmarks/one_pool.py CLASSES FEATURES ROWS LOOPED ROUNDS STRATEGY...
"""

from __future__ import annotations

import json
import sys

import numpy as np

import minmargin as mm
from generated import labeled_set
from measuring import take_turns
from score import N_MODELS, as_sklearn, margins_of


def main() -> None:
    """Let all ways take turns."""
    n_classes, n_features, n_rows, n_looped, n_rounds = map(int, sys.argv[1:6])
    strategies = sys.argv[6:]
    X, y = labeled_set(n_features, n_classes)
    pool = np.random.default_rng(0).standard_normal((n_rows, n_features), dtype=np.float32)
    committee = mm.fit_committee(X, y, n_models=N_MODELS, random_state=0)
    models = [as_sklearn(committee, k) for k in range(N_MODELS)]

    def loop() -> np.ndarray:
        lowest = np.full(n_looped, np.inf)
        for model in models:
            np.minimum(lowest, margins_of(model, pool[:n_looped]), out=lowest)
        return lowest

    ways = {
        name: lambda name=name: committee.select(pool, min(1000, n_rows // 2), strategy=name)
        for name in strategies
    }
    exactly = {name: select().manifest["rows_scored_exactly"] for name, select in ways.items()}
    found = take_turns({"loop": loop, **ways}, n_rounds)
    print(json.dumps({"seconds": found.rounds, "exactly": exactly}))


if __name__ == "__main__":
    main()

"""How fast a pool in memory is scored, as ratios measured in one run.

Four ways are timed in turn, several times over, and the medians are compared:

- loop: 25 fitted scikit-learn models, `predict_proba` each, the top two by `np.partition`, a running minimum;
- one: one such model, plain margin;
- product: the bare matrix product for all 25 models, without anything after it;
- minmargin: `committee.select(pool, 1000)`, the whole way to the exact batch.

    python benchmarks/score.py [--repeats 5] [--scale 1.0]
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import time
from collections.abc import Callable

import numpy as np
from sklearn.linear_model import LogisticRegression

import minmargin as mm

N_MODELS = 25
# classes, features, pool rows, rows that the slow loop is timed on
PROBLEMS = [
    (2, 16, 4_000_000, 200_000),
    (2, 32, 4_000_000, 200_000),
    (10, 64, 1_000_000, 50_000),
    (10, 784, 200_000, 5_000),
]


def margins_of(model: LogisticRegression, rows: np.ndarray) -> np.ndarray:
    """Return the margins under one scikit-learn model."""
    top_two = np.partition(model.predict_proba(rows), -2, axis=1)[:, -2:]
    return top_two[:, 1] - top_two[:, 0]


def seconds(work: Callable[[], object]) -> float:
    """Return how long one call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def measure(n_classes: int, n_features: int, n: int, n_loop: int, repeats: int) -> dict[str, float]:
    """Return rows per second of each way."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, n_features), dtype=np.float32)
    y = (X @ rng.normal(size=(n_features, n_classes)) + rng.gumbel(size=(500, n_classes))).argmax(axis=1)
    pool = rng.standard_normal((n, n_features), dtype=np.float32)
    committee = mm.fit_committee(X, y, n_models=N_MODELS, random_state=0)
    draws = [committee.training.bootstrap.indices(k) for k in range(N_MODELS)]
    models = [LogisticRegression(max_iter=1000).fit(X[drawn], y[drawn]) for drawn in draws]
    weights = np.concatenate([model.coef_ for model in models]).astype(np.float32)

    def loop() -> np.ndarray:
        lowest = np.full(n_loop, np.inf)
        for model in models:
            np.minimum(lowest, margins_of(model, pool[:n_loop]), out=lowest)
        return lowest

    ways: dict[str, tuple[Callable[[], object], int]] = {
        "loop": (loop, n_loop),
        "one": (lambda: margins_of(models[0], pool), n),
        "product": (lambda: [pool[i : i + 65_536] @ weights.T for i in range(0, n, 65_536)], n),
        "minmargin": (lambda: committee.select(pool, 1000), n),
    }
    for work, _ in ways.values():
        work()
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(repeats):
        for name, (work, _) in ways.items():
            times[name].append(seconds(work))
    return {name: ways[name][1] / statistics.median(times[name]) for name in ways}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1.0, help="shrinks the pools, for a quick look")
    arguments = parser.parse_args()
    print(
        f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores; million rows a second, then ratios"
    )
    columns = ["loop", "one", "product", "minmargin", "/loop", "/one", "/product"]
    print(f"{'problem':>22}" + "".join(f"{column:>11}" for column in columns))
    for n_classes, n_features, n_pool, n_timed in PROBLEMS:
        sizes = int(n_pool * arguments.scale), int(n_timed * arguments.scale)
        speed = measure(n_classes, n_features, *sizes, arguments.repeats)
        ratios = [speed["minmargin"] / speed[way] for way in ("loop", "one", "product")]
        cells = [*(f"{value / 1e6:.3f}" for value in speed.values()), *(f"{ratio:.2f}" for ratio in ratios)]
        print(f"{f'{n_classes} classes, D = {n_features}':>22}" + "".join(f"{cell:>11}" for cell in cells))


if __name__ == "__main__":
    main()

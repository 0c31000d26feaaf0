"""How fast a committee of 25 logistic regressions is trained, as ratios measured in one run.

Three ways are timed in turn, several times over, and the medians are compared:

- default: 25 scikit-learn fits, `LogisticRegression()` on the rows of each draw. It stops at a gradient that is small
  for it, or after 100 iterations; the table tells how many fits converged in its own eyes, and how far they were;
- optimum: the same with `tol=1e-10, max_iter=100_000`, which is where minmargin goes;
- minmargin: `fit_committee(X, y)`, the base and 25 members.

Where a scikit-learn fit takes long, a few of the 25 are timed, and the time is taken for all of them. Its products run
on one thread: they are too narrow to gain from a second, and lose much on a machine that has other work. Features are
either independent, the easiest case for any solver, or correlated with their neighbours, as pixels and sensors are.

    python benchmarks/fit.py [--repeats 5] [--quick]
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import time
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

import minmargin as mm

N_MODELS = 25
# rows, features, classes, scikit-learn fits that are timed
PROBLEMS = [
    (100, 8, 2, 25),
    (100, 123, 2, 25),
    (1000, 32, 2, 25),
    (5000, 32, 2, 25),
    (100, 784, 10, 5),
    (2000, 784, 10, 2),
]
OPTIMUM = {"tol": 1e-10, "max_iter": 100_000}


class Measured(NamedTuple):
    """Seconds for 25 models each way, and how near to the optimum they came."""

    minmargin: float
    default: float
    optimum: float
    converged: str  # how many of the default fits
    default_gradient: float  # relative to the gradient at zero
    minmargin_gradient: float
    difference: float  # of coefficients from those at the optimum, relative to the largest


def make_problem(
    n: int, n_features: int, n_classes: int, *, correlated: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and labels that a linear model can tell apart, with some noise."""
    rng = np.random.default_rng(0)
    window = max(2, n_features // 20) if correlated else 1
    sums = np.cumsum(rng.standard_normal((n, n_features + window)), axis=1)
    X = (sums[:, window:] - sums[:, :-window]) / np.sqrt(window)
    scores = 2 * X @ rng.normal(size=(n_features, n_classes)) / np.sqrt(n_features)
    return X, (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)


def relative_gradient(
    X: np.ndarray, y: np.ndarray, coefficients: np.ndarray, intercepts: np.ndarray
) -> float:
    """Return the largest entry of the gradient at (C, D) or (1, D) coefficients, relative to that at zero."""

    def gradient(coefficients: np.ndarray, intercepts: np.ndarray) -> np.ndarray:
        logits = X @ coefficients.T + intercepts
        if len(coefficients) == 1:
            residual = 1 / (1 + np.exp(-logits)) - y[:, np.newaxis]
        else:
            exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
            residual = exponentials / exponentials.sum(axis=1, keepdims=True)
            residual[np.arange(len(y)), y] -= 1
        return np.hstack([residual.T @ X + coefficients, residual.sum(axis=0)[:, np.newaxis]])

    at_zero = gradient(np.zeros_like(coefficients), np.zeros_like(intercepts))
    return float(np.abs(gradient(coefficients, intercepts)).max() / np.abs(at_zero).max())


def measure(problem: tuple[int, int, int, int], *, correlated: bool, repeats: int, optimum: bool) -> Measured:
    """Return what one problem takes."""
    *shape, n_timed = problem
    X, y = make_problem(*shape, correlated=correlated)
    committee = mm.fit_committee(X, y, n_models=N_MODELS, random_state=0)
    draws = [committee.training.bootstrap.indices(k) for k in range(n_timed)]
    models: dict[str, list[LogisticRegression]] = {}

    def fit_each(way: str, **settings: float) -> None:
        with threadpool_limits(1, user_api="blas"):
            models[way] = [LogisticRegression(**settings).fit(X[drawn], y[drawn]) for drawn in draws]

    ways: dict[str, Callable[[], object]] = {
        "minmargin": lambda: mm.fit_committee(X, y, n_models=N_MODELS, random_state=0),
        "default": lambda: fit_each("default"),
    }
    if optimum:
        ways["optimum"] = lambda: fit_each("optimum", **OPTIMUM)
    times: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(repeats):
        for way, work in ways.items():
            start = time.perf_counter()
            work()
            seconds = time.perf_counter() - start
            times[way].append(seconds if way == "minmargin" else seconds * N_MODELS / n_timed)
    medians = {way: statistics.median(times[way]) for way in times}
    scorer = committee.scorer
    ours = [(scorer.member_weights[:, k].T, scorer.member_intercepts[k]) for k in range(n_timed)]
    differences = [
        np.abs(weights - model.coef_).max() / np.abs(model.coef_).max()
        for (weights, _), model in zip(ours, models.get("optimum", []), strict=False)
    ]
    converged = sum(model.n_iter_.max() < model.max_iter for model in models["default"])
    return Measured(
        medians["minmargin"],
        medians["default"],
        medians.get("optimum", float("nan")),
        f"{converged}/{n_timed}",
        max(
            relative_gradient(X[drawn], y[drawn], model.coef_, model.intercept_)
            for drawn, model in zip(draws, models["default"], strict=True)
        ),
        max(relative_gradient(X[drawn], y[drawn], *model) for drawn, model in zip(draws, ours, strict=True)),
        max(differences, default=float("nan")),
    )


def print_table(*, correlated: bool, repeats: int, quick: bool) -> None:
    """Print how all problems fare with features of one kind."""
    print(
        f"\n{'correlated' if correlated else 'independent'} features; seconds for {N_MODELS} models, then ratios"
    )
    columns = ["minmargin", "default", "optimum", "/default", "/optimum"]
    columns += ["converged", "gradient", "ours", "difference"]
    print(f"{'problem':>14}" + "".join(f"{column:>11}" for column in columns))
    ratios: list[tuple[float, float]] = []
    for problem in PROBLEMS:
        largest = problem == PROBLEMS[-1]
        found = measure(
            problem,
            correlated=correlated,
            repeats=1 if quick and problem[1] > 200 else repeats,
            optimum=not (quick and largest),
        )
        ratios.append((found.default / found.minmargin, found.optimum / found.minmargin))
        cells = [f"{seconds:.3f}" for seconds in found[:3]] + [f"{ratio:.1f}" for ratio in ratios[-1]]
        cells += [found.converged, *(f"{value:.0e}" for value in found[4:])]
        name = "x".join(str(size) for size in problem[:3])
        print(f"{name:>14}" + "".join(f"{cell:>11}" for cell in cells), flush=True)
    means = np.exp(np.nanmean(np.log(ratios), axis=0))
    print(f"geometric means: {means[0]:.1f} of default fits, {means[1]:.1f} of fits to the optimum")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="one table, without the slowest baseline")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)  # the table tells of it
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores")
    for correlated in [True] if arguments.quick else [True, False]:
        repeats = min(arguments.repeats, 3) if arguments.quick else arguments.repeats
        print_table(correlated=correlated, repeats=repeats, quick=arguments.quick)


if __name__ == "__main__":
    main()

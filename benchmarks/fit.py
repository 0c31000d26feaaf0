"""How fast a committee of 25 logistic regressions is trained.

Three ways are timed in turn. *default* is 25 scikit-learn fits, `LogisticRegression()` on the rows of each draw. It
stops at a gradient that is small for it, or after 100 iterations; the table tells how many fits converged in its own
eyes, and how far they were. *optimum* is the same with `tol=1e-10, max_iter=100_000`, which is where minmargin goes.
*minmargin* is `fit_committee(X, y)`, the base and 25 members. Gradients are relative to the one at zero, and
differences of coefficients, from those of *optimum*, to the largest.

Where a scikit-learn fit takes long, a few of the 25 are timed, and the time is taken for all of them. Features are
either independent, the easiest case for any solver, or correlated with their neighbors, as pixels and sensors are.

    python benchmarks/fit.py [--quick] [--repeats 5] [--json FILE]
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

import minmargin as mm
from measuring import Report, Table, arguments_of, figure, take_turns, times

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


def measure(problem: tuple[int, int, int, int], *, correlated: bool, repeats: int) -> Measured:
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
        "optimum": lambda: fit_each("optimum", **OPTIMUM),
    }
    found = take_turns(ways, repeats, warm_up=False)
    scorer = committee.scorer
    ours = [(scorer.member_weights[:, k].T, scorer.member_intercepts[k]) for k in range(n_timed)]
    differences = [
        np.abs(weights - model.coef_).max() / np.abs(model.coef_).max()
        for (weights, _), model in zip(ours, models["optimum"], strict=True)
    ]
    converged = sum(model.n_iter_.max() < model.max_iter for model in models["default"])
    return Measured(
        found.median("minmargin"),
        *(found.median(way) * N_MODELS / n_timed for way in ("default", "optimum")),
        f"{converged}/{n_timed}",
        max(
            relative_gradient(X[drawn], y[drawn], model.coef_, model.intercept_)
            for drawn, model in zip(draws, models["default"], strict=True)
        ),
        max(relative_gradient(X[drawn], y[drawn], *model) for drawn, model in zip(draws, ours, strict=True)),
        max(differences),
    )


def compare(report: Report, *, correlated: bool, repeats: int, quick: bool) -> tuple[float, float]:
    """Add the table for features of one kind; return the geometric means of both ratios."""
    table = Table(
        f"Seconds for {N_MODELS} models, {'correlated' if correlated else 'independent'} features",
        [
            "rows x features",
            "minmargin",
            "default",
            "optimum",
            "vs default",
            "vs optimum",
            "default converged",
            "default's gradient",
            "ours",
            "difference",
        ],
    )
    ratios: list[tuple[float, float]] = []
    for problem in PROBLEMS:
        slow = problem[1] > 200
        if quick and slow:
            continue
        found = measure(problem, correlated=correlated, repeats=min(repeats, 3) if slow else repeats)
        ratios.append((found.default / found.minmargin, found.optimum / found.minmargin))
        n, n_features, n_classes, _ = problem
        name = f"{n:,} x {n_features}" + (f" x {n_classes} classes" if n_classes > 2 else "")
        cells = [*map(figure, found[:3]), *map(times, ratios[-1]), found.converged]
        table.rows.append([name, *cells, *(f"{value:.0e}" for value in found[4:])])
    means = np.exp(np.mean(np.log(ratios), axis=0))
    table.rows.append(["geometric mean", "", "", "", *map(times, means), "", "", "", ""])
    report.add(table)
    return float(means[0]), float(means[1])


def main() -> None:
    """Measure both kinds of features."""
    arguments = arguments_of(__doc__, repeats=(5, "rounds"))
    warnings.simplefilter("ignore", ConvergenceWarning)  # the table tells of it
    report = Report(__file__, __doc__, arguments)
    repeats = 2 if arguments.quick else arguments.repeats
    for correlated in (True, False):
        of_default, of_optimum = compare(
            report, correlated=correlated, repeats=repeats, quick=arguments.quick
        )
        kind = "correlated" if correlated else "independent"
        for what, mean in (("to the optimum", of_optimum), ("with default settings", of_default)):
            report.goal(
                f"fit: {kind} features: geometric mean of at least 10 times 25 scikit-learn fits {what}",
                times(mean),
                met=mean >= 10,
            )
    report.write()


if __name__ == "__main__":
    main()

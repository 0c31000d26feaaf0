"""How fast a pool in memory is scored.

Four ways score the same float32 pool in turn; speeds are medians, ratios are taken within a round. *loop* is the
25 members as scikit-learn models, `predict_proba` each, the top two by `np.partition`, a running minimum. *one* is one
such model, plain margin. *product* is the bare matrix product for all 25 models, in runs of 65,536 rows, with
nothing after it. *minmargin* is `committee.select(pool, 1000)`, the whole way to the exact batch.

    python benchmarks/score.py [--quick] [--repeats 5] [--scale 1.0] [--json FILE]
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression

import minmargin as mm
from generated import labeled_set
from measuring import Report, Table, Times, arguments_of, figure, product_speed, take_turns, times

N_MODELS = 25
RUN = 65_536


class Problem(NamedTuple):
    """A pool to score; the loop is timed on fewer rows, because it is slow."""

    n_classes: int
    n_features: int
    n_rows: int
    n_loop: int
    goals: dict[str, float]  # way -> least speed relative to it

    @property
    def name(self) -> str:
        """The row of the table."""
        return f"{self.n_classes} classes, D = {self.n_features}"

    @property
    def width(self) -> int:
        """How many logits there are of a row."""
        return N_MODELS * (1 if self.n_classes == 2 else self.n_classes)


PROBLEMS = [
    Problem(2, 16, 20_000_000, 200_000, {}),
    Problem(2, 32, 20_000_000, 200_000, {"loop": 100, "one": 3}),
    Problem(10, 64, 5_000_000, 50_000, {"loop": 40, "one": 1}),
    Problem(10, 784, 1_000_000, 5_000, {"loop": 40, "product": 0.7}),
]


def margins_of(model: LogisticRegression, rows: np.ndarray) -> np.ndarray:
    """Return the margins under one scikit-learn model."""
    top_two = np.partition(model.predict_proba(rows), -2, axis=1)[:, -2:]
    return top_two[:, 1] - top_two[:, 0]


def as_sklearn(committee: mm.Committee, k: int) -> LogisticRegression:
    """Return member k as scikit-learn would have fitted it on float32 rows."""
    model = LogisticRegression()
    model.classes_ = committee.classes_
    model.coef_ = committee.scorer.member_weights[:, k].T.astype(np.float32)
    model.intercept_ = committee.scorer.member_intercepts[k].astype(np.float32)
    model.n_features_in_ = model.coef_.shape[1]
    return model


def measure(problem: Problem, n: int, n_loop: int, repeats: int) -> tuple[Times, mm.Batch]:
    """Return the times of each way, and the batch."""
    rng = np.random.default_rng(0)
    X, y = labeled_set(problem.n_features, problem.n_classes)
    pool = rng.standard_normal((n, problem.n_features), dtype=np.float32)
    committee = mm.fit_committee(X, y, n_models=N_MODELS, random_state=0)
    models = [as_sklearn(committee, k) for k in range(N_MODELS)]
    weights = np.concatenate([model.coef_ for model in models]).astype(np.float32)

    def loop() -> np.ndarray:
        lowest = np.full(n_loop, np.inf)
        for model in models:
            np.minimum(lowest, margins_of(model, pool[:n_loop]), out=lowest)
        return lowest

    ways = {
        "loop": loop,
        "one": lambda: margins_of(models[0], pool),
        "product": lambda: [pool[i : i + RUN] @ weights.T for i in range(0, n, RUN)],
        "minmargin": lambda: committee.select(pool, 1000),
    }
    return take_turns(ways, repeats), committee.select(pool, 1000)


def main() -> None:
    """Measure all problems."""
    arguments = arguments_of(
        __doc__,
        repeats=(5, "rounds"),
        scale=(1.0, "shrinks the pools"),
    )
    scale, repeats = (0.01, 2) if arguments.quick else (arguments.scale, arguments.repeats)
    report = Report(__file__, __doc__, arguments)
    ways = ["loop", "one", "product", "minmargin"]
    speeds = Table(
        "Million rows a second, and how many times as fast minmargin is",
        ["pool", *ways, *map("vs {}".format, ways[:3])],
    )
    ceilings = Table(
        "minmargin beside the machine's ceilings",
        ["pool", "read, GB/s", "of memory read", "GFLOP/s", "of that product", "rows scored exactly"],
        note="GFLOP/s counts the matrix product for all members; a screen that gets by with less may pass 100%. "
        "The product's ceiling is measured in one piece of 65,536 rows, all cores.",
    )
    goals = []
    for problem in PROBLEMS:
        n, n_loop = (max(int(size * scale), 2_000) for size in (problem.n_rows, problem.n_loop))
        rows = {"loop": n_loop, "one": n, "product": n, "minmargin": n}
        found, batch = measure(problem, n, n_loop, repeats)
        faster = {way: found.ratio(way, "minmargin") * n / rows[way] for way in ways[:3]}
        per_second = {way: rows[way] / found.median(way) for way in ways}
        speeds.rows.append(
            [
                problem.name,
                *(figure(per_second[way] / 1e6) for way in ways),
                *map(times, faster.values()),
            ]
        )
        read = per_second["minmargin"] * problem.n_features * 4
        work = per_second["minmargin"] * 2 * problem.n_features * problem.width
        skinny = product_speed(RUN, problem.n_features, problem.width)
        ceilings.rows.append(
            [
                problem.name,
                figure(read / 1e9),
                f"{read / report.ceilings.read:.0%}",
                figure(work / 1e9),
                f"{work / skinny:.0%} of {skinny / 1e9:.0f}",
                f"{batch.manifest['rows_scored_exactly']:,}",
            ]
        )
        goals += [(problem, way, least, faster[way]) for way, least in problem.goals.items()]
    report.add(speeds)
    report.add(ceilings)
    for problem, way, least, ratio in goals:
        report.goal(
            f"score: {problem.name}: at least {least:g} times the {way} way", times(ratio), met=ratio >= least
        )
    report.write()


if __name__ == "__main__":
    main()

"""Margraf et al., "ALPBench: A Benchmark for Active Learning Pipelines on Tabular Data" (2024), arXiv 2406.17322.

Their rules, as the paper and their code have them:

- A third (0.33) of the rows are test rows; both they and the labeled rows are drawn by class. A class that no labeled
  row has gets one.
- Every column is coded: its values are replaced by their places among the sorted values. Nothing is scaled.
- 20 rounds: 30 labeled rows and 10 a round (small), 100 and 50 (medium), 300 and 200 (large).
- Logistic regression and random forests have their settings. Boosting is scikit-learn's by histograms, with the depth
  and the number of trees of their XGBoost.

Their class called min-margin has ten estimators, but hands the same one over ten times, trained on the same rows: with
logistic regression and boosting of scikit-learn it is margin. Of a random forest it takes the first ten trees.
`THEIR_MIN_MARGIN` is that.
"""

from __future__ import annotations

import time
import warnings
import zlib
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from minmargin.experiments.published.asking import ask
from minmargin.experiments.published.curves import Curve, Task
from minmargin.experiments.published.rows import Rows
from minmargin.labeled import Bootstrap
from minmargin.seeds import SeedTree
from minmargin.strategies import resolve_strategy

TABLE = "alpbench"
#: Those of the sets at hand that are in OpenML-CC18, with their numbers there, small ones first.
OPENML = {
    "spambase": 44,
    "phoneme": 1489,
    "optdigits": 28,
    "satimage": 182,
    "pendigits": 32,
    "nomao": 1486,
    "bank-marketing": 1461,
    "adult": 1590,
    "connect-4": 40668,
    "mnist": 554,
    "fashion-mnist": 40996,
}
SETS = tuple(OPENML)
LEARNERS = ("logistic", "forest", "boosting")
#: How many rows are labeled from the start, by how many a round adds.
SIZES = {10: 30, 50: 100, 200: 300}
N_ROUNDS = 20
N_DRAWS = 10
TEST_SHARE = 0.33
N_MEMBERS = 10  # as many as they have

THEIR_MIN_MARGIN = "min-margin+theirs"
STRATEGIES = (
    "random",
    "margin",
    "power-margin",
    "cluster-margin",
    "k-centers",
    THEIR_MIN_MARGIN,
    "min-margin",
    "spread",
)
_COMPARING = ("cluster-margin", "k-centers", "spread")

RULES = f"test {TEST_SHARE}, K={N_MEMBERS}, {N_ROUNDS} rounds"

RowNumbers = NDArray[np.intp]
Floats = NDArray[np.float64]


class Dealt(NamedTuple):
    """The rows of a draw, and the seed of everything that is random after it."""

    labeled: RowNumbers
    pool: RowNumbers
    test: RowNumbers
    seed: int


def strategies_of(learner: str) -> tuple[str, ...]:
    """Return who plays with a learner: their min-margin is margin, but for a forest."""
    return tuple(name for name in STRATEGIES if name != THEIR_MIN_MARGIN or learner == "forest")


def deal(rows: Rows, n_labeled: int, draw: int) -> Dealt:
    """Return the rows of a draw, which all strategies and learners share."""
    from sklearn.model_selection import train_test_split  # noqa: PLC0415 - slow to import

    seeds = np.random.SeedSequence([zlib.crc32(f"{TABLE}/{rows.name}".encode()), draw])
    first, second, seed = seeds.generate_state(3).tolist()
    every = np.arange(len(rows.y))
    train, test = train_test_split(every, test_size=TEST_SHARE, random_state=first, stratify=rows.y)
    labeled, pool = train_test_split(train, train_size=n_labeled, random_state=second, stratify=rows.y[train])
    rng = np.random.default_rng(second)
    absent = np.setdiff1d(rows.y, rows.y[labeled])
    added = np.array([rng.choice(pool[rows.y[pool] == code]) for code in absent], dtype=np.intp)
    return Dealt(np.concatenate([labeled, added]), np.setdiff1d(pool, added), np.sort(test), seed)


def rules_of(rows: Rows) -> str:
    """Return everything that results depend on, besides what their rows tell."""
    return f"rows {rows.fingerprint}, {RULES}"


def play(task: Task, rows: Rows) -> Curve:
    """Return the curve of a strategy in a draw."""
    start = time.perf_counter()
    dealt = deal(rows, task.n_labeled, task.draw)
    X = code_columns(rows.X)
    labeled, pool = dealt.labeled, dealt.pool
    right = []
    for number in range(N_ROUNDS + 1):
        seed = int(np.random.SeedSequence([dealt.seed, number]).generate_state(1)[0])
        model = fit(task.learner, X[labeled], rows.y[labeled], seed)
        right.append(int((model.predict(X[dealt.test]) == rows.y[dealt.test]).sum()))
        if number == N_ROUNDS or not len(pool):
            break
        if len(pool) <= task.batch_size:
            picked = pool
        else:
            game = _Round(task.learner, model, X, rows.y, labeled, pool, seed)
            picked = game.pick(task.strategy, task.batch_size)
        labeled, pool = np.concatenate([labeled, picked]), pool[~np.isin(pool, picked)]
    took = time.perf_counter() - start
    n_train = len(dealt.labeled) + len(dealt.pool)
    return Curve(task, n_train, len(dealt.test), np.array(right), took, rules_of(rows))


def code_columns(X: NDArray[Any]) -> Floats:
    """Return each value's place among the sorted values of its column.

    >>> code_columns(np.array([[5.0, 1.0], [7.5, 1.0], [5.0, 0.0]])).tolist()
    [[0.0, 1.0], [1.0, 1.0], [0.0, 0.0]]
    """
    columns = [np.unique(column, return_inverse=True)[1] for column in X.T]
    return np.column_stack(columns).astype(np.float64)


def fit(learner: str, X: Floats, y: NDArray[np.intp], seed: int) -> Any:
    """Return a trained model."""
    from sklearn.exceptions import ConvergenceWarning  # noqa: PLC0415 - slow to import

    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", ConvergenceWarning
        )  # a hundred steps on unscaled columns: their setting
        return _unfitted(learner, seed).fit(X, y)


def _unfitted(learner: str, seed: int) -> Any:
    from sklearn.ensemble import (  # noqa: PLC0415 - slow to import
        HistGradientBoostingClassifier,
        RandomForestClassifier,
    )
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 - slow to import

    if learner == "logistic":
        return LogisticRegression()
    if learner == "forest":
        return RandomForestClassifier(n_estimators=100, max_depth=10, criterion="entropy", random_state=seed)
    assert learner == "boosting", "there are three"
    return HistGradientBoostingClassifier(max_iter=100, max_depth=6, early_stopping=False, random_state=seed)


class _Round(NamedTuple):
    """What a strategy is given in a round."""

    learner: str
    model: Any
    X: Floats
    y: NDArray[np.intp]
    labeled: RowNumbers
    pool: RowNumbers
    seed: int

    def pick(self, name: str, size: int) -> RowNumbers:
        """Return the rows that a strategy picks."""
        rows = self.X[self.pool]
        strategy = resolve_strategy("min-margin" if name == THEIR_MIN_MARGIN else name)
        if strategy.needs == "nothing":
            told: Any = np.full((len(rows), 2), 0.5)
        elif name == THEIR_MIN_MARGIN:
            told = [tree.predict_proba(rows) for tree in self.model.estimators_[:N_MEMBERS]]
        elif strategy.needs == "members":
            told = self._members(rows)
        else:
            told = self.model.predict_proba(rows)
        compared = name in _COMPARING
        places = ask(
            strategy,
            size,
            told,
            seed=self.seed,
            features=rows if compared else None,
            labeled_features=self.X[self.labeled] if compared else None,
        )
        return self.pool[places]

    def _members(self, rows: Floats) -> list[Floats]:
        """Return what each model of a bootstrap draw says of rows."""
        codes = self.y[self.labeled]
        seeds = SeedTree(self.seed)
        bootstrap = Bootstrap(codes, np.bincount(codes), seeds)
        drawn = [self.labeled[bootstrap.indices(member)] for member in range(N_MEMBERS)]
        trained = [
            fit(self.learner, self.X[each], self.y[each], int(seeds.learner(member).generate_state(1)[0]))
            for member, each in enumerate(drawn)
        ]
        return [model.predict_proba(rows) for model in trained]

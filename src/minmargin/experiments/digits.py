"""The demo: the main job on handwritten digits that ship inside scikit-learn, and what the labels bought."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from minmargin.batch import Batch
from minmargin.execution import Progress, one_thread_each, silent
from minmargin.selection import select
from minmargin.typing import StrategyName

STRATEGIES: tuple[StrategyName, ...] = ("min-margin", "margin", "random")
IMAGE_SHAPE = (8, 8)
N_LABELED, N_TEST, BATCH_SIZE, N_DRAWS = 50, 600, 200, 5


@dataclass(frozen=True)
class Gain:
    """Test accuracies over the draws, one value a draw."""

    before: list[float]
    after: dict[str, list[float]]

    def summary(self) -> dict[str, dict[str, float]]:
        """Return the mean accuracy and its standard error, before and after each strategy's labels."""
        return {
            name: _mean_and_error(values) for name, values in {"before": self.before, **self.after}.items()
        }


@dataclass(frozen=True)
class Draw:
    """One random split of the digits: rows with known labels, the pool, and rows to test on."""

    images: NDArray[np.float64]
    digits: NDArray[np.int64]
    labeled: NDArray[np.intp]
    pool: NDArray[np.intp]
    test: NDArray[np.intp]

    @classmethod
    def of(cls, seed: int) -> Draw:
        """Return the split of a seed, with every digit among the labeled rows."""
        images, digits = load_digits(return_X_y=True)
        order = np.random.default_rng(seed).permutation(len(digits))
        test, rest = order[:N_TEST], order[N_TEST:]
        per_class = [rest[digits[rest] == digit][: N_LABELED // 10] for digit in range(10)]
        labeled = np.concatenate(per_class)
        return cls(images / 16.0, digits, labeled, np.setdiff1d(rest, labeled), test)

    def select(self, strategy: StrategyName, random_state: int, progress: Progress) -> Batch:
        """Return the batch that a strategy picks from the pool."""
        return select(
            self.images[self.labeled],
            self.digits[self.labeled],
            self.images[self.pool],
            BATCH_SIZE,
            strategy=strategy,
            random_state=random_state,
            progress=progress,
        )

    def accuracy(self, batch: Batch | None = None) -> float:
        """Return the test accuracy of a model that was also given the labels of a batch."""
        rows = self.labeled if batch is None else np.concatenate([self.labeled, self.pool[batch.rows]])
        with one_thread_each():  # which tell each other more than they have to do
            model = LogisticRegression(max_iter=5000).fit(self.images[rows], self.digits[rows])
        return float(model.score(self.images[self.test], self.digits[self.test]))


def play(progress: Progress) -> tuple[Batch, Gain]:
    """Return the first draw's min-margin batch, and what each strategy's labels bought over all draws."""
    before: list[float] = []
    after: dict[str, list[float]] = {strategy: [] for strategy in STRATEGIES}
    batches: list[Batch] = []
    n_steps = N_DRAWS * len(STRATEGIES)
    for seed in range(N_DRAWS):
        draw = Draw.of(seed)
        before.append(draw.accuracy())
        for step, strategy in enumerate(STRATEGIES, start=seed * len(STRATEGIES)):
            progress("comparing", step, n_steps)
            batch = draw.select(strategy, seed, silent)
            batches.append(batch)
            after[strategy].append(draw.accuracy(batch))
    progress("comparing", n_steps, n_steps)
    return batches[0], Gain(before, after)


def _mean_and_error(values: list[float]) -> dict[str, float]:
    error = statistics.stdev(values) / len(values) ** 0.5
    return {"mean": statistics.fmean(values), "standard_error": error}

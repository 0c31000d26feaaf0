"""Section 4.2: five tables and logistic regression with scikit-learn's default settings.

In 2019 those meant liblinear: one class against the rest, with a penalty on the intercept, and converged on columns of
any scale. The main variant is what the default means today, taken to its optimum; others show how much hangs on that.
"""

from __future__ import annotations

from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

from minmargin.compare.game import Game
from minmargin.compare.trainers import EstimatorTrainer, LogisticTrainer
from minmargin.experiments.paper.experiment import ALL_STRATEGIES, ROW_SCORES, Experiment, Setting, SplitTable

DATASETS: tuple[str, ...] = ("nomao", "shuttle", "magic04", "a9a", "cod-rna")
STRATEGIES = ALL_STRATEGIES
N_LABELED = 100
BATCH_SIZES: tuple[int, ...] = (25, 50, 100, 200, 400, 800, 1600)


def experiment(*, quick: bool = False) -> Experiment:
    """Return the experiment."""
    datasets = ("breast-cancer",) if quick else DATASETS
    sizes = (10, 40, 100) if quick else BATCH_SIZES
    # Greedy strategies look at features alone, or nearly so: they are played once.
    one_by_one = EstimatorTrainer(OneVsRestClassifier(LogisticRegression(solver="liblinear")))
    games = {
        "main": Game(LogisticTrainer(), STRATEGIES, sizes),
        "liblinear": Game(one_by_one, ROW_SCORES, sizes),
        "standardized": Game(LogisticTrainer(), ROW_SCORES, sizes),
    }
    settings = tuple(
        Setting(
            dataset,
            variant,
            game,
            SplitTable("benchmark", dataset, N_LABELED, standardized=variant == "standardized"),
        )
        for variant, game in games.items()
        for dataset in datasets
    )
    return Experiment("benchmark", "4.2", settings, n_draws=4 if quick else 100)

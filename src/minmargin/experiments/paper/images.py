"""Section 4.1: MNIST and Fashion-MNIST, with networks of one and two hidden layers."""

from __future__ import annotations

from minmargin.compare.game import Game
from minmargin.compare.network_trainer import NetworkTrainer
from minmargin.experiments.paper.experiment import ALL_STRATEGIES, Experiment, Setting, SplitTable
from minmargin.learners.mlp import MLPLearner

STRATEGIES = ALL_STRATEGIES
N_LABELED = 100
BATCH_SIZES: tuple[int, ...] = (50, 100, 200, 400, 800, 1200, 1600, 2000)
EPOCHS = 100


def mnist(*, quick: bool = False) -> Experiment:
    """Return the experiment on handwritten digits."""
    return _experiment("mnist", "mnist", (512, 512), quick=quick)


def fashion(*, quick: bool = False) -> Experiment:
    """Return the experiment on pieces of clothing."""
    return _experiment("fashion", "fashion-mnist", (128,), quick=quick)


def _experiment(name: str, dataset: str, hidden: tuple[int, ...], *, quick: bool) -> Experiment:
    epochs, sizes, n_draws = EPOCHS, BATCH_SIZES, 100
    if quick:
        dataset, hidden, epochs, sizes, n_draws = "digits", (32,) * len(hidden), 30, (20, 50, 100), 3
    learner = MLPLearner(hidden=hidden, epochs=epochs, standardize=False)
    game = Game(NetworkTrainer(learner, n_classes=10), STRATEGIES, sizes)
    setting = Setting(dataset, "main", game, SplitTable(name, dataset, N_LABELED))
    return Experiment(name, "4.1", (setting,), n_draws, at_a_time=12, needs_torch=True)

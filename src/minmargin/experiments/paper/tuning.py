"""Section 4.3: how much min-margin depends on the number of members, and on the size of their draws."""

from __future__ import annotations

from minmargin.compare.game import Game
from minmargin.compare.trainers import LogisticTrainer
from minmargin.experiments.paper import benchmark
from minmargin.experiments.paper.experiment import Experiment, Setting, SplitTable

DATASETS: tuple[str, ...] = ("shuttle", "magic04", "cod-rna")
N_MODELS: tuple[int, ...] = (2, 5, 10, 25, 50, 100)
FRACTIONS: tuple[float, ...] = (0.25, 0.5, 1.0, 2.0, 4.0)


def experiment(*, quick: bool = False) -> Experiment:
    """Return the experiment. Its draws are those of the benchmark."""
    datasets, n_models, fractions = DATASETS, N_MODELS, FRACTIONS
    sizes = benchmark.BATCH_SIZES
    if quick:
        datasets, n_models, fractions, sizes = ("breast-cancer",), (5, 25), (0.5, 1.0), (10, 40, 100)
    trainer, only = LogisticTrainer(), ("min-margin",)
    games = {"reference": Game(trainer, ("margin", "random"), sizes)}
    games |= {f"K={k}": Game(trainer, only, sizes, n_models=k) for k in n_models}
    games |= {f"beta={beta:g}": Game(trainer, only, sizes, bootstrap_fraction=beta) for beta in fractions}
    settings = tuple(
        Setting(dataset, variant, game, SplitTable("benchmark", dataset, benchmark.N_LABELED))
        for dataset in datasets
        for variant, game in games.items()
    )
    return Experiment("tuning", "4.3", settings, n_draws=4 if quick else 100)

"""What an experiment is: settings, each a game on deals of some data, and how many draws of each are played."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

import numpy as np

from minmargin.compare.deals import Deal
from minmargin.compare.game import Game
from minmargin.experiments.datasets import Table, load_dataset
from minmargin.experiments.paper import embedded
from minmargin.labeled import LabeledSet

#: Gives the deal of a draw; data that has to be read is looked for in the folder first.
Dealer: TypeAlias = Callable[[int, Path | None], Deal]

ROW_SCORES = ("min-margin", "margin", "random", "committee", "var-softmax", "mean-margin", "margin-of-mean")
ALL_STRATEGIES = (*ROW_SCORES, "random-margin-mix", "balanced-margin", "k-centers")


@dataclass(frozen=True)
class Setting:
    """One line of a figure: a game on one dataset.

    Attributes:
        dataset: its name.
        variant: what sets this game apart from others on the dataset.
        game: the rules.
        deal: gives the deal of a draw.
    """

    dataset: str
    variant: str
    game: Game
    deal: Dealer

    @property
    def rules(self) -> str:
        """Everything that the results depend on."""
        game = self.game
        return (
            f"{self.deal}; {game.trainer}; {', '.join(game.names)}; sizes {game.batch_sizes}; "
            f"K={game.n_models}, beta={game.bootstrap_fraction:g}"
        )


@dataclass(frozen=True)
class Experiment:
    """An experiment of the paper.

    Attributes:
        name: on the command line.
        section: where it stands in the paper.
        settings: what is played.
        n_draws: how many draws of each.
        at_a_time: how many draws are played together where a GPU trains their networks in one stack.
        needs_torch: whether networks are trained.
    """

    name: str
    section: str
    settings: tuple[Setting, ...]
    n_draws: int
    at_a_time: int = 1
    needs_torch: bool = False


def seeds_of(experiment: str, dataset: str, draw: int) -> np.random.SeedSequence:
    """Return the seeds of a draw: the same for all variants of a dataset, so that they can be compared in pairs."""
    return np.random.SeedSequence([zlib.crc32(f"{experiment}/{dataset}".encode()), draw])


@dataclass(frozen=True)
class SplitTable:
    """Deals of a table: some rows are labeled, and the others are halved into pool and test.

    A table with a test set of its own keeps it, and all other rows are the pool.

    Attributes:
        experiment: which the draws belong to.
        dataset: whose table.
        n_labeled: how many rows are labeled.
        standardized: whether each column is brought to mean 0 and deviation 1 first, over all rows.
        dtype: of the rows, if not as they are read.
    """

    experiment: str
    dataset: str
    n_labeled: int
    standardized: bool = False
    dtype: str | None = None

    def __call__(self, draw: int, data_dir: Path | None) -> Deal:
        """Return the deal of a draw."""
        table, n_own = _read(self.dataset, data_dir, standardized=self.standardized, dtype=self.dtype)
        seeds = seeds_of(self.experiment, self.dataset, draw)
        rng = np.random.default_rng(seeds)
        order = rng.permutation(n_own)
        while (
            len(np.unique(table.codes[order[: self.n_labeled]])) == 1
        ):  # nothing can be learned from one class
            order = rng.permutation(n_own)
        labeled, rest = order[: self.n_labeled], order[self.n_labeled :]
        half = len(rest) // 2
        n_rows = len(table.codes)
        pool, test = (rest[:half], rest[half:]) if n_own == n_rows else (rest, np.arange(n_own, n_rows))
        return Deal(table, labeled, np.sort(pool), np.sort(test), int(seeds.generate_state(1)[0]))


@lru_cache(maxsize=2)
def _read(
    dataset: str, data_dir: Path | None, *, standardized: bool, dtype: str | None
) -> tuple[LabeledSet, int]:
    """Return all rows, those of a test set last, and how many rows are not of a test set."""
    table: Table = (
        embedded.TABLES[dataset]() if dataset in embedded.TABLES else load_dataset(dataset, data_dir)
    )
    X, y = table.X, table.y
    if table.test_X is not None and table.test_y is not None:
        X, y = np.concatenate([X, table.test_X]), np.concatenate([y, table.test_y])
    if standardized:
        scale = X.std(axis=0)
        X = (X - X.mean(axis=0)) / np.where(scale > 0, scale, 1.0)
    return LabeledSet.of(X if dtype is None else X.astype(dtype), y), len(table.X)

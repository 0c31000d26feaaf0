"""The one-shot game: some rows are labeled, a strategy picks a batch, and a model is trained anew and tried."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from minmargin.committee import Committee, fit_committee
from minmargin.compare.results import NONE
from minmargin.seeds import SeedTree
from minmargin.strategies import Context, resolve_strategy
from minmargin.strategies.random import RandomMarginMix
from minmargin.topb import Ranked

Rows = NDArray[np.intp]
_MIX = RandomMarginMix.name


class Deal(NamedTuple):
    """The rows of one draw.

    Attributes:
        X: (n, D) all rows.
        y: (n,) their classes, as 0..C-1.
        labeled: (N,) which rows are labeled from the start.
        pool: (m,) which rows may be picked.
        test: (t,) which rows a model is tried on.
        seed: of everything that is random after the deal.
    """

    X: NDArray[Any]
    y: NDArray[np.intp]
    labeled: Rows
    pool: Rows
    test: Rows
    seed: int


class Trainer(Protocol):
    """What turns rows into models, alone for a committee, and many at a time for retraining."""

    @property
    def learner(self) -> Any:
        """What a committee is trained with."""
        ...

    def accuracies(
        self, deals: Sequence[Deal], row_sets: Sequence[Sequence[Rows]], *, device: str
    ) -> list[NDArray[np.float64]]:
        """Return for each deal the test accuracies of models that are trained on each of its sets of rows."""
        ...


class Outcome(NamedTuple):
    """What a batch was worth: the accuracy after training with it, and the seconds that picking took."""

    strategy: str
    batch_size: int
    accuracy: float
    seconds: float


@dataclass(frozen=True)
class Game:
    """The rules of a game.

    Attributes:
        trainer: of committees, and of the models that are tried.
        strategies: names, or strategies themselves.
        batch_sizes: ascending.
        n_models: K.
        bootstrap_fraction: beta.
    """

    trainer: Trainer
    strategies: tuple[Any, ...]
    batch_sizes: tuple[int, ...]
    n_models: int = 25
    bootstrap_fraction: float = 1.0

    @property
    def names(self) -> list[str]:
        """The names of the strategies."""
        return [resolve_strategy(strategy).name for strategy in self.strategies]

    def play(
        self, deals: Sequence[Deal], *, device: str, n_threads: int = 1, n_jobs: int = 1
    ) -> list[list[Outcome]]:
        """Return the outcomes of each deal, the one without a batch first.

        Models of all deals are trained together. `n_threads` deals are picked from at a time: while one waits for a
        GPU, others can prepare what it does next.
        """
        with ThreadPoolExecutor(n_threads) as threads:
            picks = list(threads.map(partial(self.pick, device=device, n_jobs=n_jobs), deals))
        return self.try_out(deals, picks, device=device)

    def pick(self, deal: Deal, *, device: str, n_jobs: int = 1) -> Picks:
        """Return what each strategy picks from the pool of a deal."""
        committee = self._committee(deal, device, n_jobs)
        pool = deal.X[deal.pool]
        ranked: dict[str, Rows] = {}
        seconds: dict[str, float] = {}
        for strategy in map(resolve_strategy, self._ranked_strategies()):
            start = time.perf_counter()
            largest = self.batch_sizes[-1]
            batch = committee.select(pool, largest, strategy=strategy, device=device, n_jobs=n_jobs)
            seconds[strategy.name] = time.perf_counter() - start
            ranked[strategy.name] = deal.pool[batch.rows]
        # Smaller batches are the beginnings of larger ones, but for a mix: it is made of such beginnings.
        if _MIX in self.names:
            seconds[_MIX] = seconds["margin"] + seconds["random"]
        return Picks(
            {
                (name, size): _mixed(ranked, size) if name == _MIX else ranked[name][:size]
                for name in self.names
                for size in self.batch_sizes
            },
            seconds,
        )

    def try_out(self, deals: Sequence[Deal], picks: Sequence[Picks], *, device: str) -> list[list[Outcome]]:
        """Return what the picks of each deal are worth."""
        row_sets = [
            [deal.labeled, *(np.concatenate([deal.labeled, rows]) for rows in picked.rows.values())]
            for deal, picked in zip(deals, picks, strict=True)
        ]
        outcomes = []
        accuracies = self.trainer.accuracies(deals, row_sets, device=device)
        for picked, (before, *after) in zip(picks, accuracies, strict=True):
            of_deal = [Outcome(NONE, 0, float(before), 0.0)]
            of_deal += [
                Outcome(name, size, float(accuracy), picked.seconds[name])
                for (name, size), accuracy in zip(picked.rows, after, strict=True)
            ]
            outcomes.append(of_deal)
        return outcomes

    def _ranked_strategies(self) -> list[Any]:
        """Return the strategies whose largest batch says what the smaller ones are, those that a mix needs included."""
        needed = ["margin", "random"] if _MIX in self.names else []
        missing = [name for name in needed if name not in self.names]
        return [
            strategy
            for strategy, name in zip([*self.strategies, *missing], [*self.names, *missing], strict=True)
            if name != _MIX
        ]

    def _committee(self, deal: Deal, device: str, n_jobs: int) -> Committee:
        labeled = deal.labeled[_can_be_drawn(deal.y[deal.labeled], self.bootstrap_fraction)]
        return fit_committee(
            deal.X[labeled],
            deal.y[labeled],
            learner=self.trainer.learner,
            n_models=self.n_models,
            bootstrap_fraction=self.bootstrap_fraction,
            random_state=deal.seed,
            n_jobs=n_jobs,
            device=device,
        )


class Picks(NamedTuple):
    """What strategies picked: rows by strategy and batch size, and how long the picking of each strategy took."""

    rows: Mapping[tuple[str, int], Rows]
    seconds: Mapping[str, float]


def _mixed(ranked: Mapping[str, Rows], size: int) -> Rows:
    """Return the batch of random-margin-mix, from what margin and random rank first."""
    mix = RandomMarginMix()
    shortlists = [
        Ranked(ranked[name][: shortlist.size], np.zeros(len(ranked[name][: shortlist.size])), {})
        for name, shortlist in zip(("margin", "random"), mix.shortlists(size), strict=True)
    ]
    context = Context(size, SeedTree.plant(0), lambda: np.empty((0, 0)))
    return np.asarray(mix.finish(shortlists, context).rows)


def _can_be_drawn(y: NDArray[np.intp], fraction: float) -> NDArray[np.bool_]:
    """Return which labeled rows have a class of which a bootstrap draw holds a row at all.

    Algorithm 1 draws floor(beta * N_g) rows of a class. If that is none, members do not know the class, just as if its
    rows were not there.
    """
    counts = np.bincount(y)
    return np.asarray(np.floor(fraction * counts)[y] >= 1)

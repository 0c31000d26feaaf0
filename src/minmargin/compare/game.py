"""The game: some rows are labeled, a strategy picks a batch, in one round or several, and a model is trained anew."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from minmargin.committee.committee import Committee
from minmargin.committee.training import Training
from minmargin.compare.deals import Deal, RowNumbers
from minmargin.compare.outcome import NONE, Outcome
from minmargin.compare.scoring import Accuracy, Scoring
from minmargin.compare.trainers import Trainer
from minmargin.data.rows import take_rows
from minmargin.device import DeviceChoice
from minmargin.errors import TooFewDistinctError
from minmargin.execution import Execution
from minmargin.pools.memory import MemoryPool
from minmargin.strategies import Strategy, distinct_rows, resolve_strategy

#: A strategy's name, and the size of the batch that it picks.
Move: TypeAlias = tuple[str, int]


class Picks(NamedTuple):
    """What strategies picked, and how long the picking took, by strategy and batch size."""

    rows: Mapping[Move, RowNumbers]
    seconds: Mapping[Move, float]


@dataclass(frozen=True)
class Game:
    """The rules of a game.

    Attributes:
        trainer: of committees, and of the models that are tried.
        strategies: names, or strategies themselves.
        batch_sizes: ascending.
        n_models: K.
        bootstrap_fraction: beta.
        rounds: in how many rounds a batch is picked; after each, its rows are labeled and a committee is trained anew.
        scorings: what a model is worth; it is trained once for all of them.
        distinct: whether the rows of a batch are distinct, as `select` takes it; the paper's are not.
    """

    trainer: Trainer
    strategies: tuple[Any, ...]
    batch_sizes: tuple[int, ...]
    n_models: int = 25
    bootstrap_fraction: float = 1.0
    rounds: int = 1
    scorings: tuple[Scoring, ...] = (Accuracy(),)
    distinct: bool | None = False

    @property
    def names(self) -> list[str]:
        """The names of the strategies."""
        return [strategy.name for strategy in self._resolved]

    def play(
        self, deals: Sequence[Deal], *, device: DeviceChoice, n_threads: int = 1, n_jobs: int = 1
    ) -> list[list[Outcome]]:
        """Return the outcomes of each deal, the one without a batch first.

        Models of all deals are trained together. `n_threads` deals are picked from at a time: while one waits for a
        GPU, others can prepare what it does next.
        """
        with ThreadPoolExecutor(n_threads) as threads:
            picks = list(threads.map(partial(self.pick, device=device, n_jobs=n_jobs), deals))
        return self.try_out(deals, picks, device=device)

    def pick(self, deal: Deal, *, device: DeviceChoice, n_jobs: int = 1) -> Picks:
        """Return what each strategy picks from the pool of a deal."""
        committee = self.train(deal, device=device, n_jobs=n_jobs)
        return self.pick_with(committee, deal, device=device, n_jobs=n_jobs)

    def train(self, deal: Deal, *, device: DeviceChoice, n_jobs: int = 1) -> Committee:
        """Return the committee of the rows that are labeled from the start: one serves all strategies."""
        execution = Execution(n_jobs=n_jobs, device=device)
        return self._committee(deal, deal.labeled, self._resolved, execution)

    def pick_with(self, committee: Committee, deal: Deal, *, device: DeviceChoice, n_jobs: int = 1) -> Picks:
        """Return what each strategy picks from the pool of a deal, asking a committee that was trained for it."""
        execution = Execution(n_jobs=n_jobs, device=device)
        parts = {size: split_evenly(size, self.rounds) for size in self.batch_sizes}
        first = self._first_round(committee, deal, sorted({part[0] for part in parts.values()}), execution)
        moves = [(name, size) for name in self.names for size in self.batch_sizes]
        rows = {(name, size): first.rows[name, parts[size][0]] for name, size in moves}
        seconds = {(name, size): first.seconds[name, parts[size][0]] for name, size in moves}
        strategies = dict(zip(self.names, self._resolved, strict=True))
        for move in moves if self.rounds > 1 else []:
            for n_more in parts[move[1]][1:]:
                more, took = self._next_round(deal, rows[move], strategies[move[0]], n_more, execution)
                rows[move] = np.concatenate([rows[move], more])
                seconds[move] += took
        return Picks(rows, seconds)

    def try_out(
        self, deals: Sequence[Deal], picks: Sequence[Picks], *, device: DeviceChoice
    ) -> list[list[Outcome]]:
        """Return what the picks of each deal are worth."""
        row_sets = [
            [deal.labeled, *(np.concatenate([deal.labeled, rows]) for rows in picked.rows.values())]
            for deal, picked in zip(deals, picks, strict=True)
        ]
        outcomes = []
        scores = self.trainer.scores(deals, row_sets, self.scorings, device=device)
        for picked, of_models in zip(picks, scores, strict=True):
            before, *after = map(tuple, of_models.tolist())
            of_deal = [Outcome(NONE, 0, before, 0.0)]
            of_deal += [
                Outcome(*move, of_move, picked.seconds[move])
                for move, of_move in zip(picked.rows, after, strict=True)
            ]
            outcomes.append(of_deal)
        return outcomes

    @property
    def _resolved(self) -> list[Strategy]:
        return [resolve_strategy(strategy) for strategy in self.strategies]

    def _first_round(
        self, committee: Committee, deal: Deal, sizes: Sequence[int], execution: Execution
    ) -> Picks:
        """Return what is picked with the labels that are there from the start."""
        rows: dict[Move, RowNumbers] = {}
        seconds: dict[Move, float] = {}
        for strategy in self._resolved:
            for size in sizes[-1:] if strategy.nested else sizes:
                move = strategy.name, size
                rows[move], seconds[move] = self._select(
                    committee, deal, deal.pool, strategy, size, execution
                )
            if strategy.nested:
                largest = strategy.name, sizes[-1]
                for size in sizes[:-1]:
                    rows[strategy.name, size] = rows[largest][:size]
                    seconds[strategy.name, size] = seconds[largest]
        return Picks(rows, seconds)

    def _next_round(
        self, deal: Deal, picked: RowNumbers, strategy: Strategy, size: int, execution: Execution
    ) -> tuple[RowNumbers, float]:
        """Return what a strategy picks once the rows picked so far are labeled, and the seconds that picking took."""
        labeled = np.concatenate([deal.labeled, picked])
        pool = deal.pool[~np.isin(deal.pool, picked)]
        committee = self._committee(deal, labeled, [strategy], execution)
        return self._select(committee, deal, pool, strategy, size, execution)

    def _committee(
        self, deal: Deal, rows: RowNumbers, strategies: Sequence[Strategy], execution: Execution
    ) -> Committee:
        """Return a committee trained on these rows, with members if a strategy needs them."""
        training = Training.of(
            deal.part(rows[can_be_drawn(deal.y[rows], self.bootstrap_fraction)]),
            learner=self.trainer.learner,
            bootstrap_fraction=self.bootstrap_fraction,
            random_state=deal.seed,
            preprocess=self.trainer.preprocess,
        )
        n_members = self.n_models if any(strategy.needs == "members" for strategy in strategies) else 0
        return training.fit(n_members, execution)

    def _select(
        self,
        committee: Committee,
        deal: Deal,
        pool: RowNumbers,
        strategy: Strategy,
        size: int,
        execution: Execution,
    ) -> tuple[RowNumbers, float]:
        """Return the rows that a strategy picks from a pool, and how many seconds that took."""
        start = time.perf_counter()
        matched = committee.match(MemoryPool(take_rows(deal.X, pool)))

        def pick(n_rows: int, by: Strategy, *, distinct: bool) -> RowNumbers:
            return committee.pick(matched, n_rows, by, execution, distinct=distinct).rows

        rows = fill_by_chance(
            partial(pick, by=strategy, distinct=distinct_rows(self.distinct, strategy)),
            partial(pick, by=resolve_strategy("random"), distinct=False),
            size,
        )
        return pool[rows], time.perf_counter() - start


def fill_by_chance(
    pick: Callable[[int], RowNumbers], by_chance: Callable[[int], RowNumbers], size: int
) -> RowNumbers:
    """Return the rows that a strategy picks; if too few are distinct, all of those, and then rows picked by chance.

    So would whoever has the labels to spend.
    """
    try:
        return pick(size)
    except TooFewDistinctError as error:
        found, random = pick(error.n_distinct), by_chance(size)
        return np.concatenate([found, random[~np.isin(random, found)][: size - len(found)]])


def split_evenly(size: int, rounds: int) -> list[int]:
    """Return how many rows are picked in each round; those before the last may have one more.

    >>> split_evenly(11, 3)
    [4, 4, 3]
    """
    return [size // rounds + (number < size % rounds) for number in range(rounds)]


def can_be_drawn(y: NDArray[np.intp], fraction: float) -> NDArray[np.bool_]:
    """Return which labeled rows have a class of which a bootstrap draw holds a row at all.

    Algorithm 1 draws floor(beta * N_g) rows of a class. If that is none, members do not know the class, just as if its
    rows were not there.
    """
    counts = np.bincount(y)
    return np.asarray(np.floor(fraction * counts)[y] >= 1)

"""What is played: settings of a problem, its draws, and what each strategy's batch was worth."""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from minmargin.compare.deals import Deal
from minmargin.compare.game import Game, Picks
from minmargin.compare.outcome import NONE
from minmargin.compare.scoring import Answers, Scoring
from minmargin.device import DeviceChoice
from minmargin.experiments.study.metrics import METRICS
from minmargin.experiments.study.named import strategy_named
from minmargin.experiments.study.problems import LARGE, Problem, load_problem
from minmargin.experiments.study.ways import Way, make_way
from minmargin.labeled import LabeledSet
from minmargin.manifest import Stopwatch

N_LABELED = (100, 500)
BATCH_SIZES = (100, 500, 2000)
BATCH_SIZES_BOOSTED = (500, 2000)  # a boosted model takes a second or so, and a few rows change it little
N_LABELED_LARGE = (500,)
BATCH_SIZES_LARGE = (20_000,)

#: The share of a problem's rows that models are tried on, and the most rows that are.
TEST_SHARE, MOST_TEST = 1 / 3, 8000
#: A batch is at most this part of the pool: of most rows, any strategy picks most.
MOST_OF_POOL = 0.5

#: What the seconds of a task are spent on.
STAGES = ("committees", "picking", "final models", "metrics")

#: What else results depend on: the committees of `Game` as they are, and the numbers above.
RULES = "K=25, beta=1"

_NAME = pa.dictionary(pa.int16(), pa.string())
SCHEMA = pa.schema(
    [
        ("way", _NAME),
        ("problem", _NAME),
        ("n_labeled", pa.int32()),
        ("draw", pa.int32()),
        ("strategy", _NAME),
        ("batch_size", pa.int32()),
        *((metric.name, pa.float32()) for metric in METRICS),
        ("seconds", pa.float32()),
        ("rules", _NAME),
    ]
)


class Task(NamedTuple):
    """Draws of a setting that are played together, and the strategies that play."""

    way: str
    problem: str
    n_labeled: int
    draws: tuple[int, ...]
    strategies: tuple[str, ...]


def settings_of(problem: str) -> tuple[int, ...]:
    """Return the numbers of labeled rows that a problem is played with."""
    return N_LABELED_LARGE if problem.endswith(LARGE) else N_LABELED


def sizes_of(problem: str, n_rows: int, n_labeled: int, *, way: str) -> tuple[int, ...]:
    """Return the batch sizes that a problem of so many rows is played with."""
    n_pool = n_rows - _n_test(n_rows) - n_labeled
    sizes: tuple[int, ...] = BATCH_SIZES_BOOSTED if way == "boosting" else BATCH_SIZES
    if problem.endswith(LARGE):
        sizes = BATCH_SIZES_LARGE
    return tuple(size for size in sizes if size <= MOST_OF_POOL * n_pool)


def deal(problem: Problem, n_labeled: int, draws: Sequence[int]) -> list[Deal]:
    """Return the rows of some draws, which share a table. The same test rows serve any number of labeled rows."""
    table = LabeledSet.of(problem.X.astype(np.float32), problem.y)
    n_rows = len(problem.y)
    end = n_rows - _n_test(n_rows)
    deals = []
    for draw in draws:
        seeds = np.random.SeedSequence([zlib.crc32(f"study/{problem.name}".encode()), draw])
        rng = np.random.default_rng(seeds)
        order = rng.permutation(n_rows)
        while len(np.unique(problem.y[order[:n_labeled]])) == 1:  # nothing can be learned from one class
            order = rng.permutation(n_rows)
        pool, test = np.sort(order[n_labeled:end]), np.sort(order[end:])
        deals.append(Deal(table, order[:n_labeled], pool, test, int(seeds.generate_state(1)[0])))
    return deals


def play(
    task: Task, folder: Path, *, device: DeviceChoice = "cpu", stopwatch: Stopwatch | None = None
) -> pa.Table:
    """Return what a task gives, in the columns of `SCHEMA`: a row without a batch, then one for each cell.

    Args:
        task: what is played.
        folder: where the packed problems are.
        device: where models are trained. Pools are small: a GPU looks at one only if "auto" finds it worth while.
        stopwatch: counts the seconds of each of `STAGES`.
    """
    problem = load_problem(folder, task.problem)
    way = make_way(task.way, len(problem.names))
    sizes = sizes_of(task.problem, len(problem.y), task.n_labeled, way=task.way)
    game = Game(way.picker, tuple(map(strategy_named, task.strategies)), sizes)
    deals = deal(problem, task.n_labeled, task.draws)
    watch = Stopwatch() if stopwatch is None else stopwatch
    picks = []
    for each in deals:
        with watch.stage("committees"):
            committee = game.train(each, device=device)
        with watch.stage("picking"):
            picks.append(game.pick_with(committee, each, device="auto" if device == "cuda" else device))
    return judge(task, problem, way, deals, picks, device=device, stopwatch=watch)


def judge(
    task: Task,
    problem: Problem,
    way: Way,
    deals: Sequence[Deal],
    picks: Sequence[Picks],
    *,
    device: DeviceChoice = "cpu",
    stopwatch: Stopwatch | None = None,
) -> pa.Table:
    """Return what the picks of each deal are worth, in the columns of `SCHEMA`."""
    watch = Stopwatch() if stopwatch is None else stopwatch
    row_sets = [
        [each.labeled, *(np.concatenate([each.labeled, rows]) for rows in picked.rows.values())]
        for each, picked in zip(deals, picks, strict=True)
    ]
    with watch.stage("final models"):
        timed = [_Timed(metric, watch) for metric in METRICS]
        scores = way.judge.scores(deals, row_sets, timed, device=device)
    watch.seconds["final models"] -= watch.seconds["metrics"]  # what was counted inside
    rows = []
    for draw, picked, of_models in zip(task.draws, picks, scores, strict=True):
        cells = [(NONE, 0, 0.0), *((*cell, picked.seconds[cell]) for cell in picked.rows)]
        for (strategy, size, seconds), values in zip(cells, of_models.tolist(), strict=True):
            rows.append(
                {
                    "way": task.way,
                    "problem": task.problem,
                    "n_labeled": task.n_labeled,
                    "draw": draw,
                    "strategy": strategy,
                    "batch_size": size,
                    **{
                        metric.name: None if math.isnan(value) else value
                        for metric, value in zip(METRICS, values, strict=True)
                    },
                    "seconds": seconds,
                    "rules": rules_of(problem),
                }
            )
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def rules_of(problem: Problem) -> str:
    """Return everything that the results of a problem depend on, besides what its rows of results tell."""
    return f"rows {problem.fingerprint}, {RULES}"


@dataclass(frozen=True)
class _Timed:
    """A metric whose seconds are counted by themselves."""

    of: Scoring
    stopwatch: Stopwatch

    @property
    def name(self) -> str:
        return self.of.name

    def __call__(self, deal: Deal, answers: Answers) -> float:
        with self.stopwatch.stage("metrics"):
            return self.of(deal, answers)


def _n_test(n_rows: int) -> int:
    return min(int(TEST_SHARE * n_rows), MOST_TEST)

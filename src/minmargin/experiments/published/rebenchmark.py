"""Lu, Li and Lin, "Re-Benchmarking Pool-Based Active Learning for Binary Classification" (2023), arXiv 2306.08954v1.

Their rules, as the paper and their code have them:

- 40% of the rows are test rows, drawn by chance, not by class, anew in each draw; 20 of the others are labeled. A draw
  is a seed, and their sets have the rows of our files in the same order: so these are their very draws, and the first
  curves of their logs come out to the row.
- Columns are scaled to mean 0 and variance 1 over the training rows, the unlabeled ones among them.
- The model is SVC(kernel="rbf", gamma="auto", C=1), and so is what strategies ask.
- One label at a time is bought until all training rows are labeled. After each, the model is trained anew.

What is different here: strategies are asked through `select_from_probabilities`, with logits that are decision values
times the slope of Platt's sigmoid (see `Machine.slope`). Members are 25 machines on bootstrap draws; their committee is
of four kinds of models.
"""

from __future__ import annotations

import time
import zlib
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minmargin.errors import InputError
from minmargin.experiments.published.asking import ask
from minmargin.experiments.published.curves import Curve, Task
from minmargin.experiments.published.machine import Floats, Machine, RowNumbers
from minmargin.experiments.published.rows import Rows
from minmargin.labeled import Bootstrap
from minmargin.seeds import SeedTree
from minmargin.strategies import Strategy, resolve_strategy

TABLE = "rebenchmark"
LEARNER = "svc"
SETS = ("phoneme", "spambase")
N_LABELED = 20
BATCH_SIZES = (50, 10, 1)
N_DRAWS = 10
TEST_SHARE = 0.4
N_MEMBERS = 25

#: Their sampler by chance takes the training rows in the order in which they were shuffled.
THEIR_RANDOM = "random+theirs"
#: Their core-set measures Euclidean distances, and our k-centers angles.
EUCLIDEAN = "k-centers+euclidean"
#: Those that look at no model: one order of the pool serves all rounds.
WITHOUT_MODELS = ("random", THEIR_RANDOM, "k-centers", EUCLIDEAN)
STRATEGIES = (*WITHOUT_MODELS, "margin", "badge", "min-margin", "committee", "spread")
_COMPARING = ("k-centers", "badge", "spread")

RULES = f"their draws, test {TEST_SHARE}, K={N_MEMBERS}, slope on the labeled rows"


class Dealt(NamedTuple):
    """The rows of a draw: labeled ones first in `train`; and the seed of everything that is random after it."""

    train: RowNumbers
    test: RowNumbers
    seed: int


def deal(rows: Rows, draw: int) -> Dealt:
    """Return the rows of a draw, which all strategies and batch sizes share: those of their seed with that number."""
    order = np.arange(len(rows.y))
    np.random.default_rng(draw).shuffle(order)
    n_train = int(len(rows.y) * (1 - TEST_SHARE))
    train, test = order[:n_train], order[n_train:]
    np.random.default_rng(draw).shuffle(train)
    if len(np.unique(rows.y[train[:N_LABELED]])) == 1:
        raise InputError(
            f"In draw {draw} of {rows.name}, all labeled rows have one class. Play another draw."
        )
    seeds = np.random.SeedSequence([zlib.crc32(f"{TABLE}/{rows.name}".encode()), draw])
    return Dealt(train, test, int(seeds.generate_state(1)[0]))


def rules_of(rows: Rows) -> str:
    """Return everything that results depend on, besides what their rows tell."""
    return f"rows {rows.fingerprint}, {RULES}"


def play(task: Task, rows: Rows) -> Curve:
    """Return the curve of a strategy in a draw."""
    start = time.perf_counter()
    dealt = deal(rows, task.draw)
    X, test = _scaled(rows.X[dealt.train], rows.X[dealt.test])
    truth = rows.y[dealt.test] == 1
    machine = Machine(X, rows.y[dealt.train], test)
    machine.label(np.arange(task.n_labeled))
    right = [int(((machine.test_values() > 0) == truth).sum())]
    fixed = _order_once(task.strategy, machine, X, dealt.seed) if task.strategy in WITHOUT_MODELS else None
    while len(machine.pool):
        if fixed is not None:
            done = machine.n_labeled - task.n_labeled
            picked = fixed[done : done + task.batch_size]
        else:
            picked = _pick(
                resolve_strategy(task.strategy), machine, X, task.batch_size, _seed(dealt, len(right))
            )
        machine.label(picked)
        right.append(int(((machine.test_values() > 0) == truth).sum()))
    took = time.perf_counter() - start
    return Curve(task, len(X), len(test), np.array(right), took, rules_of(rows))


def _scaled(train: NDArray[np.floating], test: NDArray[np.floating]) -> tuple[Floats, Floats]:
    """Return both with columns of mean 0 and variance 1 over the training rows; a column of one value is all 0."""
    center, deviation = train.mean(axis=0), train.std(axis=0)
    scale = np.where(deviation == 0, 1.0, deviation)
    return np.asarray((train - center) / scale), np.asarray((test - center) / scale)


def _seed(dealt: Dealt, number: int) -> int:
    """Return the seed of a round, which all strategies share."""
    return int(np.random.SeedSequence([dealt.seed, number]).generate_state(1)[0])


def _order_once(strategy: str, machine: Machine, X: Floats, seed: int) -> RowNumbers:
    """Return all rows of the pool in the order in which a strategy that asks no model picks them."""
    if strategy == EUCLIDEAN:
        return _order_by_distance(machine)
    if strategy == THEIR_RANDOM:
        return np.sort(machine.pool)
    pool = np.sort(machine.pool)
    told = np.zeros((len(pool), 2))
    compared = strategy in _COMPARING
    places = ask(
        resolve_strategy(strategy),
        len(pool),
        told,
        seed=seed,
        values="logits",
        features=X[pool] if compared else None,
        labeled_features=X[machine.labeled] if compared else None,
    )
    return pool[places]


def _order_by_distance(machine: Machine) -> RowNumbers:
    """Return the pool, each row being the furthest from all that are labeled or stand before it: greedy k-centers.

    The kernel falls with the distance, so the furthest row is that with the smallest kernel to its nearest.
    """
    n = machine.n_labeled
    kernels = machine.kernels
    nearest = kernels[:n].max(axis=0)
    nearest[:n] = np.inf
    places = np.empty(len(machine.pool), dtype=np.intp)
    for number in range(len(places)):
        place = places[number] = nearest.argmin()
        nearest = np.maximum(nearest, kernels[place])
        nearest[place] = np.inf
    return machine.order[places]


def _pick(strategy: Strategy, machine: Machine, X: Floats, size: int, seed: int) -> RowNumbers:
    """Return the rows that a strategy picks in a round."""
    by_number = np.argsort(machine.pool)  # the order in which a pool is read tells nothing of earlier rounds
    pool = machine.pool[by_number]
    if len(pool) <= size:
        return pool
    slope = machine.slope()
    base = _logits(slope * machine.pool_values()[by_number])
    members = None
    if strategy.needs == "members":
        codes = machine.labels
        bootstrap = Bootstrap(codes, np.bincount(codes), SeedTree(seed))
        counts = np.stack([bootstrap.multiplicities(member) for member in range(N_MEMBERS)])
        members = _logits(slope * machine.member_values(counts)[:, by_number])
    places = ask(
        strategy,
        size,
        base if members is None else members,
        seed=seed,
        values="logits",
        base=None if members is None else base,
        features=X[pool] if strategy.name in _COMPARING else None,
    )
    return pool[places]


def _logits(values: Floats) -> Floats:
    """Return (..., 2) the logits of two classes, of which one is always 0."""
    return np.stack([np.zeros_like(values), values], axis=-1)

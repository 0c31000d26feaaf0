"""Playing published tables: what is not on disk yet is played, draw 0 of everything first, while there is time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

from minmargin.errors import InputError, listing, nearest
from minmargin.execution import Progress
from minmargin.experiments.published.curves import Curve, Task, join_curves, read_curves, write_curve
from minmargin.experiments.published.rows import load_rows
from minmargin.experiments.published.tables import TABLES
from minmargin.experiments.storing import check_rules
from minmargin.experiments.working import Effort, work

STAGE = "playing"

_Name = TypeVar("_Name", str, int)


class Wanted(NamedTuple):
    """What is to be played of a table; None stands for all that it has.

    Attributes:
        table: its name.
        problems: names of sets.
        learners: their names.
        batch_sizes: how many rows a round adds.
        strategies: their names.
        draws: which draws.
    """

    table: str
    problems: Sequence[str] | None = None
    learners: Sequence[str] | None = None
    batch_sizes: Sequence[int] | None = None
    strategies: Sequence[str] | None = None
    draws: Sequence[int] | None = None


class Ran(NamedTuple):
    """What a run did.

    Attributes:
        n_asked: how many games were left to play.
        n_played: how many it played.
        refused: what could not be played, and why.
        results: the files that have all results.
    """

    n_asked: int
    n_played: int
    refused: list[str]
    results: list[Path]


def run_table(
    wanted: Wanted,
    folder: Path,
    out: Path,
    *,
    n_jobs: int,
    time_limit: float | None,
    progress: Progress,
) -> Ran:
    """Play what is not yet in `out`, then join all its parts.

    Args:
        wanted: what is to be played.
        folder: where the packed sets are.
        out: where results are, and new ones go.
        n_jobs: how many processes play; each uses one thread. With one, it is this process.
        time_limit: seconds after which no more is played; what is not done then is given up.
        progress: told of games as they are done.
    """
    deadline = None if time_limit is None else time.monotonic() + time_limit
    tasks = plan(wanted, folder, read_curves(out), out)
    n_played, refused = 0, []
    progress(STAGE, 0, len(tasks))
    do = partial(_play, folder=folder)
    for task, done in work(tasks, do, effort_of=_effort, n_jobs=n_jobs, deadline=deadline):
        if isinstance(done.gave, InputError):
            refused.append(f"{', '.join(map(str, task))}: {done.gave}")
            continue
        write_curve(out, done.gave)
        n_played += 1
        progress(STAGE, n_played, len(tasks))
    return Ran(len(tasks), n_played, refused, join_curves(out))


def plan(wanted: Wanted, folder: Path, curves: Sequence[Curve], out: Path) -> list[Task]:
    """Return what is left to play, in order."""
    table = TABLES[check_name("table", wanted.table, tuple(TABLES))]
    problems = _chosen("set", wanted.problems, table.sets)
    learners = _chosen("learner", wanted.learners, tuple(table.strategies))
    sizes = _chosen("batch size", wanted.batch_sizes, tuple(table.sizes))
    known = tuple(dict.fromkeys(name for names in table.strategies.values() for name in names))
    strategies = _chosen("strategy", wanted.strategies, known)
    by = [(curve.task.problem, curve.rules) for curve in curves if curve.task.table == table.name]
    check_rules("Set", by, {name: table.rules_of(load_rows(folder, name)) for name in problems}, out)
    played = {curve.task for curve in curves}
    tasks = [
        Task(table.name, problem, learner, table.sizes[size], size, draw, strategy)
        for draw in (range(table.n_draws) if wanted.draws is None else wanted.draws)
        for size in sizes
        for problem in problems
        for learner in learners
        for strategy in table.strategies[learner]
        if strategy in strategies
    ]
    # A strategy that trains members takes longest, and stands last in its table: a process that begins it late keeps
    # all others waiting.
    tasks.sort(key=lambda task: (task.draw, -known.index(task.strategy)))
    return [task for task in tasks if task not in played]


def check_name(what: str, name: str, known: Sequence[str]) -> str:
    """Return a name, which must be known."""
    if name not in known:
        raise InputError(
            f"There is no {what} {name!r} (names: {listing(known, most=len(known))}).{nearest(name, known)}"
        )
    return name


def _chosen(what: str, given: Sequence[_Name] | None, known: Sequence[_Name]) -> Sequence[_Name]:
    if given is None:
        return known
    for each in given:
        if each not in known:
            check_name(what, str(each), [str(one) for one in known])
    return given


def _effort(task: Task) -> Effort:
    return Effort(task._replace(draw=0))


def _play(task: Task, folder: Path) -> Curve:
    return TABLES[task.table].play(task, load_rows(folder, task.problem))

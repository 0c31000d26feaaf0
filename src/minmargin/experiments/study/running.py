"""Running the study: what is not on disk yet is played, in an order that is fair to all problems, while there is time.

Draw 0 of all problems comes before draw 1 of any, so that a study that ends early has as many draws of each. A draw
gives the same numbers whenever and by whichever process it is played, so a study is taken up where it stopped.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from minmargin.compare.outcome import NONE
from minmargin.device import DeviceChoice, resolve_device
from minmargin.errors import InputError
from minmargin.execution import Progress
from minmargin.experiments.storing import check_rules
from minmargin.experiments.study.cells import STAGES, Task, play, rules_of, settings_of, sizes_of
from minmargin.experiments.study.facts import write_facts
from minmargin.experiments.study.named import usual
from minmargin.experiments.study.parts import join_parts, read_results, strategies_played, write_part
from minmargin.experiments.study.problems import load_problem
from minmargin.experiments.study.ways import can_be_played, make_way
from minmargin.experiments.working import Effort, work
from minmargin.manifest import Stopwatch

STAGE = "playing"


class Study(NamedTuple):
    """What is to be played.

    Attributes:
        problems: their names.
        ways: ways of learning.
        strategies: their names; None for those that usually play.
        draws: which draws.
    """

    problems: Sequence[str]
    ways: Sequence[str]
    strategies: Sequence[str] | None
    draws: Sequence[int]


class Ran(NamedTuple):
    """What a run did.

    Attributes:
        n_asked: how many draws of settings were left to play.
        n_played: how many it played.
        refused: what could not be played, and why.
        results: the files that have all results.
        seconds: by way and stage of the work, summed over all processes.
    """

    n_asked: int
    n_played: int
    refused: list[str]
    results: list[Path]
    seconds: dict[str, dict[str, float]]


def run_study(
    study: Study,
    folder: Path,
    out: Path,
    *,
    n_jobs: int,
    device: DeviceChoice,
    time_limit: float | None,
    progress: Progress,
) -> Ran:
    """Play what is not yet in `out`, then join all its parts.

    Args:
        study: what is to be played.
        folder: where the packed problems are.
        out: where results are, and new ones go.
        n_jobs: how many processes play; each uses one thread. With one, it is this process.
        device: where networks are trained. All processes share a GPU: while one picks, others train.
        time_limit: seconds after which no more is played; what is not done then is given up.
        progress: told of draws as they are done.
    """
    deadline = None if time_limit is None else time.monotonic() + time_limit
    on_gpu = "networks" in study.ways and resolve_device(device) == "cuda"
    write_facts(out, (load_problem(folder, name) for name in study.problems))
    tasks = plan(study, folder, read_results(out), out, together=on_gpu)
    n_asked = sum(len(task.draws) for task in tasks)
    n_played, refused = 0, []
    seconds: dict[str, dict[str, float]] = {}
    progress(STAGE, 0, n_asked)
    do = partial(_play, folder=folder, on_gpu=on_gpu)
    for task, done in work(tasks, do, effort_of=_effort, n_jobs=n_jobs, deadline=deadline):
        if isinstance(done.gave, InputError):
            draws = "draw " + ", ".join(map(str, task.draws))
            refused.append(f"{task.way}, {task.problem}, {task.n_labeled} labeled, {draws}: {done.gave}")
            continue
        table, by_stage = done.gave
        write_part(out, task, table)
        of_way = seconds.setdefault(task.way, dict.fromkeys(STAGES, 0.0))
        for stage, took in by_stage.items():
            of_way[stage] += took
        n_played += len(task.draws)
        progress(STAGE, n_played, n_asked)
    return Ran(n_asked, n_played, refused, join_parts(out), seconds)


def plan(study: Study, folder: Path, results: pa.Table, out: Path, *, together: bool = False) -> list[Task]:
    """Return what is left to play, in order; `together` puts draws together that a GPU trains in one stack."""
    problems = {name: load_problem(folder, name) for name in study.problems}
    rules = zip(results["problem"].to_pylist(), results["rules"].to_pylist(), strict=True)
    check_rules("Problem", rules, {name: rules_of(problem) for name, problem in problems.items()}, out)
    played = strategies_played(results)
    tasks = []
    for name, problem in problems.items():
        for way in study.ways:
            if not can_be_played(way, len(problem.names)):
                continue
            at_a_time = make_way(way, len(problem.names)).together if together else 1
            strategies = usual(way, name) if study.strategies is None else study.strategies
            for n_labeled in settings_of(name):
                if not sizes_of(name, len(problem.y), n_labeled, way=way):
                    continue
                left: dict[tuple[str, ...], list[int]] = {}
                for draw in study.draws:
                    there = played.get((way, name, n_labeled, draw), set())
                    missing = tuple(each for each in strategies if each not in there)
                    if missing or NONE not in there:
                        left.setdefault(missing, []).append(draw)
                tasks += [
                    Task(way, name, n_labeled, tuple(draws[at : at + at_a_time]), missing)
                    for missing, draws in left.items()
                    for at in range(0, len(draws), at_a_time)
                ]
    # The largest problems first: a process that begins one late keeps all others waiting.
    amounts = {name: problem.X.size * len(problem.names) for name, problem in problems.items()}
    return sorted(tasks, key=lambda task: (task.draws[0], -amounts[task.problem], task.n_labeled))


def _effort(task: Task) -> Effort:
    return Effort((task.way, task.problem, task.n_labeled), len(task.draws))


def _play(task: Task, folder: Path, *, on_gpu: bool) -> tuple[pa.Table, dict[str, float]]:
    """Return what a task gave, and how many seconds each stage took."""
    stopwatch = Stopwatch()
    device: DeviceChoice = "cuda" if on_gpu and task.way == "networks" else "cpu"
    return play(task, folder, device=device, stopwatch=stopwatch), stopwatch.seconds

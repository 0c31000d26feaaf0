"""Running the study: what is not on disk yet is played, in an order that is fair to all problems, while there is time.

Draw 0 of all problems comes before draw 1 of any, so that a study that ends early has as many draws of each. A draw
gives the same numbers whenever and by whichever process it is played, so a study is taken up where it stopped.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TypeAlias

import pyarrow as pa

from minmargin.compare.results import NONE
from minmargin.device import Device, DeviceChoice, resolve_device
from minmargin.errors import InputError
from minmargin.execution import Progress, out_of_reach
from minmargin.experiments.study.cells import STAGES, Task, play, rules_of, settings_of, sizes_of
from minmargin.experiments.study.facts import write_facts
from minmargin.experiments.study.named import usual
from minmargin.experiments.study.parts import (
    check_rules,
    join_parts,
    read_results,
    strategies_played,
    write_part,
)
from minmargin.experiments.study.problems import load_problem
from minmargin.experiments.study.ways import can_be_played, make_way
from minmargin.manifest import Stopwatch

STAGE = "playing"

#: A way, a problem and a number of labeled rows: what tells how long a draw takes.
_Kind: TypeAlias = tuple[str, str, int]


class _Played(NamedTuple):
    """What came of a task.

    Attributes:
        gave: a table of results, or why it could not be played.
        seconds: that it took.
        by_stage: how many of these each stage took.
    """

    gave: pa.Table | InputError
    seconds: float
    by_stage: dict[str, float]


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
    for task, played in _play_all(tasks, folder, n_jobs=n_jobs, on_gpu=on_gpu, deadline=deadline):
        if isinstance(played.gave, InputError):
            draws = "draw " + ", ".join(map(str, task.draws))
            refused.append(f"{task.way}, {task.problem}, {task.n_labeled} labeled, {draws}: {played.gave}")
            continue
        write_part(out, task, played.gave)
        of_way = seconds.setdefault(task.way, dict.fromkeys(STAGES, 0.0))
        for stage, took in played.by_stage.items():
            of_way[stage] += took
        n_played += len(task.draws)
        progress(STAGE, n_played, n_asked)
    return Ran(n_asked, n_played, refused, join_parts(out), seconds)


def plan(study: Study, folder: Path, results: pa.Table, out: Path, *, together: bool = False) -> list[Task]:
    """Return what is left to play, in order; `together` puts draws together that a GPU trains in one stack."""
    problems = {name: load_problem(folder, name) for name in study.problems}
    check_rules(results, {name: rules_of(problem) for name, problem in problems.items()}, out)
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
    work = {name: problem.X.size * len(problem.names) for name, problem in problems.items()}
    return sorted(tasks, key=lambda task: (task.draws[0], -work[task.problem], task.n_labeled))


@dataclass
class _Clock:
    """How much time is left, and how long tasks take."""

    deadline: float | None
    longest: dict[_Kind, float] = field(default_factory=dict)

    @property
    def left(self) -> float | None:
        """The seconds until the deadline, at least 0; None if there is none."""
        return None if self.deadline is None else max(self.deadline - time.monotonic(), 0.0)

    def has_time_for(self, task: Task) -> bool:
        """Return whether a task will be done in time, if it takes as long as the longest of its kind did."""
        expected = self.longest.get(_kind(task), 0.0) * len(task.draws)
        return self.left is None or expected < self.left

    def learn(self, task: Task, seconds: float) -> None:
        """Note how long a task took."""
        each = seconds / len(task.draws)
        self.longest[_kind(task)] = max(each, self.longest.get(_kind(task), 0.0))


def _kind(task: Task) -> _Kind:
    return task.way, task.problem, task.n_labeled


def _play_all(
    tasks: Sequence[Task], folder: Path, *, n_jobs: int, on_gpu: bool, deadline: float | None
) -> Iterator[tuple[Task, _Played]]:
    """Return tasks with what they gave, as they are done; those that would come too late are passed over."""
    clock = _Clock(deadline)
    if n_jobs == 1 or len(tasks) <= 1:
        for task in tasks:
            if clock.has_time_for(task):
                played = _timed(task, folder, _device_of(task, on_gpu))
                clock.learn(task, played.seconds)
                yield task, played
        return
    left, playing = deque(tasks), dict[Future[_Played], Task]()
    n_workers = min(n_jobs, len(tasks))
    with _pool(n_workers) as pool:
        while True:
            while left and len(playing) < n_workers:
                task = left.popleft()
                if clock.has_time_for(task):
                    with out_of_reach():  # a process is started when there is a task for it
                        playing[pool.submit(_timed, task, folder, _device_of(task, on_gpu))] = task
            done = wait(playing, timeout=clock.left, return_when=FIRST_COMPLETED).done
            if not done:  # nothing is left, or no time
                return
            for future in done:
                task, played = playing.pop(future), future.result()
                clock.learn(task, played.seconds)
                yield task, played


def _device_of(task: Task, on_gpu: bool) -> Device:
    return "cuda" if on_gpu and task.way == "networks" else "cpu"


@contextmanager
def _pool(n_workers: int) -> Iterator[ProcessPoolExecutor]:
    """Give processes that play; those that still do when they are no longer wanted are ended."""
    before = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(n_workers, multiprocessing.get_context("spawn"), initializer=_use_one_thread)
    try:
        yield pool
    finally:
        ours = [child for child in multiprocessing.active_children() if child not in before]
        pool.shutdown(wait=False, cancel_futures=True)
        for child in ours:
            child.terminate()


def _use_one_thread() -> None:
    """Have the libraries of this process use one thread: there is a process for each core."""
    import sklearn.ensemble  # noqa: F401, PLC0415 - loads all libraries that have threads, but for torch
    from threadpoolctl import threadpool_limits  # noqa: PLC0415

    threadpool_limits(limits=1)
    os.environ["OMP_NUM_THREADS"] = "1"  # for torch, which looks when it is imported


def _timed(task: Task, folder: Path, device: Device) -> _Played:
    """Return what a task gave, and how long it took. One that cannot be played does not end the others."""
    start, stopwatch = time.perf_counter(), Stopwatch()
    try:
        gave: pa.Table | InputError = play(task, folder, device=device, stopwatch=stopwatch)
    except InputError as error:
        gave = InputError(str(error))  # without its traceback, which does not travel
    return _Played(gave, time.perf_counter() - start, stopwatch.seconds)

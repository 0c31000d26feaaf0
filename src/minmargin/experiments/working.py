"""Work in processes: tasks are done side by side while there is time.

A task that would not be done in time is passed over, if one of its kind has told how long it takes. Each process uses
one thread: there is a process for each core.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

from minmargin.errors import InputError
from minmargin.execution import out_of_reach

Task = TypeVar("Task")
Result = TypeVar("Result")


class Done(NamedTuple, Generic[Result]):
    """What came of a task.

    Attributes:
        gave: its result, or why it could not be done.
        seconds: that it took.
    """

    gave: Result | InputError
    seconds: float


class Effort(NamedTuple):
    """What tells how long a task takes: those of one kind take about as long for each unit of work."""

    kind: Hashable
    amount: float = 1.0


def work(
    tasks: Sequence[Task],
    do: Callable[[Task], Result],
    *,
    effort_of: Callable[[Task], Effort],
    n_jobs: int,
    deadline: float | None,
) -> Iterator[tuple[Task, Done[Result]]]:
    """Return tasks with what came of them, as they are done; those that would come too late are passed over.

    Args:
        tasks: in the order in which they are begun.
        do: does one, in another process if there are several.
        effort_of: tells how long a task takes.
        n_jobs: how many processes there are. With one, it is this process.
        deadline: on the monotonic clock; what is not done then is given up.
    """
    clock = _Clock(deadline)
    if n_jobs == 1 or len(tasks) <= 1:
        for task in tasks:
            if clock.has_time_for(effort_of(task)):
                done = _timed(do, task)
                clock.learn(effort_of(task), done.seconds)
                yield task, done
        return
    left, doing = deque(tasks), dict[Future[Done[Result]], Task]()
    n_workers = min(n_jobs, len(tasks))
    with _pool(n_workers) as pool:
        while True:
            while left and len(doing) < n_workers:
                task = left.popleft()
                if clock.has_time_for(effort_of(task)):
                    with out_of_reach():  # a process is started when there is a task for it
                        doing[pool.submit(_timed, do, task)] = task
            found = wait(doing, timeout=clock.left, return_when=FIRST_COMPLETED).done
            if not found:  # nothing is left, or no time
                return
            for future in found:
                task, done = doing.pop(future), future.result()
                clock.learn(effort_of(task), done.seconds)
                yield task, done


@dataclass
class _Clock:
    """How much time is left, and how long tasks take."""

    deadline: float | None
    longest: dict[Hashable, float] = field(default_factory=dict)

    @property
    def left(self) -> float | None:
        """The seconds until the deadline, at least 0; None if there is none."""
        return None if self.deadline is None else max(self.deadline - time.monotonic(), 0.0)

    def has_time_for(self, effort: Effort) -> bool:
        """Return whether a task will be done in time, if it takes as long as the longest of its kind did."""
        expected = self.longest.get(effort.kind, 0.0) * effort.amount
        return self.left is None or expected < self.left

    def learn(self, effort: Effort, seconds: float) -> None:
        """Note how long a task took."""
        self.longest[effort.kind] = max(seconds / effort.amount, self.longest.get(effort.kind, 0.0))


@contextmanager
def _pool(n_workers: int) -> Iterator[ProcessPoolExecutor]:
    """Give processes that work; those that still do when they are no longer wanted are ended."""
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


def _timed(do: Callable[[Task], Result], task: Task) -> Done[Result]:
    """Return what came of a task, and how long it took. One that cannot be done does not end the others."""
    start = time.perf_counter()
    try:
        gave: Result | InputError = do(task)
    except InputError as error:
        gave = InputError(str(error))  # without its traceback, which does not travel
    return Done(gave, time.perf_counter() - start)

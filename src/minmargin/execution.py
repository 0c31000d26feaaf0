"""How work is carried out: on how many threads, where, in which portions. It changes time and memory, never a batch."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any, Literal, Protocol, TypeAlias, TypedDict, TypeVar, runtime_checkable

from threadpoolctl import ThreadpoolController

from minmargin.device import DeviceChoice, DeviceLike, Precision

CHUNK_SIZE = 131_072

Item = TypeVar("Item")
Result = TypeVar("Result")

#: Called with a stage's name, the units done so far, and their total (None: not known).
Progress: TypeAlias = Callable[[str, int, int | None], None]

#: The engines that have a name.
EngineName: TypeAlias = Literal["local", "dask", "ray", "spark"]


@runtime_checkable
class Engine(Protocol):
    """Where work runs."""

    @property
    def name(self) -> str:
        """What the manifest calls it."""
        ...

    @property
    def elsewhere(self) -> bool:
        """Whether work runs in other processes, to which what it needs is sent."""
        ...

    def run(self, fn: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Return fn of every item, in any order; items are taken as there is room for them."""
        ...


class DaskClient(Protocol):
    """A live `distributed.Client`."""

    @property
    def scatter(self) -> Callable[..., Any]:
        """Sends data to workers."""
        ...


class SparkSession(Protocol):
    """A live `pyspark.sql.SparkSession`."""

    @property
    def createDataFrame(self) -> Callable[..., Any]:  # noqa: N802 - Spark's name
        """Makes a frame of Spark."""
        ...


#: What `engine` may be: a name, a live client or session, or an engine.
EngineLike: TypeAlias = EngineName | DaskClient | SparkSession | Engine


class TrainingOptions(TypedDict, total=False):
    """What a caller may say of how models are trained; `minmargin.select` describes each."""

    n_jobs: int | None
    device: DeviceLike
    progress: Progress


class ScanOptions(TrainingOptions, total=False):
    """What a caller may say of how a pool is read and scored, too."""

    chunk_size: int
    precision: Precision


class ExecutionOptions(ScanOptions, total=False):
    """What a caller may say of where a pool is read, too."""

    engine: EngineLike
    address: str | None
    checkpoint: str | Path | None


def silent(stage: str, done: int, total: int | None) -> None:
    """Report no progress."""


@dataclass(frozen=True)
class Execution:
    """How work is carried out, checked.

    Attributes:
        n_jobs: how many members are trained, and blocks scored, at a time; -1 for all cores.
        chunk_size: how many rows are read at a time.
        device: "auto", "cpu" or "cuda", as the caller gave it.
        precision: how closely a GPU looks at rows before the closest are scored exactly.
        engine: where the pool is read; None for threads of this process.
        checkpoint: a folder for what was found so far, or None.
        progress: called with a stage, the units done and their total.
    """

    n_jobs: int = -1
    chunk_size: int = CHUNK_SIZE
    device: DeviceChoice = "auto"
    precision: Precision = "float32"
    engine: Engine | None = None
    checkpoint: Path | None = None
    progress: Progress = silent

    @property
    def elsewhere(self) -> bool:
        """Whether the pool is read by other processes."""
        return self.engine is not None and self.engine.elsewhere

    @property
    def reads_here(self) -> bool:
        """Whether this process reads the whole pool, now."""
        return self.checkpoint is None and not self.elsewhere


@contextmanager
def out_of_reach() -> Iterator[None]:
    """Start processes in this block that Ctrl-C does not reach: whoever starts them is interrupted, and ends them.

    A terminal interrupts all processes of a command, and each would print where it was. A process inherits which
    signals its parent holds back.
    """
    if sys.platform == "win32":
        yield
        return
    from multiprocessing import resource_tracker  # noqa: PLC0415 - not on Windows

    resource_tracker.ensure_running()  # to start it later would put this thread back in reach
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _OneThread:
    """A context in which the matrix libraries use one thread; several threads of the process may be in it at once.

    Whoever leaves last gives the libraries back the threads that the first one found.
    """

    def __init__(self) -> None:
        self._limited: Any = None
        self._forget_others()
        if sys.platform != "win32":  # which has no fork
            os.register_at_fork(after_in_child=self._forget_others)

    def _forget_others(self) -> None:
        """Begin with nobody inside: a forked process has none of the threads that were, and they would never leave."""
        self._lock = Lock()
        self._n_inside = 0

    def __enter__(self) -> None:
        with self._lock:
            if self._n_inside == 0:
                self._limited = _libraries().limit(limits=1, user_api="blas")
            self._n_inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._n_inside -= 1
            if self._n_inside == 0:
                self._limited.restore_original_limits()


_one_thread = _OneThread()


def one_thread_each() -> AbstractContextManager[None]:
    """Return a context in which the matrix libraries use one thread: members and blocks run side by side instead.

    With more threads, the last bits of a product may depend on their number.
    """
    return _one_thread


@cache
def _libraries() -> Any:
    # Finding the libraries takes as long as training a small committee; numpy and scipy each bring one.
    import scipy.linalg  # noqa: F401, PLC0415 - loads the second

    return ThreadpoolController()

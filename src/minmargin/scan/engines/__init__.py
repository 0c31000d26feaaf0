"""Engines: where the work on the pool runs. Each is one function over independent pieces of work.

Here are the threads of this process, and how the words of a caller become an `Execution`. Clusters have a file each.
Kernels, numpy and scikit-learn let go of the interpreter's lock, so that threads are enough on one machine.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any, Unpack, get_args

from joblib import effective_n_jobs

from minmargin.checks import check_count, check_n_jobs
from minmargin.device import check_device, check_precision
from minmargin.errors import InputError
from minmargin.execution import (
    CHUNK_SIZE,
    Engine,
    EngineLike,
    EngineName,
    Execution,
    ExecutionOptions,
    Item,
    Result,
    one_thread_each,
    silent,
)
from minmargin.scan.engines.dask import DaskEngine
from minmargin.scan.engines.ray import RayEngine
from minmargin.scan.engines.spark import SparkEngine

__all__ = ["ENGINES", "LocalEngine", "resolve_execution", "run_locally"]

ENGINES: tuple[EngineName, ...] = get_args(EngineName)


def resolve_execution(**options: Unpack[ExecutionOptions]) -> Execution:
    """Return how work is to be carried out, or say what cannot be done; what a caller left out is as usual."""
    n_jobs = check_n_jobs(options.get("n_jobs", -1))
    device, checkpoint = check_device(options.get("device", "auto")), options.get("checkpoint")
    progress = options.get("progress") or silent
    if not callable(progress):
        raise InputError(
            f"progress={progress!r} must be a function of a stage, the units done and their total. Leave it out for "
            "none."
        )
    precision = options.get("precision", "float32")
    if precision != "float32":
        precision = check_precision(precision)
    return Execution(
        n_jobs=n_jobs,
        chunk_size=check_count("chunk_size", options.get("chunk_size", CHUNK_SIZE), least=1),
        device=device,
        precision=precision,
        engine=_resolve_engine(
            options.get("engine", "local"), options.get("address"), needs_gpu=device == "cuda"
        ),
        checkpoint=None if checkpoint is None else Path(checkpoint),
        progress=progress,
    )


def _resolve_engine(engine: EngineLike, address: str | None, *, needs_gpu: bool) -> Engine | None:
    """Return the engine of a name, of a live client or session, or the engine that is given; None for threads.

    Args:
        engine: a name, a `distributed.Client`, a `SparkSession`, or an engine.
        address: where a cluster is, for a name.
        needs_gpu: whether each piece of work needs a GPU.
    """
    if not isinstance(engine, str):
        return _of_object(engine, needs_gpu=needs_gpu)
    if engine not in ENGINES:
        raise InputError(
            f"engine={engine!r} must be one of {', '.join(ENGINES)}, a distributed.Client or a SparkSession."
        )
    if engine == "local":
        if address is not None:
            raise InputError(f"address={address!r} is for a cluster, and engine='local' is this process.")
        return None
    if engine == "dask":
        return DaskEngine(address=address, needs_gpu=needs_gpu)
    return RayEngine(address, needs_gpu=needs_gpu) if engine == "ray" else SparkEngine(address=address)


def _of_object(engine: Any, *, needs_gpu: bool) -> Engine:
    if isinstance(engine, Engine):
        return engine
    kind = type(engine)
    if kind.__module__.startswith("distributed") and hasattr(engine, "scatter"):
        return DaskEngine(engine, needs_gpu=needs_gpu)
    if kind.__module__.startswith("pyspark") and hasattr(engine, "createDataFrame"):
        return SparkEngine(engine)
    raise InputError(
        f"engine={kind.__name__} object is not one that can be used. Use one of {', '.join(ENGINES)}, "
        "a distributed.Client or a SparkSession."
    )


@dataclass(frozen=True)
class LocalEngine:
    """Threads of this process.

    Attributes:
        n_jobs: how many; -1 for all cores.
        stopping: set when nobody waits for results any more: long work looks at it now and then.
    """

    n_jobs: int = -1
    stopping: Event = field(default_factory=Event)

    name = "local"
    elsewhere = False

    def run(self, fn: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Return fn of every item, in any order."""
        try:
            yield from run_locally(fn, items, effective_n_jobs(self.n_jobs), self.stopping)
        finally:
            self.stopping.clear()


def run_locally(
    fn: Callable[[Item], Result], items: Iterable[Item], n_workers: int, stopping: Event | None = None
) -> Iterator[Result]:
    """Return fn of every item, in any order, holding only a few items at a time.

    If several fail, the error is that of the first of them, however many work at a time. If the caller stops early, so
    do threads that look at `stopping`.
    """
    with one_thread_each(), _steady_warnings(), ThreadPoolExecutor(n_workers) as workers:
        pending: list[Future[Result]] = []
        try:
            try:
                for item in items:
                    pending.append(workers.submit(fn, item))
                    if len(pending) >= 2 * n_workers:
                        yield from _take_done(pending)
            except Exception:  # in reading an item: those before it may have failed, too
                _raise_first(pending)
                raise
            while pending:
                yield from _take_done(pending)
        finally:
            if stopping is not None:
                stopping.set()
            workers.shutdown(wait=True, cancel_futures=True)


def _take_done(pending: list[Future[Result]]) -> list[Result]:
    """Return what is done of the work that waits, at least one piece, and take it out."""
    done, _ = wait(pending, return_when=FIRST_COMPLETED)
    if any(future.exception() is not None for future in done):
        _raise_first(pending)
    pending[:] = [future for future in pending if future not in done]
    return [future.result() for future in done]


def _raise_first(pending: list[Future[Result]]) -> None:
    """Raise the error of the first piece of work that fails, if one does."""
    for future in pending:
        future.result()


@contextmanager
def _steady_warnings() -> Iterator[None]:
    """Keep the process's warning filters as they are while forests predict in several threads.

    scikit-learn's forests clear and rebuild the filters around each prediction. In two threads at once one may
    see them empty, and then warns that scikit-learn was called the wrong way, or leaves them so.
    """
    with warnings.catch_warnings():
        show = warnings.showwarning

        def show_others(message: Warning | str, *details: Any, **more: Any) -> None:
            if "sklearn.utils.parallel.delayed" not in str(message):
                show(message, *details, **more)

        warnings.showwarning = show_others
        yield

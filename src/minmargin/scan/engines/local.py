"""The local engine: threads of this process. Kernels, numpy and scikit-learn let go of the lock."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event
from typing import Any

from joblib import effective_n_jobs

from minmargin.device import one_thread_each
from minmargin.scan.engines.base import Item, Result


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

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what another process makes one of: an event is of use in this process only."""
        return LocalEngine, (self.n_jobs,)

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

    If the caller stops early, so do threads that look at `stopping`.
    """
    with one_thread_each(), _steady_warnings(), ThreadPoolExecutor(n_workers) as workers:
        pending: set[Future[Result]] = set()
        try:
            for item in items:
                pending.add(workers.submit(fn, item))
                if len(pending) >= 2 * n_workers:
                    done, pending = wait(pending, return_when=FIRST_COMPLETED)
                    yield from (future.result() for future in done)
            while pending:
                done, pending = wait(pending, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in done)
        finally:
            if stopping is not None:
                stopping.set()
            workers.shutdown(wait=True, cancel_futures=True)


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

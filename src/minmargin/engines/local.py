"""The local engine: threads of this process. Kernels, numpy and scikit-learn let go of the lock."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

from threadpoolctl import threadpool_limits

Item = TypeVar("Item")
Result = TypeVar("Result")


def run_locally(fn: Callable[[Item], Result], items: Iterable[Item], n_workers: int) -> Iterator[Result]:
    """Return fn of every item, in any order, holding only a few items at a time.

    Matrix products run on one thread each: with more, a product's last bits may depend on their number.
    """
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(n_workers) as workers:
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
            workers.shutdown(wait=True, cancel_futures=True)

"""Dask: tasks of a distributed client. The scheduler runs those of lost workers again."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from minmargin.errors import missing_extra
from minmargin.execution import Item, Result
from minmargin.scan.engines.tasks import call_it, hand_over

_RETRIES = 3
_WARN_ABOVE = "distributed.admin.large-graph-warning-threshold"  # bytes
_PER_THREAD = 2  # tasks that wait at each of them


@dataclass(frozen=True)
class DaskEngine:
    """A client, or the address of a scheduler; without either, a scheduler and a worker in this process.

    Attributes:
        client: a live `distributed.Client`, or None.
        address: of a scheduler, or None.
        needs_gpu: whether a task asks for the resource "GPU".
    """

    client: Any = None
    address: str | None = None
    needs_gpu: bool = False

    name = "dask"
    elsewhere = True

    def run(self, fn: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Return fn of every item, in any order."""
        try:
            from dask import config  # noqa: PLC0415 - an extra
            from distributed import Client, as_completed  # noqa: PLC0415
        except ImportError:
            raise missing_extra("engine='dask' needs distributed", "dask") from None
        with ExitStack() as stack:
            client = self.client or stack.enter_context(self._connect(Client))
            how: dict[str, Any] = {"pure": False, "retries": _RETRIES}
            if self.needs_gpu:
                how["resources"] = {"GPU": 1}
            # Sent once, as the result of a task: workers fetch it from each other. What is scattered would be lost with
            # the workers that have it; a task runs again.
            with config.set({_WARN_ABOVE: 1 << 60}):  # a pool in memory goes with it, however large
                shared = client.submit(hand_over, fn, **how)
            remaining = iter(items)
            room = max(_PER_THREAD * sum(client.nthreads().values()), 1)
            running = as_completed(loop=client.loop, with_results=True)
            for item in itertools.islice(remaining, room):
                running.add(client.submit(call_it, shared, item, **how))
            for future, result in running:
                if future.cancelled():
                    raise result
                for item in itertools.islice(remaining, 1):
                    running.add(client.submit(call_it, shared, item, **how))
                yield result

    def _connect(self, client_class: Any) -> Any:
        if self.address is not None:
            return client_class(self.address, set_as_default=False)
        # Threads of this process. New processes would import the caller's script once more, which, without an
        # `if __name__ == "__main__"`, would ask for processes of its own; and workers may have none at all.
        return client_class(processes=False, dashboard_address=None, set_as_default=False)

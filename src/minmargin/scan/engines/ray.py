"""Ray: tasks of a cluster. Ray runs those of lost nodes again."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from minmargin.errors import InputError, missing_extra
from minmargin.execution import Item, Result
from minmargin.scan.engines.tasks import call_it

_RETRIES = 3
_PER_CPU = 2  # tasks that wait for each


@dataclass(frozen=True)
class RayEngine:
    """The cluster that this process is connected to, or the one at an address, or one on this machine.

    Attributes:
        address: of a cluster, or None.
        needs_gpu: whether a task asks for a GPU.
    """

    address: str | None = None
    needs_gpu: bool = False

    name = "ray"
    elsewhere = True

    def run(self, fn: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Return fn of every item, in any order."""
        # Nothing is reported to anyone unless asked for.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            import ray  # noqa: PLC0415 - an extra
        except ImportError:
            raise missing_extra("engine='ray' needs ray", "ray") from None
        ours = not ray.is_initialized()
        if not ours and self.address is not None:
            raise InputError(
                f"address={self.address!r} cannot be used: this process is connected to a Ray cluster already. Leave "
                "address out, or call ray.shutdown() first."
            )
        if ours:
            ray.init(address=self.address, include_dashboard=False, log_to_driver=False)
        try:
            yield from self._run(ray, fn, items)
        finally:
            if ours:
                ray.shutdown()

    def _run(self, ray: Any, fn: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        shared = ray.put(fn)  # once; each node fetches it once
        call = ray.remote(max_retries=_RETRIES, num_gpus=int(self.needs_gpu))(call_it)
        remaining = iter(items)
        room = max(int(_PER_CPU * ray.cluster_resources().get("CPU", 1)), 1)
        running = [call.remote(shared, item) for item in itertools.islice(remaining, room)]
        try:
            while running:
                done, running = ray.wait(running)
                running += [call.remote(shared, item) for item in itertools.islice(remaining, len(done))]
                for reference in done:
                    yield ray.get(reference)
        finally:
            for reference in running:  # nobody waits for these any more
                ray.cancel(reference)

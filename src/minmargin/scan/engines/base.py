"""What an engine is: one function over independent pieces of work, whose results come in any order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, Protocol, TypeAlias, TypeVar, runtime_checkable

Item = TypeVar("Item")
Result = TypeVar("Result")

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


def call_it(fn: Callable[[Item], Result], item: Item) -> Result:
    """Return fn of an item: a task, for clusters that hand over what was sent before as an argument."""
    return fn(item)

"""Spark: a data frame with a row for each piece of work, mapped as Arrow batches; works with Spark Connect too.

Spark runs what lost executors had again. Results come as bytes, since that is what data frames hold.
"""

from __future__ import annotations

import gc
import itertools
import os
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from minmargin.errors import InputError, missing_extra
from minmargin.execution import Item, Result

_COLUMN = "content"
# Pieces of work that are given out together. They all go to every worker, some hundred bytes each, and their results
# are held here together. Those that come later know what came of the ones before.
_AT_ONCE = 1 << 12
# A task takes Spark some 50 ms besides its work, about as long as a fragment of a million rows. So a task does several
# pieces: few enough that losing an executor costs little, and that cores do not wait for the last task.
_MOST_A_TASK, _TASKS_A_CORE = 4, 4


def _run_at_once(session: Any, fn: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
    # The pieces are ours, and so are the results: they were pickled on the other side of this function.
    pieces = [pickle.dumps(item) for item in items]

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0):
                result = pickle.dumps(fn(pickle.loads(pieces[number.as_py()])))  # noqa: S301 - see above
                yield pa.record_batch([pa.array([result], pa.binary())], names=[_COLUMN])
        keep_libraries()

    # The pieces go with the function: a range is in as many partitions as it is asked for at once. Rows that are made
    # here would be shuffled into them first, in a stage of its own, which takes half a second.
    numbers = session.range(0, len(pieces), 1, number_of_tasks(session, len(pieces)))
    # All results at once: to fetch them one by one, Spark would work on one piece after the other.
    results = numbers.mapInArrow(work, f"{_COLUMN} binary").toArrow()
    for result in results[_COLUMN]:
        yield pickle.loads(result.as_py())  # noqa: S301 - see above


def number_of_tasks(session: Any, n_pieces: int) -> int:
    """Return in how many tasks so many pieces are done: one each, where the number of cores is not known."""
    context = getattr(session, "sparkContext", None)  # Spark Connect has none
    if context is None:
        return n_pieces
    # Cores of executors that have yet to be started are not among these: hence never many pieces to a task.
    wanted = _TASKS_A_CORE * int(context.defaultParallelism)
    return min(max(wanted, -(-n_pieces // _MOST_A_TASK)), n_pieces)


def keep_libraries() -> None:
    """Hide what is in memory now from the garbage collector, once in a process.

    After every task, Spark has its Python workers collect garbage. With all libraries loaded, that goes through
    hundreds of thousands of objects that are no garbage.
    """
    if not gc.get_freeze_count():
        gc.collect()
        gc.freeze()


def _pyspark() -> Any:
    try:
        import pyspark.sql  # noqa: PLC0415 - an extra
    except ImportError:
        raise missing_extra("engine='spark' needs pyspark", "spark") from None
    return pyspark.sql


@dataclass(frozen=True)
class SparkEngine:
    """A session, or the address of a master or of a Spark Connect server.

    Without either it is the session that this process has already, or one on this machine's cores.

    Attributes:
        session: a live `SparkSession`, or None.
        address: such as "spark://host:7077" or "sc://host", or None.
    """

    session: Any = None
    address: str | None = None

    name = "spark"
    elsewhere = True

    def run(self, fn: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Return fn of every item, in any order."""
        session = self.session or self._active_session()
        ours = session is None
        if session is None:
            session = self._make_session()
        try:
            remaining = iter(items)
            while some := list(itertools.islice(remaining, _AT_ONCE)):
                yield from _run_at_once(session, fn, some)
        finally:
            if ours:
                session.stop()

    def _active_session(self) -> Any:
        """Return the session that this process has already, or None: it is somebody's, and not to be stopped."""
        active = _pyspark().SparkSession.getActiveSession()
        if active is not None and self.address is not None:
            raise InputError(
                f"address={self.address!r} cannot be used: this process has a Spark session already. Leave address "
                "out, or stop that session first."
            )
        return active

    def _make_session(self) -> Any:
        SparkSession = _pyspark().SparkSession
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers on this machine have what we have
        builder = SparkSession.builder.appName("minmargin")
        if self.address is not None and self.address.startswith("sc://"):
            return builder.remote(self.address).getOrCreate()
        return builder.master(self.address or "local[*]").config("spark.ui.enabled", "false").getOrCreate()

"""Rows that strategies keep in memory, with their vectors, to pick among them: which, and how many there may be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from minmargin.checks import check_count, set_without_numpy
from minmargin.compute import Embedding, squared_lengths
from minmargin.data.rows import take_rows
from minmargin.errors import InputError
from minmargin.strategies.base import Needs, RowScore, Shortlist
from minmargin.strategies.memory import check_memory_limit, gigabytes, half_of_memory
from minmargin.strategies.registry import resolve_strategy
from minmargin.topb import Ranked

_FARTHEST = 1e290  # a squared length of which many can be added up


@dataclass(frozen=True, kw_only=True)
class InMemory:
    """Which rows a strategy keeps in memory, and how many may be kept.

    Attributes:
        prefilter: keep only this many rows, those with the lowest margin; None keeps the whole pool.
        memory_limit: bytes that the kept rows may take; None allows half of this machine's memory.
    """

    prefilter: int | None = None
    memory_limit: int | None = None

    name: ClassVar[str]
    needs: ClassVar[Needs] = "base"
    probabilistic: ClassVar[bool] = False
    nested: ClassVar[bool] = True  # a pick depends on those before it, and not on those to come

    @property
    def options(self) -> dict[str, Any]:
        """What the manifest records besides the name."""
        return {name: value for name, value in asdict(self).items() if name != "memory_limit"}

    def __post_init__(self) -> None:
        set_without_numpy(self)
        if self.prefilter is not None:
            check_count("prefilter", self.prefilter, least=1)
        check_memory_limit(self.memory_limit)

    def shortlists(self, batch_size: int) -> Sequence[Shortlist]:
        """Return what one pass must keep: all rows, or the `prefilter` rows with the lowest margin."""
        if self.prefilter is not None and self.prefilter < batch_size:
            raise InputError(
                f"prefilter={self.prefilter:,} keeps fewer rows than batch_size={batch_size:,} asks for. "
                f"Use prefilter>={batch_size}."
            )
        return [Shortlist(cast("RowScore", resolve_strategy("margin")), self.prefilter, self._check_memory)]

    def _check_memory(self, n_rows: int, bytes_per_row: float) -> None:
        fits = n_rows_that_fit(n_rows, bytes_per_row, self.memory_limit)
        if fits < n_rows:
            fix = (
                f"Use prefilter={fits} to keep only"
                if fits
                else "Raise memory_limit and use prefilter= to keep"
            )
            raise InputError(
                f"{too_many(self.name, n_rows, bytes_per_row, self.memory_limit)} {fix} the rows with the lowest "
                "margin."
            )


def n_rows_that_fit(n_rows: int, bytes_per_row: float, memory_limit: int | None) -> int:
    """Return how many of the rows may be kept in memory."""
    # Joining the kept runs of rows holds them twice for a moment.
    limit = _limit(memory_limit)
    return n_rows if 2 * n_rows * bytes_per_row <= limit else int(limit / (2 * bytes_per_row))


def too_many(name: str, n_rows: int, bytes_per_row: float, memory_limit: int | None) -> str:
    """Return a sentence that says what a strategy would have to keep, and what it may."""
    return (
        f"Strategy {name!r} compares all candidates in memory: {n_rows:,} rows need about "
        f"{gigabytes(2 * n_rows * bytes_per_row)} and {gigabytes(_limit(memory_limit))} may be used."
    )


def in_pool_order(shortlist: Ranked) -> Ranked:
    """Return what was kept in the order of the pool, which does not depend on scores."""
    return take_ranked(shortlist, np.argsort(shortlist.rows))


def take_ranked(ranked: Ranked, places: Any) -> Ranked:
    """Return the rows at these places, in this order, with their scores and details."""
    details = {name: take_rows(values, places) for name, values in ranked.details.items()}
    return Ranked(ranked.rows[places], ranked.scores[places], details)


def _limit(memory_limit: int | None) -> int:
    return half_of_memory() if memory_limit is None else memory_limit


def check_lengths(rows: NDArray[np.int64], embedding: Embedding) -> None:
    """Raise an error that names the first row which is so far from all others that sums of distances are no numbers."""
    too_far = np.flatnonzero(~(squared_lengths(embedding) < _FARTHEST))
    if len(too_far):
        raise InputError(
            f"The features of pool row {int(rows[too_far[0]]):,} are so large that its distance from other rows is no "
            "finite number. Scale its features."
        )

"""Rows that a checkpoint keeps, checked as they are read back.

Checksums tell of accidents; whoever writes a checkpoint can write checksums, too. So the rows have to be such as the
scan itself could have kept: rows of fragments that are finished, each once, as many as these fragments have to give,
with details that name classes and members there are. That their scores are right cannot be told without the models.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from minmargin.data.keys import are_copies
from minmargin.pools.fragments import Fragment
from minmargin.scan.found import Counts
from minmargin.scan.scan import Scan
from minmargin.scan.shortlisting import describe
from minmargin.scan.wire import CARRIED, PLACES, WIDTH, to_table
from minmargin.strategies import Shortlist
from minmargin.topb import KEY, TopB

_CLASSES = ("first", "second", "predicted")


class Expected(NamedTuple):
    """What the rows of a checkpoint are checked against: the scan that it belongs to, and its fragments."""

    scan: Scan
    fragments: Sequence[Fragment]

    @property
    def carried_as_read(self) -> bool:
        """Whether the types of carried columns are certain: those of Python objects in pandas depend on the rows."""
        carried = self.scan.first_candidates().carried
        return carried is not None and not carried.implementation.is_pandas()

    def sample(self, shortlist: Shortlist) -> pa.Table:
        """Return the first row of the pool as a shortlist would keep it."""
        seeds = self.scan.models.seeds
        first = self.scan.first_candidates().take(np.arange(1))
        details = {**describe(shortlist, first), **({KEY: first.keys} if shortlist.distinct else {})}
        top = TopB(None, seeds)
        top.update(first.rows, np.zeros(1), lambda _: details)
        return to_table(top)


def check_counts(finished: Sequence[int], counts: Counts, fragments: Sequence[Fragment]) -> None:
    """Raise a ValueError unless these fragments are some of the pool's, and have so many rows."""
    n_rows = {fragment.number: fragment.n_rows for fragment in fragments}
    if len(set(finished)) != len(finished) or not n_rows.keys() >= set(finished):
        raise ValueError(
            f"its finished fragments are not among the {len(fragments):,} of the pool, each once"
        )
    there = sum(n_rows[number] for number in finished)
    if counts.rows != there or counts.excluded > there:
        raise ValueError(f"it counts {counts.rows:,} rows, and its finished fragments have {there:,}")


def check_table(table: pa.Table, like: pa.Table, *, carried_as_read: bool) -> None:
    """Raise a ValueError unless a table has the columns of a sample, of the same types, without gaps.

    `carried_as_read` says whether this goes for the types of carried columns, too.
    """
    if sorted(table.column_names) != sorted(like.column_names):
        raise ValueError("it has other columns than the selection keeps")
    for name in like.column_names:
        found, wanted = table[name].type, like[name].type
        if name.startswith(CARRIED):
            if (
                carried_as_read
                and found != wanted
                and not (pa.types.is_null(found) or pa.types.is_null(wanted))
            ):
                raise ValueError(f"its column {name!r} is {found}, where the pool has {wanted}")
        elif found != wanted or _has_gaps(table[name]):
            raise ValueError(f"its column {name!r} is no {wanted} without gaps")
    if not np.isfinite(table["score"].to_numpy()).all():  # now: they have no order
        raise ValueError("its scores are no finite numbers")
    if PLACES in like.column_names:
        _check_sparse(table, (like.schema.metadata or {})[WIDTH])


def _has_gaps(column: pa.ChunkedArray) -> bool:
    if column.null_count:
        return True
    nested = pa.types.is_list(column.type) or pa.types.is_large_list(column.type)
    nested = nested or pa.types.is_fixed_size_list(column.type)
    return nested and bool(column.combine_chunks().flatten().null_count)


def _check_sparse(table: pa.Table, width: bytes) -> None:
    places, values = table[PLACES].combine_chunks(), table["vector"].combine_chunks()
    within = places.flatten().to_numpy(zero_copy_only=False)
    fits = not len(within) or (within.min() >= 0 and within.max() < int(width))
    if (table.schema.metadata or {}).get(WIDTH) != width or not fits or places.offsets != values.offsets:
        raise ValueError("its vectors are no sparse rows")


def check_top(
    top: TopB, shortlist: Shortlist, expected: Expected, finished: Iterable[int], n_left: int
) -> None:
    """Raise a ValueError unless a TopB holds what a shortlist keeps of finished fragments that have `n_left` rows."""
    held, models = top.held(), expected.scan.models
    rows = np.empty(0, np.int64) if held is None else held.rows
    n_passed = int(top.passed_over().counts.sum())
    full = shortlist.size is not None and len(rows) == shortlist.size
    if not full and len(rows) + n_passed != n_left:
        raise ValueError(f"it keeps {len(rows):,} of {n_left:,} rows")
    if held is None:
        return
    _check_rows(rows, [fragment for fragment in expected.fragments if fragment.number in set(finished)])
    details: dict[str, Any] = dict(held.details)
    if any(not _are_within(details[name], 0, models.n_classes) for name in _CLASSES):
        raise ValueError(f"it tells of classes that are not among {models.n_classes:,}")
    n_members = models.scorer.n_members
    if not _are_within(details["member"], -1, max(n_members, 1)):
        raise ValueError(f"it tells of members that are not among {n_members:,}")
    if shortlist.distinct and are_copies(details[KEY]).any():
        raise ValueError("it keeps copies")


def _check_rows(rows: NDArray[np.int64], finished: Sequence[Fragment]) -> None:
    firsts = np.array([fragment.first_row for fragment in finished], np.int64)
    stops = firsts + np.array([fragment.n_rows for fragment in finished], np.int64)
    place = np.searchsorted(firsts, rows, side="right") - 1
    known = (place >= 0) & (rows < stops[np.maximum(place, 0)]) if len(firsts) else np.zeros(len(rows), bool)
    if not known.all() or len(np.unique(rows)) != len(rows):
        raise ValueError("its rows are not rows of finished fragments, each once")


def _are_within(values: NDArray[Any], least: int, stop: int) -> bool:
    return not len(values) or bool(values.min() >= least and values.max() < stop)

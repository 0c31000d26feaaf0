"""What looks wrong with ids: those that several rows have, and those that are spelled in two ways."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

import pyarrow as pa
import pyarrow.compute as pc

from minmargin.data.ids import bare
from minmargin.data.objects import chunks_of
from minmargin.data.rows import Frame
from minmargin.inspection.findings import Finding
from minmargin.pools import MatchedPool
from minmargin.pools.fragments import Divisible

#: Rows of a pool whose ids are read: a second or so. Files that do not tell their length take ten times as long.
_MOST, _MOST_UNCOUNTED = 5_000_000, 500_000
_RUN = 20_000


def read_ids(matched: MatchedPool | None, id_column: str | None) -> pa.ChunkedArray | None:
    """Return the ids of a pool, without missing ones; None if there are none, or too many to look at."""
    if matched is None or id_column is None or not isinstance(matched.pool, Divisible):
        return None
    n_rows = matched.pool.n_rows
    if n_rows is not None and n_rows > _MOST:
        return None
    kinds = {id_column: (matched.kinds or {}).get(id_column)}
    parts: list[pa.Array] = []
    for rows in cast("Iterable[Frame]", matched.pool.chunks(kinds, _RUN)):
        parts += chunks_of(rows[id_column]).chunks
        if n_rows is None and sum(map(len, parts)) > _MOST_UNCOUNTED:
            return None
    return pa.chunked_array(parts or [[]]).drop_null()


def repeated_ids(ids: pa.ChunkedArray, id_column: str) -> list[Finding]:
    """Return a finding for ids that several rows of the pool have: an id has to name one row."""
    counted = pc.value_counts(ids)
    if len(counted) == len(ids):
        return []
    repeated = [each for each in counted.to_pylist() if each["counts"] > 1]
    most = max(repeated, key=lambda each: each["counts"])
    have = "1 id is" if len(repeated) == 1 else f"{len(repeated):,} ids are"
    message = (
        f"Column {id_column!r} identifies rows, and in the pool {have} there more than once, such as "
        f"{most['values']!r}, {most['counts']:,} times. Who labels by id cannot tell these rows apart: number them."
    )
    return [Finding(id_column, message)]


def respelled_ids(ids: pa.ChunkedArray, labeled: pa.ChunkedArray, id_column: str) -> list[Finding]:
    """Return a finding if more labeled rows are in the pool by an id that is spelled otherwise than by their own."""
    ours, theirs = (pc.unique(_as_texts(each)) for each in (labeled, ids))
    there = pc.is_in(ours, value_set=theirs)
    others = ours.filter(pc.invert(there))
    alike = pc.index_in(bare(others), value_set=bare(theirs))
    n_alike = len(alike) - alike.null_count
    if n_alike <= (pc.sum(there).as_py() or 0):
        return []
    first = alike.is_valid().index(pa.scalar(True)).as_py()
    rows = "1 labeled row is" if n_alike == 1 else f"{n_alike:,} labeled rows are"
    message = (
        f"{rows} in the pool under another spelling of their id in column {id_column!r}, such as "
        f"{others[first].as_py()!r} and {theirs[alike[first].as_py()].as_py()!r}: with zeros, blanks or '.0', or "
        "without. They are not known as labeled, and may be picked. Write ids alike in both."
    )
    return [Finding(id_column, message)]


def _as_texts(ids: pa.ChunkedArray) -> pa.Array:
    return ids.drop_null().combine_chunks().cast(pa.large_string())

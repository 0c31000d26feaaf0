"""Ids of both tables: rows that are in both, ids that several rows have, and those that are spelled in two ways."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, cast

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from minmargin.data.conversion import is_text
from minmargin.data.ids import bare, without_point_zero
from minmargin.data.objects import chunks_of, chunks_or_texts
from minmargin.data.rows import Frame, Rows
from minmargin.errors import InputError
from minmargin.inspection.findings import Finding
from minmargin.pools import MatchedPool, is_path, open_pool
from minmargin.pools.exclusion import Named
from minmargin.pools.fragments import Divisible
from minmargin.pools.opening import exclusion_of

#: Rows of a pool whose ids are read: a second or so. Files that do not tell their length take ten times as long.
_MOST, _MOST_UNCOUNTED = 5_000_000, 500_000
_RUN = 20_000
_FEW_ALIKE, _SHARE_ALIKE = 3, 0.05  # of labeled rows with an id that differs by its spelling alone


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


def given_ids(
    X: Any, rows: Rows, id_column: str | None, left_out: NDArray[np.int64] | None
) -> Callable[[], pa.ChunkedArray] | None:
    """Return what reads the ids of labeled rows; None if they have none. Those of a CSV file are taken as they stand.

    `left_out` are the numbers of rows in X that are not among the labeled ones.
    """
    if id_column is None or not isinstance(rows, nw.DataFrame) or id_column not in rows.columns:
        return None

    def read() -> pa.ChunkedArray:
        if not is_path(X):
            return chunks_or_texts(rows[id_column])
        chunks = cast("Iterable[Frame]", open_pool(X).chunks({id_column: None}, 1 << 20))
        ids = pa.chunked_array(
            [part for each in chunks for part in chunks_of(each[id_column]).chunks] or [[]]
        )
        return ids if left_out is None else ids.take(pa.array(np.delete(np.arange(len(ids)), left_out)))

    return read


def compare_ids(
    ids: pa.ChunkedArray, labeled: pa.ChunkedArray, matched: MatchedPool, id_column: str
) -> tuple[int, list[Finding]]:
    """Return how many rows of a pool have the id of a labeled row, and what looks wrong with how ids are spelled."""
    labeled = labeled.drop_null()
    try:
        of_labeled = exclusion_of(Named(labeled, expected=False), matched, id_column)
        n_labeled = of_labeled.count(ids)
    except InputError:
        return 0, [Finding(id_column, not_comparable(id_column))]
    # Ids that are numbers are compared as numbers.
    return n_labeled, _respelled(ids, labeled, id_column) if is_text(ids.type) else []


def not_comparable(id_column: str) -> str:
    """Return what is said of ids of two types."""
    return (
        f"The ids of the labeled set in column {id_column!r} cannot be compared with what names the pool's rows, so a "
        "row that is labeled may be picked again. Give both ids of one type, or use keep_labeled=True."
    )


def _respelled(ids: pa.ChunkedArray, labeled: pa.ChunkedArray, id_column: str) -> list[Finding]:
    """Return a finding if labeled rows are in the pool by an id that is spelled otherwise. A few may be by chance."""
    ours, theirs = (_as_texts(each) for each in (labeled, ids))
    there = pc.is_in(without_point_zero(ours), value_set=without_point_zero(theirs))
    others = ours.filter(pc.invert(there))
    if not len(others):
        return []
    alike = pc.index_in(bare(others), value_set=bare(theirs))
    n_alike = len(alike) - alike.null_count
    few = n_alike < _FEW_ALIKE or n_alike < _SHARE_ALIKE * len(ours)
    if not n_alike or (few and n_alike <= (pc.sum(there).as_py() or 0)):
        return []
    first = alike.is_valid().index(pa.scalar(True)).as_py()
    rows = "1 labeled row is" if n_alike == 1 else f"{n_alike:,} labeled rows are"
    message = (
        f"{rows} in the pool under another spelling of their id in column {id_column!r}, such as "
        f"{others[first].as_py()!r} and {theirs[alike[first].as_py()].as_py()!r}: with other zeros, blanks or "
        "capitals. They are not known as labeled, and may be picked. Write ids alike in both."
    )
    return [Finding(id_column, message)]


def _as_texts(ids: pa.ChunkedArray) -> pa.Array:
    return pc.unique(ids.combine_chunks().cast(pa.large_string()))

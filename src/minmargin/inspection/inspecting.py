"""Looking at tables: all of the labeled set, and rows from everywhere in the pool."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, cast

import narwhals as nw
import pyarrow as pa
import pyarrow.compute as pc

from minmargin.data.columns import chunks_of
from minmargin.data.intake import Intake
from minmargin.data.reading import Reading, as_reading
from minmargin.data.rows import Frame, Rows, concat_rows, count_rows, slice_rows
from minmargin.data.schema import Column
from minmargin.errors import listing, nearest
from minmargin.inspection.findings import Finding, Seen, find
from minmargin.inspection.inspection import IDENTIFIES, ColumnSeen, Inspection
from minmargin.inspection.profiles import Profile, profile_of
from minmargin.labeled import LabeledSet, feature_columns, rows_and_labels
from minmargin.partly_labeled import PartlyLabeled
from minmargin.pools import MatchedPool, match_pool
from minmargin.pools.files import FilePool
from minmargin.pools.fragments import Divisible
from minmargin.typing import LabelsLike, PoolLike, RowsLike

_MANY = 10  # rows of a class
#: Rows of a pool whose ids are compared: a second or so. Files that do not tell their length take ten times as long.
_MOST_IDS, _MOST_IDS_UNCOUNTED = 5_000_000, 500_000
#: Pool rows that are looked at come from so many places. There are fewer of them where there are many columns: it is
#: to cost less than a tenth of a second.
_PLACES, _CELLS, _FEWEST, _MOST_ROWS = 8, 400_000, 200, 20_000


def inspect(
    X: RowsLike,
    y: LabelsLike | None = None,
    pool: PoolLike | None = None,
    *,
    features: str | Sequence[str] | None = None,
    id_column: str | None = None,
    reading: Reading | None = None,
) -> Inspection:
    """Return how a labeled set, and a pool, would be read, and what looks wrong with them.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"age": range(20, 60), "plan": ["basic", "plus"] * 20, "churned": ["no", "yes"] * 20})
    >>> print(inspect(table, "churned").summary)
    Read 40 labeled rows (no 20, yes 20). Numbers: 'age'. Categories: 'plan'. No features: 'churned'.

    All labeled rows are looked at, and rows from everywhere in the pool.

    Args:
        X: the labeled rows, as `select` takes them.
        y: their labels, or the name of the label column; None: only columns are looked at.
        pool: the candidates, if there are any. Without one, rows of X that have no label are these.
        features: the feature columns; by default all but the label and the id.
        id_column: the column that identifies a row.
        reading: how columns are to be read, where their types do not tell it.
    """
    partly = None
    named = {id_column: IDENTIFIES, y if isinstance(y, str) else None: "no: it is the label"}
    not_features = [name for name in named if name is not None]
    if y is None:
        rows, _ = rows_and_labels(X, None, as_reading(reading))
        table = Table(rows, feature_columns(rows, features, not_features, reading), None)
    else:
        how: dict[str, Any] = {"features": features, "not_features": not_features, "reading": reading}
        partly = PartlyLabeled.if_so(X, y, **how) if pool is None else None
        table = Table.of(LabeledSet.of(X, y, **how) if partly is None else partly.labeled)
    matched = None
    if partly is not None:
        pool = cast("PoolLike", X)
    if pool is not None and table.columns is not None:
        known = tuple(column for column in table.columns if column.kind != "empty")
        intake = Intake("table", known, sum(column.width or 1 for column in known), missing=True)
        matched = match_pool(pool, intake, features=features, id_column=id_column)
        if partly is not None:
            matched = partly.leave_out_labeled(matched, 1)
    return look_at(table, matched, reading, id_column=id_column, unused=named)


class Table(NamedTuple):
    """Rows, which of their columns are features (None for an array), and how many rows each class has, if known."""

    rows: Rows
    columns: tuple[Column, ...] | None
    class_counts: dict[str, int] | None

    @classmethod
    def of(cls, labeled: LabeledSet, intake: Intake | None = None) -> Table:
        """Return a labeled set as a table: of its columns those that a learner takes as numbers and categories."""
        counts = dict(zip(map(str, labeled.classes.tolist()), labeled.counts.tolist(), strict=True))
        if intake is None:
            return cls(labeled.rows, labeled.columns, counts)
        # Others read words, or have ways of their own: nobody knows what would be wrong for them.
        return cls(labeled.rows, intake.columns if intake.form in {"table", "matrix"} else None, counts)


def look_at(
    table: Table,
    matched: MatchedPool | None,
    reading: Reading | None,
    *,
    id_column: str | None = None,
    unused: Mapping[str | None, str] | None = None,
) -> Inspection:
    """Return what is seen of a table and of a pool that is matched to it.

    `reading` is how both were read, and `unused` says why columns are no features.
    """
    declared = () if reading is None else reading.names
    sample = None if matched is None else _some_rows(matched)
    features = [
        ColumnSeen(
            column,
            _use(column),
            _profile(column, cast("Frame", table.rows), "Labeled"),
            None if sample is None or column.name not in sample.columns else _profile(column, sample, "Pool"),
        )
        for column in table.columns or ()
    ]
    known = {seen.column.name for seen in features}
    others = [
        ColumnSeen(
            column, (unused or {}).get(column.name, "no"), _profile(column, cast("Frame", table.rows)), None
        )
        for column in _other_columns(table.rows, known, reading)
    ]
    wrong = find(
        [
            Seen(each.column, cast("Profile", each.labeled), each.pool, each.column.name in declared)
            for each in features
        ]
    )
    n_pool = None if matched is None else _n_candidates(matched)
    n_looked_at = 0 if sample is None else count_rows(sample)
    return Inspection(
        (*features, *others),
        table.class_counts,
        count_rows(table.rows),
        n_pool,
        n_looked_at if n_pool is None else min(n_looked_at, n_pool),
        (*_rare_classes(table.class_counts or {}), *_repeated_ids(matched, id_column), *wrong),
    )


def _n_candidates(matched: MatchedPool) -> int | None:
    """Return how many rows a pool has, without the labeled ones of the same table; None if only reading can tell."""
    one = matched.one_table
    return matched.pool.n_rows if one is None else one.n_rows - one.n_labeled


def _other_columns(rows: Rows, features: Container[str], reading: Reading | None) -> Sequence[Column]:
    """Return the columns that are no features, as they would be read."""
    if not isinstance(rows, nw.DataFrame):
        return ()
    others = [name for name in rows.columns if name not in features]
    if not others:
        return ()
    said = as_reading(reading)
    marks = Reading(decimal=said.decimal, thousands=said.thousands, missing=said.missing)
    columns = feature_columns(rows, others, (), marks) or ()
    # What is dropped was left as it stands in its file.
    return [
        column.read_by(marks.conversion(column.name, chunks_of(rows[column.name])))
        if column.kind == "text" and column.name in said.drop
        else column
        for column in columns
    ]


def _rare_classes(counts: dict[str, int]) -> list[Finding]:
    """Return a finding for classes with a single row beside classes with many: they may be typing errors."""
    rare = [name for name, n in counts.items() if n == 1]
    if not rare or sorted(counts.values())[len(counts) // 2] < _MANY:
        return []
    have = f"Class {rare[0]!r} has" if len(rare) == 1 else f"Classes {listing(rare, most=4)} each have"
    alike = nearest(rare[0], [name for name, n in counts.items() if n > 1])
    fix = f"{alike} If not, label a few more." if alike else " Label a few more."
    return [Finding(None, f"{have} one labeled row, where others have many.{fix}")]


def _repeated_ids(matched: MatchedPool | None, id_column: str | None) -> list[Finding]:
    """Return a finding for ids that several rows of the pool have: an id has to name one row."""
    if matched is None or id_column is None or not isinstance(matched.pool, Divisible):
        return []
    n_rows = matched.pool.n_rows
    if n_rows is not None and n_rows > _MOST_IDS:
        return []
    kinds = {id_column: (matched.kinds or {}).get(id_column)}
    parts: list[pa.Array] = []
    for rows in cast("Iterable[Frame]", matched.pool.chunks(kinds, _MOST_ROWS)):
        parts += chunks_of(rows[id_column]).chunks
        if n_rows is None and sum(map(len, parts)) > _MOST_IDS_UNCOUNTED:
            return []
    ids = pa.chunked_array(parts or [[]]).drop_null()
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


def _use(column: Column) -> str:
    """Return whether a column is a feature."""
    return "no: it has no value" if column.kind == "empty" else "yes"


def _profile(column: Column, rows: Frame, what: str = "") -> Profile:
    """Return what is seen of a column in not too many rows."""
    some = rows[:: -(-count_rows(rows) // _MOST_ROWS), :] if count_rows(rows) > _MOST_ROWS else rows
    chunked = chunks_of(some[column.name])
    if column.conversion is not None:
        chunked = column.conversion(chunked, lambda place: f"{what} row {place:,}, column {column.name!r},")
    return profile_of(column, chunked)


def _some_rows(matched: MatchedPool) -> Frame | None:
    """Return rows from everywhere in a pool; None if it has no columns, or can be read only once."""
    pool, kinds = matched.pool, matched.kinds
    if kinds is None or not isinstance(pool, Divisible):
        return None
    n_wanted = min(max(_CELLS // max(len(kinds), 1), _FEWEST), _MOST_ROWS)
    n_units = pool.n_units if isinstance(pool, FilePool) else len(pool.units())
    places = range(0, n_units, max(n_units // _PLACES, 1))
    n_each = n_wanted // max(len(places), 1)
    parts: list[Rows] = []
    for unit in places:
        n_left = n_each
        for rows in pool.read_units(unit, unit + 1, kinds, n_each):
            parts.append(slice_rows(rows, 0, n_left))
            n_left -= count_rows(parts[-1])
            if n_left <= 0:
                break
    return cast("Frame", concat_rows(parts)) if parts else None

"""Looking at tables: all of the labeled set, and rows from everywhere in the pool."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

import narwhals as nw
import pyarrow as pa
from numpy.typing import NDArray

from minmargin.data.conversion import is_text
from minmargin.data.intake import Intake
from minmargin.data.objects import check_one_type_each, chunks_of, how_to_derive, mixes_types
from minmargin.data.reading import Reading, as_reading
from minmargin.data.rows import Frame, Rows, count_rows
from minmargin.data.schema import Column
from minmargin.data.thousands import Points
from minmargin.errors import InputError
from minmargin.inspection.classes import find_in_classes
from minmargin.inspection.copies import find_copies
from minmargin.inspection.findings import Finding, find
from minmargin.inspection.ids import compare_ids, given_ids, read_ids, repeated_ids
from minmargin.inspection.inspection import IDENTIFIES, ColumnSeen, Inspection
from minmargin.inspection.marks import find_declared
from minmargin.inspection.points import points_of_labeled, points_of_pool
from minmargin.inspection.profiles import Profile, Seen, profile_of
from minmargin.inspection.samples import MOST_ROWS, some_rows
from minmargin.labeled import LabeledSet, feature_columns, rows_and_labels
from minmargin.labels import is_no_label, list_labels, whole_labels
from minmargin.partly_labeled import PartlyLabeled
from minmargin.pools import MatchedPool, match_pool
from minmargin.typing import LabelsLike, PoolLike, RowsLike


def inspect(
    X: RowsLike,
    y: LabelsLike | None = None,
    pool: PoolLike | None = None,
    *,
    features: str | Sequence[str] | None = None,
    id_column: str | None = None,
    classes: Iterable[object] | None = None,
    reading: Reading | None = None,
) -> Inspection:
    """Return how a labeled set, and a pool, would be read, and what looks wrong with them.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"age": range(20, 60), "plan": ["basic", "plus"] * 20, "churned": ["no", "yes"] * 20})
    >>> print(inspect(table, "churned").summary)
    Read 40 labeled rows (no 20, yes 20). Numbers: 'age'. Categories: 'plan'. No features: 'churned'.

    All labeled rows are looked at, and rows from everywhere in the pool. Labels that `select` would refuse are told
    among what looks wrong, and `refused` is True.

    Args:
        X: the labeled rows, as `select` takes them.
        y: their labels, or the name of the label column; None: only columns are looked at.
        pool: the candidates, if there are any. Without one, rows of X that have no label are these.
        features: the feature columns; by default all but the label and the id.
        id_column: the column that identifies a row.
        classes: all classes that may occur; by default those of the labels. What is named is not asked about.
        reading: how columns are to be read, where their types do not tell it.
    """
    partly, said = None, list[str]()
    named = {id_column: IDENTIFIES, y if isinstance(y, str) else None: "no: it is the label"}
    not_features = [name for name in named if name is not None]
    refused = None
    if y is None:
        rows, _ = rows_and_labels(X, None, as_reading(reading))
        table = Table(rows, feature_columns(rows, features, not_features, reading), None)
    else:
        how: dict[str, Any] = {"features": features, "not_features": not_features, "reading": reading}
        how["classes"] = list(classes) if isinstance(classes, Iterator) else classes
        try:
            partly = PartlyLabeled.if_so(X, y, **how) if pool is None else None
            labeled = LabeledSet.of(X, y, **how, say=said.append) if partly is None else partly.labeled
            table = Table.of(labeled, ids=given_ids(X, labeled.rows, id_column, labeled.left_out))
        except InputError as error:
            rows, given = rows_and_labels(X, y, as_reading(reading))  # raises again what is not about labels
            table = Table(rows, feature_columns(rows, features, not_features, reading), _count(given))
            refused = Finding(y if isinstance(y, str) else None, str(error))
    if table.columns is not None:
        names = [column.name for column in table.columns]
        check_one_type_each(cast("Frame", table.rows), names, "the labeled set")
    matched = None
    if partly is not None:
        pool = cast("PoolLike", X)
    if pool is not None and table.columns is not None:
        known = tuple(column for column in table.columns if column.kind != "empty")
        intake = Intake("table", known, sum(column.width or 1 for column in known), missing=True)
        matched = match_pool(pool, intake, features=features, id_column=id_column)
        if partly is not None:
            matched = partly.leave_out_labeled(matched, 1)
    seen = look_at(table, matched, reading, id_column=id_column, unused=named)
    # Who selects meets these as errors, and is warned of rows that are left out.
    left_out = [Finding(None, message) for message in said]
    return replace(
        seen,
        findings=(
            *([] if refused is None else [refused]),
            *left_out,
            *_no_features(table.columns or ()),
            *seen.findings,
        ),
        refused=refused is not None,
    )


def _count(given: Any) -> dict[str, int] | None:
    """Return how many rows have each label, of labels that are refused; None if they are no list of labels."""
    try:
        labels = list_labels(given)
    except InputError:
        return None
    return dict(
        Counter(str(each) for each in whole_labels([each for each in labels if not is_no_label(each)]))
    )


class Table(NamedTuple):
    """Rows that were read.

    Attributes:
        rows: the rows.
        columns: which of their columns are features; None for an array.
        class_counts: how many rows each class has, if known.
        ids: reads the ids of the rows, for looking at those of the pool; None if they have none, or are not looked at.
        labels: (N,) those of the rows, if known.
    """

    rows: Rows
    columns: tuple[Column, ...] | None
    class_counts: dict[str, int] | None
    ids: Callable[[], pa.ChunkedArray] | None = None
    labels: NDArray[Any] | None = None

    @classmethod
    def of(
        cls,
        labeled: LabeledSet,
        intake: Intake | None = None,
        *,
        ids: Callable[[], pa.ChunkedArray] | None = None,
    ) -> Table:
        """Return a labeled set as a table: of its columns those that a learner takes as numbers and categories."""
        counts = dict(zip(map(str, labeled.classes.tolist()), labeled.counts.tolist(), strict=True))
        if intake is None:
            return cls(labeled.rows, labeled.columns, counts, ids, labeled.y)
        # Others read words, or have ways of their own: nobody knows what would be wrong for them.
        if intake.columns is None or intake.form not in {"table", "matrix"}:
            return cls(labeled.rows, None, counts, ids, labeled.y)
        # No learner takes what has no value; that the pool may have one is to be said.
        empty = [
            each for each in labeled.columns or () if each.kind == "empty" and each not in intake.columns
        ]
        return cls(labeled.rows, (*intake.columns, *empty), counts, ids, labeled.y)


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
    sample = None if matched is None else some_rows(matched)
    features = [
        ColumnSeen(
            column,
            _use(column),
            _profile(column, cast("Frame", table.rows), "Labeled"),
            _pool_profile(column, matched, sample),
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
    points = _points(table, matched, sample)
    wrong = find(
        [
            Seen(
                each.column,
                cast("Profile", each.labeled),
                each.pool,
                each.column.name in declared,
                tuple(
                    (where, found[each.column.name]) for where, found in points if each.column.name in found
                ),
            )
            for each in features
        ]
    )
    n_labeled_there, wrong_ids = _look_at_ids(table, matched, id_column)
    n_pool = None if matched is None else _n_candidates(matched)
    n_looked_at = 0 if sample is None else count_rows(sample)
    return Inspection(
        (*features, *others),
        table.class_counts,
        count_rows(table.rows),
        n_pool,
        n_looked_at if n_pool is None else min(n_looked_at, n_pool),
        (
            *find_in_classes(table.class_counts or {}),
            *find_copies(table.rows, table.columns, table.labels, id_column),
            *find_declared(table.rows, table.columns, reading),
            *wrong_ids,
            *wrong,
        ),
        n_labeled_there,
    )


def _points(
    table: Table, matched: MatchedPool | None, sample: Frame | None
) -> list[tuple[str, dict[str, Points]]]:
    """Return the columns whose points may stand between thousands, in the labeled set and in the pool."""
    if table.columns is None:
        return []
    found = [("the labeled set", points_of_labeled(table.rows, table.columns))]
    if matched is not None and sample is not None:
        found.append(("the pool", points_of_pool(matched, sample, table.columns)))
    return found


def _n_candidates(matched: MatchedPool) -> int | None:
    """Return how many rows a pool has, without the labeled ones of the same table; None if only reading can tell."""
    one = matched.one_table
    return matched.pool.n_rows if one is None else one.n_rows - one.n_labeled


def _other_columns(rows: Rows, features: Container[str], reading: Reading | None) -> Sequence[Column]:
    """Return the columns that are no features, as they would be read."""
    if not isinstance(rows, nw.DataFrame):
        return ()
    others = [name for name in rows.columns if name not in features]
    mixed = [name for name in others if mixes_types(rows[name])]
    strange = [Column(name, "other", "Object") for name in mixed]
    others = [name for name in others if name not in mixed]
    if not others:
        return strange
    said = as_reading(reading)
    marks = Reading(decimal=said.decimal, thousands=said.thousands, missing=said.missing)
    columns = feature_columns(rows, others, (), marks) or ()
    # What is dropped was left as it stands in its file.
    read = [
        column.read_by(marks.conversion(column.name, chunks_of(rows[column.name])))
        if column.kind == "text" and column.name in said.drop
        else column
        for column in columns
    ]
    return [*read, *strange]


def _look_at_ids(
    table: Table, matched: MatchedPool | None, id_column: str | None
) -> tuple[int, list[Finding]]:
    """Return how many rows of the pool are labeled, and findings on ids, where not too many have to be read for it."""
    ids = read_ids(matched, id_column)
    if ids is None or matched is None or id_column is None:
        return 0, []
    found = repeated_ids(ids, id_column)
    if table.ids is None or matched.one_table is not None:  # one table spells its ids in one way
        return 0, found
    n_labeled, respelled = compare_ids(ids, table.ids(), matched, id_column)
    return n_labeled, [*found, *respelled]


def _no_features(columns: Iterable[Column]) -> list[Finding]:
    """Return a finding for each feature column that no learner reads as it is."""
    return [
        Finding(
            column.name,
            f"Column {column.name!r} is {column.type_name}, which no learner of ours reads. Leave it out with "
            f"drop=[{column.name!r}], or {how_to_derive(column)}.",
        )
        for column in columns
        if column.kind == "other"
    ]


def _use(column: Column) -> str:
    """Return whether a column is a feature."""
    return {"empty": "no: it has no value", "other": "no: it cannot be read"}.get(column.kind, "yes")


def _pool_profile(column: Column, matched: MatchedPool | None, sample: Frame | None) -> Profile | None:
    """Return what is seen of a column in the pool; of one that has no value in the labeled set, too."""
    if matched is None or sample is None:
        return None
    if column.kind != "empty":
        return _profile(column, sample, "Pool") if column.name in sample.columns else None
    found = matched.pool.schema.find(column.name)
    if found is None or found.kind in {"embedding", "other"}:
        return None
    rows = some_rows(matched._replace(kinds={column.name: None}))
    if rows is None:
        return None
    texts = is_text(chunks_of(rows[column.name]).type)
    return _profile(replace(found, kind="text") if texts else found, rows, "Pool")


def _profile(column: Column, rows: Frame, what: str = "") -> Profile:
    """Return what is seen of a column in not too many rows."""
    some = rows[:: -(-count_rows(rows) // MOST_ROWS), :] if count_rows(rows) > MOST_ROWS else rows
    if column.kind == "other" and column.conversion is None:
        n_missing = some[column.name].null_count()
        return Profile(column.name, "other", count_rows(some), n_missing, 0)
    chunked = chunks_of(some[column.name])
    if column.conversion is not None:
        chunked = column.conversion(chunked, lambda place: f"{what} row {place:,}, column {column.name!r},")
    return profile_of(column, chunked)

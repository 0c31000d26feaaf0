"""The rows of a campaign: what it began with, what each round picked, and both together with their labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import narwhals as nw
import pyarrow as pa

from minmargin.campaign.journal import Label
from minmargin.campaign.sealing import checksum
from minmargin.campaign.settings import Settings
from minmargin.campaign.values import ARROW_TYPES, Kind, from_text, id_array, kind_of, to_text
from minmargin.data.conversion import is_text
from minmargin.data.objects import chunks_of
from minmargin.data.reading import Reading
from minmargin.data.rows import Rows
from minmargin.data.schema import as_rows, is_missing, missing_column
from minmargin.data.thousands import notes_of, with_notes
from minmargin.errors import InputError
from minmargin.files import write_whole
from minmargin.labels import as_labels
from minmargin.pools import is_path, open_pool, read_frame


def read_rows(source: Any, what: str, reading: Reading, label_column: str | None) -> pa.Table:
    """Return rows with column names, from files or a frame, as an Arrow table; `what` names them in errors."""
    rows = read_frame(source, reading, label=label_column) if is_path(source) else as_rows(source, what)
    if not isinstance(rows, nw.DataFrame):
        raise InputError(
            f"{what} has no column names, and a campaign needs them. Give a frame, or Parquet or CSV files."
        )
    inside = what[0].lower() + what[1:]
    table = pa.table({name: _decoded(chunks_of(rows[name], inside)) for name in rows.columns})
    if rows.implementation.is_pyarrow():
        table = with_notes(table, notes_of(rows.to_native()))
    labels = reading.labels(rows[label_column]) if label_column in rows.columns else None
    if isinstance(labels, list):  # which differ from those that were read
        table = table.set_column(table.column_names.index(label_column), label_column, pa.array(labels))
    return table


def with_labels(table: pa.Table, label_column: str, columns: Sequence[str], what: str) -> pa.Table:
    """Return some columns of labeled rows, then their labels, as one of the kinds that the journal keeps."""
    for name in (label_column, *columns):
        if name not in table.column_names:
            raise missing_column(name, table.column_names, what)
    labels = as_labels(table[label_column]).tolist()
    kind = kind_of(labels)
    if labels and kind is None:
        raise InputError(
            f"The labels of {what} are of type {type(labels[0]).__name__}. Make them texts, numbers or booleans."
        )
    return table.select(list(columns)).append_column(
        label_column, pa.array(labels, ARROW_TYPES[kind or "text"])
    )


def with_others(rows: Rows, table: pa.Table) -> Rows:
    """Return rows of some columns of a table with its other columns, in the table's order."""
    if not isinstance(rows, nw.DataFrame):
        return rows
    columns = {name: chunks_of(rows[name]) for name in rows.columns}
    others = {name: columns.get(name, table[name]) for name in table.column_names}
    joined = pa.table({**others, **columns})
    return as_rows(with_notes(joined, notes_of(rows.to_native())), "The labeled set")


def read_ids(table: pa.Table, source: Any, id_column: str, kind: Kind) -> pa.Array:
    """Return the ids of labeled rows as texts or whole numbers; those of a CSV file as they stand there."""
    values = ids_as_given(table, source, id_column)
    texts = [None if is_missing(value) else to_text(value, kind) for value in values]
    wrong = [
        value for value, text in zip(values, texts, strict=True) if text is None and not is_missing(value)
    ]
    if wrong:
        raise InputError(
            f"A labeled row has id {wrong[0]!r} in column {id_column!r}, and the pool's ids are whole numbers. "
            "Give both the same ids."
        )
    return id_array([None if text is None else from_text(text, kind) for text in texts], kind)


def ids_as_given(table: pa.Table, source: Any, id_column: str) -> list[Any]:
    """Return the ids of rows; those of a CSV file as they stand there, which its table has as numbers."""
    if not is_path(source):
        return list(table[id_column].to_pylist())
    chunks = open_pool(source).chunks({id_column: None}, 1 << 16)
    return [value for rows in chunks if isinstance(rows, nw.DataFrame) for value in rows[id_column].to_list()]


def write_table(path: Path, table: pa.Table) -> None:
    """Write a Parquet file, whole or not at all."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - 50 ms that importing the package need not take

    write_whole(path, lambda file: pq.write_table(table, file))


def read_table(path: Path, sha256: str | None = None) -> pa.Table:
    """Return the rows of one of the campaign's own files, which must have its checksum where one is known."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - as above

    try:
        if sha256 is not None and checksum(path) != sha256:
            raise InputError(f"{str(path)!r} was changed since it was written. Put back a copy.")
        return pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise InputError(f"{str(path)!r} cannot be read: {reason}. Put back a copy.") from error


def batch_ids(table: pa.Table, kind: Kind) -> list[str]:
    """Return the ids of a batch, as the journal writes them: its id column, or the rows' numbers."""
    values = table["id" if "id" in own_columns(table) else "row"].to_pylist()
    return [str(to_text(value, kind)) for value in values]


def own_columns(table: pa.Table) -> list[str]:
    """Return the columns of a batch that come before those of the pool."""
    names = list(table.column_names)
    return names[: names.index("predicted") + 1]


def labeled_table(
    initial: pa.Table,
    batches: Iterable[tuple[int, pa.Table, Sequence[str]]],
    labels: Mapping[str, Label],
    settings: Settings,
) -> pa.Table:
    """Return all labeled rows: the first ones, then those that each round picked, best first.

    Args:
        initial: ids if there are any, features and labels of the first rows.
        batches: the rounds' numbers and batches, and the pool columns that each of these holds.
        labels: the labels by id.
        settings: tell the columns.
    """
    columns = [*settings.labeled_columns, settings.label_column]
    # Where probabilities are given, the first rows need not have what the pool's rows bring along.
    parts = [initial.select([name for name in columns if name in initial.column_names])]
    ids = (
        initial[settings.id_column].to_pylist()
        if settings.id_column in initial.column_names
        else [None] * len(initial)
    )
    for number, batch, kept in batches:
        texts = batch_ids(batch, settings.id_kind)
        picked = [
            place for place, each in enumerate(texts) if each in labels and labels[each].round == number
        ]
        rows = batch.select(range(len(own_columns(batch)), batch.num_columns)).rename_columns(list(kept))
        classes = [from_text(labels[texts[place]].label, settings.label_kind) for place in picked]
        places = pa.array(picked, pa.int64())
        parts.append(
            pa.table(
                {
                    name: rows[name].take(places)
                    for name in settings.labeled_columns
                    if name in rows.column_names
                }
                | {settings.label_column: pa.array(classes, ARROW_TYPES[settings.label_kind])}
            )
        )
        ids += [from_text(texts[place], settings.id_kind) for place in picked]
    for name in settings.feature_names:
        _read_alike(parts, name, settings.read_as)
    # Whole numbers in one part and fractions in another become fractions in both; a column that a part lacks is empty.
    joined = pa.concat_tables(
        [part.replace_schema_metadata(None) for part in parts], promote_options="permissive"
    )
    joined = joined.select([name for name in columns if name in joined.column_names])
    if settings.id_column is not None:
        joined = joined.append_column(settings.id_column, id_array(ids, settings.id_kind))
    return joined.combine_chunks()


def _read_alike(parts: list[pa.Table], name: str, reading: Reading) -> None:
    """Read a column as it was declared where it is of texts in some parts, such as a CSV file, and not in others."""
    there = [
        each[name] for each in parts if name in each.column_names and not pa.types.is_null(each[name].type)
    ]
    texts = [each for each in there if is_text(each.type)]
    if len(texts) in {0, len(there)}:
        return
    conversion = reading.conversion(name, texts[0])
    for place, part in enumerate(parts):
        if conversion is not None and name in part.column_names:
            column = conversion(part[name], lambda row: f"Labeled row {row:,}, column {name!r},")
            parts[place] = part.set_column(part.column_names.index(name), name, column)


def _decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column without a dictionary: the categories of two tables may differ."""
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column

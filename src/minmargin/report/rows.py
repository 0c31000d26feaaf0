"""The picked rows of a report: which of their columns are shown, and as what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from scipy import sparse

from minmargin.batch import reasons_of, to_column
from minmargin.data.conversion import Marks, is_text
from minmargin.data.reading import Reading
from minmargin.errors import InputError, listing
from minmargin.report.features import as_read, columns_to_tell
from minmargin.report.neighbors import NearCopies
from minmargin.report.pictures import Pictures, check_shape, rows_as_pictures, thumbnails
from minmargin.report.survey import N_LISTED, Survey
from minmargin.report.table import (
    N_COLUMNS,
    N_SHOWN,
    TableColumn,
    cut_texts,
    number_column,
    picture_column,
    pool_column,
    sentence_column,
    text_column,
)
from minmargin.scan.rereading import Origin

if TYPE_CHECKING:
    from minmargin.batch import Batch

_N_READ = 2  # columns of texts to read that stand before the reason: what is to be labeled, a question and its answer


class Choice(NamedTuple):
    """A way to choose rows of the table: what it is called, the groups, and which of these each row is in."""

    name: str
    label: str
    groups: list[str]
    codes: list[int]

    @property
    def options(self) -> list[str]:
        """The groups, with how many rows of the table each has."""
        counts = Counter(self.codes)
        return [f"{group} ({counts[code]:,})" for code, group in enumerate(self.groups)]


class RowTable(NamedTuple):
    """The columns of the table, how its rows can be chosen, and what it leaves out, in sentences."""

    columns: list[TableColumn]
    choices: list[Choice]
    missing: list[str]

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        """The cells, row by row."""
        return list(zip(*(column.cells for column in self.columns), strict=True))


def names_to_show(batch: Batch, origin: Origin, image_column: str | None) -> list[str]:
    """Return the pool's columns that the table shows and that the batch does not have: texts, then other features."""
    kept = [] if batch.kept is None else batch.kept.column_names
    schema, features = origin.scan.matched.pool.schema, origin.scan.matched.features or ()
    kinds = {column.name: column.kind for column in schema.columns or ()}
    texts = [name for name in features if kinds[name] == "text"]
    others = [column.name for column in columns_to_tell(origin, len(batch))]
    images = [] if image_column is None else [image_column]
    return [name for name in dict.fromkeys([*images, *texts, *others]) if name not in kept]


def list_rows(
    batch: Batch,
    survey: Survey | None,
    image_column: str | None,
    image_shape: Sequence[int] | None,
    *,
    near_copies: NearCopies | None = None,
) -> RowTable:
    """Return the table of the first picks.

    What a row is and why it was picked comes first; the pool's other columns, which may be many, come after it.
    """
    n = min(len(batch), N_LISTED)
    values = _pool_values(batch, survey, n)
    columns = [number_column("rank", range(1, n + 1))]
    missing: list[str] = []
    if batch.ids is not None:
        columns.append(pool_column("id", pa.array(batch.ids[:n].tolist())))
    columns.append(number_column("row", batch.rows[:n].tolist()))
    pictures = _pictures(survey, values, n, image_column, image_shape)
    if pictures is not None:
        columns.append(picture_column("image", pictures.shown))
        missing += pictures.missing
    read = _as_read(batch, values)
    of_the_pool = [
        pool_column(name, each, read.get(name)) for name, each in values.items() if name != image_column
    ]
    to_read = [column for column in of_the_pool if column.long][:_N_READ]
    others = [column for column in of_the_pool if column not in to_read]
    n_others = N_COLUMNS - len(to_read)
    columns += [
        *to_read,
        text_column("predicted", batch.predicted[:n].tolist()),
        number_column("score", batch.scores[:n].tolist()),
        sentence_column("reason", _reasons(batch, survey, n)),
    ]
    if near_copies is not None and near_copies.pairs:
        columns.append(_twins(batch, near_copies, n))
    columns += [
        replace(column, shown=place < N_SHOWN - len(to_read))
        for place, column in enumerate(others[:n_others])
    ]
    if len(others) > n_others:
        missing.append(f"Not shown are the columns {listing([each.name for each in others[n_others:]])}.")
    if n < len(batch):
        missing.append(
            f"These are the first {n:,} of {len(batch):,} picks; the batch's file has all of them."
        )
    cut, said = cut_texts(columns)
    return RowTable(cut, list(_choices(batch, n)), [*missing, *([said] if said else [])])


def _choices(batch: Batch, n: int) -> Iterator[Choice]:
    """Yield the ways to choose among the first n picks: by predicted class and by pair, where there are several."""
    predicted = [str(name) for name in batch.predicted[:n].tolist()]
    pairs = [tuple(sorted(map(str, pair))) for pair in batch.top_classes[:n].tolist()]
    for name, label, of_rows in (
        ("predicted", "Predicted", predicted),
        ("pair", "Torn between", [" / ".join(pair) for pair in pairs]),
    ):
        counts = Counter(of_rows)
        groups = sorted(counts, key=lambda group: (-counts[group], group))
        if len(groups) > 1:
            places = {group: code for code, group in enumerate(groups)}
            yield Choice(name, label, groups, [places[group] for group in of_rows])


def _twins(batch: Batch, near_copies: NearCopies, n: int) -> TableColumn:
    """Return a column that names the near-copy of each pick, by its id or row."""
    twins = near_copies.twin_of
    names = batch.rows if batch.ids is None else batch.ids
    return text_column("near-copy of", [names[twins[rank]] if rank in twins else None for rank in range(n)])


def _pool_values(batch: Batch, survey: Survey | None, n: int) -> dict[str, Any]:
    """Return the values of the pool's columns that are known of the first n picks."""
    values: dict[str, Any] = {}
    if survey is not None and "text" in survey.picks.notes:
        values["text"] = pa.array([str(text) for text in survey.picks.notes["text"][:n]])
    if batch.kept is not None:
        values |= {name: batch.kept[name].slice(0, n) for name in batch.kept.column_names}
    if survey is not None and survey.picks.columns is not None:
        frame = survey.picks.columns
        values |= {
            name: to_column(frame[name][:n], whole=False) for name in survey.shown if name not in values
        }
    return values


def _as_read(batch: Batch, values: Mapping[str, Any]) -> dict[str, pa.ChunkedArray]:
    """Return the values of columns as they were read: numbers and dates may be texts in a pool.

    Features are what the learner was given. Other columns were not read; where marks were declared, they hold for
    these, too.
    """
    columns = () if batch.origin is None else batch.origin.scan.models.intake.columns or ()
    read = {
        column.name: as_read(column, values[column.name])
        for column in columns
        if column.conversion is not None and column.name in values
    }
    reading = Reading(**batch.manifest.get("reading", {}))
    others = [name for name in values if name not in read and reading.declared(name) in {None, "drop"}]
    for name in others if reading.marks != Marks() else []:
        texts = (
            values[name] if isinstance(values[name], pa.ChunkedArray) else pa.chunked_array([values[name]])
        )
        conversion = reading.conversion(name, texts) if is_text(texts.type) else None
        if conversion is not None and conversion.to in {"number", "date"}:
            read[name] = conversion(texts, str)  # all of them fit, or it would be another
    return read


def _pictures(
    survey: Survey | None,
    values: dict[str, Any],
    n: int,
    image_column: str | None,
    image_shape: Sequence[int] | None,
) -> Pictures | None:
    if image_column is not None:
        if image_column not in values:
            raise InputError(
                f"Column {image_column!r} is not in the batch, and its pool cannot be read again. "
                f"Select with keep=[{image_column!r}]."
            )
        return thumbnails(values[image_column].to_pylist(), image_column)
    if image_shape is None:
        return None
    if survey is None or survey.picks.vectors is None:
        return Pictures([None] * n, ["There are no pictures: the picked rows are not at hand as numbers."])
    vectors: Any = survey.picks.vectors[:n]
    dense = np.asarray(vectors.toarray() if isinstance(vectors, sparse.csr_array) else vectors)
    return rows_as_pictures(dense, check_shape(image_shape, dense.shape[1]))


def _reasons(batch: Batch, survey: Survey | None, n: int) -> list[str]:
    if survey is None:
        return reasons_of(batch[:n])
    notes = survey.picks.notes
    scores = zip(notes["first_score"][:n].tolist(), notes["second_score"][:n].tolist(), strict=True)
    return reasons_of(batch[:n], list(scores))

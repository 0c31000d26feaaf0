"""How a campaign begins: everything is checked, then its folder is filled, with the settings last.

A folder without settings is no campaign, so a beginning that is cut off leaves nothing that could be taken for one.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from minmargin.campaign.folder import CampaignFolder
from minmargin.campaign.measuring import training_of
from minmargin.campaign.settings import FILE, GIVEN, Settings, portable
from minmargin.campaign.tables import ids_as_given, read_ids, read_rows, with_labels, with_others, write_table
from minmargin.campaign.values import ARROW_TYPES, Kind, from_text, kind_of, to_text
from minmargin.committee.training import Training
from minmargin.data.reading import Reading
from minmargin.data.schema import missing_column
from minmargin.errors import InputError, listing, warn
from minmargin.files import LOCK, locked_folder, make_folder
from minmargin.inspection import Inspection, Table, look_at
from minmargin.labels import is_no_label, left_out
from minmargin.learners.reference import is_in_current_folder, is_reference
from minmargin.partly_labeled import find_labeled
from minmargin.pools import (
    MatchedPool,
    Pool,
    check_batch_size,
    is_path,
    match_pool,
    open_pool,
)
from minmargin.pools.opening import OneTable
from minmargin.pools.uris import is_uri
from minmargin.strategies import check_strategy, distinct_rows, resolve_strategy


@dataclass(frozen=True)
class Beginning:
    """What a campaign begins with, checked: its settings, its first labeled rows and classes, held-out rows if any."""

    settings: Settings
    initial: pa.Table
    held_out: pa.Table | None
    classes: tuple[str, ...]

    def write(self, path: Path) -> None:
        """Fill a folder, which must be new or empty."""
        refuse_used(path)
        folder = CampaignFolder(path, self.settings)
        with locked_folder(path, "Campaign"):
            make_folder(folder.batches)
            write_table(folder.initial_path, self.initial)
            if self.held_out is not None:
                write_table(folder.held_out_path, self.held_out)
            folder.journal.begin(self.classes, self.settings)
            self.settings.write(path)


def refuse_used(folder: Path) -> None:
    """Raise an error if a folder holds a campaign, or anything that a campaign might overwrite."""
    if (folder / FILE).exists():
        raise InputError(
            f"There is a campaign in {str(folder)!r} already. Go on with it, or use another folder; to begin anew, "
            "remove this one, with all that was picked and labeled in it."
        )
    # The lock is the first thing that a beginning makes: with it there, what else is there was left by one.
    if folder.exists() and not (folder / LOCK).exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{str(folder)!r} is not an empty folder. Use a new one.")


def folder_of_learner(learner: str | None, folder: Path) -> str | None:
    """Return the folder of a learner's module, as settings keep it; None if the learner is no module of this folder."""
    return portable(".", folder) if is_reference(learner) and is_in_current_folder(learner) else None


def whether_distinct(distinct: bool | None, strategy: str, options: dict[str, Any] | None) -> bool:
    """Return whether rounds pass over copies: what was asked for, or what is usual for the strategy."""
    return distinct_rows(distinct, resolve_strategy(strategy_name(strategy), **(options or {})))


class LabeledRows(NamedTuple):
    """Labeled rows with all their columns, where they came from, and what is said of a table that has the pool, too."""

    rows: pa.Table
    source: Any
    one_table: OneTable | None = None

    @classmethod
    def read(cls, source: Any, what: str, reading: Reading, label_column: str | None) -> LabeledRows | None:
        """Return the rows of a frame or of files; None if there is nothing to read."""
        return None if source is None else cls(read_rows(source, what, reading, label_column), source)


def nothing_to_train_on() -> InputError:
    """Return the error for a campaign that has no labeled rows, and would train models on them."""
    return InputError(
        "A campaign that trains models begins with labeled rows. Give labeled= and label_column=, or use "
        "learner='given' to pick by probabilities of models elsewhere."
    )


def labeled_part(
    rows: pa.Table | None,
    source: Any,
    label_column: str | None,
    id_column: str | None,
    classes: Sequence[Any],
) -> LabeledRows:
    """Return the rows of one table that have labels; the others are the pool, in the files that the table came from.

    Rows with labels are in these files, too. They are known by their ids, and never picked.
    """
    if rows is None or label_column is None or not is_path(source):
        raise InputError(
            "With pool=None, the pool is the labeled files' rows without a label. Give labeled= and label_column=, the "
            "first of them as a path to files."
        )
    if id_column is None:
        raise InputError(
            "With pool=None, rows with labels and without are in the same files, and known by their ids. Name the "
            "column that holds these with id_column."
        )
    for name in (label_column, id_column):
        if name not in rows.column_names:
            raise missing_column(name, rows.column_names, "the labeled set")
    places, labels, mark = find_labeled(rows[label_column].to_pylist(), list(classes))
    part = _part_of(rows, source, id_column, places).rows
    part = part.set_column(part.column_names.index(label_column), label_column, pa.array(labels))
    return LabeledRows(part, None, OneTable(len(places), mark, n_asked=0, n_rows=rows.num_rows))


def without_unlabeled(
    first: LabeledRows, label_column: str, id_column: str | None, classes: Sequence[Any]
) -> LabeledRows:
    """Return the labeled rows without those whose label is empty, with a warning, where there is a pool besides."""
    rows = first.rows
    labels = rows[label_column].to_pylist() if label_column in rows.column_names else []
    places = np.flatnonzero([not is_no_label(label) or label in classes for label in labels])
    if len(places) in {0, len(labels)}:
        return first
    warn(left_out(sorted({*range(len(labels))}.difference(places.tolist())), len(labels), label_column))
    return _part_of(rows, first.source, id_column, places)


def _part_of(rows: pa.Table, source: Any, id_column: str | None, places: NDArray[np.intp]) -> LabeledRows:
    """Return some rows of a table, with their ids as they stand in its files."""
    part = rows.take(pa.array(places))
    if id_column is not None and id_column in rows.column_names:
        ids = ids_as_given(rows, source, id_column)
        values = pa.array([ids[place] for place in places.tolist()])
        part = part.set_column(part.column_names.index(id_column), id_column, values)
    return LabeledRows(part, None)


def checked_beginning(
    settings: Settings,
    folder: Path,
    labeled: LabeledRows,
    *,
    held_out: LabeledRows | None,
    classes: Sequence[Any],
    learner: Any,
    inspected: Callable[[Inspection], None] | None,
) -> Beginning:
    """Return what a campaign begins with, or say what is wrong with it.

    Args:
        settings: what was asked for, as far as the data does not tell it.
        folder: where the campaign will be.
        labeled: the first labeled rows.
        held_out: rows to measure accuracy on.
        classes: classes that may come up besides those of the labeled and the held-out rows.
        learner: to be trained on them.
        inspected: called with what was read of both tables.
    """
    first = with_labels(labeled.rows, settings.label_column, settings.feature_names, "the labeled set")
    training = training_of(first, settings, learner)
    known = training.labeled
    _refuse_pool_around(settings.pool_of(folder), folder)
    pool = check_rounds(settings, folder, training)
    label_kind = kind_of(known.classes.tolist())
    assert label_kind is not None, "with_labels has checked it"
    settings = replace(
        settings,
        id_kind=_id_kind(pool.pool, settings.id_column),
        label_kind=label_kind,
        held_out=held_out is not None,
    )
    initial = _with_ids(first, labeled, settings)
    table = Table.of(known, training.intake, ids=_ids_of(initial, settings.id_column))
    inspection = look_at(
        # Models learn from some columns. Those of the file that are no features are told of, too.
        table if known.left_out is not None else table._replace(rows=with_others(known.rows, labeled.rows)),
        pool._replace(one_table=labeled.one_table),
        settings.read_as,
        id_column=settings.id_column,
    )
    if inspected is not None:
        inspected(inspection)
    inspection.warn()
    others, met = None, known.classes.tolist()
    if held_out is not None:
        rows = with_labels(held_out.rows, settings.label_column, settings.feature_names, "the held-out set")
        if not len(rows):
            raise InputError(
                "The held-out set has no rows. Give labeled rows to measure on, or leave it out."
            )
        match_pool(rows, training.intake, features=settings.features)
        labels = rows[settings.label_column].to_pylist()
        _check_kind(labels, "The held-out set", label_kind)
        met += labels
        others = _with_ids(rows, held_out, settings)
    _check_kind(classes, "classes", label_kind)
    names = [*_sorted_texts(met, label_kind), *(str(to_text(each, label_kind)) for each in classes)]
    return Beginning(settings, initial, others, tuple(dict.fromkeys(names)))


def check_rounds(settings: Settings, folder: Path, training: Training) -> MatchedPool:
    """Return the pool, or say why rounds cannot be picked from it in the way that the settings say."""
    strategy = resolve_strategy(settings.strategy, **settings.strategy_options)
    check_strategy(
        strategy, settings.n_models, training.learner.name, probabilistic=training.learner.probabilistic
    )
    pool = match_pool(
        settings.pool_of(folder),
        training.intake,
        features=settings.features,
        id_column=settings.id_column,
        keep=settings.kept,
    )
    _check_sizes(settings, pool)
    return pool


def check_given_rounds(settings: Settings, folder: Path) -> Pool:
    """Return the pool, or say why rounds cannot be picked from it; nothing is known of the models."""
    pool = open_pool(settings.pool_of(folder))
    for name in settings.kept:
        if name not in pool.schema.names:
            raise missing_column(name, pool.schema.names, "the pool")
    _check_sizes(settings, MatchedPool(pool, None, (), None))
    return pool


def _check_sizes(settings: Settings, pool: MatchedPool) -> None:
    strategy = resolve_strategy(settings.strategy, **settings.strategy_options)
    strategy.shortlists(settings.batch_size)  # says now if the strategy's own settings do not fit the batch
    check_batch_size(settings.batch_size, pool)
    n_rows = pool.pool.n_rows
    if n_rows is not None and settings.batch_size + settings.audit > n_rows:
        raise InputError(
            f"batch_size={settings.batch_size} and audit={settings.audit} are more than the pool has ({n_rows:,} rows "
            f"in {pool.pool.name}). Use audit<={n_rows - settings.batch_size}."
        )


def strategy_name(strategy: Any) -> str:
    """Return the name of a strategy, or say that only names can be kept."""
    if not isinstance(strategy, str):
        raise InputError(
            f"strategy is a {type(strategy).__name__}, and a campaign keeps strategies by name. Use a name from "
            "mm.strategies(), with strategy_options; register_strategy gives a name to one of your own."
        )
    return strategy


def refuse_training(**asked: tuple[Any, Any]) -> None:
    """Raise an error if something was asked for that only training uses: each has its value, and its usual one."""
    for name, (value, usual) in asked.items():
        if value is not usual and (usual is None or value != usual):
            raise InputError(
                f"{name} is of no use with learner={GIVEN!r}, which trains nothing. Leave it out."
            )


def checked_given_beginning(
    settings: Settings, folder: Path, labeled: LabeledRows | None, classes: Sequence[Any]
) -> Beginning:
    """Return what a campaign begins with whose probabilities are given, or say what is wrong with it.

    Args:
        settings: what was asked for, as far as the data does not tell it.
        folder: where the campaign will be.
        labeled: rows that are labeled already, if there are any.
        classes: all that may be given, in the order in which models tell of them.
    """
    if settings.id_column is None:
        raise InputError(
            f"With learner={GIVEN!r} the pool's rows are known by an id. Name the column that holds it with id_column."
        )
    if len(classes) < 2 or len(set(classes)) < len(classes):
        raise InputError(
            f"classes has {listing(classes) or 'no class'}, and with learner={GIVEN!r} it names all that may be given. "
            "Name at least two, each once, in the order of the probabilities."
        )
    _refuse_pool_around(settings.pool_of(folder), folder)
    id_kind = _id_kind(check_given_rounds(settings, folder), settings.id_column)
    if labeled is None:
        kind = kind_of(classes)
        if kind is None:
            raise InputError(
                f"classes are {listing(classes)}. Make them all texts, all numbers or all booleans."
            )
        settings = replace(settings, id_kind=id_kind, label_kind=kind)
        nothing = pa.table({settings.label_column: pa.array([], ARROW_TYPES[kind])})
        return Beginning(settings, nothing, None, tuple(str(to_text(each, kind)) for each in classes))
    columns = [name for name in settings.labeled_columns if name in labeled.rows.column_names]
    first = with_labels(labeled.rows, settings.label_column, columns, "the labeled set")
    labels = first[settings.label_column].to_pylist()
    settings = replace(settings, id_kind=id_kind, label_kind=kind_of(labels) or "text")
    _check_kind(classes, "classes", settings.label_kind)
    names = tuple(str(to_text(each, settings.label_kind)) for each in classes)
    strange = [each for each in labels if to_text(each, settings.label_kind) not in names]
    if strange:
        raise InputError(
            f"The labeled set has label {strange[0]!r}, which is not among classes ({listing(names)}). Add it there."
        )
    return Beginning(settings, _with_ids(first, labeled, settings), None, names)


def _sorted_texts(labels: Sequence[Any], kind: Kind) -> list[str]:
    """Return the classes of labels as texts, in the order of the values that they stand for."""
    return sorted({str(to_text(each, kind)) for each in labels}, key=lambda text: from_text(text, kind))


def _with_ids(rows: pa.Table, labeled: LabeledRows, settings: Settings) -> pa.Table:
    """Return rows with the ids they were given with, if any: they must not be picked."""
    name = settings.id_column
    if name is None or name not in labeled.rows.column_names:
        return rows
    return rows.append_column(name, read_ids(labeled.rows, labeled.source, name, settings.id_kind))


def _ids_of(initial: pa.Table, id_column: str | None) -> Callable[[], pa.ChunkedArray] | None:
    return (lambda: initial[id_column]) if id_column in initial.column_names else None


def _refuse_pool_around(pool: Sequence[str | Path], folder: Path) -> None:
    """Raise an error if the batches of a campaign in this folder would be read as files of its pool."""
    batch = folder.resolve() / "batches" / "round-001.parquet"
    for source in pool:
        if not is_uri(source) and any(_fits(place, Path(source)) for place in (batch, *batch.parents)):
            raise InputError(
                f"The campaign's folder {str(folder)!r} lies among the pool's files ({str(source)!r}). "
                "Use another folder."
            )


def _fits(path: Path, pattern: Path) -> bool:
    """Return whether a path is one that a glob gives."""
    if "**" in pattern.parts:
        return fnmatch.fnmatch(str(path), str(pattern))
    return len(path.parts) == len(pattern.parts) and all(map(fnmatch.fnmatch, path.parts, pattern.parts))


def _id_kind(pool: Pool, id_column: str | None) -> Kind:
    """Return what the ids of a pool are; those of CSV files are texts, since 007 is not 7."""
    if id_column is None:
        return "integer"
    column = pool.schema.find(id_column)
    if column is None:
        raise missing_column(id_column, pool.schema.names, "the pool")
    if column.kind == "text" or not pool.schema.parsed:
        return "text"
    if column.type_name.startswith(("Int", "UInt")):
        return "integer"
    raise InputError(
        f"Id column {id_column!r} is {column.type_name}. Use one of texts or whole numbers, which can be told apart."
    )


def _check_kind(labels: Sequence[Any], what: str, kind: Kind) -> None:
    wrong = [label for label in labels if to_text(label, kind) is None]
    if wrong:
        raise InputError(
            f"{what} has label {wrong[0]!r}, and the labels of the labeled set are of kind {kind}. Make them alike."
        )

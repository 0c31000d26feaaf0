"""Pools opened: whatever names or holds rows, and its columns matched to what a learner takes, before any training."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import narwhals as nw
import numpy as np
import pyarrow as pa
from scipy import sparse

from minmargin.checks import check_count, check_names, rows_in_share
from minmargin.data.containers import (
    is_arrow_dataset,
    is_hub_dataset,
    is_hub_stream,
    stream_tables,
    unwrap,
    with_index,
)
from minmargin.data.intake import Intake
from minmargin.data.objects import check_one_type_each
from minmargin.data.rows import count_rows
from minmargin.data.schema import Kind, as_rows, missing_column
from minmargin.errors import InputError, TooFewDistinctError, listing, warn
from minmargin.execution import CHUNK_SIZE
from minmargin.pools.base import Pool
from minmargin.pools.exclusion import Exclusion, Named
from minmargin.pools.files import DatasetPool, FilePool
from minmargin.pools.formats import FORMATS, suffix_of
from minmargin.pools.hub import HubPool
from minmargin.pools.memory import MemoryPool
from minmargin.pools.stores import ARROW_SCHEMES
from minmargin.pools.stream import StreamPool
from minmargin.pools.texts import refuse_texts
from minmargin.pools.uris import is_uri, scheme_of, shown

#: How types begin that have several values a row.
_NESTED = ("Struct", "List", "Array", "dict")


def open_pool(source: Any) -> Pool:
    """Return the pool that `source` names or holds, opened but not read."""
    if hasattr(type(source), "chunks") and hasattr(type(source), "describe"):
        pool: Pool = source
        return pool
    if is_path(source):
        return FilePool(source)
    source = unwrap(source, "The pool")
    if is_hub_dataset(source):
        return HubPool(source)
    if is_arrow_dataset(source):
        return DatasetPool(source)
    if is_hub_stream(source):
        source = stream_tables(source)
    return StreamPool(source) if _is_stream(source) else MemoryPool(as_rows(source, "The pool"))


def is_path(source: Any) -> bool:
    """Return whether `source` names files: a string, a path, a URI, or a list of these.

    A list of strings may be texts instead; it names files if all its entries end like files that
    can be read, or are URIs of object storage.
    """
    if isinstance(source, (str, Path)):
        return True
    if not isinstance(source, (list, tuple)) or not source:
        return False
    return all(isinstance(each, Path) or (isinstance(each, str) and _names_files(each)) for each in source)


def _names_files(text: str) -> bool:
    return suffix_of(shown(text)) in FORMATS or (is_uri(text) and scheme_of(text) in ARROW_SCHEMES)


def _is_stream(source: Any) -> bool:
    if isinstance(source, (np.ndarray, str, Mapping)) or sparse.issparse(source):
        return False
    if isinstance(source, (list, tuple)):  # a list of chunks, not a list of rows
        return bool(source) and _is_chunk(source[0])
    if nw.dependencies.is_into_dataframe(source) or nw.dependencies.is_into_series(source):
        return False
    return isinstance(source, Iterable) and not hasattr(source, "__array__")


def _is_chunk(item: Any) -> bool:
    array_of_rows = getattr(item, "ndim", 1) >= 2
    return array_of_rows or isinstance(item, pa.RecordBatch) or nw.dependencies.is_into_dataframe(item)


class OneTable(NamedTuple):
    """What is said of a pool whose table has the labeled rows, too, which are excluded.

    Attributes:
        n_labeled: how many there are.
        mark: what stands for no label, in words.
        n_asked: how many ids or row numbers the caller excluded besides.
        n_rows: how many rows the table has.
    """

    n_labeled: int
    mark: str
    n_asked: int
    n_rows: int


class MatchedPool(NamedTuple):
    """An opened pool, which of its columns are read, and which of its rows must not be picked (None: any may)."""

    pool: Pool
    features: tuple[str, ...] | None
    carried: tuple[str, ...]
    kinds: dict[str, Kind | None] | None
    exclusion: Exclusion | None = None
    one_table: OneTable | None = None
    #: How many ids of labeled rows are excluded, and how many ids the caller excluded besides; None: none are.
    labeled_ids: tuple[int, int] | None = None

    @property
    def n_left(self) -> int | None:
        """How many rows may be picked, as far as is known before they are read; None: only reading them can tell."""
        if self.pool.n_rows is None or self.exclusion is None:
            return self.pool.n_rows
        return self.pool.n_rows - self.exclusion.n_certain

    def warn_of_absent(self, n_rows: int, *, read_here: bool) -> None:
        """Warn of ids that are to be out and that the pool does not have; reading it found so many rows with one."""
        if self.exclusion is not None:
            self.exclusion.warn_of_absent(n_rows, read_here=read_here)

    def describe_exclusion(self, n_rows: int) -> dict[str, Any] | None:
        """Return what the manifest records of excluded rows, of which reading the pool found so many."""
        if self.one_table is not None:
            n_labeled, mark, n_asked, _ = self.one_table
            return {"asked": n_asked, "rows": n_rows, "labeled": n_labeled, "unlabeled_mark": mark}
        if self.labeled_ids is not None:
            n_labeled, n_asked = self.labeled_ids
            return {"asked": n_asked, "rows": n_rows, "labeled_ids": n_labeled}
        return None if self.exclusion is None else {"asked": len(self.exclusion), "rows": n_rows}


def _match(
    pool: Pool,
    intake: Intake,
    *,
    features: Sequence[str] | None,
    carried: Sequence[str],
) -> MatchedPool:
    """Return the pool with its columns matched to the labeled set's, or say what does not match.

    Args:
        pool: an opened pool.
        intake: what the learner takes.
        features: the pool's feature columns, for a labeled set without names.
        carried: further columns whose values go with the picked rows.
    """
    refuse_texts(pool, intake)
    names = intake.match(pool.schema, features=features, reserved=carried)
    if names is None:
        if features is not None and intake.columns is None:
            raise InputError(
                f"features names columns ({listing(features)}), but the labeled set and the pool are arrays."
            )
        if carried:
            raise InputError(
                f"Column {carried[0]!r} was asked for, but the pool is an array without column names."
            )
        return MatchedPool(pool, None, (), None)
    for name in carried:
        if name not in pool.schema.names:
            raise missing_column(name, pool.schema.names, "the pool")
    kinds: dict[str, Kind | None] = dict.fromkeys(carried)
    wanted = intake.columns or tuple(cast("Any", pool.schema.find(name)) for name in names)
    # What is converted is read as it stands.
    kinds.update(
        {
            name: column.kind if column.conversion is None else None
            for name, column in zip(names, wanted, strict=True)
        }
    )
    return MatchedPool(pool, names, tuple(carried), kinds)


def match_pool(
    pool: Any,
    intake: Intake,
    *,
    features: str | Sequence[str] | None = None,
    id_column: str | None = None,
    keep: Sequence[str] = (),
    exclude: Any = None,
) -> MatchedPool:
    """Return the pool, opened, with its columns matched to what the learner takes.

    `exclude` holds values of the id column, or row numbers if there is none.
    """
    names = [features] if isinstance(features, str) else features
    kept = check_names("keep", keep)
    carried = list(dict.fromkeys([*([] if id_column is None else [id_column]), *kept]))
    matched = _match(open_pool(with_index(pool, id_column)), intake, features=names, carried=carried)
    _check_types(matched, intake, id_column)
    return (
        matched if exclude is None else matched._replace(exclusion=exclusion_of(exclude, matched, id_column))
    )


def _check_types(matched: MatchedPool, intake: Intake, id_column: str | None) -> None:
    """Raise an error for ids that are no single values, and for a pool in memory whose columns mix types."""
    found = None if id_column is None else matched.pool.schema.find(id_column)
    if found is not None and (found.kind == "embedding" or found.type_name.startswith(_NESTED)):
        raise InputError(
            f"id_column={id_column!r} names a column of {found.type_name}, and one value a row is needed. Name another "
            "column, or make texts of it."
        )
    if isinstance(matched.pool, MemoryPool) and matched.pool.frame is not None:
        read = matched.features or () if intake.form in {"matrix", "table"} else ()
        names = dict.fromkeys([*read, *([] if id_column is None else [id_column])])
        check_one_type_each(matched.pool.frame, names, "the pool")


def exclusion_of(exclude: Any, matched: MatchedPool, id_column: str | None) -> Exclusion:
    """Return which rows of a pool are out, by values of its id column, or by row numbers if there is none."""
    named = exclude if isinstance(exclude, Named) else Named(exclude)
    schema, n_rows = matched.pool.schema, matched.pool.n_rows
    column = None if id_column is None or named.by_row else schema.find(id_column)
    if column is None:
        _warn_of_other_pools(named.n_pool_rows, n_rows)
        exclusion = Exclusion.by_row(named.values, n_rows)
    else:
        read_as = (matched.kinds or {}).get(column.name)
        exclusion = Exclusion.by_id(named.values, column, read_as if schema.parsed else read_as or "text")
    return exclusion if named.expected else exclusion.not_expected()


def _warn_of_other_pools(theirs: Sequence[int], n_rows: int | None) -> None:
    others = [n for n in theirs if n_rows is not None and n != n_rows]
    if others:
        warn(
            f"exclude has a batch from a pool of {others[0]:,} rows, and this one has {n_rows:,}: if rows have moved, "
            "its row numbers are those of others. Pick both with id_column."
        )


def check_batch_size(batch_size: int | str, matched: MatchedPool) -> int:
    """Return a batch size that must be a positive number which the pool can fill, or a share of the pool."""
    n_rows, n_left = matched.pool.n_rows, matched.n_left
    if n_rows == 0:
        raise empty_pool(matched)
    n_labeled = 0 if matched.one_table is None else matched.one_table.n_labeled
    size = resolve_batch_size(batch_size, matched.pool, n_labeled)
    if n_rows is not None and n_left is not None and n_left < size:
        raise too_large(size, n_rows, n_rows - n_left, matched)
    return size


def resolve_batch_size(batch_size: int | str, pool: Pool, n_labeled: int = 0) -> int:
    """Return a batch size as a number of rows; a share, such as "5%", is of all rows but the pool's labeled ones.

    Rows that a pool does not count are counted by reading one column, if they can be read again.
    """
    if not isinstance(batch_size, str):
        return check_count("batch_size", batch_size, least=1)
    rows_in_share("batch_size", batch_size, 10**9)  # says what is wrong with it before anything is counted
    n_rows = pool.n_rows
    if n_rows is None and isinstance(pool, StreamPool):
        raise InputError(
            f"batch_size={batch_size!r} is a share, and how many rows an iterable has is known at its end only. Use a "
            "number of rows."
        )
    if n_rows is None:
        first = pool.schema.names[:1]
        n_rows = sum(map(count_rows, pool.chunks(dict.fromkeys(first), CHUNK_SIZE)))
    return rows_in_share("batch_size", batch_size, n_rows - n_labeled)


def empty_pool(matched: MatchedPool) -> InputError:
    """Return the error for a pool without rows."""
    where = "" if matched.pool.name == "the pool" else f" ({matched.pool.name})"
    return InputError(f"The pool{where} has no rows. Give one with at least as many as are to be picked.")


def too_large(batch_size: int, n_rows: int, n_excluded: int, matched: MatchedPool) -> InputError:
    """Return the error for a batch that the pool, or what is left of it, cannot fill."""
    if n_excluded:
        left = n_rows - n_excluded
        fix = f"Use batch_size<={left}." if left else "There is nothing left to pick."
        return InputError(
            f"batch_size={batch_size} is larger than what is left of the pool ({n_rows:,} rows in "
            f"{matched.pool.name}, {n_excluded:,} of them excluded). {fix}"
        )
    return InputError(
        f"batch_size={batch_size} is larger than the pool ({n_rows:,} rows in {matched.pool.name}). "
        f"Use batch_size<={n_rows}."
    )


def too_few_distinct(
    batch_size: int, n_distinct: int, n_rows: int, n_excluded: int, matched: MatchedPool, *, always: bool
) -> TooFewDistinctError:
    """Return the error for a batch that the distinct rows of a pool, or of what is left of it, cannot fill.

    `always` says that the strategy takes no others.
    """
    fix = f"Use batch_size<={n_distinct}" + ("." if always else ", or distinct=False.")
    left = f", {n_excluded:,} of them excluded" if n_excluded else ""
    return TooFewDistinctError(
        f"batch_size={batch_size} is larger than the number of distinct rows ({n_distinct:,} among {n_rows:,} rows in "
        f"{matched.pool.name}{left}). {fix}",
        n_distinct,
    )

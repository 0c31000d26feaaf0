"""What `exclude` names: batches, files of batches, or ids and row numbers, as what the pool is to do without."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc

from minmargin.batch.batch import Batch
from minmargin.batch.formulas import as_written
from minmargin.data.rows import Frame
from minmargin.errors import InputError, listing
from minmargin.fields import parse_json
from minmargin.pools import open_pool
from minmargin.pools.exclusion import Named


def resolve_excluded(exclude: Any, id_column: str | None) -> Any:
    """Return the ids or row numbers of what a caller excludes, as `match_pool` takes them.

    A batch, a path to files, or a list of batches and `Path` objects are looked into; texts in a list are ids. A batch
    names its rows by ids where it has them and the pool has an id column, and otherwise by their numbers.
    """
    if isinstance(exclude, str):
        return read_excluded([exclude], id_column)
    given = [exclude] if isinstance(exclude, (Batch, Path)) else exclude
    if not (isinstance(given, (list, tuple)) and any(isinstance(each, (Batch, Path)) for each in given)):
        return exclude
    for each in given:
        if not isinstance(each, (Batch, Path)):
            raise InputError(
                f"exclude has {each!r} beside batches or files. Give batches and Path objects, or ids, and not both."
            )
    numbered = [isinstance(each, Batch) and each.ids is None for each in given]
    if id_column is not None and any(numbered):
        if not all(numbered):
            raise InputError(
                "exclude has batches with ids and without. Pick all of them with id_column, or give rows by their "
                "numbers."
            )
        id_column = None
    n_pool_rows = [each.manifest["pool"]["rows"] for each in given if isinstance(each, Batch)]
    values = [part for each in given for part in _values_of(each, id_column)]
    return _named(values, id_column)._replace(n_pool_rows=tuple(n_pool_rows))


def read_excluded(paths: Sequence[str], id_column: str | None) -> Named | None:
    """Return the ids that files hold, or the row numbers if the pool has no id column; None for no files.

    A file has the pool's id column, or is a batch, whose columns are `id` and `row`.
    """
    if not paths:
        return None
    return _named([part for path in paths for part in _read(path, id_column)], id_column)


def _values_of(each: Batch | Path, id_column: str | None) -> list[pa.Array]:
    if not isinstance(each, Batch):
        return _read(str(each), id_column)
    return [_plain(pa.array(each.rows if id_column is None else each.ids))]


def _named(parts: list[pa.Array], id_column: str | None) -> Named:
    kinds = sorted({str(part.type) for part in parts})
    if len(kinds) > 1:  # such as texts in a CSV file and numbers in a Parquet file
        try:
            parts = [part.cast(pa.int64()) for part in parts]
        except pa.ArrowException:
            raise InputError(
                f"exclude names ids of several types ({listing(kinds)}). Give those of one type."
            ) from None
    values = pa.concat_arrays(parts) if parts else pa.array([], pa.int64())
    # Of ids with an apostrophe and without, the pool has one.
    doubtful = pa.types.is_string(values.type) and len(_without_apostrophe(values))
    return Named(values, by_row=id_column is None, expected=not doubtful)


def _read(path: str, id_column: str | None) -> list[pa.Array]:
    if path.endswith((".jsonl", ".ndjson")):
        return _check_ids(_read_json_lines(path, id_column), path)
    pool = open_pool(path)
    name = _column(pool.schema.names, path, id_column)
    frames = cast("Iterable[Frame]", pool.chunks({name: None}, 1 << 20))
    parts = _check_ids([_plain(frame[name].to_arrow()) for frame in frames], path)
    return parts if pool.schema.parsed else [*parts, *map(_without_apostrophe, parts)]


def _check_ids(parts: list[pa.Array], path: str) -> list[pa.Array]:
    """Return ids as they are, or say that lists and objects are none."""
    for part in parts:
        if pa.types.is_nested(part.type):
            raise InputError(f"{path!r} of exclude has {part.type} as ids. Give texts or numbers.")
    return parts


def _column(names: Sequence[str], path: str, id_column: str | None) -> str:
    wanted = ["row"] if id_column is None else [id_column, "id"]
    for name in wanted:
        if name in names:
            return name
    fix = "Name the pool's own with id_column." if id_column is None else "Give a batch, or a file with ids."
    raise InputError(
        f"{path!r} of exclude has no column {' or '.join(map(repr, dict.fromkeys(wanted)))} "
        f"(columns: {listing(names, most=20)}). {fix}"
    )


def _plain(ids: pa.Array) -> pa.Array:
    """Return ids in one of few types: texts may be kept in several ways."""
    kind = ids.type.value_type if pa.types.is_dictionary(ids.type) else ids.type
    return ids.cast(pa.string() if pa.types.is_large_string(kind) or pa.types.is_string_view(kind) else kind)


def _without_apostrophe(texts: pa.Array) -> pa.Array:
    """Return the ids that a batch in a CSV file has behind an apostrophe."""
    marked = texts.filter(pc.starts_with(texts, "'")).to_pylist()
    return pa.array([as_written(text) for text in marked if as_written(text) != text], pa.string())


def _read_json_lines(path: str, id_column: str | None) -> list[pa.Array]:
    """Return the ids of a file of JSON objects, one a line."""
    try:  # not by Arrow's own reader, which crashes on a line that is no object
        with Path(path).open(encoding="utf-8") as file:
            records = [parse_json(line) for line in file if line.strip()]
        if not all(isinstance(each, dict) for each in records):
            raise ValueError("a line is no JSON object")  # noqa: TRY301 - told like what else is wrong with it
        names = list(dict.fromkeys(name for record in records for name in record))
        if not records:  # a batch without rows, which in this format has no columns
            return []
        column = _column(names, path, id_column)
        return [_plain(_as_array([record.get(column) for record in records]))]
    except FileNotFoundError:
        raise InputError(f"There is no file or folder {path!r}.") from None
    except InputError:
        raise
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise InputError(
            f"{path!r} cannot be read as JSON lines ({reason}). Mend or leave out the file."
        ) from error


def _as_array(ids: list[Any]) -> pa.Array:
    try:
        return pa.array(ids)
    except OverflowError:  # whole numbers from 2^63 on
        return pa.array(ids, pa.uint64())

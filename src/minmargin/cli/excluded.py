"""What `--exclude` reads: the ids, or row numbers, of rows that must not be picked, from files of any kind."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import cast

import pyarrow as pa
import pyarrow.compute as pc

from minmargin.data.rows import Frame
from minmargin.errors import InputError, listing
from minmargin.pools import open_pool

_APOSTROPHE = r"^'[=+\-@\t\r\n]"  # before what a spreadsheet would run: Batch.to_csv puts it there


def read_excluded(paths: Sequence[str], id_column: str | None) -> pa.Array | None:
    """Return the ids that files hold, or the row numbers if the pool has no id column; None for no files.

    A file has the pool's id column, or is a batch, whose columns are `id` and `row`.
    """
    if not paths:
        return None
    parts = [part for path in paths for part in _read(path, id_column)]
    kinds = sorted({str(part.type) for part in parts})
    if len(kinds) > 1:  # such as texts in a CSV file and numbers in a Parquet file
        try:
            parts = [part.cast(pa.int64()) for part in parts]
        except pa.ArrowException:
            raise InputError(
                f"The files of --exclude hold ids of several types ({listing(kinds)}). Give files with one type."
            ) from None
    return pa.concat_arrays(parts) if parts else pa.array([], pa.int64())


def refuse_to_replace(out: Path, paths: Sequence[str]) -> None:
    """Raise an error if the batch would replace one of these files; a new file beside them is as it should be."""
    target = out.resolve()
    for path in paths:
        given = Path(path).resolve()
        if out.exists() and (fnmatch.fnmatch(str(target), str(given)) or target.is_relative_to(given)):
            raise InputError(
                f"--out {out} would replace a file of --exclude {path}. Write the batch elsewhere."
            )


def _read(path: str, id_column: str | None) -> list[pa.Array]:
    if path.endswith((".jsonl", ".ndjson")):
        table = _json_lines(path)
        return list(table[_column(table.column_names, path, id_column)].chunks)
    pool = open_pool(path)
    name = _column(pool.schema.names, path, id_column)
    frames = cast("Iterable[Frame]", pool.chunks({name: None}, 1 << 20))
    parts = [_plain(frame[name].to_arrow()) for frame in frames]
    return parts if pool.schema.parsed else [*parts, *map(_without_apostrophe, parts)]


def _column(names: Sequence[str], path: str, id_column: str | None) -> str:
    wanted = ["row"] if id_column is None else [id_column, "id"]
    for name in wanted:
        if name in names:
            return name
    fix = (
        "Name the pool's own with --id-column." if id_column is None else "Give a batch, or a file with ids."
    )
    raise InputError(
        f"{path!r} of --exclude has no column {' or '.join(map(repr, dict.fromkeys(wanted)))} "
        f"(columns: {listing(names, most=20)}). {fix}"
    )


def _plain(ids: pa.Array) -> pa.Array:
    """Return ids in one of few types: texts may be kept in several ways."""
    kind = ids.type.value_type if pa.types.is_dictionary(ids.type) else ids.type
    return ids.cast(pa.string() if pa.types.is_large_string(kind) or pa.types.is_string_view(kind) else kind)


def _without_apostrophe(texts: pa.Array) -> pa.Array:
    """Return the ids that a batch in a CSV file has behind an apostrophe."""
    return pc.utf8_slice_codeunits(texts.filter(pc.match_substring_regex(texts, _APOSTROPHE)), start=1)


def _json_lines(path: str) -> pa.Table:
    from pyarrow import json  # noqa: PLC0415 - one kind of file of many

    try:
        return json.read_json(path)
    except FileNotFoundError:
        raise InputError(f"There is no file or folder {path!r}.") from None
    except (pa.ArrowException, OSError) as error:
        reason = str(error).partition("\n")[0].rstrip(".")
        raise InputError(
            f"{path!r} cannot be read as JSON lines ({reason}). Mend or leave out the file."
        ) from error

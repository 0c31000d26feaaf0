"""Results on disk: a part for each task as soon as it is played, and all parts of a way joined in one file.

Every Parquet file of a study's folder counts, whatever its name, so parts from several machines may be put together.
What two of them have in common counts once.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import IO, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from minmargin.compare.sealed import read_sealed, write_sealed
from minmargin.errors import InputError
from minmargin.experiments.study.cells import SCHEMA, Task
from minmargin.experiments.study.metrics import METRICS
from minmargin.files import make_folder, write_whole

#: A way, a problem, a number of labeled rows and a draw.
Place: TypeAlias = tuple[str, str, int, int]

_PARTS = "parts"
_KEY = ("way", "problem", "n_labeled", "draw", "strategy", "batch_size")


def write_part(folder: Path, task: Task, table: pa.Table) -> Path:
    """Write what a task gave, whole or not at all, and return the file."""
    make_folder(folder / _PARTS)
    played = zlib.crc32(",".join(sorted(task.strategies)).encode())
    draws = f"{task.draws[0]:04d}-{task.draws[-1]:04d}"
    name = f"{task.way}.{task.problem}.{task.n_labeled}.{draws}.{played:08x}.parquet"
    return write_sealed(folder / _PARTS / name, table)


def read_results(folder: Path) -> pa.Table:
    """Return all results in a folder, in the columns of `SCHEMA`, sorted, each once."""
    paths = [*sorted(folder.glob("*.parquet")), *sorted((folder / _PARTS).glob("*.parquet"))]
    tables = [_read(path) for path in paths] or [SCHEMA.empty_table()]
    table = pa.concat_tables(tables).unify_dictionaries().combine_chunks()
    order = np.lexsort([_codes(table, name) for name in reversed(_KEY)])
    keys = np.column_stack([_codes(table, name)[order] for name in _KEY])
    first = np.ones(len(keys), dtype=bool)
    first[1:] = (keys[1:] != keys[:-1]).any(axis=1)
    return table.take(pa.array(order[first]))


def join_parts(folder: Path) -> list[Path]:
    """Write all results of a folder as one small file for each way, and return the files. Parts stay as they are."""
    table = read_results(folder)
    paths = []
    for way in pc.unique(pc.cast(table["way"], pa.string())).to_pylist():
        of_way = table.filter(pc.equal(pc.cast(table["way"], pa.string()), way))
        paths.append(write_whole(folder / f"{way}.parquet", partial(_write_small, of_way)))
    return paths


def _write_small(table: pa.Table, file: IO[bytes]) -> None:
    floats = [metric.name for metric in METRICS] + ["seconds"]
    pq.write_table(
        table.replace_schema_metadata(None),
        file,
        write_page_checksum=True,
        compression="zstd",
        compression_level=19,
        use_dictionary=[name for name in SCHEMA.names if name not in floats],
        column_encoding=dict.fromkeys(floats, "BYTE_STREAM_SPLIT"),
        store_schema=False,
    )


def strategies_played(table: pa.Table) -> dict[Place, set[str]]:
    """Return which strategies have played each draw."""
    played: dict[Place, set[str]] = {}
    columns = [table[name].to_pylist() for name in ("way", "problem", "n_labeled", "draw", "strategy")]
    for *place, strategy in zip(*columns, strict=True):
        played.setdefault(tuple(place), set()).add(strategy)
    return played


def check_rules(table: pa.Table, rules: Mapping[str, str], folder: Path) -> None:
    """Raise an error if a problem was played by other rules than these."""
    found = set(zip(table["problem"].to_pylist(), table["rules"].to_pylist(), strict=True))
    for problem, by in sorted(found):
        if problem in rules and by != rules[problem]:
            raise InputError(
                f"Problem {problem!r} was played by other rules in {str(folder)!r} ({by}; now: {rules[problem]}). "
                "Use another folder."
            )


def _read(path: Path) -> pa.Table:
    try:
        return read_sealed(path, SCHEMA).replace_schema_metadata(None)
    except ValueError as error:
        raise InputError(
            f"{str(path)!r} is no part of a study ({error}). Take it out of the folder."
        ) from error


def _codes(table: pa.Table, name: str) -> NDArray[np.int64]:
    """Return a column as whole numbers in the order of its values."""
    if not pa.types.is_dictionary(table.schema.field(name).type):
        return np.asarray(table[name].to_numpy(), dtype=np.int64)
    return np.unique(np.array(table[name].to_pylist(), dtype=str), return_inverse=True)[1].astype(np.int64)

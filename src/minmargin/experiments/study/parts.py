"""Results of a study on disk: see `storing`. A part is a task, and a joined file a way of learning."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa

from minmargin.experiments.storing import Parts
from minmargin.experiments.study.cells import SCHEMA, Task

#: A way, a problem, a number of labeled rows and a draw.
Place: TypeAlias = tuple[str, str, int, int]

_PARTS = Parts("a study", SCHEMA, ("way", "problem", "n_labeled", "draw", "strategy", "batch_size"))


def write_part(folder: Path, task: Task, table: pa.Table) -> Path:
    """Write what a task gave, whole or not at all, and return the file."""
    played = zlib.crc32(",".join(sorted(task.strategies)).encode())
    draws = f"{task.draws[0]:04d}-{task.draws[-1]:04d}"
    name = f"{task.way}.{task.problem}.{task.n_labeled}.{draws}.{played:08x}"
    return _PARTS.write(folder, name, table)


def read_results(folder: Path) -> pa.Table:
    """Return all results in a folder, in the columns of `SCHEMA`, sorted, each once."""
    return _PARTS.read(folder)


def join_parts(folder: Path) -> list[Path]:
    """Write all results of a folder as one small file for each way, and return the files. Parts stay as they are."""
    return _PARTS.join(folder)


def strategies_played(table: pa.Table) -> dict[Place, set[str]]:
    """Return which strategies have played each draw."""
    played: dict[Place, set[str]] = {}
    columns = [table[name].to_pylist() for name in ("way", "problem", "n_labeled", "draw", "strategy")]
    for *place, strategy in zip(*columns, strict=True):
        played.setdefault(tuple(place), set()).add(strategy)
    return played

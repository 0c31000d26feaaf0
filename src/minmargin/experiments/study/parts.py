"""Results of a study on disk: see `storing`. A part is a task, and a joined file a way of learning."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa

from minmargin.errors import InputError
from minmargin.experiments.storing import Store
from minmargin.experiments.study.cells import SCHEMA, Task

#: A way, a problem, a number of labeled rows and a draw.
Place: TypeAlias = tuple[str, str, int, int]

_STORE = Store("a study", SCHEMA, ("way", "problem", "n_labeled", "draw", "strategy", "batch_size"))


def write_part(folder: Path, task: Task, table: pa.Table) -> Path:
    """Write what a task gave, whole or not at all, and return the file."""
    played = zlib.crc32(",".join(sorted(task.strategies)).encode())
    draws = f"{task.draws[0]:04d}-{task.draws[-1]:04d}"
    name = f"{task.way}.{task.problem}.{task.n_labeled}.{draws}.{played:08x}"
    return _STORE.write_part(folder, name, table)


def read_results(folder: Path) -> pa.Table:
    """Return all results in a folder, in the columns of `SCHEMA`, sorted, each once."""
    return _STORE.read(folder)


def join_parts(folder: Path) -> list[Path]:
    """Write all results of a folder as one small file for each way, and return the files. Parts stay as they are."""
    return _STORE.join(folder)


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

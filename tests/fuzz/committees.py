"""Saved committees of every kind of files, loaded and asked for a batch."""

from __future__ import annotations

import json
import random
from functools import partial
from pathlib import Path
from typing import Any, get_args

import numpy as np

import minmargin as mm
from committee.storage.conftest import fitted
from committee.storage.tampering import seal
from fuzz.changes import DEEP, change_bytes, change_json, written
from fuzz.target import Change, Target, check_picks
from minmargin.data.conversion import Purpose
from minmargin.data.intake import Form
from minmargin.data.schema import Kind
from minmargin.learners.linear import Link

_BATCH_SIZE, _ROWS = 5, 24
#: Between them they have every kind of file and of description.
_KINDS = (
    "logistic",
    "chosen penalty",
    "sparse rows",
    "networks",
    "imputed",
    "preprocessed",
    "words",
    "bayes",
)
#: What committees say of themselves, to be said in the wrong place.
_WORDS = (
    *(*get_args(Form), *get_args(Kind), *get_args(Link), *get_args(Purpose)),
    *(
        "linear",
        "networks",
        "texts",
        "estimators",
        "modules",
        "dense",
        "sparse",
        "none",
        "no labeled set",
        "auto",
    ),
    *(
        "polars",
        "pandas",
        "pyarrow",
        10**10,
        10**7,
        3,
        5,
        [0, 1],
        [4],
        {"whole": [True] * 4},
        {"names": None, "sized": True},
    ),
)


def _write(kind: str, folder: Path) -> None:
    fitted(kind).committee.save(folder)


def _use(kind: str, folder: Path) -> Any:
    """Return the batch of a saved committee; of one that loads and cannot score rows, what it says of them."""
    _, pool, trusted = fitted(kind)
    committee = mm.load_committee(folder, trusted=trusted)
    few = pool[:_ROWS] if not hasattr(pool, "iloc") else pool.iloc[:_ROWS]
    try:
        batch = committee.select(few, _BATCH_SIZE, n_jobs=1)
    except mm.MinMarginError as error:
        return type(error).__name__
    return batch.rows.tolist(), batch.scores.tolist(), batch.predicted.tolist()


def _check(answer: Any) -> None:
    if isinstance(answer, str):
        return
    rows, scores, _ = answer
    assert len(rows) == _BATCH_SIZE, f"not {_BATCH_SIZE} rows: {rows}"
    check_picks(rows, scores, n_rows=_ROWS)


def _change(folder: Path, rng: random.Random) -> Change:
    way, path = rng.random(), rng.choice(sorted(folder.iterdir()))
    if way < 0.25:
        return Change(change_bytes(path, rng))
    index = folder / "committee.json"
    if way < 0.45 and path != index:
        words = change_bytes(path, rng)
        if path.exists():
            seal(folder)
        return Change(words, signed=True)
    if way < 0.55 and path.suffix == ".npy":
        words = _change_array(path, rng)
        seal(folder)
        return Change(words, signed=True)
    if way < 0.62 and path.suffix == ".json" and path != index:
        content, words = change_json(json.loads(path.read_text()), rng)
        path.write_text(written(json.dumps(content)))
        seal(folder)
        return Change(f"{path.name}: {words}", signed=True)
    done: list[str] = []

    def change(content: dict[str, Any]) -> None:
        part = rng.choice([content, content, content["intake"], content["scorer"], content["vectors"]])
        new, words = change_json(part, rng, _WORDS)
        done.append(words)
        if new is not part:
            content["intake"] = new

    try:
        seal(folder, change)
    except (RecursionError, ValueError):  # what cannot be written
        return Change("nothing")
    if DEEP in index.read_text():
        index.write_text(written(index.read_text()))
    return Change(f"committee.json: {done}", signed=True)


def _change_array(path: Path, rng: random.Random) -> str:
    """Put another array in the place of one: of another shape or type, or with other numbers."""
    array = np.load(path)
    way = rng.choice(
        ["nan", "inf", "huge", "zero", "flat", "more", "less", "turned", "float32", "int", "empty", "texts"]
    )
    if way in {"nan", "inf", "huge", "zero"} and array.size and array.dtype.kind == "f":
        array.reshape(-1)[rng.randrange(array.size)] = {
            "nan": np.nan,
            "inf": np.inf,
            "huge": 1e308,
            "zero": 0,
        }[way]
    changed = {
        "flat": lambda: array.reshape(-1),
        "more": lambda: np.concatenate([array, array]),
        "less": lambda: array[:-1],
        "turned": lambda: array.T,
        "float32": lambda: array.astype(np.float32) if array.dtype.kind in "fiub" else array,
        "int": lambda: np.nan_to_num(array).astype(np.int64) if array.dtype.kind in "fiub" else array,
        "empty": lambda: array[:0],
        "texts": lambda: array.astype(str),
    }.get(way, lambda: array)()
    np.save(path, changed)
    return f"{path.name} {way}"


TARGETS = {
    f"committee-{kind.replace(' ', '-')}": Target(
        f"committees ({kind})", partial(_write, kind), _change, partial(_use, kind), _check
    )
    for kind in _KINDS
}

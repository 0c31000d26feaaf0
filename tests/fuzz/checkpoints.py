"""Checkpoints of selections that were interrupted, taken up again."""

from __future__ import annotations

import hashlib
import json
import random
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import minmargin as mm
from fuzz.changes import change_bytes, change_json, change_table, written
from fuzz.target import Change, Target, check_picks
from minmargin.pools import memory
from minmargin.scan import checkpoint, fragments

_ROWS, _BATCH_SIZE = 40, 10
_STATE = "checkpoint.json"
#: What shortlists keep differs by strategy: keys of distinct rows, vectors, several shortlists.
_STRATEGIES = {
    "min-margin": {"distinct": True},
    "random-margin-mix": {"distinct": False},
    "badge": {"distinct": True},
}


def _small_fragments() -> None:
    fragments._FRAGMENT_ROWS, fragments._TIMES_THE_BATCH, checkpoint._SECONDS = 8, 0, 0.0
    memory._UNIT = 8


def _select(strategy: str, folder: Path, **more: Any) -> mm.Batch:
    _small_fragments()
    rng = np.random.default_rng(0)
    X, pool = rng.normal(size=(20, 3)).round(1), rng.normal(size=(_ROWS, 3)).round(1)
    pool[5] = pool[30]  # a copy, which is passed over
    y = np.arange(20) % 2
    return mm.select(
        *(X, y, pool, _BATCH_SIZE),
        strategy=strategy,
        n_models=2,
        random_state=0,
        n_jobs=1,
        checkpoint=folder,
        **_STRATEGIES[strategy],
        **more,
    )


def _write(strategy: str, folder: Path) -> None:
    def interrupt(stage: str, done: int, _: int | None) -> None:
        if stage == "scanning" and done >= _ROWS // 2:
            raise KeyboardInterrupt

    try:
        _select(strategy, folder, progress=interrupt)
    except KeyboardInterrupt:
        (folder / "lock").unlink()


def _use(strategy: str, folder: Path) -> Any:
    try:
        batch = _select(strategy, folder)
    except mm.MinMarginError as error:
        if folder.name in str(error):
            raise
        return str(error)  # of numbers that rows could have, and no batch can be made of
    copies = batch.manifest.get("copies_passed_over")
    return batch.rows.tolist(), batch.scores.tolist(), batch.predicted.tolist(), copies


def _check(answer: Any) -> None:
    if isinstance(answer, str):
        return
    rows, scores, *_ = answer
    assert len(rows) == _BATCH_SIZE, f"not {_BATCH_SIZE} rows: {rows}"
    check_picks(rows, scores, n_rows=_ROWS)


def _change(folder: Path, rng: random.Random) -> Change:
    way, path = rng.random(), rng.choice(sorted(folder.iterdir()))
    if way < 0.3:
        return Change(change_bytes(path, rng))
    state = json.loads((folder / _STATE).read_text())
    del state["sha256"]
    if way < 0.65:
        state, words = change_json(state, rng)
    else:
        words = _change_kept(folder, state, rng)
    try:
        text = json.dumps({**state, "sha256": checkpoint._digest_of(state)})
    except (TypeError, ValueError):  # no object at all
        text = json.dumps(state)
    (folder / _STATE).write_text(written(text))
    return Change(words, signed=True)


def _change_kept(folder: Path, state: dict[str, Any], rng: random.Random) -> str:
    """Change the rows that a shortlist keeps, with checksums that fit."""
    entry = rng.choice(state["kept"])
    path = folder / entry["file"]
    if rng.random() < 0.3:
        words = change_bytes(path, rng)
        content = path.read_bytes() if path.exists() else b""
    else:
        table, words = change_table(pa.ipc.open_file(path.read_bytes()).read_all(), rng)
        sink = pa.BufferOutputStream()
        with pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
        content = sink.getvalue().to_pybytes()
        path.write_bytes(content)
    entry["sha256"] = hashlib.sha256(content).hexdigest()
    return words


TARGETS = {
    f"checkpoint-{strategy}": Target(
        f"checkpoints ({strategy})", partial(_write, strategy), _change, partial(_use, strategy), _check
    )
    for strategy in _STRATEGIES
}

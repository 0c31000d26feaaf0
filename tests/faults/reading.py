"""Read damaged files, and print what came of each, one JSON object a line.

Run as `python reading.py FOLDER N_EACH KIND...`.
"""

from __future__ import annotations

import json
import random
import shutil
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

import minmargin as mm
from brute_force import in_order
from faults.damaging import (
    FEATURES,
    damaged,
    other_schema,
    pool_table,
    read_by_others,
    write_pool,
)
from minmargin.scan import checkpoint, fragments

BATCH_SIZE, SEED, OTHER_SCHEMAS = 15, 0, 0.15
ERROR, RIGHT, AS_THEY_ARE = "refused", "harmless", "read as they are (no checksum covers the numbers)"
DAMAGED_KEYS = "harmless but for ids (no checksum covers them)"


def main() -> None:
    """Read so many damaged files of each kind."""
    folder, n_each, kinds = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    folder.mkdir()
    # A warning about odd data is no answer; what is read is compared with what is right.
    warnings.simplefilter("ignore")
    for kind in kinds:
        reader = Reader(folder / kind, kind)
        for number in range(n_each):
            _say(kind=kind, number=number)
            _say(kind=kind, outcome=reader.outcome(random.Random(f"{kind} {number}")))  # noqa: S311 - no secrets


class Reader:
    """Files of one kind, and a committee to select from them."""

    def __init__(self, folder: Path, kind: str) -> None:
        folder.mkdir()
        self.folder, self.kind = folder, kind
        self.table = pool_table()
        rng = np.random.default_rng(0)
        X = rng.normal(size=(40, len(FEATURES)))
        y = np.argmax(X + rng.normal(size=X.shape), axis=1)
        labeled = X if kind == "npy" else {name: X[:, place] for place, name in enumerate(FEATURES)}
        self.committee = mm.fit_committee(
            X if kind == "npy" else _frame(labeled), y, n_models=5, random_state=SEED, n_jobs=1
        )
        self.by_arrays = mm.fit_committee(X, y, n_models=5, random_state=SEED, n_jobs=1)
        self.intact = folder / ("intact" if kind in {"checkpoint", "committee"} else f"intact.{kind}")
        _PREPARE.get(kind, Reader.prepare_pool)(self)
        self.right = self.select(self.committee, self.pool_path)

    def prepare_pool(self) -> None:
        """Write an intact pool."""
        write_pool(self.table, self.intact)
        self.pool_path = self.intact

    def prepare_committee(self) -> None:
        """Write an intact committee, and a pool."""
        self.committee.save(self.intact)
        self.pool_path = self.folder / "pool.parquet"
        write_pool(self.table, self.pool_path)

    def prepare_checkpoint(self) -> None:
        """Write the state of a selection that was interrupted in the middle, and a pool."""
        fragments._FRAGMENT_ROWS, fragments._TIMES_THE_BATCH, checkpoint._SECONDS = 1, 0, 0.0
        self.pool_path = self.folder / "pool.parquet"
        write_pool(self.table, self.pool_path)

        def interrupt(stage: str, done: int, _: int | None) -> None:
            if stage == "scanning" and done:
                raise KeyboardInterrupt

        try:
            self.select(self.committee, self.pool_path, checkpoint=self.intact, progress=interrupt)
        except KeyboardInterrupt:
            (self.intact / "lock").unlink()

    def select(self, committee: mm.Committee, pool: Any, **more: Any) -> mm.Batch:
        """Return the batch, with ids where there are any."""
        ids = {} if self.kind == "npy" else {"id_column": "key"}
        return committee.select(pool, BATCH_SIZE, n_jobs=1, **ids, **more)

    def outcome(self, rng: random.Random) -> str:
        """Damage a file, and return what came of reading it."""
        if self.kind in {"checkpoint", "committee"}:
            return self.outcome_of_folder(rng)
        path = self.folder / f"damaged.{self.kind}"
        if rng.random() < OTHER_SCHEMAS and self.kind != "npy":
            write_pool(other_schema(self.table, rng), path)
        else:
            path.write_bytes(damaged(self.intact.read_bytes(), rng))
        return self.judged(lambda: self.select(self.committee, path), path)

    def outcome_of_folder(self, rng: random.Random) -> str:
        """Damage a file of a folder, and return what came of using it."""
        folder = self.folder / "damaged"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.intact, folder)
        path = rng.choice(sorted(folder.iterdir()))
        way = rng.random()
        if way < 0.1:
            path.unlink()
        elif way < 0.2:
            path.write_text(rng.choice(["", "{}", "[]", "null", "[" * 100_000, '{"format": 1}', "NaN"]))
        else:
            path.write_bytes(damaged(path.read_bytes(), rng))
        if self.kind == "checkpoint":
            return self.judged(lambda: self.select(self.committee, self.pool_path, checkpoint=folder), None)
        return self.judged(lambda: self.select(mm.load_committee(folder), self.pool_path), None)

    def judged(self, read: Callable[[], mm.Batch], path: Path | None) -> str:
        """Return whether reading gave an error or the right answer. Any other error ends this process."""
        try:
            batch = read()
        except mm.InputError:
            return ERROR
        if _same(batch, self.right):
            same_ids = self.right.ids is None or batch.ids.tolist() == self.right.ids.tolist()
            assert same_ids or self.kind in {"csv", "feather"}, f"wrong ids of {path}"
            return RIGHT if same_ids else DAMAGED_KEYS
        assert path is not None, "a wrong batch from a damaged folder"
        assert self.kind != "parquet", f"a wrong batch from {path}, whose pages have checksums"
        scores = self.by_arrays.score(read_by_others(path), n_jobs=1)
        rows = in_order(scores, SEED)[:BATCH_SIZE]
        assert batch.rows.tolist() == rows.tolist(), f"a wrong batch from {path}"
        assert batch.scores.tolist() == scores[rows].tolist(), f"wrong scores from {path}"
        return AS_THEY_ARE


_PREPARE = {"committee": Reader.prepare_committee, "checkpoint": Reader.prepare_checkpoint}


def _frame(columns: dict[str, Any]) -> Any:
    import pyarrow as pa  # noqa: PLC0415 - here only

    return pa.table(columns)


def _same(batch: mm.Batch, right: mm.Batch) -> bool:
    return bool(np.array_equal(batch.rows, right.rows) and np.array_equal(batch.scores, right.scores))


def _say(**record: Any) -> None:
    print(json.dumps(record), flush=True)  # noqa: T201 - for whoever started it


if __name__ == "__main__":
    main()

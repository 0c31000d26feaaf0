"""Commands that are struck at their points, each with the folder that it begins in."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

from faults.striking import SAVE

_N_FILES, _ROWS_OF_FILE, _CLASSES = 3, 60, ("calm", "keen", "shy")
_SMALL = ("--n-models", "3", "--seed", "0")
_ONE_THREAD = ("--n-jobs", "1")
_LABELED = ("--labeled", "labeled.parquet", "--label-column", "y")
_OF_POOL = ("--pool", "pool", "--id-column", "row_id", "--batch-size", "6", "--preprocess", "none")
_INIT = (
    *("campaign", "init", "cards", *_LABELED, *_OF_POOL, *_SMALL),
    *("--held-out", "held-out.parquet", "--audit", "2"),
)
_NEXT = ("campaign", "next", "cards", "--csv", *_ONE_THREAD)
_SELECT = (
    *("select", *_LABELED, *_OF_POOL, *_SMALL, *_ONE_THREAD, "--checkpoint", "state"),
    *("--out", "batch.parquet", "--manifest", "manifest.json"),
)
_ADD = ("campaign", "add-labels", "cards", "labels.csv", *_ONE_THREAD)
_PUSH = ("campaign", "push", "cards", "--columns", "x0,x1", "--url", "https://played")
_STUDY = ("--problems", "phoneme", "--ways", "logistic", "--strategies", "margin,random", "--draws", "1")


@dataclass(frozen=True)
class Scene:
    """A command, and what comes before it.

    Attributes:
        name: in the table.
        command: its arguments.
        before: the arguments of commands that are run before it.
        done: what the command says, as an error, if it was carried out already.
        repeats: whether it does its work once more when that is done: it is then asked for again only if it is not.
        heavy: whether it takes seconds, so that it is struck less often.
    """

    name: str
    command: tuple[str, ...]
    before: tuple[tuple[str, ...], ...] = ()
    done: str | None = None
    repeats: bool = False
    heavy: bool = False


SCENES = (
    Scene("`select --checkpoint`", _SELECT),
    Scene("`select --checkpoint --report`", (*_SELECT, "--report", "report.html"), heavy=True),
    Scene("`campaign init`", _INIT, done="There is a campaign in 'cards' already."),
    Scene("`campaign next`", _NEXT, (_INIT,), done="rows of round 1 have no label yet"),
    Scene(
        "`campaign next --requeue --report`, the second round",
        (*_NEXT, "--requeue", "--report", "round.html"),
        (_INIT, _NEXT, _ADD),
        repeats=True,
        heavy=True,
    ),
    Scene("`campaign add-labels`", _ADD, (_INIT, _NEXT)),
    Scene(
        "`campaign set`",
        ("campaign", "set", "cards", "batch_size=5", "strategy=margin", "keep=x0"),
        (_INIT, _NEXT),
    ),
    Scene("`campaign push`", _PUSH, (_INIT, _NEXT)),
    Scene("`campaign report`", ("campaign", "report", "cards"), (_INIT, _NEXT, _ADD), heavy=True),
    Scene("a committee saved", (SAVE, "labeled.parquet", "committee", "0")),
    Scene(
        "a committee saved over another",
        (SAVE, "labeled.parquet", "committee", "1"),
        ((SAVE, "labeled.parquet", "committee", "0"),),
    ),
    Scene(
        "the same, where folders cannot be exchanged",
        (SAVE, "labeled.parquet", "committee", "1", "in-steps"),
        ((SAVE, "labeled.parquet", "committee", "0"),),
    ),
    Scene(
        "`compare`",
        (
            *(
                "compare",
                *_LABELED,
                *_SMALL,
                *_ONE_THREAD,
                "--out",
                "curves",
                "--strategies",
                "margin,random",
            ),
            *("--n-labeled", "20", "--batch-sizes", "5", "--n-draws", "3"),
        ),
        heavy=True,
    ),
    Scene("`study`", ("study", "--packed", "packed", "--out", "studied", *_STUDY, *_ONE_THREAD), heavy=True),
)


def make_files(folder: Path) -> None:
    """Write what all scenes begin with: labeled and held-out rows, a pool, its labels, and a packed problem."""
    (folder / "pool").mkdir(parents=True)
    rng = np.random.default_rng(0)
    for name, n_rows in (("labeled", 60), ("held-out", 30)):
        X, y = _drawn(rng, n_rows)
        pq.write_table(pa.table({**X, "y": y}), folder / f"{name}.parquet")
    labels = []
    for number in range(_N_FILES):
        X, y = _drawn(rng, _ROWS_OF_FILE)
        ids = [f"r{number * _ROWS_OF_FILE + row:03}" for row in range(_ROWS_OF_FILE)]
        pq.write_table(pa.table({**X, "row_id": ids}), folder / "pool" / f"part-{number}.parquet")
        labels += list(zip(ids, y, strict=True))
    np.savez(folder / "truth.npz", ids=[each for each, _ in labels], y=[label for _, label in labels])
    _pack(folder / "packed", rng)


def write_labels(folder: Path) -> None:
    """Write the labels of all but one row of the first round, as somebody would who was given its batch."""
    truth = np.load(folder / "truth.npz")
    by_id = dict(zip(truth["ids"].tolist(), truth["y"].tolist(), strict=True))
    ids = pq.read_table(folder / "cards" / "batches" / "round-001.parquet")["id"].to_pylist()[1:]
    pc.write_csv(pa.table({"row_id": ids, "label": [by_id[each] for each in ids]}), folder / "labels.csv")


def _drawn(rng: np.random.Generator, n_rows: int) -> tuple[dict[str, np.ndarray], list[str]]:
    X = rng.normal(size=(n_rows, 3))
    codes = np.argmax(X + rng.normal(size=(n_rows, 3)) / 2, axis=1)
    return {f"x{place}": X[:, place] for place in range(3)}, [_CLASSES[code] for code in codes]


def _pack(folder: Path, rng: np.random.Generator) -> None:
    """Write a made-up problem under the name of a real one, as `minmargin study --pack` would."""
    folder.mkdir()
    y = rng.integers(2, size=600)
    X = rng.normal(size=(600, 3)) + y[:, np.newaxis]
    names = np.array(["no", "yes"])
    np.savez(folder / "phoneme.npz", X=X.astype(np.float16), y=y.astype(np.int16), names=names)

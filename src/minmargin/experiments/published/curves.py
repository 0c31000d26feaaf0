"""What is kept of a game by the rules of a published table: how many test rows are right after each round."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from minmargin.experiments.storing import Parts

Floats = NDArray[np.float64]

_NAME = pa.dictionary(pa.int16(), pa.string())
SCHEMA = pa.schema(
    [
        ("table", _NAME),
        ("problem", _NAME),
        ("learner", _NAME),
        ("n_labeled", pa.int32()),
        ("batch_size", pa.int32()),
        ("draw", pa.int32()),
        ("strategy", _NAME),
        ("n_train", pa.int32()),
        ("n_test", pa.int32()),
        ("right", pa.list_(pa.int32())),
        ("seconds", pa.float32()),
        ("rules", _NAME),
    ]
)
_KEY = ("table", "problem", "learner", "n_labeled", "batch_size", "draw", "strategy")
_PARTS = Parts("a published table", SCHEMA, _KEY)


class Task(NamedTuple):
    """What is played at once: one strategy in one draw."""

    table: str
    problem: str
    learner: str
    n_labeled: int
    batch_size: int
    draw: int
    strategy: str


class Curve(NamedTuple):
    """A game that was played.

    Attributes:
        task: what was played.
        n_train: how many rows there were to label, those from the start among them.
        n_test: how many rows models were tried on.
        right: (R + 1,) how many of those the model of each round had right; the first is before any round.
        seconds: that it took.
        rules: what else it depends on.
    """

    task: Task
    n_train: int
    n_test: int
    right: NDArray[np.int64]
    seconds: float
    rules: str

    @property
    def labels(self) -> NDArray[np.int64]:
        """(R + 1,) how many rows were labeled."""
        rounds = np.arange(len(self.right))
        return np.minimum(self.task.n_labeled + rounds * self.task.batch_size, self.n_train)

    @property
    def accuracies(self) -> Floats:
        """(R + 1,) the part of the test rows that was right."""
        return np.asarray(self.right / self.n_test)

    @property
    def area(self) -> float:
        """The mean height of the curve, from the first labels to the last."""
        labels = self.labels
        return float(np.trapezoid(self.accuracies, labels) / (labels[-1] - labels[0]))

    @property
    def their_area(self) -> float:
        """The area as Lu et al. count it: their AUBC.

        The sum leaves out the model before the first round, so it has one interval less than there are rounds, and is
        divided by the number of labels bought. With one label at a time and q of them, the curve's mean height is
        multiplied by (q - 1) / q.
        """
        labels = self.labels
        return float(np.trapezoid(self.accuracies[1:], labels[1:]) / (labels[-1] - labels[0]))


def write_curve(folder: Path, curve: Curve) -> Path:
    """Write what a task gave, whole or not at all, and return the file."""
    row = {**curve.task._asdict(), **curve._asdict(), "right": curve.right.tolist()}
    del row["task"]
    name = ".".join(str(each).replace(" ", "-") for each in curve.task)
    return _PARTS.write(folder, name, pa.Table.from_pylist([row], schema=SCHEMA))


def read_curves(folder: Path) -> list[Curve]:
    """Return all that is in a folder, sorted, each game once."""
    return [
        Curve(
            Task(*(row[name] for name in Task._fields)),
            row["n_train"],
            row["n_test"],
            np.array(row["right"]),
            row["seconds"],
            row["rules"],
        )
        for row in _PARTS.read(folder).to_pylist()
    ]


def join_curves(folder: Path) -> list[Path]:
    """Write all that is in a folder as one small file for each table, and return the files."""
    return _PARTS.join(folder)

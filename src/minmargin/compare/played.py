"""What was played, as a table and as arrays: one score per draw, strategy, number of rounds and batch size."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from minmargin.compare.outcome import CONSTANT, NONE, Outcome
from minmargin.compare.statistics import Difference, careful_difference

Floats = NDArray[np.float64]

_NAME = pa.dictionary(pa.int16(), pa.string())
SCHEMA = pa.schema(
    [
        ("draw", pa.int32()),
        ("strategy", _NAME),
        ("rounds", pa.int16()),
        ("batch_size", pa.int32()),
        ("score", pa.float64()),
        ("seconds", pa.float32()),
    ]
)


class Line(NamedTuple):
    """What one curve shows: a strategy, and in how many rounds it picked."""

    strategy: str
    rounds: int

    def __str__(self) -> str:
        return self.strategy if self.rounds == 1 else f"{self.strategy} in {self.rounds} rounds"


class Played(NamedTuple):
    """The scores of a comparison.

    Attributes:
        lines: L of them, in the order in which they were asked for.
        sizes: B batch sizes, ascending.
        scores: (L, B, R) over R draws.
        before: (R,) without any batch.
        constant: (R,) of a constant guess, NaN in draws that were played without one; None if all were.
    """

    lines: list[Line]
    sizes: list[int]
    scores: Floats
    before: Floats
    constant: Floats | None = None

    @classmethod
    def of(cls, table: pa.Table) -> Played:
        """Return the scores of a table in the columns of `SCHEMA`."""
        sizes, by_size = np.unique(table["batch_size"].to_numpy(), return_inverse=True)
        draws, by_draw = np.unique(table["draw"].to_numpy(), return_inverse=True)
        names = list(map(Line, table["strategy"].to_pylist(), table["rounds"].to_pylist()))
        lines = list(dict.fromkeys(names))
        place = {line: number for number, line in enumerate(lines)}
        scores = np.full((len(lines), len(sizes), len(draws)), np.nan)
        scores[[place[name] for name in names], by_size, by_draw] = table["score"].to_numpy()
        without_batch = {
            line.strategy: of_line[0]
            for line, of_line in zip(lines, scores, strict=True)
            if not np.isnan(of_line[0]).all()
        }
        before, constant = without_batch[NONE], without_batch.get(CONSTANT)
        kept = [number for number in range(len(lines)) if not np.isnan(scores[number, 1:]).all()]
        return cls([lines[k] for k in kept], sizes[1:].tolist(), scores[kept, 1:], before, constant)

    @property
    def n_draws(self) -> int:
        """R: how many draws were played."""
        return len(self.before)

    def of_line(self, line: Line) -> Floats:
        """Return (B, R) the scores of a line."""
        return np.asarray(self.scores[self.lines.index(line)])

    def opponent(self, line: Line, strategy: str) -> Line:
        """Return the line of a strategy that another is compared with: of as many rounds, if it was played in so many.

        A line of the strategy itself is compared with the first one, of the fewest rounds.
        """
        same = Line(strategy, line.rounds)
        if same in self.lines and same != line:
            return same
        return next(each for each in self.lines if each.strategy == strategy)

    def differences(self, pairs: Sequence[tuple[Line, Line]]) -> Difference:
        """Return (pairs, B) the paired differences of the first line of each pair to the second."""
        first, second = ([self.lines.index(pair[side]) for pair in pairs] for side in (0, 1))
        return careful_difference(self.scores[first], self.scores[second])


def schema_for(scorings: Sequence[str]) -> pa.Schema:
    """Return the columns of results: those of `SCHEMA`, and one more that tells several scorings apart."""
    return SCHEMA if len(scorings) == 1 else SCHEMA.insert(4, pa.field("scoring", _NAME))


def make_table(draw: int, rounds: int, outcomes: Iterable[Outcome], scorings: Sequence[str]) -> pa.Table:
    """Return the results of a draw, with a row for each outcome and scoring."""
    rows = [
        {
            "draw": draw,
            "strategy": outcome.strategy,
            "rounds": rounds,
            "batch_size": outcome.batch_size,
            "scoring": name,
            "score": score,
            "seconds": outcome.seconds,
        }
        for outcome in outcomes
        for name, score in zip(scorings, outcome.scores, strict=True)
    ]
    return pa.Table.from_pylist(rows, schema=schema_for(scorings))

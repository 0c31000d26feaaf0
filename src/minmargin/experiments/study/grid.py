"""The results of one way of learning, by one metric, as arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from minmargin.compare.outcome import NONE

Floats = NDArray[np.float64]

#: A strategy is compared with the best of these: what people would do without a study.
REFERENCES = ("random", "margin", "min-margin")


class Cell(NamedTuple):
    """A setting that strategies are compared in."""

    problem: str
    n_labeled: int
    batch_size: int

    def __str__(self) -> str:
        return f"{self.problem}, {self.n_labeled} + {self.batch_size:,}"


class Grid(NamedTuple):
    """What batches were worth.

    Attributes:
        cells: M settings, sorted.
        strategies: S names, in the order of their mean gain, the best first.
        gains: (M, S, R) over R draws: how much more than the reference a strategy reached in the same draw. NaN where
            it has not played. Below 0 is worse than the reference.
        references: (M,) the strategy that a cell's gains are counted from: the best of `REFERENCES` on average.
        seconds: (M, S, R) of picking.
    """

    cells: list[Cell]
    strategies: list[str]
    gains: Floats
    references: list[str]
    seconds: Floats

    @classmethod
    def of(cls, table: pa.Table, way: str, metric: str) -> Grid:
        """Return the results of a way by a metric; cells without any value, or without a reference, are left out."""
        table = table.filter(pc.equal(pc.cast(table["way"], pa.string()), way))
        table = table.filter(pc.not_equal(pc.cast(table["strategy"], pa.string()), NONE))
        keys = [table[name].to_pylist() for name in ("problem", "n_labeled", "batch_size")]
        places = [Cell(*key) for key in zip(*keys, strict=True)]
        cells = sorted(set(places))
        names = table["strategy"].to_pylist()
        strategies = list(dict.fromkeys(names))
        draws, by_draw = np.unique(table["draw"].to_numpy(), return_inverse=True)
        numbers = {cell: number for number, cell in enumerate(cells)}
        by_name = {name: number for number, name in enumerate(strategies)}
        where = (
            np.array([numbers[place] for place in places], dtype=np.intp),
            np.array([by_name[name] for name in names], dtype=np.intp),
            by_draw,
        )
        scores, seconds = (np.full((len(cells), len(strategies), len(draws)), np.nan) for _ in range(2))
        scores[where] = table[metric].to_numpy()
        seconds[where] = table["seconds"].to_numpy()
        return _from_scores(cells, strategies, scores, seconds)

    @property
    def problems(self) -> list[str]:
        """The problems, sorted."""
        return sorted({cell.problem for cell in self.cells})

    def count_draws(self) -> NDArray[np.intp]:
        """Return (S, problems) how many draws each strategy has played of each cell of a problem, at least."""
        n_played = np.isfinite(self.gains).sum(axis=-1)
        problems = np.array([cell.problem for cell in self.cells])
        counts = [n_played[problems == name].min(axis=0) for name in self.problems]
        return np.stack(counts, axis=1) if counts else np.empty((len(self.strategies), 0), dtype=np.intp)

    def only(self, wanted: Callable[[Cell], bool]) -> Grid:
        """Return some of the cells."""
        kept = [number for number, cell in enumerate(self.cells) if wanted(cell)]
        return Grid(
            [self.cells[number] for number in kept],
            self.strategies,
            self.gains[kept],
            [self.references[number] for number in kept],
            self.seconds[kept],
        )

    def among(self, wanted: Callable[[str], bool]) -> Grid:
        """Return some of the strategies."""
        kept = [number for number, name in enumerate(self.strategies) if wanted(name)]
        return self._replace(
            strategies=[self.strategies[number] for number in kept],
            gains=self.gains[:, kept],
            seconds=self.seconds[:, kept],
        )

    def by_problem(self) -> Floats:
        """Return (S, problems) the mean gains over the cells of each problem; NaN where one has not been played."""
        means = mean_over_draws(self.gains)
        problems = np.array([cell.problem for cell in self.cells])
        columns = [means[problems == name].mean(axis=0) for name in self.problems]
        return np.stack(columns, axis=1) if columns else np.empty((len(self.strategies), 0))


def mean_over_draws(values: Floats) -> Floats:
    """Return means over the last axis of what is there; NaN where nothing is."""
    there = np.isfinite(values)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(there, values, 0.0).sum(axis=-1) / there.sum(axis=-1))


def _from_scores(cells: list[Cell], strategies: list[str], scores: Floats, seconds: Floats) -> Grid:
    candidates = [strategies.index(name) for name in REFERENCES if name in strategies]
    if not candidates:
        return Grid([], strategies, scores[:0], [], seconds[:0])
    means = mean_over_draws(scores[:, candidates])
    kept = np.flatnonzero(np.isfinite(means).any(axis=1))
    best = (
        np.array(candidates)[np.nanargmax(means[kept], axis=1)] if len(kept) else np.empty(0, dtype=np.intp)
    )
    reference = scores[kept, best]
    gains = scores[kept] - reference[:, np.newaxis]
    order = np.argsort(-mean_over_draws(mean_over_draws(gains).T), kind="stable")
    return Grid(
        [cells[number] for number in kept],
        [strategies[place] for place in order],
        gains[:, order],
        [strategies[place] for place in best],
        seconds[kept][:, order],
    )

"""Comparison: what came out, as tables, a sentence, a picture and a page."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import IO, Any, overload

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from minmargin.compare.advice import advise, reference
from minmargin.compare.picture import Picture
from minmargin.compare.played import Line, Played
from minmargin.compare.results import NONE
from minmargin.compare.scoring import is_share
from minmargin.compare.shown import ShownTable, as_pandas, show_curves, show_differences
from minmargin.compare.statistics import adjust, decide, join, paired_difference
from minmargin.compare.tables import ScoreTable, score_table
from minmargin.compare.words import Words
from minmargin.errors import InputError, listing, nearest
from minmargin.files import write_json, write_whole

_VERDICTS = {1: "better", 0: "no clear difference", -1: "worse"}


@dataclass(frozen=True, repr=False, eq=False)
class Comparison:
    """What strategies' batches were worth, over many draws of the same table. `minmargin.compare` makes one.

    Attributes:
        results: one row per draw, strategy, number of rounds and batch size: the score of the model that was trained
            with the batch, and the seconds that picking took. The strategy "none", of batch size 0, is the model before
            any batch.
        settings: what was played, on what; and the seed that repeats it.
    """

    results: pa.Table
    settings: Mapping[str, Any]

    @property
    def advice(self) -> str:
        """Whether a strategy pays on this data, by how much, and how certain that is."""
        return advise(self.played, share=self.words.share)

    @property
    def curves(self) -> ShownTable:
        """Mean scores: strategy, rounds, batch_size, draws, mean, and low and high of the mean's 95% interval."""
        played = self.played
        # A mean with its interval is the difference to nothing at all.
        before, after = (
            paired_difference(each, np.zeros_like(each)) for each in (played.before, played.scores)
        )
        bands = join([before, after])
        cells = [(Line(NONE, 1), 0), *product(played.lines, played.sizes)]
        table = pa.table(
            {
                **_places(cells),
                "draws": bands.n_draws,
                "mean": bands.mean,
                "low": bands.low,
                "high": bands.high,
            }
        )
        return show_curves(table, self.settings["scoring"], self.words)

    def differences(self, to: str = "random") -> ShownTable:
        """Return how far ahead of a strategy the others are, in the same draws.

        The columns: strategy, rounds, batch_size, to, difference, low and high of its 95% interval, p_value of the
        paired t test, the same adjusted by Holm's correction over all rows, and the verdict that this gives.
        """
        played = self.played
        names = list(dict.fromkeys(line.strategy for line in played.lines))
        if to not in names:
            raise InputError(
                f"Strategy {to!r} was not played (those are {listing(names)}).{nearest(to, names)}"
            )
        others = [line for line in played.lines if line.strategy != to]
        return self._compare(f"Ahead of {to}", [(line, played.opponent(line, to)) for line in others])

    def gains_of_rounds(self) -> ShownTable:
        """Return how far ahead more rounds are of the fewest, strategy by strategy, as `differences` does."""
        played = self.played
        firsts = {line.strategy: line for line in reversed(played.lines)}
        others = [line for line in played.lines if line != firsts[line.strategy]]
        return self._compare(
            "More rounds ahead of the fewest", [(line, firsts[line.strategy]) for line in others]
        )

    def to_pandas(self) -> Any:
        """Return the results as a pandas data frame."""
        return as_pandas(self.results)

    @overload
    def plot(self, path: None = None) -> Picture: ...

    @overload
    def plot(self, path: str | Path) -> Path: ...

    def plot(self, path: str | Path | None = None) -> Picture | Path:
        """Draw the curves and the differences.

        Without a path, return a picture that a notebook shows. With one, write it there, as .png, .svg or .pdf, and
        return the path.
        """
        from minmargin.compare.drawing import draw, save  # noqa: PLC0415 - matplotlib is an extra

        scoring, words = self.settings["scoring"], self.words
        return draw(self.played, scoring, words) if path is None else save(self.played, path, scoring, words)

    def report(self, path: str | Path) -> Path:
        """Write everything as one HTML page that needs no other file."""
        from minmargin.compare.page import make_page  # noqa: PLC0415 - jinja2 and matplotlib are extras

        page = make_page(self).encode("utf-8", "replace")  # half of a surrogate pair is no letter

        def write(file: IO[bytes]) -> None:
            file.write(page)

        return write_whole(path, write)

    def write(self, folder: str | Path) -> Path:
        """Write results.parquet, comparison.json, curves.png, curves.svg and report.html into a folder."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / "results.parquet", lambda file: pq.write_table(self.results, file))
        write_json(folder / "comparison.json", self.to_dict())
        self.plot(folder / "curves.png")
        self.plot(folder / "curves.svg")
        self.report(folder / "report.html")
        return folder

    def to_dict(self) -> dict[str, Any]:
        """Return the advice, the settings, the curves and the differences, ready for JSON."""
        return {
            "advice": self.advice,
            "settings": dict(self.settings),
            "curves": self.curves.to_pylist(),
            "differences": self.differences(reference(self.played).strategy).to_pylist(),
            "gains_of_rounds": self.gains_of_rounds().to_pylist(),
        }

    @property
    def table(self) -> ScoreTable:
        """Mean scores by batch size and strategy, as texts."""
        return score_table(self.played, self.settings["scoring"], self.words)

    def __repr__(self) -> str:
        return f"<Comparison: {self.advice}>\n{self.table.as_text()}"

    def _repr_html_(self) -> str:
        return f"<p><b>Comparison</b>: {html.escape(self.advice)}</p>{self.table.as_html()}"

    @cached_property
    def played(self) -> Played:
        """The scores as arrays, by line, batch size and draw."""
        return Played.of(self.results)

    @property
    def words(self) -> Words:
        """How scores are written: accuracies in percent, others as they are."""
        return Words(is_share(self.settings["scoring"]))

    def _compare(self, title: str, pairs: Sequence[tuple[Line, Line]]) -> ShownTable:
        """Return the differences within pairs of lines, all of which are one family of comparisons."""
        sizes = self.played.sizes
        difference = self.played.differences(pairs)
        table = pa.table(
            {
                **_places(list(product([line for line, _ in pairs], sizes))),
                "to": pa.array([str(other) for _, other in pairs for _ in sizes], pa.string()),
                "difference": difference.mean.ravel(),
                "low": difference.low.ravel(),
                "high": difference.high.ravel(),
                "p_value": difference.p_value.ravel(),
                "adjusted": adjust(difference.p_value).ravel(),
                "verdict": pa.array(
                    map(_VERDICTS.__getitem__, decide(difference).ravel().tolist()), pa.string()
                ),
            }
        )
        return show_differences(table, title, self.words)


def _places(cells: Sequence[tuple[Line, int]]) -> dict[str, pa.Array]:
    """Return the columns that say which line and batch size each row is about."""
    return {
        "strategy": pa.array([line.strategy for line, _ in cells], pa.string()),
        "rounds": pa.array([line.rounds for line, _ in cells], pa.int64()),
        "batch_size": pa.array([size for _, size in cells], pa.int64()),
    }

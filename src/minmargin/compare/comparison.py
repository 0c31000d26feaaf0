"""Comparison: what came out, as tables, a sentence, a picture and a page."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import IO, Any, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from minmargin.compare.advice import advise, beats_constant, listed, reference
from minmargin.compare.outcome import CONSTANT, NONE
from minmargin.compare.picture import Picture
from minmargin.compare.played import Line, Played
from minmargin.compare.scoring import AVERAGE_PRECISION, is_share
from minmargin.compare.shown import ShownTable, as_pandas, join_tables, show_curves, show_differences
from minmargin.compare.statistics import adjust, decide, join, paired_difference
from minmargin.compare.tables import ScoreTable, score_table
from minmargin.compare.words import Words
from minmargin.errors import InputError, listing, nearest
from minmargin.files import make_folder, write_json, write_whole
from minmargin.properties import cached_property
from minmargin.skew import ACCURACY, most_common

_VERDICTS = {1: "better", 0: "no clear difference", -1: "worse"}


@dataclass(frozen=True, repr=False, eq=False)
class Comparison:
    """What strategies' batches were worth, over many draws of the same table. `minmargin.compare` makes one.

    Attributes:
        results: one row per draw, strategy, number of rounds and batch size: the score of the model that was trained
            with the batch, and the seconds that picking took. The strategy "none", of batch size 0, is the model before
            any batch; "constant" is a guess that says the same of every row. If there are several scorings, each has a
            row of its own, and the column `scoring` names it.
        settings: what was played, on what; and the seed that repeats it.
    """

    results: pa.Table
    settings: Mapping[str, Any]

    @property
    def advice(self) -> str:
        """Whether a strategy pays on this data, by how much, and how certain that is; by the score that leads."""
        found = advise(self.played, share=self.words.share)
        first, *others = self.by_scoring
        if not others:
            return found
        unbeaten = [each.score_name for each in others if not beats_constant(each.played).any()]
        too = [f"Nothing beats a constant guess by {listed(unbeaten)}."] if unbeaten else []
        return " ".join([_why_it_leads(first.score_name, self.settings), found, *too])

    def scored_by(self, scoring: str) -> Comparison:
        """Return the comparison by one of several scorings alone."""
        names = [each.settings["scoring"] for each in self.by_scoring]
        if scoring not in names:
            raise InputError(
                f"scoring={scoring!r} was not played (those are {listing(names)}).{nearest(scoring, names)}"
            )
        return self.by_scoring[names.index(scoring)]

    @property
    def curves(self) -> ShownTable:
        """Mean scores: strategy, rounds, batch_size, draws, mean, and low and high of the mean's 95% interval.

        If there are several scorings, so has this table, that of `differences` and that of `gains_of_rounds`: the
        column `scoring` comes first.
        """
        return self._joined(
            _curves_of, "Mean test scores, by the number of labels added", "Shares are in percent."
        )

    def differences(self, to: str = "random") -> ShownTable:
        """Return how far ahead of a strategy the others are, in the same draws.

        The columns: strategy, rounds, batch_size, to, difference, low and high of its 95% interval, p_value of the
        paired t test, the same adjusted by Holm's correction over all rows of a scoring, and the verdict that this
        gives.
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
        """Draw the curves and the differences, of the score that leads.

        Without a path, return a picture that a notebook shows. With one, write it there, as .png, .svg or .pdf, and
        return the path.
        """
        from minmargin.compare.drawing import draw, save  # noqa: PLC0415 - matplotlib is an extra

        scoring, words = self.leading, self.words
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
        make_folder(folder)
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
        """Mean scores by batch size and strategy, as texts, by the score that leads."""
        return score_table(self.played, self.score_name, self.words)

    def __repr__(self) -> str:
        tables = (each.table.as_text() for each in self.by_scoring)
        return "\n".join([f"<Comparison: {self.advice}>", *tables])

    def _repr_html_(self) -> str:
        tables = "".join(each.table.as_html() for each in self.by_scoring)
        return f"<p><b>Comparison</b>: {html.escape(self.advice)}</p>{tables}"

    @cached_property
    def by_scoring(self) -> list[Comparison]:
        """A comparison for each scoring, that which leads first; only this one, if there is a single scoring."""
        names = self.settings["scoring"]
        if isinstance(names, str):
            return [self]
        column = self.results["scoring"].cast(pa.string())
        return [
            Comparison(
                self.results.filter(pc.equal(column, name)).drop_columns(["scoring"]),
                {key: value for key, value in self.settings.items() if key != "leading"} | {"scoring": name},
            )
            for name in sorted(names, key=lambda name: name != self.leading)
        ]

    @property
    def leading(self) -> str:
        """The name of the scoring that leads."""
        names = self.settings["scoring"]
        return str(names if isinstance(names, str) else self.settings["leading"])

    @property
    def score_name(self) -> str:
        """What people call the score that leads, with the class that it looks for, if it looks for one."""
        name = self.leading.replace("_", " ")
        looks_for = self.settings.get("positive") if self.leading == AVERAGE_PRECISION else None
        return name if looks_for is None else f"{name} of {looks_for!r}"

    @cached_property
    def played(self) -> Played:
        """The scores as arrays, by line, batch size and draw; those of the scoring that leads."""
        first = self.by_scoring[0]
        return Played.of(self.results) if first is self else first.played

    @property
    def words(self) -> Words:
        """How scores are written: accuracies in percent, others as they are."""
        return Words(is_share(self.leading))

    def _joined(self, show: Callable[[Comparison], ShownTable], title: str, note: str) -> ShownTable:
        """Return the table that each scoring shows, as one; only that table, if there is a single scoring."""
        first, *others = self.by_scoring
        if not others:
            return show(first)
        return join_tables({each.leading: show(each) for each in (first, *others)}, title, note)

    def _compare(self, title: str, pairs: Sequence[tuple[Line, Line]]) -> ShownTable:
        """Return the differences within pairs of lines."""
        note = (
            "Differences within the same draws, of shares in points; p-values after Holm's correction over all rows "
            "of a score."
        )
        return self._joined(lambda one: _differences_of(one, title, pairs), title, note)


def _curves_of(one: Comparison) -> ShownTable:
    """Return the mean scores by a single scoring."""
    played = one.played
    # A mean with its interval is the difference to nothing at all.
    without_batch = {NONE: played.before}
    if played.constant is not None:
        without_batch[CONSTANT] = played.constant
    bands = join(
        [paired_difference(each, np.zeros_like(each)) for each in (*without_batch.values(), played.scores)]
    )
    cells = [*((Line(name, 1), 0) for name in without_batch), *product(played.lines, played.sizes)]
    table = pa.table(
        {
            **_places(cells),
            "draws": bands.n_draws,
            "mean": bands.mean,
            "low": bands.low,
            "high": bands.high,
        }
    )
    return show_curves(table, one.score_name, one.words)


def _differences_of(one: Comparison, title: str, pairs: Sequence[tuple[Line, Line]]) -> ShownTable:
    """Return the differences within pairs of lines by a single scoring: one family of comparisons."""
    sizes = one.played.sizes
    difference = one.played.differences(pairs)
    table = pa.table(
        {
            **_places(list(product([line for line, _ in pairs], sizes))),
            "to": pa.array([str(other) for _, other in pairs for _ in sizes], pa.string()),
            "difference": difference.mean.ravel(),
            "low": difference.low.ravel(),
            "high": difference.high.ravel(),
            "p_value": difference.p_value.ravel(),
            "adjusted": adjust(difference.p_value).ravel(),
            "verdict": pa.array(map(_VERDICTS.__getitem__, decide(difference).ravel().tolist()), pa.string()),
        }
    )
    return show_differences(table, title, one.words)


def _why_it_leads(name: str, settings: Mapping[str, Any]) -> str:
    """Return the sentence that names the score which the advice goes by, and says why it is not accuracy."""
    skewed = most_common(settings["class_counts"])
    if skewed is None or settings["leading"] == ACCURACY:
        return f"This goes by {name}."
    return f"This goes by {name}, since {100 * skewed[1]:.0f}% of rows are {skewed[0]!r}."


def _places(cells: Sequence[tuple[Line, int]]) -> dict[str, pa.Array]:
    """Return the columns that say which line and batch size each row is about."""
    return {
        "strategy": pa.array([line.strategy for line, _ in cells], pa.string()),
        "rounds": pa.array([line.rounds for line, _ in cells], pa.int64()),
        "batch_size": pa.array([size for _, size in cells], pa.int64()),
    }

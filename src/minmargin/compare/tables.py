"""The table of a comparison: one row per batch size, one column per line, as texts for any kind of output."""

from __future__ import annotations

import html
from typing import NamedTuple

import numpy as np

from minmargin.compare.advice import reference
from minmargin.compare.played import Played
from minmargin.compare.statistics import decide
from minmargin.compare.words import Words
from minmargin.tables import html_table, text_table

CLEAR = "*"
#: What people call the constant guess.
GUESS = "constant guess"


class ScoreTable(NamedTuple):
    """Texts in rows and columns, and what they mean.

    Attributes:
        title: what is shown.
        headings: of the columns.
        rows: their cells.
        note: how to read the cells; may be empty.
    """

    title: str
    headings: list[str]
    rows: list[list[str]]
    note: str

    def as_text(self) -> str:
        """Return the table in lines of equal width."""
        note = [self.note] if self.note else []
        return "\n".join([self.title, text_table(self.headings, self.rows), *note])

    def as_html(self) -> str:
        """Return the table as HTML."""
        table = html_table(self.headings, self.rows)
        note = f"<p>{html.escape(self.note)}</p>" if self.note else ""
        return f"<p>{html.escape(self.title)}</p>{table}{note}"


def score_table(played: Played, scoring: str, words: Words) -> ScoreTable:
    """Return mean scores by batch size, and how far ahead of the reference each line is."""
    to = reference(played)
    others = [line for line in played.lines if line != to]
    empty = ["" for _ in others]
    rows = [["0", words.score(played.before.mean()), *empty]]
    rows += [
        [f"{size:,}", words.score(played.of_line(to)[place].mean())]
        for place, size in enumerate(played.sizes)
    ]
    if others:
        ahead = played.differences([(line, played.opponent(line, to.strategy)) for line in others])
        clear = decide(ahead) != 0
    for number, place in np.ndindex(len(others), len(played.sizes)):
        score = words.score(played.of_line(others[number])[place].mean())
        lead, high = ahead.mean[number, place], ahead.high[number, place]
        mark = CLEAR if clear[number, place] else " "
        rows[1 + place].append(
            f"{score} ({words.number(lead, signed=True)} ± {words.number(high - lead)}){mark}"
        )
    if played.constant is not None:
        rows.insert(0, [GUESS, words.score(np.nanmean(played.constant)), *empty])
    unit = f", in {words.unit}" if words.unit else ""
    note = (
        f"In brackets: how far ahead of {to.strategy} in the same draws{unit}, and half of the 95% interval; "
        f"{CLEAR} marks what is clear after Holm's correction."
    )
    return ScoreTable(
        f"Mean test {scoring} over {played.n_draws:,} draws, by the number of labels added",
        ["labels", str(to), *map(str, others)],
        rows,
        note if others else "",
    )

"""Writes the figures that pages quote anew from the results: `python docs/write_figures.py`.

docs/figures.toml says which sentence of which page quotes what, and which figures are no results. Tables that pages
show as they were measured stand between `<!-- table: epyc/engines.json, TITLE -->` and `<!-- /table -->`. A result is a
file of benchmarks/results or of study/results, or a page that is itself written from results, such as docs/study.md.
"""

from __future__ import annotations

import functools
import json
import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
TIES = Path(__file__).with_name("figures.toml")
# Pages that show words of another file as they are.
WORDS_OF = {"docs/study.md": "study/words.md", "docs/published.md": "study/published.md"}
sys.path.append(str(RESULTS.parent))  # its scripts import each other by name

from measuring import Table  # noqa: E402 - see above

HOLE, ANYTHING = "{}", "…"
NUMBER = r"[-+]?\d+(?:[.,]\d+)*"
WORDS = (
    "two|three|four|five|six|seven|eight|nine|ten|twelve|fifteen|twenty|thirty|forty|fifty|hundred|thousand"
)
UNITS = "|".join(
    (
        *(
            "times",
            "points?",
            r"million\s+a\s+second",
            r"(?:(?:million|M)\s+)?(?:\w+\s+)?rows(?:\s+a\s+second|/s)",
        ),
        *("s", "ms", "µs", "seconds?", "minutes?", "hours?", "[kMGT]B(?:/s)?", "GFLOP/s"),
    )
)
PARTS = r"half|third|quarter|fifth|tenth|hundredth|thousandth"
# What a reader takes for a measurement: a number and its unit, 12x, or a share of some time or speed.
FIGURE = re.compile(
    rf"(?:{NUMBER}|\b(?:{WORDS}))(?:[\s-]+(?:{UNITS})\b|x(?![\w-]))"
    rf"|\ban?\s+(?:{PARTS})\s+of\s+(?:the|that|an?)\s+(?:time|speed|memory|second|minute|hour)\b"
)
# Code and its output are run by tests, comments are not shown, and rows of tables have no unit beside their numbers.
NO_SENTENCE = re.compile(r"^```.*?^```|<!--.*?-->|`[^`\n]+`|^\|[^\n]*", re.DOTALL | re.MULTILINE)
TABLE = re.compile(r"(<!-- table: (\S+\.json), ([^\n]+) -->\n).*?(<!-- /table -->)", re.DOTALL)


class FigureError(Exception):
    """A page, or docs/figures.toml, says something that cannot be looked up."""


@dataclass(frozen=True)
class Tie:
    """A sentence of a page, with a hole for each figure, and where the figures are; without any, it quotes none."""

    page: str
    says: str
    figures: tuple[tuple[Any, ...], ...] = ()

    def found_in(self, text: str) -> re.Match[str]:
        """Return the one place where the page says it; line breaks do not matter."""
        pattern = r"\s+".join(map(re.escape, self.says.split(" ")))
        pattern = pattern.replace(re.escape(HOLE), f"({NUMBER})").replace(ANYTHING, "[^|\n]*?")
        found = list(re.finditer(pattern, text))
        if len(found) != 1:
            raise FigureError(
                f"{self.page} says {len(found)} times: {self.says!r}. It must say it once: mend the page, or "
                "docs/figures.toml."
            )
        return found[0]


def read_ties() -> list[Tie]:
    """Return what docs/figures.toml says."""
    read = tomllib.loads(TIES.read_text())
    quotes = [Tie(tie["page"], tie["says"], tuple(map(tuple, tie["from"]))) for tie in read["quote"]]
    plain = [Tie(tie["page"], says) for tie in read["plain"] for says in tie["says"]]
    for tie in quotes:
        if tie.says.count(HOLE) != len(tie.figures):
            n_holes = tie.says.count(HOLE)
            raise FigureError(
                f"{tie.says!r} has {n_holes} holes, and {len(tie.figures)} figures. Name one for each."
            )
    return quotes + plain


# --- where figures are ----------------------------------------------------------------------------------------


def written(source: str, *where: Any) -> str:
    """Return a figure as a page quotes it.

    `where` is (table, row, column, format), or (sentence, format) for a page: a sentence with a hole. A row is its
    first cell, or a list of its first cells. For results of the study, it is (cell, strategy, rival, format). A figure
    is quoted without its sign, unless the format has a plus.
    """
    *place, form = where
    if source.endswith(".parquet"):
        value = _in_study(source, *place)
    else:
        value = _in_table(source, *place) if len(place) == 3 else _in_sentence(source, *place)
    return format(value if "+" in form else abs(value), form)


def _in_table(source: str, title: str, row: str | list[str], column: str) -> float:
    first = [row] if isinstance(row, str) else row
    cells = [
        cell
        for table in tables_of(source)
        if title in _names(table)
        for cells in table.rows
        if cells[: len(first)] == first
        for name, cell in zip(table.header, cells, strict=False)
        if name == column
    ]
    if len(cells) != 1:
        raise FigureError(f"{source} has {len(cells)} cells {title!r}, {row!r}, {column!r}. Name one.")
    return number_in(cells[0])


def _names(table: Table) -> list[str]:
    """Return what a table may be called; where a heading has several, by its first cell, or the words before it."""
    return [table.title, f"{table.title}, {table.header[0]}", f"{table.title}, {table.note}"]


def _in_sentence(source: str, sentence: str) -> float:
    return number_in(Tie(source, sentence).found_in((ROOT / source).read_text())[1])


def _in_study(source: str, cell: str, strategy: str, rival: str) -> float:
    """Return by how many points of accuracy a strategy is ahead of another in a cell of the study, in the mean."""
    problem, n_labeled, batch_size = re.fullmatch(r"(.+), ([\d,]+) \+ ([\d,]+)", cell).groups()
    means = []
    for name in (strategy, rival):
        rows = _study(source).filter(
            (pc.field("problem") == problem)
            & (pc.field("n_labeled") == int(number_in(n_labeled)))
            & (pc.field("batch_size") == int(number_in(batch_size)))
            & (pc.field("strategy") == name)
        )
        if not len(rows):
            raise FigureError(f"{source} has no draws of {name!r} in the cell {cell!r}.")
        means.append((pc.mean(rows["accuracy"]).as_py(), rows["draw"].to_pylist()))
    assert sorted(means[0][1]) == sorted(means[1][1]), "strategies share their draws"
    return 100 * (means[0][0] - means[1][0])


@functools.cache
def _study(source: str) -> pa.Table:
    columns = ["problem", "n_labeled", "batch_size", "strategy", "draw", "accuracy"]
    return pq.read_table(ROOT / source, columns=columns)


def number_in(text: str) -> float:
    """Return the first number of a cell."""
    found = re.search(NUMBER, text)
    if found is None:
        raise FigureError(f"There is no number in {text!r}.")
    return float(found[0].replace(",", ""))


@functools.cache
def tables_of(source: str) -> list[Table]:
    """Return the tables of a result, or of a page, where they are called by heading and summary.

    The note of a page's table are the words before it.
    """
    if source.endswith(".json"):
        return [Table(**table) for table in json.loads((RESULTS / source).read_text())["tables"]]
    return list(_tables_on((ROOT / source).read_text()))


def _tables_on(page: str) -> Iterator[Table]:
    heading = summary = words = ""
    rows: list[list[str]] = []
    for line in [*page.splitlines(), ""]:
        if line.startswith("#"):
            heading, summary = line.lstrip("# "), ""
        elif found := re.fullmatch("<summary>(.*)</summary>", line):
            summary = found[1]
        elif line == "</details>":
            summary = ""
        elif line.startswith("|"):
            rows.append([cell.strip(" *") for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
        elif rows:
            yield Table(", ".join(filter(None, (heading, summary))), rows[0], rows[2:], words)
            rows = []
        elif line.endswith(":"):
            words = line.rstrip(":")


# --- pages ----------------------------------------------------------------------------------------------------


def with_current_figures(text: str, ties: list[Tie]) -> str:
    """Return a page with its tables and the figures of its sentences as results have them."""
    text = TABLE.sub(lambda found: f"{found[1]}\n{_body(found[2], found[3])}\n\n{found[4]}", text)
    for tie in ties:
        found = tie.found_in(text)
        for hole in reversed(range(len(tie.figures))):  # from the end, so that places before it stay
            start, end = found.span(hole + 1)
            text = text[:start] + written(*tie.figures[hole]) + text[end:]
    return text


def _body(source: str, title: str) -> str:
    tables = [table for table in tables_of(source) if table.title == title]
    if len(tables) != 1:
        raise FigureError(f"{source} has {len(tables)} tables {title!r}.")
    return Table("", tables[0].header, tables[0].rows).markdown().removeprefix("****\n\n")


def untied(text: str, ties: list[Tie]) -> list[str]:
    """Return the figures of a page that no tie accounts for, each with its line and the words around it."""
    sentences = TABLE.sub(_blank, text)
    sentences = NO_SENTENCE.sub(_blank, sentences)
    found_ties = [(tie, tie.found_in(text)) for tie in ties]
    plain = [found.span() for tie, found in found_ties if not tie.figures]
    quoted = {found.start(hole + 1) for tie, found in found_ties for hole in range(len(tie.figures))}
    return [
        f"line {text.count(chr(10), 0, found.start()) + 1}: "
        + " ".join(text[max(found.start() - 40, 0) : found.end() + 20].split())
        for found in FIGURE.finditer(sentences)
        if found.start() not in quoted
        and not any(start <= found.start() and found.end() <= end for start, end in plain)
    ]


def _blank(found: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", found[0])


def ties_of(name: str) -> list[Tie]:
    """Return the ties of a page."""
    source = WORDS_OF.get(name, name)
    return [tie for tie in read_ties() if tie.page == source]


def main() -> None:
    """Write every page that has a tie or a table."""
    for path in (ROOT / "README.md", *map(ROOT.joinpath, WORDS_OF.values()), *(ROOT / "docs").rglob("*.md")):
        page = path.read_text()
        name = path.relative_to(ROOT).as_posix()
        current = with_current_figures(page, ties_of(name))
        if current != page:
            path.write_text(current)
            print(f"Wrote {name}.")


if __name__ == "__main__":
    main()

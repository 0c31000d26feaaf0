"""The page docs/study.md: tables and pictures from a folder of results, and the words of a file beside it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc

from minmargin.experiments.paper.figures.style import save
from minmargin.experiments.paper.page.tables import table
from minmargin.experiments.study.cells import MOST_OF_POOL, MOST_TEST
from minmargin.experiments.study.facts import read_facts
from minmargin.experiments.study.grid import REFERENCES, Grid
from minmargin.experiments.study.metrics import LEAST_PROBABILITY, METRICS, SHOWN, Shown
from minmargin.experiments.study.parts import read_results
from minmargin.experiments.study.pictures import draw_ranks, draw_regrets
from minmargin.experiments.study.problems import LARGE, half_of
from minmargin.experiments.study.summary import N_WORST, Summary, regrets_by_size, summarize_grid
from minmargin.experiments.study.ways import MOST_BOOSTED_CLASSES, WAYS
from minmargin.files import write_whole

_HEAD = """# The study

<!-- Written from the results: what is changed here by hand is lost. Words are kept in a file of their own. -->

Every strategy of the package on real problems: tables, texts and images. All strategies of a draw share its labeled
rows, pool, test rows and committee. `minmargin study` plays it again."""

_READING = f"""- **Cell**: a problem, a number of labeled rows and a batch size. A batch is at most {MOST_OF_POOL:.0%}
  of the pool.
- **Regret**: how much worse than the best of {", ".join(REFERENCES[:-1])} and {REFERENCES[-1]} in the same cell, the
  one with the best mean over the draws. Below 0 is better than all three. The reference is found from the same draws,
  which makes it a little better than it deserves.
- **Interval**: 95%, normal, from paired draws. The regrets of a problem's cells are summed draw by draw first, since
  they share rows. It tells what other draws would change, not what other problems would.
- **Wins and losses**: cells in which a paired t test tells a strategy from the reference, after Holm's correction over
  all cells of the strategy.
- **Rank**: each problem ranks the strategies by their mean regret over its cells. Friedman's test and Nemenyi's
  critical difference take problems as units.
- **Seconds** of picking, without training, as a multiple of min-margin's; the geometric mean over cells. A strategy
  whose small batches are beginnings of its large ones is asked once, for the largest.
- Models are tried on a third of the rows, at most {MOST_TEST:,}. A class that nobody has labeled counts as missed. A
  probability counts as {LEAST_PROBABILITY:g} at least in the log loss, so such a class costs 13.8.
- Average precision is that of the rarer class, of problems with two.
- *Boosting*: the logistic committee picks, and a gradient-boosted model is trained with the rows. Problems with more
  than {MOST_BOOSTED_CLASSES} classes are left out there.
- The two **halves** were named before anybody looked: of the sorted names, every other is to choose by, the rest to
  confirm."""

_NAMES = {"logistic": "Logistic regression", "networks": "Networks", "boosting": "Boosting"}


def write_page(results: Path, page: Path, pictures: Path, *, words: Path | None = None) -> Path:
    """Write the page of a folder of results, and its pictures into another; return the page's path."""
    told = {} if words is None or not words.exists() else read_words(words.read_text())
    folder = Path(os.path.relpath(pictures, page.parent)).as_posix()
    text, figures = make_page(read_results(results), read_facts(results), told, folder)
    pictures.mkdir(parents=True, exist_ok=True)
    for name, figure in figures.items():
        save(figure, pictures / name)

    def write(file: IO[bytes]) -> None:
        file.write(text.encode())

    return write_whole(page, write)


def read_words(text: str) -> dict[str, str]:
    r"""Return the words of each section, by the section's name.

    >>> read_words("# Words\n\n## in short\n\nAll are alike.\n\n## logistic\n")
    {'in short': 'All are alike.', 'logistic': ''}
    """
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    return {name.strip(): words.strip() for name, words in zip(parts[1::2], parts[2::2], strict=True)}


def make_page(
    results: pa.Table, facts: Mapping[str, Mapping[str, Any]], words: Mapping[str, str], pictures: str
) -> tuple[str, dict[str, Any]]:
    """Return the page, which looks for its pictures in a folder, and the pictures by file name."""
    played = pc.unique(pc.cast(results["way"], pa.string())).to_pylist()
    paragraphs = [_HEAD, words.get("in short", ""), "## What was played", _extent(results), _problems(facts)]
    figures: dict[str, Any] = {}
    for way in (way for way in WAYS if way in played):
        sections, drawn = _section(results, way, words.get(way, ""), pictures)
        paragraphs += sections
        figures |= drawn
    paragraphs += ["## How to read it", _READING, words.get("at the end", "")]
    return "\n\n".join(paragraph for paragraph in paragraphs if paragraph) + "\n", figures


def _extent(results: pa.Table) -> str:
    rows = []
    for way in WAYS:
        of_way = results.filter(pc.equal(pc.cast(results["way"], pa.string()), way))
        grid = Grid.of(results, way, METRICS[0].name)
        if not of_way.num_rows:
            continue
        draws = [
            pc.count_distinct(
                of_way.filter(pc.equal(pc.cast(of_way["problem"], pa.string()), name))["draw"]
            ).as_py()
            for name in grid.problems
        ]
        n_draws = f"{min(draws)} to {max(draws)}" if min(draws) < max(draws) else f"{min(draws)}"
        rows.append(
            (
                _NAMES[way],
                f"{len(grid.problems)}",
                f"{len(grid.cells)}",
                f"{len(grid.strategies)}",
                n_draws,
                f"{of_way.num_rows:,}",
            )
        )
    return table(("way of learning", "problems", "cells", "strategies", "draws of each", "models"), rows)


def _problems(facts: Mapping[str, Mapping[str, Any]]) -> str:
    rows = [
        (
            name,
            each["half"],
            f"{each['rows']:,}",
            f"{each['columns']}",
            f"{each['classes']}",
            f"{each['largest_class']:.0%}",
            f"{each['copies']:.1%}",
        )
        for name, each in sorted(facts.items())
    ]
    head = ("problem", "half", "rows", "columns", "classes", "largest class", "copies of other rows")
    return _folded("The problems", table(head, rows))


def _section(results: pa.Table, way: str, words: str, pictures: str) -> tuple[list[str], dict[str, Any]]:
    """Return the paragraphs of a way of learning, and its pictures."""
    first = METRICS[0].name
    every = Grid.of(results, way, first)
    grid = every.only(lambda cell: not cell.problem.endswith(LARGE))
    large = every.only(lambda cell: cell.problem.endswith(LARGE))
    paragraphs, figures = [f"## {_NAMES[way]}", words], {}
    if grid.cells:
        summary = summarize_grid(grid)
        shown = SHOWN[first]
        figures[f"{way}.svg"] = draw_regrets(grid, scale=shown.scale, unit=shown.unit)
        caption = f"Mean regret in {shown.unit} of {shown.name}, by strategy and problem"
        paragraphs += [f"![{caption}]({pictures}/{way}.svg)", f"*{caption}.*", _lines(summary, first)]
        if summary.ranks.n_sets > 1:
            figures[f"{way}-ranks.svg"] = draw_ranks(grid.strategies, summary.ranks)
            caption = f"Mean ranks over {summary.ranks.n_sets} problems"
            paragraphs += [f"![{caption}]({pictures}/{way}-ranks.svg)", f"*{caption}. {_friedman(summary)}*"]
        paragraphs += [
            _folded("By half", _halves(grid)),
            _folded("By number of labeled rows and batch size", _sizes(grid)),
        ]
    for metric in METRICS[1:]:
        other = Grid.of(results, way, metric.name).only(lambda cell: not cell.problem.endswith(LARGE))
        if other.cells:
            lines = _lines(summarize_grid(other), metric.name)
            paragraphs.append(_folded(f"By {SHOWN[metric.name].name}", lines))
    if large.cells:
        paragraphs.append(_folded("Large batches", _lines(summarize_grid(large), first)))
    return paragraphs, figures


def _lines(summary: Summary, metric: str) -> str:
    shown = SHOWN[metric]
    head = (
        f"regret, {shown.unit} of {shown.name}",
        "mean",
        "95% interval",
        "worst cell",
        f"{N_WORST} worst",
        "wins",
        "losses",
        "rank",
        "seconds",
    )
    return table(
        head,
        [
            (
                line.strategy,
                _number(line.regret, shown),
                f"{_number(line.low, shown)} to {_number(line.high, shown)}",
                f"{_number(line.worst[1], shown)} ({line.worst[0]})",
                _number(line.of_worst, shown),
                f"{line.wins}",
                f"{line.losses}",
                f"{line.rank:.2f}",
                f"{line.seconds:.1f}",
            )
            for line in summary.lines
        ],
    )


def _halves(grid: Grid) -> str:
    shown = SHOWN[METRICS[0].name]
    halves = {
        half: summarize_grid(grid.only(lambda cell, half=half: half_of(cell.problem) == half))  # type: ignore[misc]
        for half in ("choose", "confirm")
    }
    found = {half: {line.strategy: line for line in each.lines} for half, each in halves.items()}
    rows = []
    for strategy in grid.strategies:
        cells = []
        for half in halves:
            line = found[half].get(strategy)
            cells += (
                ["", "", ""]
                if line is None
                else [
                    f"{_number(line.regret, shown)} [{_number(line.low, shown)}, {_number(line.high, shown)}]",
                    f"{line.wins}-{line.losses}",
                    f"{line.rank:.2f}",
                ]
            )
        rows.append((strategy, *cells))
    head = [f"{half}: {what}" for half in halves for what in ("regret", "wins-losses", "rank")]
    return table(("strategy", *head), rows)


def _sizes(grid: Grid) -> str:
    shown = SHOWN[METRICS[0].name]
    by_size = regrets_by_size(grid)
    rows = [
        (strategy, *(_number(float(regrets[number]), shown) for regrets in by_size.values()))
        for number, strategy in enumerate(grid.strategies)
    ]
    return table(("mean regret", *(f"{n_labeled} + {size:,}" for n_labeled, size in by_size)), rows)


def _friedman(summary: Summary) -> str:
    p_value = summary.ranks.p_value
    told = "p < 0.0001" if p_value < 0.0001 else f"p = {p_value:.4f}"
    return (
        f"Friedman's test that all are alike: {told}. Bars join those that Nemenyi's test cannot tell apart."
    )


def _folded(title: str, text: str) -> str:
    return f"<details>\n<summary>{title}</summary>\n\n{text}\n\n</details>"


def _number(value: float, shown: Shown) -> str:
    """Return a difference of a metric in its unit; 0 has no sign.

    >>> [_number(value, SHOWN["accuracy"]) for value in (-0.00001, 0.01234, float("inf"))]
    ['0.00', '1.23', '∞']
    """
    if abs(value) == float("inf"):
        return "∞" if value > 0 else "-∞"
    return f"{round(shown.scale * value, shown.digits) + 0.0:.{shown.digits}f}"

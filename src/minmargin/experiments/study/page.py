"""The page docs/study.md: tables and pictures from a folder of results, and the words of a file beside it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from minmargin.experiments.paper.figures.style import save
from minmargin.experiments.paper.page.tables import table
from minmargin.experiments.study.cells import (
    BATCH_SIZES_BOOSTED,
    BATCH_SIZES_LARGE,
    MOST_OF_POOL,
    MOST_TEST,
    N_LABELED,
    N_LABELED_LARGE,
)
from minmargin.experiments.study.copies import compare_copies
from minmargin.experiments.study.facts import read_facts
from minmargin.experiments.study.grid import REFERENCES, Grid
from minmargin.experiments.study.metrics import LEAST_PROBABILITY, METRICS, SHOWN
from minmargin.experiments.study.named import BOOSTED, DISTINCT, QUADRATIC
from minmargin.experiments.study.parts import read_results
from minmargin.experiments.study.penalties import PENALTIES, compare_penalties, training_seconds
from minmargin.experiments.study.pictures import draw_gains, draw_ranks
from minmargin.experiments.study.problems import LARGE
from minmargin.experiments.study.summary import CLEAR_ERRORS, N_WORST, Summary, summarize_grid
from minmargin.experiments.study.tables import (
    HALVES,
    count_draws,
    from_to,
    list_copies,
    list_gains,
    list_halves,
    list_penalties,
    list_penalties_overall,
    list_problems,
    list_sizes,
    list_variants,
)
from minmargin.experiments.study.variants import MEANINGS, VARIED
from minmargin.experiments.study.ways import MOST_BOOSTED_CLASSES, NETWORKS, WAYS
from minmargin.files import make_folder, write_text

#: The sections of the page that have words, from a file of words.
SECTIONS = ("in short", *WAYS, "copies", "penalty", "tried", "at the end")

_HEAD = """# The study

<!-- Written from the results: what is changed here by hand is lost. Words are kept in a file of their own. -->

Which strategy should pick the rows that are labeled next? Here, all of them play on real problems: tables, texts and
images. Some rows are labeled, each strategy picks a batch from the rest, and a model is trained with both. What counts
is how good that model is on rows that nobody has seen. A *draw* of a problem says which rows are labeled, which can be
picked and which are kept for the test; all strategies of a draw share them, and the committee. `minmargin study` plays
it again."""

_READING = f"""- **Cell**: a problem, a number of labeled rows and a batch size, written *problem, labeled + batch*.
- **Gain**: how much better a strategy is than the best of {", ".join(REFERENCES[:-1])} and {REFERENCES[-1]} in the same
  cell and draw. Above 0 is better than all three, on every table and picture. The best of three is the one with the
  highest mean in the cell; it is found from the same draws, so it is a little better than it deserves.
- **Wins-losses**: in how many cells a strategy is told from the best of three by a paired t test, after Holm's
  correction over all cells of the strategy. **Beyond {CLEAR_ERRORS} s.e.**: the same count where a mean gain of more
  than {CLEAR_ERRORS} standard errors is called clear, without a correction.
- **Worst cell**, and the mean of the {N_WORST} worst: what a strategy costs where it fails.
- **Halves**: of the sorted names of problems, every other one is to *choose* by, the rest are to *confirm* the choice.
  They were named before anybody looked at a result."""

_DETAILS = f"""- The 95% interval is normal, from paired draws. The gains of a problem's cells are summed draw by draw
  first, since they share rows. It tells what other draws would change, not what other problems would.
- Rank: each problem ranks the strategies by their mean gain over its cells, 1 being best. Friedman's test and Nemenyi's
  critical difference take problems as units.
- Seconds of picking, without training, as a multiple of min-margin's; the geometric mean over cells. A strategy whose
  small batches are beginnings of its large ones is asked once, for the largest.
- Models are tried on a third of the rows, at most {MOST_TEST:,}. A batch is at most {MOST_OF_POOL:.0%} of the pool. A
  class that nobody has labeled counts as missed. In the log loss, a probability counts as {LEAST_PROBABILITY:g} at
  least, so such a class costs 13.8.
- Average precision is that of the rarer class, of problems with two.
- Logistic regression has an L2 penalty, C = 1, and is at its optimum.
- Networks have one hidden layer of {NETWORKS.hidden[0]} units, and make {NETWORKS.epochs} epochs of Adam with steps of
  {NETWORKS.lr:g} on mini-batches of {NETWORKS.batch_size} rows: `learner="mlp"` as the package has it. Nothing stops
  them early, since rows to stop by would have to be labeled, too; so all are trained equally long, whatever was picked.
- Boosting: the logistic committee picks, and gradient boosting of 100 steps is trained with the rows, one model at a
  time. Hence only {", ".join(BOOSTED[:-1])} and {BOOSTED[-1]} play, with batches of
  {" and ".join(f"{size:,}" for size in BATCH_SIZES_BOOSTED)}, on problems with at most {MOST_BOOSTED_CLASSES} classes.
- Large batches: {N_LABELED_LARGE[0]} labeled rows, batches of {BATCH_SIZES_LARGE[0]:,} and logistic regression.
  {" and ".join(QUADRATIC)}, which compare each row of the pool with each pick, are left out there: they take a
  minute and more."""

_NAMES = {"logistic": "Logistic regression", "networks": "Networks", "boosting": "Boosting"}


def write_page(results: Path, page: Path, pictures: Path, *, words: Path | None = None) -> Path:
    """Write the page of a folder of results, and its pictures into another; return the page's path."""
    told = {} if words is None or not words.exists() else read_words(words.read_text())
    folder = Path(os.path.relpath(pictures, page.parent)).as_posix()
    text, figures = make_page(read_results(results), read_facts(results), told, folder)
    make_folder(pictures)
    for name, figure in figures.items():
        save(figure, pictures / name)
    return write_text(page, text)


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
    paragraphs = [_HEAD, words.get("in short", ""), "## How to read it", _READING]
    paragraphs += ["## What was played", _extent(results), _folded("The problems", list_problems(facts))]
    figures: dict[str, Any] = {}
    for way in (way for way in WAYS if way in _played(results)):
        sections, drawn = _section(results, way, words.get(way, ""), pictures)
        paragraphs += sections
        figures |= drawn
    paragraphs += _copies(results, facts, words.get("copies", ""))
    paragraphs += _penalties(results, facts, words.get("penalty", ""))
    paragraphs += _tried(results, words.get("tried", ""))
    paragraphs += ["## Details", _DETAILS, words.get("at the end", "")]
    return "\n\n".join(paragraph for paragraph in paragraphs if paragraph) + "\n", figures


def _played(results: pa.Table) -> list[str]:
    ways: list[str] = pc.unique(pc.cast(results["way"], pa.string())).to_pylist()
    return ways


def _extent(results: pa.Table) -> str:
    rows = []
    for way in WAYS:
        of_way = results.filter(pc.equal(pc.cast(results["way"], pa.string()), way))
        grid = _without_distinct(Grid.of(results, way, METRICS[0].name))
        if not of_way.num_rows:
            continue
        rows.append(
            (
                _NAMES[way],
                f"{len(grid.problems)}",
                f"{len(grid.cells)}",
                f"{len(grid.strategies)}",
                count_draws(grid),
                f"{of_way.num_rows:,}",
            )
        )
    return table(("way of learning", "problems", "cells", "strategies", "draws of each", "models"), rows)


def _section(results: pa.Table, way: str, words: str, pictures: str) -> tuple[list[str], dict[str, Any]]:
    """Return the paragraphs of a way of learning, and its pictures."""
    first = METRICS[0].name
    every = _without_distinct(Grid.of(results, way, first))
    grid = every.only(lambda cell: not cell.problem.endswith(LARGE))
    large = every.only(lambda cell: cell.problem.endswith(LARGE))
    paragraphs, figures = [f"## {_NAMES[way]}", words], {}
    if grid.cells:
        summary = summarize_grid(grid)
        shown = SHOWN[first]
        figures[f"{way}.svg"] = draw_gains(grid, scale=shown.scale, unit=shown.unit)
        caption = f"Mean gain in {shown.unit} of {shown.name}, by strategy and problem"
        paragraphs += [f"![{caption}]({pictures}/{way}.svg)", f"*{caption}.*", list_gains(summary, first)]
        if summary.ranks.n_sets > 1:
            figures[f"{way}-ranks.svg"] = draw_ranks(grid.strategies, summary.ranks)
            caption = f"Mean ranks over {summary.ranks.n_sets} problems"
            paragraphs += [f"![{caption}]({pictures}/{way}-ranks.svg)", f"*{caption}. {_friedman(summary)}*"]
        paragraphs += [
            _folded("By half", list_halves(grid)),
            _folded("By number of labeled rows and batch size", list_sizes(grid)),
        ]
    for metric in METRICS[1:]:
        other = _without_distinct(Grid.of(results, way, metric.name))
        other = other.only(lambda cell: not cell.problem.endswith(LARGE))
        if other.cells:
            lines = list_gains(summarize_grid(other), metric.name)
            paragraphs.append(_folded(f"By {SHOWN[metric.name].name}", lines))
    if large.cells:
        paragraphs.append(_folded("Large batches", list_gains(summarize_grid(large), first)))
    return paragraphs, figures


def _copies(results: pa.Table, facts: Mapping[str, Mapping[str, Any]], words: str) -> list[str]:
    """Return the paragraphs on strategies that passed over copies; none where none did."""
    paragraphs: list[str] = []
    draws: list[int] = []
    for way in (way for way in WAYS if way in _played(results)):
        for metric in METRICS[:2]:
            pairs = compare_copies(Grid.of(results, way, metric.name))
            if pairs:
                draws += [end for pair in pairs for end in pair.draws]
                paragraphs += [
                    f"{_NAMES[way]}, {SHOWN[metric.name].name}:",
                    list_copies(pairs, metric.name, facts),
                ]
    if not paragraphs:
        return []
    explained = (
        "Some problems have many rows that are copies of others. With `distinct=True` a strategy passes over copies of "
        "rows that it picked already. Here each such strategy is compared with itself, draw by draw, over "
        f"{from_to((min(draws), max(draws)))} draws of each cell: above 0, passing over copies is better."
    )
    return ["## Copies of rows", explained, words, *paragraphs]


def _penalties(results: pa.Table, facts: Mapping[str, Mapping[str, Any]], words: str) -> list[str]:
    """Return the paragraphs on `C="auto"`; none where it has not played."""
    if PENALTIES not in _played(results):
        return []
    compared = {metric.name: compare_penalties(results, metric.name) for metric in METRICS[:3]}
    n_draws = compared[METRICS[0].name].by_problem.n_draws
    draws = from_to((int(n_draws.min()), int(n_draws.max())))
    explained = (
        'Here logistic regression with `C="auto"` is compared with C = 1, draw by draw: above 0, "auto" is better. It '
        "chooses for the committee that picks, and again, with the batch, for each final model. Named before anybody "
        'looked: *"auto" is clearly worse than C = 1 in accuracy on no problem, and better in the mean.* A problem has '
        f"{draws} draws, whose differences are averaged over strategies, numbers of labeled rows and batch sizes. "
        "Intervals of problems are those of a paired t test, and **bold** is what is clear after Holm's correction "
        "over all problems. *Problems* and *cells* count wins-losses, corrected over all problems, and over all cells "
        f"of a strategy. Seconds are those of training a committee on {N_LABELED[-1]} labeled rows. "
        "`study/penalties.py` plays it again."
    )
    by_problem = list_penalties(compared, training_seconds(results, N_LABELED[-1]), facts)
    return ["## The penalty", explained, words, list_penalties_overall(compared), by_problem]


def _tried(results: pa.Table, words: str) -> list[str]:
    """Return the paragraphs on variants of `spread`; none where none were played."""
    if VARIED not in _played(results):
        return []
    grid = Grid.of(results, VARIED, METRICS[0].name)
    explained = (
        "Before `spread` was settled, variants of it were played with logistic regression: first on the problems to "
        "choose by, then the best of them on those to confirm, with fresh draws. A row's *g* is p - onehot of its most "
        "likely class, p being the mean of the members; its *f* is what the last linear layer sees; its *e* is the "
        "product of g with f / |f|^½. `spread` draws 4 rows for each pick in proportion to |g|, and picks among "
        "them by k-means++ on e. Gains are in points of accuracy. `study/vary.py` plays it again."
    )
    ends = {"choose": "to choose by", "confirm": "to confirm the choice"}
    titles = (f"On the problems {ends[half]}, {count_draws(grid, half)} draws of each:" for half in HALVES)
    tables = (list_variants(grid, half, MEANINGS, of="spread") for half in HALVES)
    return [
        "## What was tried",
        explained,
        words,
        *(each for pair in zip(titles, tables, strict=True) for each in pair),
    ]


def _without_distinct(grid: Grid) -> Grid:
    """Return the strategies as they are: those that pass over copies have few problems, and tables of their own."""
    return grid.among(lambda name: not name.endswith(DISTINCT))


def _friedman(summary: Summary) -> str:
    p_value = summary.ranks.p_value
    told = "p < 0.0001" if p_value < 0.0001 else f"p = {p_value:.4f}"
    return (
        f"Friedman's test that all are alike: {told}. Bars join those that Nemenyi's test cannot tell apart."
    )


def _folded(title: str, text: str) -> str:
    return f"<details>\n<summary>{title}</summary>\n\n{text}\n\n</details>"

"""The page docs/published.md: what others report beside what comes out here, and words of a file beside the results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from minmargin.compare.statistics import decide, join, summarize
from minmargin.experiments.paper.page.tables import table, text_table
from minmargin.experiments.published import alpbench, rebenchmark
from minmargin.experiments.published.areas import Areas, Cell, compare_with_reported
from minmargin.experiments.published.curves import Curve, read_curves
from minmargin.experiments.published.hypotheses import HYPOTHESES
from minmargin.experiments.published.matrices import count_best, count_wins, list_played
from minmargin.experiments.published.theirs import REBENCHMARK, REBENCHMARK_DRAWS, REBENCHMARK_MARGIN
from minmargin.experiments.published.verdicts import judge, their_draws
from minmargin.experiments.study.page import read_words
from minmargin.files import write_text

#: The sections of the page that have words, from a file of words.
SECTIONS = ("in short", rebenchmark.TABLE, alpbench.TABLE)

_HEAD = """# Published tables, played again

<!-- Written from the results: what is changed here by hand is lost. Words are kept in a file of their own. -->

Others have compared strategies, too. Here tables of theirs are played by their own rules, as far as the data is at
hand, with our strategies beside theirs. If the numbers did not agree where both do the same, nothing else here could be
believed. `minmargin published` plays them again."""

_REBENCHMARK = f"""## Lu, Li and Lin: one label at a time

[Re-Benchmarking Pool-Based Active Learning for Binary Classification](https://arxiv.org/abs/2306.08954v1) (2023). Of
their 26 sets, two are at hand. {rebenchmark.TEST_SHARE:.0%} of the rows are kept for the test, by chance, anew in each
draw; {rebenchmark.N_LABELED} rows are labeled, and then all others of the training rows, one at a time. Columns are
scaled over all training rows. The model that is tried and asked is `SVC(kernel="rbf", gamma="auto", C=1)`. What counts
is the area under the curve of accuracy.

Their code shows what the paper leaves open, and their logs that the rows of their files stand in the order of ours:

- A draw is a seed that shuffles the rows. With the same seeds, these are their very draws: in draws 2 and 3 on phoneme,
  scikit-learn's models of margin have as many test rows right as their logs say, to the row, as far as we looked (143
  labels).
- The area leaves out the model before the first label, and is divided by the number of labels bought: with q labels, it
  is the mean height of the curve times (q - 1) / q. That takes 0.0003 off all areas. The first table counts so.
- Sets with 2,000 rows or more have {REBENCHMARK_DRAWS} draws, and their deviation is that of draws, not of the mean.
- *Uniform* takes the shuffled rows as they come, which `random+theirs` does here. Our `random` takes others.
- *US-C* is margin, asked of the same SVC. *US-NC* is entropy of a logistic regression, and is not played here.
- *Core-Set* is greedy k-centers by Euclidean distance, which `k-centers+euclidean` is here. Our `k-centers` measures
  angles.
- *QBC* asks a logistic regression, two SVCs and a linear discriminant. Our `committee` asks 25 SVCs on bootstrap draws.

An SVC has no probabilities. Strategies are given logits: decision values times one number, the slope of Platt's sigmoid
without an offset, fitted on the labeled rows in each round. So margins keep their order and predictions their sides,
and `spread` and `badge` have probabilities to go by."""

_READING_REPORTED = """The interval is Welch's, of the difference of two means, as if draws were not the same. For
margin, their logs have each draw. libsvm stops when its conditions hold to 0.001, and which of two rows is closer to
the boundary then hangs on the order in which it was given the others: with the rows in another order, scikit-learn's
own curves part from their logs after 10 to 25 labels. So do ours, and single draws differ by chance:"""

_READING_AREAS = """Areas are mean heights of the whole curve, with the standard deviation of draws and their number.
Beside them stands what a strategy gains over margin with the same batch size in the same draws, in points; **bold** is
what is told apart by a paired t test after Holm's correction over all differences of a batch size."""

_ALPBENCH = f"""## ALPBench: twenty rounds, three sizes

[ALPBench](https://arxiv.org/abs/2406.17322) (Margraf et al. 2024) has 86 sets; these are the ones at hand, all in
OpenML-CC18 and, by their numbers there, in the lists of its code:
{", ".join(f"{name} ({number})" for name, number in alpbench.OPENML.items())}. {alpbench.TEST_SHARE:.0%} of the rows are
kept for the test; {alpbench.N_ROUNDS} rounds add 10 rows to 30, 50 to 100, or 200 to 300. Every column is coded by the
places of its values, as their code does it, and nothing is scaled.

- Learners: logistic regression and random forests with their settings, and scikit-learn's boosting by histograms with
  the depth and number of trees of their XGBoost.
- Their class called min-margin has ten estimators, but they are one object, trained on the same rows. With logistic
  regression and boosting it is margin, to the bit. Of a forest it takes the first ten trees: `min-margin+theirs`.
  Here `min-margin` has ten models on bootstrap draws, and so has `spread`.
- A *win* is a larger mean area at p < 0.05. They decide by Welch's t test, which takes draws for unpaired. All
  strategies of a draw share its rows, so a paired test sees more; both are shown, the paired one after Holm's
  correction over all sets of a table."""


def write_page(results: Path, page: Path, *, words: Path | None = None) -> Path:
    """Write the page of a folder of results, and return its path."""
    told = {} if words is None or not words.exists() else read_words(words.read_text())
    return write_text(page, make_page(read_curves(results), told))


def make_page(curves: Sequence[Curve], words: Mapping[str, str]) -> str:
    """Return the page."""
    paragraphs = [_HEAD, words.get("in short", ""), "## What was expected", _list_hypotheses(curves)]
    played = {curve.task.table for curve in curves}
    if rebenchmark.TABLE in played:
        paragraphs += [_REBENCHMARK, words.get(rebenchmark.TABLE, ""), *_of_rebenchmark(curves)]
    if alpbench.TABLE in played:
        paragraphs += [_ALPBENCH, words.get(alpbench.TABLE, ""), *_of_alpbench(curves)]
    return "\n\n".join(paragraph for paragraph in paragraphs if paragraph) + "\n"


def _list_hypotheses(curves: Sequence[Curve]) -> str:
    verdicts = judge(curves)
    rows = [
        (each.table, each.text, verdicts[each.name].outcome, verdicts[each.name].figures)
        for each in HYPOTHESES
    ]
    head = ("table", "named before any result was seen", "outcome", "figures")
    return text_table(head, rows)


def _of_rebenchmark(curves: Sequence[Curve]) -> list[str]:
    return [
        "### Theirs and ours",
        _list_reported(Areas(their_draws(curves), rebenchmark.TABLE, "theirs")),
        _READING_REPORTED,
        _list_margin_by_draw(Areas(curves, rebenchmark.TABLE, "theirs")),
        "### All strategies, and batches of 10 and 50",
        _list_areas(Areas(curves, rebenchmark.TABLE)),
        _READING_AREAS,
    ]


def _list_reported(areas: Areas) -> str:
    """Return a row for each figure that both have."""
    rows = []
    for (problem, strategy), reported in REBENCHMARK.items():
        found = areas.of(Cell(problem, rebenchmark.LEARNER, 1), strategy)
        if len(found) < 2:
            continue
        bands = summarize(found)
        away = compare_with_reported(found, reported.mean, reported.deviation, REBENCHMARK_DRAWS)
        rows.append(
            (
                f"{problem}, {strategy}",
                reported.called,
                f"{reported.mean:.4f} ± {reported.deviation:.4f}",
                f"{bands.mean:.4f} ± {bands.deviation:.4f}",
                f"{bands.n_draws}",
                f"{_signed(away.mean)} [{away.low:+.4f}, {away.high:+.4f}]",
                reported.different or "nothing",
            )
        )
    head = (
        "set, strategy",
        "called",
        "theirs",
        "ours",
        "our draws",
        "ours minus theirs",
        "what is different",
    )
    return table(head, rows)


def _list_margin_by_draw(areas: Areas) -> str:
    """Return a row for each draw of margin that both have, with theirs, ours and the difference on each set."""
    found = {
        problem: areas.by_draw(Cell(problem, rebenchmark.LEARNER, 1), "margin")
        for problem in REBENCHMARK_MARGIN
    }
    both = {
        problem: {
            draw: (theirs, found[problem][draw])
            for draw, theirs in enumerate(reported)
            if draw in found[problem]
        }
        for problem, reported in REBENCHMARK_MARGIN.items()
    }
    rows = [
        [f"{draw}", *(part for pairs in both.values() for part in _beside(pairs.get(draw)))]
        for draw in sorted({draw for pairs in both.values() for draw in pairs})
    ]
    means = [np.mean(list(pairs.values()), axis=0).tolist() if pairs else None for pairs in both.values()]
    rows.append(["mean", *(part for pair in means for part in _beside(pair))])
    head = (
        "draw",
        *(part for name in REBENCHMARK_MARGIN for part in (f"{name}, theirs", "ours", "difference")),
    )
    return table(head, rows)


def _signed(value: float) -> str:
    """Return a difference with its sign; 0 has none.

    >>> _signed(0.00123), _signed(-0.00001)
    ('+0.0012', '0.0000')
    """
    rounded = round(value, 4) + 0.0
    return f"{rounded:+.4f}" if rounded else "0.0000"


def _beside(pair: Sequence[float] | None) -> list[str]:
    if pair is None:
        return ["", "", ""]
    theirs, ours = pair
    return [f"{theirs:.4f}", f"{ours:.4f}", _signed(ours - theirs)]


def _list_areas(areas: Areas) -> str:
    """Return a row for each set and strategy, with two columns for each batch size."""
    sizes = sorted({cell.batch_size for cell in areas.cells})
    gains: dict[tuple[Cell, str], str] = {}
    for size in sizes:
        pairs = [
            (cell, strategy)
            for cell in areas.cells
            if cell.batch_size == size
            for strategy in areas.strategies(cell)
            if strategy != "margin" and len(areas.of(cell, "margin"))
        ]
        found = [areas.difference(pair, (pair[0], "margin")) for pair in pairs]
        decided = decide(join(found)) if found else np.zeros(0)
        for pair, each, sign in zip(pairs, found, decided, strict=True):
            told = f"{100 * each.mean:+.2f} [{100 * each.low:+.2f}, {100 * each.high:+.2f}]"
            gains[pair] = f"**{told}**" if sign else told
    rows = []
    for problem in rebenchmark.SETS:
        for strategy in rebenchmark.STRATEGIES:
            cells = [Cell(problem, rebenchmark.LEARNER, size) for size in sizes]
            row = [
                part
                for cell in cells
                for part in (_bands(areas, cell, strategy), gains.get((cell, strategy), ""))
            ]
            if any(row):
                rows.append((f"{problem}, {strategy}", *row))
    return table(
        ("set, strategy", *(part for size in sizes for part in (f"B = {size}", f"B = {size}, minus margin"))),
        rows,
    )


def _bands(areas: Areas, cell: Cell, strategy: str) -> str:
    found = summarize(areas.of(cell, strategy))
    if not found.n_draws:
        return ""
    around = f" ± {found.deviation:.4f}" if found.n_draws > 1 else ""
    return f"{found.mean:.4f}{around} ({found.n_draws})"


def _of_alpbench(curves: Sequence[Curve]) -> list[str]:
    areas = Areas(curves, alpbench.TABLE)
    paragraphs = []
    for size, n_labeled in alpbench.SIZES.items():
        cells = [cell for cell in areas.cells if cell.batch_size == size]
        if not cells:
            continue
        paragraphs += [
            f"### {n_labeled} labeled rows and {size} a round",
            f"Played: {list_played(areas, cells)}.",
            "On how many sets a pipeline is the best, or not told from the best by Welch's test (their heat map):",
            count_best(areas, cells),
            "Wins-ties-losses over the sets, by Welch's test as they count, and paired as we do:",
            count_wins(areas, cells),
        ]
    return paragraphs

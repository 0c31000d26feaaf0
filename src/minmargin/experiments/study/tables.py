"""The tables of the page, in Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from minmargin.compare.statistics import decide
from minmargin.experiments.paper.page.tables import table
from minmargin.experiments.study.copies import Pair
from minmargin.experiments.study.grid import Grid
from minmargin.experiments.study.metrics import METRICS, SHOWN, Shown
from minmargin.experiments.study.penalties import Compared
from minmargin.experiments.study.problems import half_of
from minmargin.experiments.study.summary import (
    CLEAR_ERRORS,
    N_WORST,
    Count,
    Estimate,
    Line,
    Summary,
    estimate,
    gains_by_size,
    summarize_grid,
)

HALVES = ("choose", "confirm")

_COUNTED = ("wins-losses", f"beyond {CLEAR_ERRORS} s.e.")


def list_problems(facts: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a row for each problem."""
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
    return table(
        ("problem", "half", "rows", "columns", "classes", "largest class", "copies of other rows"), rows
    )


def list_gains(summary: Summary, metric: str) -> str:
    """Return a row for each strategy: all that is said of it."""
    shown = SHOWN[metric]
    head = (
        f"gain, {shown.unit} of {shown.name}",
        "mean",
        "95% interval",
        "worst cell",
        f"{N_WORST} worst",
        *_COUNTED,
        "rank",
        "seconds",
        "draws",
    )
    rows = [
        (
            line.strategy,
            *_of_line(line, shown),
            "" if np.isnan(line.rank) else f"{line.rank:.2f}",
            f"{line.seconds:.1f}",
            from_to(line.draws),
        )
        for line in summary.lines
    ]
    return table(head, rows)


def list_halves(grid: Grid) -> str:
    """Return a row for each strategy: what is said of it by the problems to choose by, and by those to confirm."""
    shown = SHOWN[METRICS[0].name]
    found = {
        half: {line.strategy: line for line in summarize_grid(_of_half(grid, half)).lines} for half in HALVES
    }
    rows = []
    for strategy in grid.strategies:
        cells: list[str] = []
        for half in HALVES:
            line = found[half].get(strategy)
            cells += (
                ["", "", ""]
                if line is None
                else [_ends(line, shown), *_counts(line.told)[:1], f"{line.rank:.2f}"]
            )
        rows.append((strategy, *cells))
    head = [f"{half}: {what}" for half in HALVES for what in ("gain", "wins-losses", "rank")]
    return table(("strategy", *head), rows)


def list_sizes(grid: Grid) -> str:
    """Return a row for each strategy: mean gains by numbers of labeled rows and batch sizes."""
    shown = SHOWN[METRICS[0].name]
    by_size = gains_by_size(grid)
    rows = [
        (strategy, *(show(float(gains[number]), shown) for gains in by_size.values()))
        for number, strategy in enumerate(grid.strategies)
    ]
    return table(("mean gain", *(f"{n_labeled} + {size:,}" for n_labeled, size in by_size)), rows)


def count_draws(grid: Grid, half: str | None = None) -> str:
    """Return how many draws the cells were played with, by whichever strategy."""
    gains = (grid if half is None else _of_half(grid, half)).gains
    counts = np.isfinite(gains).sum(axis=-1).max(axis=1, initial=0).tolist()
    return from_to((min(counts, default=0), max(counts, default=0)))


def list_variants(grid: Grid, half: str, meanings: Mapping[str, str], *, of: str) -> str:
    """Return a row for each variant of a strategy that played half of the problems, and for each reference."""
    shown = SHOWN[METRICS[0].name]
    found = _of_half(grid, half)
    problems = [cell.problem for cell in found.cells]
    places = {name: found.gains[:, number] for number, name in enumerate(found.strategies)}
    rows = [
        (
            f"{line.strategy}: {meanings.get(line.strategy, 'the strategy')}",
            *_of_line(line, shown),
            ""
            if line.strategy == of
            else _ends(estimate(places[line.strategy] - places[of], problems), shown),
        )
        for line in summarize_grid(found).lines
    ]
    head = (f"gain, {shown.unit} of {shown.name}", "mean", "95% interval", "worst cell", f"{N_WORST} worst")
    return table((*head, *_COUNTED, f"minus {of}, in pairs"), rows)


def list_copies(pairs: Sequence[Pair], metric: str, facts: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a row for each strategy that played both ways: what passing over copies is worth, by problem."""
    shown = SHOWN[metric]
    problems = sorted({problem for pair in pairs for problem in pair.by_problem})
    titles = [f"{name} ({facts[name]['copies']:.0%} copies)" if name in facts else name for name in problems]
    rows = [
        (
            pair.strategy,
            _ends(pair.overall, shown),
            *_counts(pair.told),
            *(_ends(pair.by_problem[name], shown) if name in pair.by_problem else "" for name in problems),
        )
        for pair in pairs
    ]
    return table((f"distinct minus not, {shown.unit} of {shown.name}", "all cells", *_COUNTED, *titles), rows)


def list_penalties(
    compared: Mapping[str, Compared], seconds: Mapping[str, tuple[float, float]], facts: Mapping[str, Any]
) -> str:
    """Return a row for each problem, the largest gain in accuracy first: what `C="auto"` gains over C = 1."""
    first = compared[METRICS[0].name]
    metrics = [f"{SHOWN[metric].name}, {SHOWN[metric].unit}" for metric in compared]
    rows = []
    for number in np.argsort(-first.by_problem.mean, kind="stable").tolist():
        problem = first.problems[number]
        cell, strategy, lowest = first.worst[number]
        usual, auto = seconds[problem]
        rows.append(
            (
                problem,
                f"{facts[problem]['classes']}" if problem in facts else "",
                *(_told(each, number, SHOWN[metric]) for metric, each in compared.items()),
                f"{show(lowest, SHOWN[METRICS[0].name])} ({strategy}, {cell.n_labeled} + {cell.batch_size:,})",
                f"{usual:.2f}",
                f"{auto:.2f}",
            )
        )
    head = ("auto minus 1", "classes", *metrics, "lowest cell, accuracy", "seconds, C = 1", 'seconds, "auto"')
    return table(head, rows)


def list_penalties_overall(compared: Mapping[str, Compared]) -> str:
    """Return a row for each metric: what `C="auto"` gains over C = 1 in all, and how often it is told from it."""
    rows = []
    for metric, each in compared.items():
        shown = SHOWN[metric]
        decided = decide(each.by_problem)
        rows.append(
            (
                f"{shown.name}, {shown.unit}",
                _ends(each.overall, shown),
                f"{(decided > 0).sum()}-{(decided < 0).sum()}",
                *(_counts(told)[0] for told in each.told.values()),
                *(_ends(found, shown) for found in each.by_size.values()),
            )
        )
    any_one = next(iter(compared.values()))
    head = ("auto minus 1", "all cells", "problems", *(f"cells, {name}" for name in any_one.told))
    return table((*head, *(f"{n_labeled} + {size:,}" for n_labeled, size in any_one.by_size)), rows)


def show(value: float, shown: Shown) -> str:
    """Return a difference of a metric in its unit, with its sign; 0 has none.

    >>> [show(value, SHOWN["accuracy"]) for value in (-0.00001, 0.01234, -0.5, float("inf"))]
    ['0.00', '+1.23', '-50.00', '+∞']
    """
    if abs(value) == float("inf"):
        return "+∞" if value > 0 else "-∞"
    rounded = round(shown.scale * value, shown.digits) + 0.0
    return f"{rounded:+.{shown.digits}f}" if rounded else f"{0:.{shown.digits}f}"


def _of_line(line: Line, shown: Shown) -> tuple[str, ...]:
    return (
        show(line.gain, shown),
        f"{show(line.low, shown)} to {show(line.high, shown)}",
        f"{show(line.worst[1], shown)} ({line.worst[0]})",
        show(line.of_worst, shown),
        *_counts(line.told),
    )


def from_to(ends: tuple[int, int]) -> str:
    """Return a number, or the lowest and the highest of several."""
    return f"{ends[0]}" if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


def _counts(count: Count) -> tuple[str, str]:
    return f"{count.wins}-{count.losses}", f"{count.clear_wins}-{count.clear_losses}"


def _ends(found: Estimate | Line, shown: Shown) -> str:
    mean = found.gain if isinstance(found, Line) else found.mean
    return f"{show(mean, shown)} [{show(found.low, shown)}, {show(found.high, shown)}]"


def _told(compared: Compared, number: int, shown: Shown) -> str:
    """Return the difference of a problem, in bold where it is clear."""
    found = compared.by_problem.cell(number)
    ends = _ends(Estimate(float(found.mean), float(found.low), float(found.high)), shown)
    return f"**{ends}**" if decide(compared.by_problem)[number] else ends


def _of_half(grid: Grid, half: str) -> Grid:
    return grid.only(lambda cell: half_of(cell.problem) == half)

"""Writes the tables of docs/howto/rare-classes.md from the results of rare_classes.py; the words around them stay.

python benchmarks/write_rare_classes.py [benchmarks/results/epyc/rare_classes.json]
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from measuring import Table
from minmargin.compare.statistics import Difference, decide, join, paired_difference
from rare_classes import (
    BALANCE,
    FOUND,
    HYPOTHESES,
    LATER,
    LATER_STRATEGIES,
    MOVED,
    PRECISION,
    PROBLEMS,
    STRATEGIES,
    Hypothesis,
)

RESULTS = Path(__file__).parent / "results" / "epyc" / "rare_classes.json"
PAGE = Path(__file__).parents[1] / "docs" / "howto" / "rare-classes.md"
PROBLEM_NAMES = [problem.name for problem in PROBLEMS]
RANDOM, MIN_MARGIN = "random, C=1", "min-margin, C=1"
SAID = (
    "min-margin finds more than random",
    "margin finds more than random",
    "spread finds more than random",
    "likely-positive finds more than min-margin",
    "min-margin has a higher average precision than random",
    "spread has a higher one than random",
    "spread has a higher one than min-margin",
    "likely-positive has a lower one than min-margin",
    "balanced weights raise the balanced accuracy of min-margin at 0.5",
    "with balanced weights, min-margin finds fewer",
    "moving the threshold raises the balanced accuracy of min-margin",
    "threshold moved, min-margin has a higher balanced accuracy than random",
    "with C=0.1, min-margin has a higher average precision than with C=1",
)


class Played:
    """The results: `of(problem, way, measure)` are the values of all draws."""

    def __init__(self, results: dict[str, Any]) -> None:
        self._curves = results["curves"]

    def of(self, problem: str, way: str, measure: str) -> NDArray[np.float64]:
        """Return (draws,) what a way came to; a measure may be the difference of two."""
        if " - " in measure:
            first, second = measure.split(" - ")
            return self.of(problem, way, first) - self.of(problem, way, second)
        part = self._curves["later"] if measure == LATER else self._curves
        return np.array(part["played"][problem][way])[:, part["measures"].index(measure)]

    def heading(self, problem: str) -> str:
        """Return a problem as tables call it, with its share of positives."""
        return f"{problem.partition(',')[0]}, {100 * self._curves['shares'][problem]:.1f}%"

    @property
    def headings(self) -> list[str]:
        """All problems as tables call them."""
        return [self.heading(problem) for problem in PROBLEM_NAMES]


def tables_of(results: dict[str, Any]) -> dict[str, Table]:
    """Return the tables of the page, by the names that it has for them."""
    played = Played(results)
    return {
        "found": against_random(played, FOUND, "Positives among 200 picks", digits=1),
        "precision": against_random(played, PRECISION, "Average precision with 400 labels", digits=3),
        "balance": balance(played),
        "later": later(played),
        "settings": settings(played),
        "hypotheses": hypotheses(played),
    }


def against_random(played: Played, measure: str, title: str, *, digits: int) -> Table:
    """Return the means of all strategies, with their differences to random."""
    others = [f"{strategy}, C=1" for strategy in STRATEGIES if strategy != "random"]
    differences = {
        (way, problem): paired_difference(
            played.of(problem, way, measure), played.of(problem, RANDOM, measure)
        )
        for way in others
        for problem in PROBLEM_NAMES
    }
    decided = dict(zip(differences, decide(join(list(differences.values()))).tolist(), strict=True))
    rows = [
        ["random", *(f"{played.of(problem, RANDOM, measure).mean():.{digits}f}" for problem in PROBLEM_NAMES)]
    ]
    for way in others:
        cells = [
            f"{played.of(problem, way, measure).mean():.{digits}f} "
            f"({with_interval(differences[way, problem], digits)}){'*' * bool(decided[way, problem])}"
            for problem in PROBLEM_NAMES
        ]
        rows.append([way.removesuffix(", C=1"), *cells])
    return Table(title, ["strategy", *played.headings], rows)


def balance(played: Played) -> Table:
    """Return balanced accuracies of three ways to draw the line between the classes."""
    ways = {
        "0.5": ("", BALANCE),
        "the share of positives among all labels": ("", MOVED),
        "the share among the first 200": ("", LATER),
        "0.5, with balanced weights": (", balanced", BALANCE),
    }
    rows = []
    for strategy in LATER_STRATEGIES:
        for name, (weights, measure) in ways.items():
            way = f"{strategy}, C=1{weights}"
            means = [f"{100 * played.of(problem, way, measure).mean():.1f}%" for problem in PROBLEM_NAMES]
            rows.append([strategy, name, *means])
    return Table("Balanced accuracy with 400 labels", ["strategy", "positive from", *played.headings], rows)


def later(played: Played) -> Table:
    """Return by how much strategies are ahead of random, with the threshold at the share of the first rows."""
    rows = []
    for strategy in LATER_STRATEGIES[1:]:
        cells = [
            with_interval(
                paired_difference(
                    100 * played.of(problem, f"{strategy}, C=1", LATER),
                    100 * played.of(problem, RANDOM, LATER),
                ),
                1,
            )
            for problem in PROBLEM_NAMES
        ]
        rows.append([strategy, *cells])
    title = "Balanced accuracy less that of random, in points, positive from the share among the first 200"
    return Table(title, ["strategy", *played.headings], rows)


def settings(played: Played) -> Table:
    """Return what settings change for min-margin, as differences to C=1 without weights."""
    ways = {
        "C=0.1": "min-margin, C=0.1",
        'C="auto"': "min-margin, C=auto",
        'C=1, class_weight="balanced"': f"{MIN_MARGIN}, balanced",
    }
    rows = []
    for measure, digits in ((FOUND, 1), (PRECISION, 3)):
        for name, way in ways.items():
            cells = [
                with_interval(
                    paired_difference(
                        played.of(problem, way, measure), played.of(problem, MIN_MARGIN, measure)
                    ),
                    digits,
                )
                for problem in PROBLEM_NAMES
            ]
            rows.append([name, measure, *cells])
    return Table(
        "min-margin: settings against C=1 without weights", ["setting", "measure", *played.headings], rows
    )


def hypotheses(played: Played) -> Table:
    """Return what became of the hypotheses."""
    tested = [
        (each, problem, difference_of(played, each, problem))
        for each in HYPOTHESES
        for problem in PROBLEM_NAMES
    ]
    decided = decide(join([difference for _, _, difference in tested])).tolist()
    cells = [
        verdict(difference, found, each) for (each, _, difference), found in zip(tested, decided, strict=True)
    ]
    n = len(PROBLEM_NAMES)
    rows = [[f"{place + 1}. {said}", *cells[place * n : (place + 1) * n]] for place, said in enumerate(SAID)]
    return Table("What was expected, and what came of it", ["expected", *played.headings], rows)


def difference_of(played: Played, each: Hypothesis, problem: str) -> Difference:
    """Return the difference that a hypothesis speaks of."""
    first = played.of(problem, each.first, each.measure)
    if each.first == each.second:  # the measure is a difference already
        return paired_difference(first, np.zeros(len(first)))
    return paired_difference(first, played.of(problem, each.second, each.measure))


def verdict(difference: Difference, found: int, each: Hypothesis) -> str:
    """Return whether a hypothesis holds, with the difference."""
    said = "open" if found == 0 else "yes" if found == each.sign else "**the opposite**"
    return f"{said}: {with_interval(difference, 1 if each.measure == FOUND else 3)}"


def with_interval(difference: Difference, digits: int) -> str:
    """Return a mean difference and how far its 95% interval reaches to either side."""
    mean, reach = float(difference.mean), float(difference.high - difference.mean)
    return f"{mean:+.{digits}f} ± {reach:.{digits}f}"


def with_tables(page: str, tables: dict[str, Table]) -> str:
    """Return the page with its tables written anew, each between the comments that name it."""
    for name, table in tables.items():
        between = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        written = f"\n{table.markdown()}\n\n"
        page, n_times = between.subn(lambda found, written=written: found[1] + written + found[2], page)
        assert n_times == 1, f"The page has the table {name} {n_times} times."
    return page


def main(arguments: Sequence[str]) -> None:
    """Write the page."""
    results = json.loads(Path(arguments[0] if arguments else RESULTS).read_text())
    PAGE.write_text(with_tables(PAGE.read_text(), tables_of(results)))


if __name__ == "__main__":
    main(sys.argv[1:])

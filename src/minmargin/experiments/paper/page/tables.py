"""Tables of the page, in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from minmargin.compare.statistics import area, decide, paired_difference, summarize, tally
from minmargin.experiments.paper.claims import CLAIMS, Outcome, Verdict
from minmargin.experiments.paper.claims.criteria import differences, every, height, points, present
from minmargin.experiments.paper.figures import Panel
from minmargin.experiments.paper.results import Curves

_MARKS = {
    Outcome.HOLDS: "✔ holds",
    Outcome.PART: "◐ holds in part",
    Outcome.FAILS: "✘ does not hold",
    Outcome.UNMEASURED: "· not measured",
}


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table; the first column is text, the others are numbers and stand to the right."""
    lines = [_row(head), "|" + "|".join(["---"] + ["---:"] * (len(head) - 1)) + "|"]
    return "\n".join([*lines, *(_row(row) for row in rows)])


def text_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table of texts."""
    return "\n".join([_row(head), "|" + "---|" * len(head), *(_row(row) for row in rows)])


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def ledger(verdicts: Mapping[str, Verdict]) -> str:
    """Return the claims, each with how it was decided and how it came out."""
    rows = [
        (
            f"{claim.meaning}<br><sub>Test: {claim.test}</sub>",
            claim.where,
            f"**{_MARKS[verdict.outcome]}**",
            verdict.evidence.replace("; ", "<br>"),
        )
        for claim in CLAIMS
        if (verdict := verdicts.get(claim.name)) is not None
    ]
    return text_table(("claim, in our words", "where", "verdict", "measured"), rows)


def accuracies(curves: Curves) -> str:
    """Return mean accuracies in percent with standard errors, and the area under the curve, for each strategy."""
    where = some_sizes(curves.sizes)
    rows = []
    for name in curves.strategies:
        bands = summarize(height(curves, name)[where])
        whole = summarize(area(height(curves, name), curves.sizes))
        cells = [
            _with_error(mean, error)
            for mean, error in zip(bands.mean.tolist(), bands.error.tolist(), strict=True)
        ]
        rows.append((name, *cells, _with_error(float(whole.mean), float(whole.error))))
    head = ("strategy", *(f"{curves.sizes[place]:,}" for place in where), "area")
    return table(head, rows)


def differences_to(curves: Curves, to: str) -> str:
    """Return paired differences to one strategy in points with 95% intervals; bold where they stand after Holm."""
    where = some_sizes(curves.sizes)
    names = present(curves, curves.strategies, to)
    heights = np.stack([height(curves, name)[where] for name in names])
    areas = np.stack([area(height(curves, name), curves.sizes) for name in names])
    cells = paired_difference(
        np.concatenate([heights, areas[:, np.newaxis]], axis=1),
        np.concatenate([height(curves, to)[where], area(height(curves, to), curves.sizes)[np.newaxis]]),
    )
    decided = decide(cells)
    rows = []
    for row, name in enumerate(names):
        texts = []
        for column in range(len(where) + 1):
            cell = cells.cell(row, column)
            mean = f"**{points(float(cell.mean))}**" if decided[row, column] else points(float(cell.mean))
            texts.append(f"{mean} [{points(float(cell.low))}, {points(float(cell.high))}]")
        rows.append((name, *texts))
    head = (f"minus {to}", *(f"{curves.sizes[place]:,}" for place in where), "area")
    return table(head, rows)


def wins(panels: Sequence[Panel], name: str = "min-margin") -> str:
    """Return wins, ties and losses of a strategy against each other one over all sizes, a column per dataset."""
    scores: dict[str, dict[str, str]] = {}
    for panel in panels:
        others = present(panel.curves, panel.curves.strategies, name)
        if name not in panel.curves.strategies or not others:
            continue
        cells = differences(panel.curves, name, others, every(panel.curves.sizes))
        for rival, decided, n_draws in zip(others, decide(cells), cells.n_draws, strict=True):
            score = tally(decided, n_draws > 0)
            scores.setdefault(rival, {})[panel.title] = f"{score.wins}-{score.ties}-{score.losses}"
    titles = [panel.title for panel in panels]
    rows = [(rival, *(by_title.get(title, "") for title in titles)) for rival, by_title in scores.items()]
    return table((f"{name} against", *titles), rows)


def some_sizes(sizes: Sequence[int], most: int = 4) -> list[int]:
    """Return the places of at most so many sizes, evenly spread, the first and the last among them."""
    return sorted({round(place) for place in np.linspace(0, len(sizes) - 1, most)})


def _with_error(mean: float, error: float) -> str:
    if not np.isfinite(mean):
        return ""
    return f"{100 * mean:.2f}" + (f" ± {100 * error:.2f}" if np.isfinite(error) else "")

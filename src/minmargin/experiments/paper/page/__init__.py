"""The page docs/paper.md: every figure, every table and every claim of the paper, from the results folder alone."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from minmargin.experiments.paper.claims import Measured, judge
from minmargin.experiments.paper.claims.criteria import TOLERANCE
from minmargin.experiments.paper.figures import save
from minmargin.experiments.paper.page.draws import play_anew
from minmargin.experiments.paper.page.sections import make_sections
from minmargin.experiments.paper.page.summary import summarize_all
from minmargin.experiments.paper.page.tables import ledger
from minmargin.files import make_folder, write_text

#: Of the Gaussian simulation: the first is shown, and the picks of all are compared.
N_DRAWS_SEEN = 50

_HEAD = """# The paper, reproduced

<!-- Written from the results: what is changed here by hand is lost. -->

Jiang and Gupta, *Minimum-Margin Active Learning* (2019), rerun with this package: each experiment, each figure, and
each empirical claim with what was measured. `minmargin reproduce NAME` runs an experiment again."""

_READING = f"""**How to read it.** All strategies share each draw, so they are compared in pairs: mean differences of
accuracy in percentage points, with 95% t intervals in brackets.

- *Better* and *worse*: a difference that stands after Holm's correction over all comparisons of a test.
- *As good*: an interval that stays above -{100 * TOLERANCE:g} points; not having found a difference is not enough.
- *Small* and *large* batches: the smaller and the larger third of the sizes.
- *Area*: the mean accuracy over the logarithm of the batch size.
- A claim over several datasets holds if it holds on each, and in part if they do not agree or some are not measured.
- *Does not hold*: the test did not find it in these draws. The intervals say how much they leave open."""


def write_page(results: Path | str, page: Path | str, pictures: Path | str, *, note: str = "") -> Path:
    """Write the page of a results folder, a Markdown file, and its figures into a folder; return the page's path.

    A `note` says what a reader should know about these results.
    """
    page, pictures = Path(page), Path(pictures)
    measured = Measured.read(results)
    if measured.has("gaussian"):
        measured = replace(measured, draws=[play_anew(draw) for draw in range(N_DRAWS_SEEN)])
    folder = Path(os.path.relpath(pictures, page.parent)).as_posix()
    text, figures = make_page(measured, folder, note=note)
    make_folder(pictures)
    for name, figure in figures.items():
        save(figure, pictures / name)
    return write_text(page, text)


def make_page(
    measured: Measured, pictures: str = "pictures/paper", *, note: str = ""
) -> tuple[str, dict[str, Any]]:
    """Return the page, which looks for its figures in a folder, and the figures by file name."""
    verdicts = judge(measured)
    summary = "\n".join(f"- {line}" for line in summarize_all(measured, verdicts))
    sections = make_sections(measured, pictures)
    opening = [
        _HEAD,
        *([note] if note else []),
        "## In short",
        summary,
        "## Claims",
        _READING,
        ledger(verdicts),
    ]
    figures = {name: figure for section in sections for name, figure in section.figures.items()}
    paragraphs = [*opening, *(paragraph for section in sections for paragraph in section.paragraphs)]
    return "\n\n".join(paragraphs) + "\n", figures


__all__ = ["make_page", "write_page"]

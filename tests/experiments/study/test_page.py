"""The page says what the results say, and its words come from a file of their own."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest

from minmargin.experiments.paper.figures.style import save
from minmargin.experiments.study.cells import SCHEMA
from minmargin.experiments.study.facts import read_facts
from minmargin.experiments.study.page import SECTIONS, make_page, read_words, write_page
from minmargin.experiments.study.parts import read_results
from minmargin.experiments.study.penalties import AUTO, PENALTIES, STRATEGIES
from minmargin.experiments.study.pictures import draw_ranks, joined
from minmargin.experiments.study.ranks import rank
from minmargin.experiments.study.variants import VARIED

ROOT = Path(__file__).parents[3]
STUDY = ROOT / "study"
GAINS = {"random": 0.0, "margin": 0.02, "min-margin": 0.03, "committee": 0.05}


def made_up_results():
    """Results in which strategies are apart by the same in each cell, and committee is 2 points ahead of all.

    On a9a, passing over copies gains a point on average. Of the variants, spread is best to choose, power0 to confirm.
    C="auto" gains two points on a9a, and on mnist it loses one or gains one in turns.
    """
    return pa.Table.from_pylist([*played(), *distinct(), *varied(), *penalized()], schema=SCHEMA)


def played():
    return [
        {
            "way": way,
            "problem": problem,
            "n_labeled": 500,
            "draw": draw,
            "strategy": strategy,
            "batch_size": 20_000 if problem.endswith("large") else 100,
            "accuracy": 0.6 + gain + 0.01 * draw + 0.001 * (draw % 2) * (strategy == "committee"),
            "balanced_accuracy": 0.6 + gain,
            "minus_log_loss": gain - 1,
            "average_precision": 0.5 + gain if problem == "magic04" else None,
            "seconds": 0.5,
            "rules": "made up",
        }
        for way in ("logistic", "boosting")
        for problem in ("a9a", "magic04", "mnist", "covtype-large")
        for draw in range(4)
        for strategy, gain in GAINS.items()
    ]


def distinct():
    return [
        {
            **row,
            "strategy": "margin+distinct",
            "accuracy": row["accuracy"] + 0.01 + 0.002 * (-1) ** row["draw"],
        }
        for row in played()
        if (row["way"], row["problem"], row["strategy"]) == ("logistic", "a9a", "margin")
    ]


def varied():
    gains = {"mnist": {**GAINS, "spread": 0.06, "power0": 0.04}, "magic04": {"spread": 0.02, "power0": 0.04}}
    return [
        {**row, "way": VARIED, "strategy": strategy, "accuracy": row["accuracy"] + gain}
        for row in played()
        if (row["way"], row["strategy"]) == ("logistic", "random")
        for strategy, gain in {**GAINS, **gains.get(row["problem"], {})}.items()
        if row["problem"] in gains
    ]


def penalized():
    rows = [
        {**row, "way": PENALTIES, "strategy": strategy, "accuracy": 0.6 + 0.01 * row["draw"]}
        for row in played()
        if (row["way"], row["strategy"]) == ("logistic", "random") and row["problem"] in {"a9a", "mnist"}
        for strategy in STRATEGIES
    ]
    rows += [{**row, "strategy": "none", "batch_size": 0} for row in rows if row["strategy"] == STRATEGIES[0]]
    return rows + [
        {
            **row,
            "strategy": row["strategy"] + AUTO,
            "accuracy": row["accuracy"] + (0.02 if row["problem"] == "a9a" else 0.01 * (-1) ** row["draw"]),
            "seconds": 2.0,
        }
        for row in rows
    ]


@pytest.fixture(scope="module")
def made():
    words = {"in short": "Committee is best.", "logistic": "It is *clear*."}
    facts = {
        "a9a": {
            "half": "confirm",
            "rows": 24_000,
            "columns": 123,
            "classes": 2,
            "largest_class": 0.754,
            "copies": 0.204,
            "rules": "made up",
        }
    }
    return make_page(made_up_results(), facts, words, "pictures")


def test_every_picture_that_is_shown_is_made(made):
    page, figures = made
    assert set(re.findall(r"\]\(pictures/([^)]+)\)", page)) == set(figures)
    assert set(figures) == {"logistic.svg", "logistic-ranks.svg", "boosting.svg", "boosting-ranks.svg"}


def test_the_table_has_gains_wins_and_ranks(made):
    page, _ = made
    line = next(line for line in page.splitlines() if line.startswith("| committee |"))
    assert line == (
        "| committee | +2.05 | +2.02 to +2.08 | +2.05 (a9a, 500 + 100) | +2.05 | 3-0 | 3-0 | 1.00 | 1.0 | 4 |"
    )
    assert "| a9a | confirm | 24,000 | 123 | 2 | 75% | 20.4% |" in page
    assert "| Logistic regression | 4 | 4 | 4 | 4 | 68 |" in page


def test_words_are_put_into_their_places(made):
    page, _ = made
    assert page.index("Committee is best.") < page.index("## What was played")
    assert page.index("## Logistic regression") < page.index("It is *clear*.") < page.index("## Boosting")
    assert "## Networks" not in page


def test_passing_over_copies_is_compared_with_not_doing_so(made):
    """A point on average, 1.2 and 0.8 in turns: in pairs, the differences between draws cancel out."""
    page, _ = made
    copies = page[page.index("## Copies of rows") : page.index("## The penalty")]
    assert "| margin | +1.00 [+0.77, +1.23] | 1-0 | 1-0 | +1.00 [+0.77, +1.23] |" in copies
    assert "margin+distinct" not in page[: page.index("## Copies of rows")]
    assert "| a9a (20% copies) |" in copies
    assert "random" not in copies


def test_a_chosen_penalty_is_compared_with_the_usual_one(made):
    """Two points in each draw are clear, a point up and down in turns is not; in the mean, it is one point."""
    page, _ = made
    section = page[page.index("## The penalty") : page.index("## What was tried")]
    assert "A problem has 4 draws" in section
    clear = "| a9a | 2 | **+2.00 [+2.00, +2.00]** | 0.00 [0.00, 0.00] | 0.000 [0.000, 0.000] |"
    assert f"{clear} +2.00 (random, 500 + 100) | 0.50 | 2.00 |" in section
    assert "| mnist |  | 0.00 [-1.84, +1.84] | 0.00 [0.00, 0.00] |" in section
    overall = next(line for line in section.splitlines() if line.startswith("| accuracy, points |"))
    assert overall == (
        "| accuracy, points | +1.00 [+0.43, +1.57] | 1-0 | 1-0 | 1-0 | 1-0 | +1.00 [+0.43, +1.57] |"
    )


def test_variants_have_a_table_for_each_half(made):
    page, _ = made
    choose, confirm = page[page.index("## What was tried") :].split(
        "On the problems to confirm the choice, 4 draws of each:"
    )
    assert choose.index("| spread: as it was proposed, and is | +3.00 |") < choose.index("| power0:")
    assert "| 1-0 | 1-0 | -2.00 [-2.00, -2.00] |" in choose[choose.index("| power0:") :].splitlines()[0]
    assert confirm.index("| power0: f is not shortened | +1.00 |") < confirm.index("| spread:")


def test_tables_have_as_many_cells_in_each_row(made):
    block = []
    for line in [*made[0].splitlines(), ""]:
        if line.startswith("|"):
            block.append(line.count("|"))
        else:
            assert len(set(block)) <= 1
            block = []


def test_a_page_and_its_pictures_are_written(packed, tmp_path):
    from minmargin.experiments.study.cells import Task, play  # noqa: PLC0415
    from minmargin.experiments.study.parts import write_part  # noqa: PLC0415

    task = Task("logistic", "satimage", 100, (0, 1), ("margin", "random"))
    write_part(tmp_path, task, play(task, packed))
    (tmp_path / "words.md").write_text("# Words\n\n## in short\n\nNothing is known.\n")
    page = write_page(tmp_path, tmp_path / "study.md", tmp_path / "drawn", words=tmp_path / "words.md")
    text = page.read_text()
    assert "Nothing is known." in text
    assert "(drawn/logistic.svg)" in text
    assert (tmp_path / "drawn" / "logistic.svg").read_text().startswith("<?xml")
    assert "random" in text


def test_nothing_played_gives_a_page_that_says_so(tmp_path):
    page = write_page(tmp_path, tmp_path / "study.md", tmp_path / "pictures")
    assert "## What was played" in page.read_text()
    assert list((tmp_path / "pictures").iterdir()) == []


def test_bars_join_what_lies_within_the_critical_difference(tmp_path):
    assert joined([1.0, 2.0, 3.0], 0.5) == []
    assert joined([1.0, 1.2, 1.4], 0.5) == [(0, 2)]
    ranks = rank([[1.0, 1.0, 1.0], [2.0, 2.0, 3.0], [3.0, 3.0, 2.0]])
    path = save(draw_ranks(["first", "second", "third"], ranks), tmp_path / "ranks.svg")
    assert all(name in path.read_text() for name in ("first", "second", "third", "critical difference"))


def test_the_committed_page_says_what_the_committed_results_say():
    words = read_words((STUDY / "words.md").read_text())
    assert set(words) == set(SECTIONS)
    page, figures = make_page(
        read_results(STUDY / "results"), read_facts(STUDY / "results"), words, "pictures/study"
    )
    assert (ROOT / "docs" / "study.md").read_text() == page, "run make docs"
    assert all((ROOT / "docs" / "pictures" / "study" / name).exists() for name in figures)

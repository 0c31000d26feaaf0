"""Pages quote no figure that the results do not have."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts import load_script

ROOT = Path(__file__).parents[2]
# Written from results as a whole; what the others show of results is tied to them.
WRITTEN = {
    f"docs/{name}.md"
    for name in ("benchmarks", "study", "published", "paper", "theorem", "reliability", "command-line")
}
PAGES = [
    path.relative_to(ROOT).as_posix()
    for path in (
        ROOT / "README.md",
        ROOT / "study" / "words.md",
        ROOT / "study" / "published.md",
        *sorted((ROOT / "docs").glob("*.md")),
        *sorted((ROOT / "docs/howto").glob("*.md")),
    )
    if path.relative_to(ROOT).as_posix() not in WRITTEN
]
SPEEDS = [
    "epyc/score.json",
    "Million rows a second, and how many times as fast minmargin is",
    "2 classes, D = 32",
]


@pytest.fixture(scope="module")
def figures():
    """The script that writes figures into pages."""
    return load_script(ROOT / "docs" / "write_figures.py")


@pytest.mark.parametrize("page", PAGES)
def test_pages_quote_what_was_measured_and_nothing_else(figures, page):
    text = (ROOT / page).read_text()
    ties = figures.ties_of(page)
    assert figures.with_current_figures(text, ties) == text, "run make docs"
    assert figures.untied(text, ties) == [], "tie it in docs/figures.toml; benchmarks/README.md tells how"


def test_the_words_of_the_page_of_benchmarks_quote_nothing_that_it_does_not_show(figures):
    import write_page  # noqa: PLC0415 - it is where the other script looks for its imports

    words = "\n\n".join((write_page.INTRODUCTION, write_page.LIMITS, write_page.GPU_LIMITS))
    assert figures.untied(words, figures.ties_of("docs/benchmarks.md")) == []


@pytest.mark.parametrize("page", ["docs/study.md", "docs/published.md"])
def test_pages_of_results_have_their_words_with_current_figures(figures, page):
    text = (ROOT / page).read_text()
    assert figures.with_current_figures(text, figures.ties_of(page)) == text, "run make docs"


def test_how_far_strategies_are_apart_in_the_study_is_a_figure_too(figures):
    where = ("study/results/logistic.parquet", "shuttle, 100 + 2,000", "min-margin", "random")
    worst = figures.written("docs/study.md", "Logistic regression", "min-margin", "worst cell", "+.2f")
    assert figures.written(*where, "+.2f") == worst
    with pytest.raises(figures.FigureError) as error:
        figures.written(where[0], "shuttle, 100 + 3", "min-margin", "random", ".1f")
    assert str(error.value) == (
        "study/results/logistic.parquet has no draws of 'min-margin' in the cell 'shuttle, 100 + 3'."
    )


def test_every_tie_belongs_to_a_page(figures):
    assert {tie.page for tie in figures.read_ties()} <= {*PAGES, "docs/benchmarks.md"}


def test_a_figure_follows_its_result_over_a_line_break_too(figures):
    tie = figures.Tie("page.md", "It is {} times as fast,", ((*SPEEDS, "vs loop", ".0f"),))
    now = figures.written(*SPEEDS, "vs loop", ".0f")
    assert figures.with_current_figures("It is\n  1,234.5 times as fast, we say.", [tie]) == (
        f"It is\n  {now} times as fast, we say."
    )


def test_a_figure_is_quoted_without_its_sign_unless_the_format_has_one(figures):
    cell = ("docs/study.md", "Logistic regression", "margin", "mean")
    plain, signed = figures.written(*cell, ".2f"), figures.written(*cell, "+.2f")
    assert signed == f"-{plain}"


@pytest.mark.parametrize(
    "said",
    [
        *(
            "83 times as fast",
            "ten times as fast",
            "83x as fast",
            "4.5 M rows/s",
            "9 million such rows a second",
            "9,000 rows/s",
        ),
        *("in 12 s", "two\nseconds", "650 MB", "27 GB/s", "0.07 points", "in a hundredth of the time"),
    ],
)
def test_a_figure_that_no_tie_names_is_found(figures, said):
    (found,) = figures.untied(f"# A page\n\nIt did so, {said}, and well.\n", [])
    assert found.startswith("line 3: ")
    assert " ".join(said.split()) in found


@pytest.mark.parametrize(
    "said",
    [
        "`sleep 12 s`",
        "```\nin 12 s\n```",
        "<!-- 12 s -->",
        "| a | 12 s |",
        "4,000,000 x 32 rows",
        "some time",
        "3 settings",
    ],
)
def test_code_comments_tables_and_sizes_are_no_figures(figures, said):
    assert figures.untied(f"A page\n\n{said}\n", []) == []


def test_a_tie_accounts_for_the_figures_of_its_sentence_alone(figures):
    text = "It took 12 s here. It took 13 s there."
    (found,) = figures.untied(text, [figures.Tie("page.md", "It took 12 s here.")])
    assert "13 s" in found


def test_a_figure_beside_one_that_is_tied_is_not_tied_by_that(figures):
    tie = figures.Tie("page.md", "It took {} s and 13 MB.", ((*SPEEDS, "loop", ".1f"),))
    (found,) = figures.untied("It took 12 s and 13 MB.", [tie])
    assert "13 MB" in found


def test_a_sentence_that_is_gone_or_twice_there_is_named(figures):
    tie = figures.Tie("page.md", "It took {} s.", ((*SPEEDS, "loop", ".1f"),))
    for text, n_times in (("It takes 1 s.", 0), ("It took 1 s. It took 2 s.", 2)):
        with pytest.raises(figures.FigureError) as error:
            figures.with_current_figures(text, [tie])
        assert str(error.value) == (
            f"page.md says {n_times} times: 'It took {{}} s.'. "
            "It must say it once: mend the page, or docs/figures.toml."
        )


def test_a_cell_that_is_not_there_is_named(figures):
    with pytest.raises(figures.FigureError) as error:
        figures.written(*SPEEDS, "vs nobody", ".1f")
    assert str(error.value) == (
        "epyc/score.json has 0 cells 'Million rows a second, and how many times as fast minmargin is', "
        "'2 classes, D = 32', 'vs nobody'. Name one."
    )


def test_a_table_is_shown_as_it_was_measured(figures):
    title = SPEEDS[1]
    page = f"Before\n\n<!-- table: epyc/score.json, {title} -->\n<!-- /table -->\n\nafter 12 times\n"
    shown = figures.with_current_figures(page, [])
    assert f"| pool | {' | '.join(figures.tables_of('epyc/score.json')[0].header[1:])} |" in shown
    assert figures.with_current_figures(shown, []) == shown
    assert len(figures.untied(shown, [])) == 1

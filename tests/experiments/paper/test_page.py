"""The page says what the results say, and says what is missing."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pyarrow.parquet as pq
import pytest

from made_up_results import angles, gaussian_draws, results, rows
from minmargin.experiments.paper import page as paper_page
from minmargin.experiments.paper.claims import CLAIMS, Measured, Outcome, judge
from minmargin.experiments.paper.claims.measured import EVERYWHERE, EXPERIMENTS, GAUSSIAN, TUNED, Place
from minmargin.experiments.paper.figures import panels_of
from minmargin.experiments.paper.page import make_page, write_page
from minmargin.experiments.paper.page.draws import play_anew
from minmargin.experiments.paper.page.section import how_it_was_run
from minmargin.experiments.paper.page.summary import largest, summarize_all
from minmargin.experiments.paper.page.tables import differences_to, some_sizes, table, wins

NOTE = {"machine": "2 cores", "versions": {"numpy": "2.0"}, "date": "2026-01-02", "seconds": 600, "draws": 8}


def all_measured(gains):
    parts = [rows(place, gains) for place in {*EVERYWHERE, *GAUSSIAN}]
    for dataset in TUNED:
        place = Place("tuning", dataset, "reference")
        parts += [rows(place, {"margin": 0.0, "random": 0.0})]
        parts += [
            rows(place._replace(variant=name), {"min-margin": 0.01})
            for name in ("K=2", "K=25", "beta=1", "beta=4")
        ]
    return Measured(
        results(*parts),
        angles({(100, "12Bm"): (0.12, 0.01)}),
        dict.fromkeys(EXPERIMENTS, NOTE),
        gaussian_draws({"margin": 0.1, "committee": 0.2, "min-margin": 0.5}),
    )


AHEAD = {"min-margin": 0.03, "margin": 0.01, "random": 0.0}
BEHIND = {"min-margin": 0.0, "margin": 0.01, "random": 0.03}


@pytest.fixture(scope="module")
def measured():
    return all_measured(AHEAD)


@pytest.fixture(scope="module")
def made(measured):
    return make_page(measured)


def test_every_figure_that_is_shown_is_made(made):
    page, figures = made
    assert set(re.findall(r"\]\(pictures/paper/([^)]+)\)", page)) == set(figures)
    assert {
        "gaussian.svg",
        "theorem.svg",
        "mnist.svg",
        "benchmark.svg",
        "tuning.svg",
        "large-5000.svg",
    } <= set(figures)


def test_every_claim_is_in_the_ledger_with_its_verdict(measured, made):
    for claim, verdict in zip(CLAIMS, judge(measured).values(), strict=True):
        line = next(line for line in made[0].splitlines() if line.startswith(f"| {claim.meaning}"))
        assert verdict.outcome in line


def test_tables_have_as_many_cells_in_each_row(made):
    block = []
    for line in [*made[0].splitlines(), ""]:
        if line.startswith("|"):
            block.append(len(re.findall(r"(?<!\\)\|", line)))
        else:
            assert len(set(block)) <= 1
            block = []


def test_how_it_was_run_is_said(made):
    assert made[0].count("8 draws on 2 cores in 10 minutes (2026-01-02); numpy 2.0.") == len(EXPERIMENTS)


def test_a_machine_may_be_described_by_parts():
    note = {"machine": {"system": "Linux", "cores": 2}, "created": "2026-01-02T03:04:05+00:00", "draws": 4000}
    assert how_it_was_run(note) == "4,000 draws on Linux, 2 cores (2026-01-02)."
    assert how_it_was_run({}) == "An unknown number of draws on an unnamed machine."


def test_a_missing_experiment_is_said_to_be_missing(measured):
    page, figures = make_page(replace(measured, results={}, theorem=None, draws=()))
    for name in EXPERIMENTS:
        assert f"*Not measured yet: `minmargin reproduce {name}` runs it.*" in page
    assert figures == {}
    assert "Min-margin has not been measured on any dataset of the paper yet." in page


# The summary


def test_the_summary_counts_the_verdicts(measured):
    verdicts = judge(measured)
    counts = [sum(verdict.outcome is outcome for verdict in verdicts.values()) for outcome in Outcome]
    assert summarize_all(measured, verdicts)[0] == (
        f"Of {len(CLAIMS)} claims, {counts[0]} hold, {counts[1]} hold in part, {counts[2]} do not hold; "
        f"not measured: {counts[3]}."
    )


def test_the_summary_turns_with_the_numbers(measured):
    ahead, behind = (" ".join(summarize_all(each, judge(each))) for each in (measured, all_measured(BEHIND)))
    assert (
        "for large batches prefer min-margin to margin, which it mostly beats (33 of 33, and loses 0)"
        in ahead
    )
    assert "for large batches prefer margin, which mostly beats min-margin (33 of 33, and loses 0)" in behind
    assert (
        "more often better than worse than margin, random, and more often worse than better than none."
        in ahead
    )
    assert (
        "more often better than worse than no other strategy, and more often worse than better than margin, random."
        in behind
    )
    assert (
        "min-margin's lead on margin in points: ahead on Gaussians at distance 2 (+2.00), mnist (+2.00)"
        in ahead
    )
    assert "The largest mean area under the curve of batch sizes: random on" in behind


def test_level_strategies_speak_for_the_cheaper_one():
    level = all_measured({"min-margin": 0.01, "margin": 0.01, "random": 0.0})
    words = " ".join(summarize_all(level, judge(level)))
    told = "for small ones it hardly matters: min-margin was better 0 and worse 0 of 33 times"
    assert told in words


def test_datasets_are_ahead_level_or_behind_in_the_largest_batch():
    parts = [
        rows(place, {"min-margin": gain, "margin": 0.0})
        for place, gain in zip(EVERYWHERE, (0.01, 0.0, -0.02), strict=False)
    ]
    ends = largest(Measured(results(*parts)), "margin")
    assert ends == (["Gaussians at distance 2 (+1.00)"], ["mnist (+0.00)"], ["fashion-mnist (-2.00)"])


# Tables


def test_a_bar_in_a_cell_does_not_end_it():
    assert table(("a|b", "c"), [("1", "|Z|")]) == "| a\\|b | c |\n|---|---:|\n| 1 | \\|Z\\| |"


def test_wins_ties_and_losses_stand_in_one_cell():
    gains = {"min-margin": [0.02, 0.02, 0.02, 0.01, 0.01, 0.0], "margin": 0.01}
    place = Place("benchmark", "nomao")
    panels = panels_of(Measured(results(rows(place, gains))), "benchmark")
    assert wins(panels).splitlines()[-1] == "| margin | 3-2-1 |"


def test_a_difference_that_stands_is_bold():
    place = Place("benchmark", "nomao")
    curves = Measured(results(rows(place, {"margin": 0.0, "a": [0.01, 0.01, 0.01, 0, 0, 0]}))).curves(place)
    cells = differences_to(curves, "margin").splitlines()[-1].split(" | ")
    assert cells[0] == "| a"
    assert cells[1].startswith("**+1.00** [+0.9")
    assert not cells[4].startswith("**")


def test_some_sizes_are_spread_and_hold_both_ends():
    assert some_sizes([1]) == [0]
    assert some_sizes(range(3)) == [0, 1, 2]
    assert some_sizes(range(8)) == [0, 2, 5, 7]


# Files


def test_the_page_and_its_figures_are_written(tmp_path, monkeypatch):
    monkeypatch.setattr(paper_page, "N_DRAWS_SEEN", 2)
    folder = tmp_path / "results"
    folder.mkdir()
    gaussian = results(*(rows(place, AHEAD) for place in GAUSSIAN))["gaussian"]
    pq.write_table(gaussian.table, folder / "gaussian.parquet")
    (folder / "gaussian.json").write_text(json.dumps(NOTE))
    where = tmp_path / "paper.md", tmp_path / "drawn" / "here"
    page = write_page(folder, *where)
    assert page == where[0]
    shown = {tmp_path / name for name in re.findall(r"\]\(([^)]+)\)", page.read_text())}
    assert shown == set(where[1].iterdir())
    assert {path.name for path in shown} == {
        "gaussian.svg",
        "gaussian-distances.svg",
        "gaussian-differences.svg",
    }
    first = page.read_bytes()
    assert write_page(folder, *where).read_bytes() == first


@pytest.mark.parametrize(
    ("place", "gains"),
    [
        (Place("benchmark", "nomao", "liblinear"), AHEAD),
        (Place("mnist", "mnist", "other"), AHEAD),
        (Place("benchmark", "nomao", "standardized"), {"random": 0.0}),
        (Place("large", "made-up", "N=500"), AHEAD),
    ],
)
def test_a_page_can_be_made_of_any_part_of_the_results(place, gains):
    page, _ = make_page(Measured(results(rows(place, gains))))
    assert page.count("*Not measured yet") == len(EXPERIMENTS) - 1


def test_a_draw_to_look_at_is_one_of_the_experiment():
    draw = play_anew(0, n_picks=7)
    assert draw.points.shape == (40, 2)
    assert draw.members.shape == (25, 3)
    assert {name: rows.shape for name, rows in draw.picks.items()} == dict.fromkeys(
        ("margin", "committee", "min-margin"), (7, 2)
    )
    line = draw.base / (draw.base[:2] @ draw.base[:2]) ** 0.5
    assert abs(draw.picks["margin"] @ line[:2] + line[2]).max() < 0.05  # margin picks at the base's boundary

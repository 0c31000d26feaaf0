"""Results are kept, with those of before, and the page of benchmarks is made of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import history
import write_page
from history import RESULTS, keep, name_machine, remembered

KEPT = sorted(RESULTS.glob("*/*.json"))


def result(**other: object) -> dict[str, object]:
    """Return a made-up result, with what it has other than usual."""
    goal = {"asked": "score: fast", "measured": "2x", "met": True}
    usual = {
        "name": "score",
        "about": "Words.",
        "quick": False,
        "date": "2026-11-17T00:00:00+00:00",
        "machine": {"processor": "AMD EPYC"},
        "ceilings": {},
        "tables": [],
        "goals": [goal],
        "curves": {"long": [1, 2]},
    }
    return usual | other


def write(path: Path, found: dict[str, object]) -> Path:
    path.write_text(json.dumps(found))
    return path


def test_the_page_of_benchmarks_shows_the_kept_results() -> None:
    assert write_page.page_of(write_page.read_all()) == write_page.PAGE.read_text(), "run make docs"


@pytest.mark.parametrize("path", KEPT, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_kept_result_has_its_date_and_is_the_last_of_its_history(path: Path) -> None:
    lines = (path.parent / "history" / f"{path.stem}.jsonl").read_text().splitlines(keepends=True)
    assert lines[-1] == remembered(json.loads(path.read_text()))
    dates = [json.loads(line)["date"] for line in lines]
    assert dates == sorted(dates)


def test_a_new_result_takes_the_place_of_the_old_one_whose_line_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "RESULTS", tmp_path)
    old, new = result(), result(date="2026-11-18T00:00:00+00:00", goals=[])
    for found in (old, new):
        keep([write(tmp_path / "score.json", found)], None)
    assert json.loads((tmp_path / "epyc" / "score.json").read_text()) == new
    assert (tmp_path / "epyc" / "history" / "score.jsonl").read_text() == remembered(old) + remembered(new)
    (table,) = history.tables_of("score")
    assert list(table.header) == ["asked", "2026-11-17", "2026-11-18"]
    assert table.rows == [["score: fast", "2x", ""]]


def test_small_sizes_are_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "RESULTS", tmp_path / "results")
    with pytest.raises(SystemExit) as stopped:
        keep([write(tmp_path / "score.json", result(quick=True))], None)
    assert str(stopped.value) == "There are results of --quick: ['score']. Run make bench."
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("processor", "name"),
    [
        ("AMD EPYC", "epyc"),
        ("Intel(R) Xeon(R) Processor", "xeon"),
        ("AMD EPYC 7763 64-Core Processor", "epyc-7763-64-core"),
    ],
)
def test_a_machine_is_called_by_its_processor(processor: str, name: str) -> None:
    assert name_machine(processor) == name


def test_what_was_not_measured_in_the_run_of_the_first_says_so() -> None:
    first = result()
    later = result(date="2026-11-19T00:00:00+00:00")
    elsewhere = result(machine={"processor": "another"})
    assert write_page.beside(result(date="2026-11-17T09:00:00+00:00"), first)
    assert not write_page.beside(later, first)
    assert not write_page.beside(elsewhere, first)

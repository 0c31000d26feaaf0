"""Messy tables: each is read as it should be, or what looks wrong with it is said, wherever tables are read."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import pytest

import minmargin as mm
from messy_tables import MESSY, PLAIN, Messy
from minmargin.cli import run
from minmargin.cli.flags import with_flags

ALL = [*PLAIN, *MESSY]
NAMES = [each.name for each in ALL]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(table: Messy) -> None:
    for name, text in (("labeled.csv", table.labeled()), ("pool.csv", table.pool())):
        with open(name, "w", encoding="utf-8") as file:  # noqa: PTH123 - as everybody does
            file.write(text)


def select(table: Messy, **settings: Any) -> tuple[list[str], mm.Batch]:
    """Return what is warned of, and the batch."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        batch = mm.select(
            "labeled.csv",
            "y",
            "pool.csv",
            3,
            preprocess="auto",
            n_models=2,
            random_state=0,
            n_jobs=1,
            **settings,
        )
    return [str(each.message) for each in said if each.category is mm.DataWarning], batch


def of_column(messages: list[str]) -> list[str]:
    """Return messages without that of preprocessing, which has its own words for texts that are all different."""
    return [each for each in messages if not each.startswith("Text column")]


@pytest.mark.parametrize("table", ALL, ids=NAMES)
def test_select_says_what_inspect_finds_and_records_it(table: Messy) -> None:
    write(table)
    found = mm.inspect("labeled.csv", "y", "pool.csv")
    assert [finding.message for finding in found.findings] == table.messages
    said, batch = select(table)
    assert of_column(said) == table.messages
    assert [each["message"] for each in batch.manifest["inspection"]["findings"]] == table.messages


@pytest.mark.parametrize("table", [each for each in MESSY if each.settings], ids=lambda each: each.name)
def test_what_the_message_names_mends_it(table: Messy) -> None:
    write(table)
    reading = mm.Reading(**table.settings)
    assert mm.inspect("labeled.csv", "y", "pool.csv", reading=reading).findings == ()
    assert of_column(select(table, reading=reading)[0]) == []


@pytest.mark.parametrize("table", ALL, ids=NAMES)
def test_the_command_line_says_it_with_flags(
    table: Messy, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(table)
    monkeypatch.setattr(
        sys, "argv", ["minmargin", "inspect", "labeled.csv", "pool.csv", "--label-column", "y"]
    )
    assert run() == 0
    said = [line.removeprefix("! ") for line in capsys.readouterr().out.splitlines() if line.startswith("! ")]
    assert said == [with_flags(each) for each in table.messages]

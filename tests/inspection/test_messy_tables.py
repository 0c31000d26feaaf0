"""Messy tables: each is read as it should be, or what looks wrong with it is said, wherever tables are read."""

from __future__ import annotations

from typing import Any

import pytest

import minmargin as mm
from messy_dates import MESSY_DATES, PLAIN_DATES
from messy_pairs import MESSY_PAIRS, PLAIN_PAIRS
from messy_runs import begin, command, compare, said_by, select, write
from messy_tables import MESSY, PLAIN, Messy
from messy_texts import MESSY_TEXTS, PLAIN_TEXTS
from minmargin.cli.flags import with_flags

WRONG = [*MESSY, *MESSY_TEXTS, *MESSY_PAIRS, *MESSY_DATES]
ALL = [*PLAIN, *PLAIN_TEXTS, *PLAIN_PAIRS, *PLAIN_DATES, *WRONG]
NAMES = [each.name for each in ALL]
MENDED = [each for each in WRONG if each.settings]

every_table = pytest.mark.parametrize("table", ALL, ids=NAMES)
every_mended_table = pytest.mark.parametrize("table", MENDED, ids=lambda each: each.name)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def said_of(table: Messy, messages: list[str]) -> tuple[int, str]:
    """Return how a command ends that reads a table, and what it prints beside its output."""
    if table.refusal:
        return 1, f"minmargin: {with_flags(table.refusal[0])}\n"
    return 0, "".join(f"minmargin: warning: {with_flags(each)}\n" for each in messages)


def kinds_in(found: mm.Inspection) -> dict[str, str]:
    """Return what the features are read as."""
    return {each.column.name: each.column.kind for each in found.columns if each.used == "yes"}


@every_table
def test_select_says_what_inspect_finds(table: Messy) -> None:
    write(table)
    found = mm.inspect("labeled.csv", "y", "pool.csv")
    assert [finding.message for finding in found.findings] == table.messages
    assert said_by(select) == (table.refusal or table.messages)


@pytest.mark.parametrize(
    "table", [each for each in WRONG if each.messages and not each.refusal], ids=lambda each: each.name
)
@pytest.mark.filterwarnings("ignore::minmargin.DataWarning")
def test_the_manifest_records_what_is_said(table: Messy) -> None:
    write(table)
    findings = select().manifest["inspection"]["findings"]
    assert [each["message"] for each in findings] == table.messages


@every_table
def test_compare_says_what_is_wrong_with_the_labeled_set(table: Messy) -> None:
    write(table)
    assert said_by(compare) == (table.refusal or table.messages_of_labeled)


@every_table
def test_a_campaign_begins_with_what_inspect_finds(table: Messy) -> None:
    write(table)
    assert said_by(begin) == (table.refusal or table.messages)


@every_mended_table
def test_what_the_message_names_mends_it(table: Messy) -> None:
    write(table)
    reading = mm.Reading(**table.settings)
    assert mm.inspect("labeled.csv", "y", "pool.csv", reading=reading).findings == ()
    for work in (select, compare, begin):
        assert said_by(lambda work=work: work(reading=reading)) == []


@every_mended_table
def test_all_read_a_mended_table_alike(table: Messy) -> None:
    write(table)
    reading = mm.Reading(**table.settings)
    expected = kinds_in(mm.inspect("labeled.csv", "y", "pool.csv", reading=reading))
    if "text" in table.settings:  # which only learner="text" reads
        del expected[table.settings["text"]]
    assert expected["x"] == "number"
    for work in (select, compare, begin):
        told: list[mm.Inspection] = []
        work(reading=reading, inspected=told.append)
        assert list(map(kinds_in, told)) == [expected]


@every_table
def test_the_command_line_says_it_with_flags(
    table: Messy, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(table)
    assert command("inspect labeled.csv pool.csv --label-column y", monkeypatch) == 0
    said = [line.removeprefix("! ") for line in capsys.readouterr().out.splitlines() if line.startswith("! ")]
    assert said == [with_flags(each) for each in table.messages]


@every_table
@pytest.mark.filterwarnings("default")
def test_campaign_init_says_it_with_flags(
    table: Messy, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(table)
    line = "campaign init campaign --labeled labeled.csv --label-column y --pool pool.csv --batch-size 3"
    code = command(line, monkeypatch)
    assert (code, capsys.readouterr().err) == said_of(table, table.messages)


# Each run draws pictures, so only those that have something to say.
@pytest.mark.parametrize(
    "table", [each for each in WRONG if each.messages_of_labeled], ids=lambda each: each.name
)
@pytest.mark.filterwarnings("default")
def test_the_command_compare_says_it_with_flags(
    table: Messy, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(table)
    line = "compare --labeled labeled.csv --label-column y --out curves --strategies margin,random --batch-sizes 4"
    code = command(f"{line} --n-labeled 10 --n-draws 2 --n-jobs 1 --seed 0", monkeypatch)
    assert (code, capsys.readouterr().err) == said_of(table, table.messages_of_labeled)

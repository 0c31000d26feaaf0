"""Labels that stand for none, or are not there: asked about or told, wherever tables are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import minmargin as mm
from messy_runs import begin, command, compare, said_by, select, write
from messy_tables import Messy, X
from minmargin.cli.flags import with_flags

MARKED = range(3, 40, 10)  # four rows of forty
LEFT_OUT = (
    "4 of 40 labeled rows have no label in column 'y', such as row 3, so they are left out. Label such rows, or move "
    "them to the pool if they may be picked."
)
JUDGED = "4 of 40 rows have no label in column 'y', such as row 3, so they are left out: picks are judged by labels."
WORDS = ("?", "n/a", "#NV", "#N/V", "#REF!", "#DIV/0!", "#WERT!", "k.A.", "keine Angabe", "nicht beantwortet")
ANSWERS = ("not answered", "Prefer not to say", "-1", "-99", "999")
NUMBERS = (-1, -9, -99, -999, 99, 999, 9999)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def inspect(**settings: Any) -> list[str]:
    return [each.message for each in mm.inspect("labeled.csv", "y", "pool.csv", **settings).findings]


def among(mark: Any, labels: Callable[[int], Any]) -> Messy:
    """Return a table of which some labels are a mark."""
    columns = {"values": lambda i: i % 7, "in_pool": lambda i: i % 7}
    return Messy(f"{mark} among labels", **columns, label=lambda i: mark if i in MARKED else labels(i))


def yes_or_no(i: int) -> str:
    return "yes" if X[i] > 0 else "no"


def one_or_zero(i: int) -> int:
    return int(X[i] > 0)


def one_to_five(i: int) -> int:
    return 1 + i % 5


def asked(what: str, mark: Any, also: str = "") -> str:
    features = ", which holds for features, too" if str(mark).lstrip("-").isdigit() else ""
    return (
        f"Labeled row 3 and 3 others have the label {what}. If this stands for no label, use "
        f"missing=['{mark}']{features}; if it is a class, name all classes with classes=[...]{also}."
    )


CASES = [
    *((among(mark, yes_or_no), asked(repr(mark), mark)) for mark in (*WORDS, *ANSWERS)),
    *(
        (
            among(mark, labels),
            asked(f"{mark}, beside labels from {ends}", mark, also=", or write labels as texts"),
        )
        for labels, ends in ((one_or_zero, "0 to 1"), (one_to_five, "1 to 5"))
        for mark in NUMBERS
    ),
]
every_case = pytest.mark.parametrize(
    ("table", "message"), CASES, ids=[f"{table.name} {i}" for i, (table, _) in enumerate(CASES)]
)


@every_case
def test_a_mark_among_labels_is_asked_about(table: Messy, message: str) -> None:
    write(table)
    assert inspect() == [message]
    for work in (select, compare, begin):
        assert said_by(work) == [message]


@every_case
def test_what_the_message_names_leaves_such_rows_out(table: Messy, message: str) -> None:
    write(table)
    reading = mm.Reading(missing=message.partition("missing=['")[2].partition("']")[0])
    assert inspect(reading=reading) == [LEFT_OUT]
    for work in (select, begin):
        assert said_by(lambda work=work: work(reading=reading)) == [LEFT_OUT]
    assert said_by(lambda: compare(reading=reading)) == [JUDGED]


@pytest.mark.parametrize(
    ("mark", "labels", "flag"),
    [("#NV", yes_or_no, "'#NV'"), (-1, one_or_zero, "-1"), (99, one_to_five, "99")],
)
@pytest.mark.filterwarnings("default")
def test_the_command_line_names_the_flag_that_leaves_them_out(
    mark: Any,
    labels: Callable[[int], Any],
    flag: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write(among(mark, labels))
    line = "inspect labeled.csv pool.csv --label-column y"
    assert command(line, monkeypatch) == 1
    shown = capsys.readouterr()
    told = " ".join(shown.out.split())
    assert f"! Labeled row 3 and 3 others have the label {mark!r}" in told
    also = "" if flag == "'#NV'" else ", which holds for features, too"
    assert f"use --missing {flag}{also}; if it is a class, name all classes with --classes NAMES" in told
    assert "column read as missing values" in told
    assert shown.err == ""
    assert command(f"{line} --missing {mark}", monkeypatch) == 0
    shown = capsys.readouterr()
    assert f"! {with_flags(LEFT_OUT)}" in " ".join(shown.out.split())
    assert "Nothing looks wrong." not in shown.out
    assert shown.err == ""


@pytest.mark.parametrize("blank", ["", " ", "NA"])
def test_rows_without_a_label_are_told_and_left_out(blank: str) -> None:
    table = among(blank, one_or_zero)  # beside numbers, NA is none as well
    write(table)
    assert inspect() == [LEFT_OUT]
    for work in (select, begin):
        assert said_by(work) == [LEFT_OUT]
    assert said_by(compare) == [JUDGED]


@pytest.mark.parametrize(
    "labels",
    [
        lambda i: [-1, 1][i % 2],
        lambda i: [1, 9][i % 2],
        lambda i: i % 12,
        lambda i: 90 + i % 10,
        lambda i: [200, 404, 500][i % 3],
        lambda i: ["unknown", "yes", "no"][i % 3],
        lambda i: ["+", "-"][i % 2],
        lambda i: ["1a", "99b"][i % 2],
    ],
)
def test_labels_that_are_classes_are_taken_as_they_are(labels: Callable[[int], Any]) -> None:
    write(Messy("classes", lambda i: i % 7, lambda i: i % 7, label=labels))
    assert inspect() == []
    for work in (select, compare, begin):
        assert said_by(work) == []


@pytest.mark.parametrize("mark", ["-1", "-1.0"])
def test_numbers_that_are_declared_are_no_labels_however_they_are_written(mark: str) -> None:
    reading = mm.Reading(missing=[mark, "99"])
    for none in ("-1", "-1.0"):
        write(among(none, lambda i: 99 if i % 9 == 8 else one_or_zero(i)))
        found = mm.inspect("labeled.csv", "y", reading=reading)
        assert sorted(found.class_counts or ()) == ["0", "1"]

"""The table: numbers sort by their full value, texts are cut so that the page stays small."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

from minmargin.report import table
from minmargin.report.table import (
    TableCell,
    cut_texts,
    number_column,
    pool_column,
    sentence_column,
    text_column,
)


def test_a_number_is_shown_short_and_sorted_by_its_full_value() -> None:
    column = number_column("score", [0.123456789, 0.5, 3, None])
    assert column.cells == [
        TableCell("0.1235", "0.123456789"),
        TableCell("0.5"),
        TableCell("3"),
        TableCell(""),
    ]
    assert column.numeric


def test_a_large_whole_number_keeps_every_digit() -> None:
    assert pool_column("id", pa.array([2**60 + 1])).cells == [TableCell("1152921504606846977")]


@pytest.mark.parametrize(
    ("values", "texts", "numeric"),
    [
        (pa.array(["a", None]), ["a", ""], False),
        (pa.array(["a", "b"]).dictionary_encode(), ["a", "b"], False),
        (pa.array([True, False]), ["True", "False"], False),
        (pa.array([b"abc"]), ["3 bytes"], False),
        (pa.array([["ü", "b"]]), ['["ü", "b"]'], False),
        (pa.array([{"x": 1}]), ['{"x": 1}'], False),
        (pa.array([1.5, None]), ["1.5", ""], True),
    ],
)
def test_any_column_of_a_pool_can_be_shown(values: pa.Array, texts: list[str], numeric: bool) -> None:
    column = pool_column("x", values)
    assert [cell.text for cell in column.cells if isinstance(cell, TableCell)] == texts
    assert column.numeric == numeric


def test_numbers_and_dates_that_are_texts_are_sorted_by_what_they_were_read_as() -> None:
    """-66,15 is more than -994,58, and 2.10.2025 is before 1.11.2025; what was read as missing has an empty key."""
    texts = pa.chunked_array([["-66,15", "-994,58", "7", "?", None]])
    column = pool_column("x", texts, pa.chunked_array([[-66.15, -994.58, 7.0, None, None]]))
    assert column.cells == [
        TableCell("-66,15", "-66.15"),
        TableCell("-994,58", "-994.58"),
        TableCell("7", "7.0"),
        TableCell("?", ""),
        TableCell(""),
    ]
    assert column.numeric
    days = [dt.datetime(2025, 11, 1), dt.datetime(2025, 10, 2, 8, 30), None]
    column = pool_column(
        "day", pa.chunked_array([["1.11.2025", "2.10.2025 8:30", ""]]), pa.chunked_array([days])
    )
    assert column.kind == "date"
    assert column.cells == [
        TableCell("1.11.2025", "2025-11-01"),
        TableCell("2.10.2025 8:30", "2025-10-02 08:30:00"),
        TableCell("", ""),
    ]


def test_codes_that_were_read_as_categories_are_texts() -> None:
    column = pool_column("zip", pa.chunked_array([[1067, 80331]]), pa.chunked_array([["1067", "80331"]]))
    assert column.kind == "text"


def test_numbers_that_a_script_cannot_compare_are_missing_or_spelled_for_it() -> None:
    """The page's script would make no number of "nan" and of "inf"."""
    assert pool_column("x", pa.array([float("nan"), float("-inf"), float("inf")])).cells == [
        TableCell(""),
        TableCell("-inf", "-Infinity"),
        TableCell("inf", "Infinity"),
    ]
    assert number_column("x", [float("nan")]).cells == [TableCell("")]
    exact = pool_column("price", pa.array([Decimal("12.50"), None]))
    assert exact.numeric
    assert exact.cells == [TableCell("12.50"), TableCell("")]


@pytest.mark.parametrize(
    ("text", "long"),
    [
        ("a few words", False),
        ("many words " * 5, True),
        ("https://example.org/" + "path/" * 20, False),
        ("一段没有空格的文字" * 6, True),
    ],
)
def test_a_column_is_long_if_it_holds_texts_to_read(text: str, long: bool) -> None:
    assert text_column("t", ["short", text]).long == long


def test_a_column_of_sentences_is_long_however_short_they_are() -> None:
    assert sentence_column("reason", ["torn between a and b"]).long


def test_texts_are_cut_as_little_as_the_budget_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = [number_column("n", [1]), text_column("t", ["x" * 700])]
    (numbers, texts), said = cut_texts(columns)
    assert numbers is columns[0]
    assert texts.cells == [TableCell("x" * 599 + "…")]
    assert said == "1 texts are cut at 600 characters."
    monkeypatch.setattr(table, "BUDGET", 100)
    (_, texts), said = cut_texts(columns)
    assert texts.cells == [TableCell("x" * 89 + "…")]
    assert said == "1 texts are cut at 90 characters."


def test_what_escaping_adds_counts_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "BUDGET", 600)
    (texts,), _ = cut_texts([text_column("t", ["<" * 300])])
    assert texts.cells == [TableCell("<" * 89 + "…")]


def test_short_texts_are_left_alone() -> None:
    columns = [text_column("t", ["short"])]
    assert cut_texts(columns) == (columns, "")

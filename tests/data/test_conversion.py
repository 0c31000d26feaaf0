"""Conversions of columns, against parsing by hand."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import minmargin as mm
from minmargin.data.conversion import Conversion, Marks


def converted(conversion: Conversion, *values: Any, kind: pa.DataType | None = None) -> list[Any]:
    return conversion(pa.chunked_array([list(values)], kind), "Row {}".format).to_pylist()


def complaint(conversion: Conversion, *values: Any) -> str:
    with pytest.raises(mm.InputError) as caught:
        converted(conversion, *values)
    return str(caught.value)


@given(
    st.floats(-1e12, 1e12),
    st.integers(0, 8),
    st.sampled_from([(".", ","), (",", "."), (",", " "), (".", "'"), (",", ""), (".", "")]),
)
@example(1234.5, 1, (",", "."))
@example(-0.0, 0, (".", ""))
def test_a_number_that_is_written_with_marks_is_read_as_that_number(
    number: float, digits: int, marks: tuple[str, str]
) -> None:
    decimal, thousands = marks
    plain = f"{number:.{digits}f}"
    written = f"{number:,.{digits}f}".replace(",", "_").replace(".", decimal).replace("_", thousands)
    assert converted(Conversion("number", Marks(decimal, thousands)), written) == [float(plain)]


def test_blanks_around_numbers_do_not_count_and_those_between_thousands_may_be_of_any_width() -> None:
    conversion = Conversion("number", Marks(",", " "))
    assert converted(conversion, " 7 ", "1 234,5", "1\u00a0234,5", "1\u202f234", "12345") == [
        7.0,
        1234.5,
        1234.5,
        1234.0,
        12345.0,
    ]


def test_what_stands_for_nothing_is_missing() -> None:
    conversion = Conversion("number", Marks(missing=("?", "-99")))
    assert converted(conversion, "?", " ? ", "", "NA", None, "-99", "-9") == [None] * 6 + [-9.0]
    assert converted(conversion, 1, -99, None) == [1.0, None, None]
    assert converted(conversion, 1.0, -99.0, 0.5) == [1.0, None, 0.5]
    assert converted(Conversion("category", Marks(missing=("?",))), "a", "?", None, "NA") == [
        "a",
        None,
        None,
        "NA",
    ]


@pytest.mark.parametrize(
    "text",
    ["1.5", "0.260", "-0.111", "1.23,4", "12.3456", "0x1A", "1,2,3", "abc", "1_000", "inf", "5 kg", "-"],
)
def test_what_is_no_number_is_an_error_with_the_value(text: str) -> None:
    assert complaint(Conversion("number", Marks(",", ".")), "1.234,5", text) == (
        f"Row 1 holds {text!r}, which is no number with ',' before decimals and '.' between thousands. Mend it, or "
        "declare what it stands for with missing=[...]."
    )


def test_codes_become_names_also_where_gaps_have_made_floats_of_them() -> None:
    conversion = Conversion("category")
    assert converted(conversion, 7, 10, None) == ["7", "10", None]
    assert converted(conversion, 7.0, 10.0, None, float("nan")) == ["7", "10", None, None]
    assert converted(conversion, True, False) == ["true", "false"]
    coded = pa.array(["x", "y", "x"]).dictionary_encode()
    assert conversion(pa.chunked_array([coded]), str).to_pylist() == ["x", "y", "x"]


def test_dates_are_read_in_their_form() -> None:
    day = dt.datetime(2024, 3, 1)
    assert converted(
        Conversion("date"), "2024-03-01", "2024-03-01 10:30", "", "2024-03-01T12:00:00+02:00"
    ) == [
        day,
        day.replace(hour=10, minute=30),
        None,
        day.replace(hour=10),
    ]
    assert converted(Conversion("date", date_format="%d.%m.%Y"), "1.3.2024", "01.03.2024") == [day, day]
    assert converted(Conversion("date"), dt.date(2024, 3, 1)) == [day]


def test_a_day_that_does_not_exist_is_an_error() -> None:
    assert complaint(Conversion("date"), "2024-06-30", "2024-06-31") == (
        "Row 1 holds '2024-06-31', which is no date. Mend it, or declare what it stands for with missing=[...]."
    )
    assert complaint(Conversion("date", date_format="%d.%m.%Y"), "31.12.24.") == (
        "Row 0 holds '31.12.24.', which is no date of the form %d.%m.%Y. Mend it, or declare what it stands for with "
        "missing=[...]."
    )


@pytest.mark.parametrize(
    ("decimal", "thousands", "message"),
    [
        (";", "", "decimal=';' must be '.' or ','."),
        (
            ",",
            ",",
            "thousands=',' must be one of '.', ',', \"'\" and ' ', and not the decimal mark (',').",
        ),
        (
            ".",
            "x",
            "thousands='x' must be one of '.', ',', \"'\" and ' ', and not the decimal mark ('.').",
        ),
    ],
)
def test_marks_that_could_be_read_in_two_ways_are_refused(decimal: str, thousands: str, message: str) -> None:
    with pytest.raises(mm.InputError) as caught:
        Marks(decimal, thousands)
    assert str(caught.value) == message


@pytest.mark.parametrize("text", ["30.02.2010", "31.04.2010", "29.02.2011"])
def test_a_day_of_a_declared_form_that_does_not_exist_is_an_error(text: str) -> None:
    """Arrow makes the 2nd of March of the 30th of February."""
    assert complaint(Conversion("date", date_format="%d.%m.%Y"), "29.02.2012", "01.03.2029", text) == (
        f"Row 2 holds {text!r}, which is no date of the form %d.%m.%Y. Mend it, or declare what it stands for with "
        "missing=[...]."
    )
    assert converted(Conversion("date", date_format="%d.%m.%Y"), "29.02.2012", "01.03.2029") == [
        dt.datetime(2012, 2, 29),
        dt.datetime(2029, 3, 1),
    ]

"""More small tables, as those of messy_tables: texts that look like numbers, dates or missing values, or nearly do."""

from __future__ import annotations

from messy_tables import Messy, both, like_dates, like_numbers, some_are_none

_READ = "Column 'c' of the labeled set is read as a category, and"


def _with_sign(example: str, plain: str) -> str:
    return (
        f"{_READ} its values look like numbers, some with another sign for minus, such as {example!r}. Write "
        f"{plain!r}, or use drop=['c']."
    )


def _with_unit(example: str) -> str:
    return f"{_READ} its values look like numbers with a unit, such as {example!r}. Remove the unit, or use drop=['c']."


def _in_forms(example: str, *forms: str, what: str = "dates") -> str:
    ways = " or ".join(f"date={{'c': {form!r}}}" for form in forms)
    return f"{_READ} its values look like {what}, such as {example!r}. If they are, use {ways}."


def _marked(mark: str, n: int, of: int = 40) -> str:
    return (
        f"{_READ} {n} of its {of} values are {mark!r}. If this stands for a missing value, use missing=[{mark!r}]; if "
        "it is a category, category=['c']."
    )


PLAIN_TEXTS = (
    both("plus and minus", lambda i: "+-"[i % 2]),
    both("signs of punctuation", lambda i: ".,?"[i % 3]),
    both("none and unknown, which are values as often", lambda i: ["none", "unknown", "yes"][i % 3]),
    both("ages in groups", lambda i: ["0-4", "5-9", "60+"][i % 3]),
    both("numbers of versions", lambda i: f"3.{i % 3 + 9}.{i % 5 + 10}"),
    both("codes with a letter before", lambda i: f"A {i % 9}"),
    both("a decimal comma in names", lambda i: ["1,5 or 2", "0,5 or 1"][i % 2]),
)

MESSY_TEXTS = (
    both(
        "decimal commas below one, which no mark between thousands explains",
        lambda i: f"{'-' * (i % 2)}0,{111 + i}",
        like_numbers("-0,112", "decimal=','"),
        settings={"decimal": ","},
    ),
    both(
        "decimal commas and points",
        lambda i: f"0{',.'[i % 2]}{121 + i}",
        f"{_READ} its values look like numbers, some with a decimal point, such as '0.122', and some with a comma, "
        "such as '0,121'. Write all in one way, or use drop=['c'].",
        settings={"drop": "c"},
    ),
    both(
        "decimal commas beside many marks for missing values",
        lambda i: "-" if i % 4 == 0 else f"{i},5",
        f"{_READ} 30 of its 40 values look like numbers, such as '1,5'. If they are, use decimal=',' and "
        "missing=['-'].",
        settings={"decimal": ",", "missing": "-"},
    ),
    both(
        "whole numbers beside many marks for missing values",
        lambda i: "?" if i % 4 == 0 else i,
        some_are_none(10, 40, "'?'"),
        settings={"missing": "?"},
    ),
    both(
        "negative numbers as bookkeepers write them",
        lambda i: f"({i})" if i % 3 == 0 else i,
        _with_sign("(0)", "-0"),
        settings={"drop": "c"},
    ),
    both(
        "negative numbers as SAP writes them",
        lambda i: f"{i}.50-" if i % 3 == 1 else f"{i}.50",
        _with_sign("1.50-", "-1.50"),
        settings={"drop": "c"},
    ),
    both(
        "negative numbers as typesetters write them",
        lambda i: f"\u2212{i}" if i % 3 == 1 else i,
        _with_sign("\u22121", "-1"),
        settings={"drop": "c"},
    ),
    both("euros before", lambda i: f"EUR {i % 20}", _with_unit("EUR 0"), settings={"drop": "c"}),
    both("dollars before", lambda i: f"USD {i % 20}.5", _with_unit("USD 0.5"), settings={"drop": "c"}),
    both(
        "euros behind, and many without",
        lambda i: "-" if i % 4 == 0 else f"{i % 20},50 €",
        _with_unit("1,50 €"),
        settings={"drop": "c"},
    ),
    *(
        both(
            f"{mark} among categories",
            lambda i, mark=mark: mark if i % 5 == 0 else ["red", "green"][i % 2],
            _marked(mark.strip(), 8),
            settings={"missing": mark.strip()},
        )
        for mark in ("NA", "?", "NULL", "-", " ?", "n/a", "#N/A")
    ),
    both(
        "North America, which is a category",
        lambda i: ["NA", "EMEA", "APAC"][i % 3],
        _marked("NA", 14),
        settings={"category": "c"},
    ),
    both(
        "an index without a name",
        lambda i: 3 * i,
        "Column '' is a feature, and has a different whole number in each of the 40 labeled rows. If it identifies "
        "rows, name it as id_column, or use drop=[''].",
        settings={"drop": ""},
        header="",
    ),
    *(
        both(name, values, _in_forms(example, form, what=what), settings={"date": {"c": form}})
        for name, values, example, form, what in (
            (
                "days with dots and two digits of the year",
                lambda i: f"{i % 28 + 1:02}.09.10",
                "01.09.10",
                "%d.%m.%y",
                "dates",
            ),
            (
                "days with names of months",
                lambda i: f"{i % 28 + 1:02}-Dec-1979",
                "01-Dec-1979",
                "%d-%b-%Y",
                "dates",
            ),
            (
                "days with names of months before",
                lambda i: f"May {i % 28 + 1}, 1979",
                "May 1, 1979",
                "%b %d, %Y",
                "dates",
            ),
            (
                "days with hyphens",
                lambda i: f"{i % 12 + 1:02}-{13 + i % 7}-1973",
                "01-13-1973",
                "%m-%d-%Y",
                "dates",
            ),
            ("months", lambda i: f"2016-{i % 12 + 1:02}", "2016-01", "%Y-%m", "dates"),
            ("times", lambda i: f"{i % 12 + 1}:{i % 4}1 AM", "1:01 AM", "%I:%M %p", "times"),
        )
    ),
    both(
        "moments of half a day",
        lambda i: f"01/{13 + i % 9}/1974 06:0{i % 9} PM",
        like_dates("01/13/1974 06:00 PM"),
        settings={"date": "c"},
    ),
    both(
        "days of which nobody knows what comes first",
        lambda i: f"{i % 12 + 1:02}-{i % 12 + 1:02}-1973",
        _in_forms("01-01-1973", "%d-%m-%Y", "%m-%d-%Y"),
        settings={"date": {"c": "%d-%m-%Y"}},
    ),
    Messy(
        "categories in short",
        lambda i: ["Yes", "No"][i % 2],
        lambda i: ["Y", "N"][i % 2],
        "Column 'c': 60 of 60 values in the pool are categories that the labeled set does not have, such as 'N' where "
        "that has 'No', so they tell nothing. Spell them alike in both, or use drop=['c'].",
        {"drop": "c"},
    ),
)

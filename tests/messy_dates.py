"""More small tables, as those of messy_tables: dates that are numbers."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

from messy_tables import Messy, both

_BEGIN = dt.datetime(2024, 1, 20, 12, 30, tzinfo=dt.UTC)


def _moment(i: int) -> dt.datetime:
    return _BEGIN + dt.timedelta(days=37 * i % 61, seconds=i)


def _counting(name: str, values: Callable[[int], Any], like: str, form: str, header: str = "c") -> Messy:
    warned = (
        f"Column {header!r} of the labeled set is read as numbers, and its values look like {like}. If they are, use "
        f"date={{{header!r}: {form!r}}}; if not, number=[{header!r}]."
    )
    return both(name, values, warned, settings={"date": {header: form}}, header=header)


MESSY_DATES = (
    _counting("days without marks", lambda i: f"{_moment(i):%Y%m%d}", "days, such as 20240217", "%Y%m%d"),
    _counting(
        "seconds since 1970",
        lambda i: int(_moment(i).timestamp()),
        "seconds since 1970, such as 1708173009",
        "unix",
    ),
    _counting(
        "milliseconds since 1970",
        lambda i: int(_moment(i).timestamp() * 1000),
        "milliseconds since 1970, such as 1708173009000",
        "unix-ms",
    ),
    _counting(
        "days as spreadsheets count them",
        lambda i: 45311 + 37 * i % 61,
        "days as spreadsheets count them, such as 45339",
        "excel",
        header="signupDate",
    ),
    _counting(
        "moments as spreadsheets count them",
        lambda i: 45311.25 + 37 * i % 61,
        "days as spreadsheets count them, such as 45339.25",
        "excel",
        header="created_at",
    ),
)

PLAIN_DATES = (
    both("wages, which are no days of spreadsheets", lambda i: 45311 + 37 * i % 61),
    both("numbers of eight digits, which are no days", lambda i: 20240000 + 3700 * i % 6100),
    both(
        "numbers of ten digits, some of them beyond 2035", lambda i: 1_000_000_000 + 700_000_001 * i % 3**20
    ),
    both("years", lambda i: 1990 + 7 * i % 30, header="year_date"),
)

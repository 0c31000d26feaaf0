"""Forms of dates: ways of writing days and times that are not ISO's, and how to parse them."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

#: Forms of numbers that count time, each with the microseconds of one, and what is counted from.
UNIX, UNIX_MS, EXCEL = "unix", "unix-ms", "excel"
_UNIX_BEGINS, _EXCEL_BEGINS = dt.datetime(1970, 1, 1), dt.datetime(1899, 12, 30)
COUNTED = {
    UNIX: (1_000_000, _UNIX_BEGINS),
    UNIX_MS: (1_000, _UNIX_BEGINS),
    EXCEL: (86_400_000_000, _EXCEL_BEGINS),
}

_D, _M, _MON = (
    r"(0?[1-9]|[12]\d|3[01])",
    r"(0?[1-9]|1[0-2])",
    r"(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)",
)
_DD, _MM = r"(0[1-9]|[12]\d|3[01])", r"(0[1-9]|1[0-2])"  # with two digits: 1.10.12 is the number of a version
_H, _HALF = r"([01]?\d|2[0-3])", r"(0?[1-9]|1[0-2])"
_MS = r":[0-5]\d"

#: Days. Who declares a date of the first need not say more, unless two forms fit.
_DAYS = {
    r"\d{1,2}\.\d{1,2}\.\d{4}": "%d.%m.%Y",
    r"\d{4}/\d{1,2}/\d{1,2}": "%Y/%m/%d",
    rf"{_M}/\d{{1,2}}/\d{{4}}": "%m/%d/%Y",
    rf"\d{{1,2}}/{_M}/\d{{4}}": "%d/%m/%Y",
}
_OTHER_DAYS = {
    rf"\d{{4}}\.{_MM}\.{_DD}": "%Y.%m.%d",
    rf"{_D}-{_M}-\d{{4}}": "%d-%m-%Y",
    rf"{_M}-{_D}-\d{{4}}": "%m-%d-%Y",
    rf"{_DD}\.{_MM}\.\d{{2}}": "%d.%m.%y",
    rf"{_M}/{_D}/\d{{2}}": "%m/%d/%y",
    rf"{_D}/{_M}/\d{{2}}": "%d/%m/%y",
    rf"{_D}-{_MON}-\d{{4}}": "%d-%b-%Y",
    rf"{_D}-{_MON}-\d{{2}}": "%d-%b-%y",
    rf"{_D} {_MON} \d{{4}}": "%d %b %Y",
    rf"{_MON} {_D}, \d{{4}}": "%b %d, %Y",
    rf"{_MON}-\d{{4}}": "%b-%Y",
    rf"{_MON} \d{{4}}": "%b %Y",
    rf"(19|20)\d{{2}}-{_MM}": "%Y-%m",
    rf"{_MM}/(19|20)\d{{2}}": "%m/%Y",
}
#: A time may follow a day. It may also stand alone.
_TIMES = {
    rf"{_H}{_MS}": "%H:%M",
    rf"{_H}{_MS}{_MS}": "%H:%M:%S",
    rf"{_HALF}{_MS} ?[AaPp][Mm]": "%I:%M %p",
    rf"{_HALF}{_MS}{_MS} ?[AaPp][Mm]": "%I:%M:%S %p",
}
_MOST = 0.9  # of the values: the others are typing errors
_FEW = 50  # of the different values: a form that half of these do not have is not looked for in all of them


def _with_times(days: dict[str, str]) -> dict[str, str]:
    times = {"": "", **{f" {time}": f" {form}" for time, form in _TIMES.items()}}
    return {day + time: form + clock for day, form in days.items() for time, clock in times.items()}


#: Regular expressions of dates that are declared without their form, and what it is.
TOLD = _with_times(_DAYS)
#: And of all that are known.
FORMS = {**TOLD, **_with_times(_OTHER_DAYS), **_TIMES}


def counted_from(form: str, moment: dt.datetime) -> float:
    """Return the number of a form that stands for a moment.

    >>> counted_from("excel", dt.datetime(2024, 1, 31))
    45322.0
    """
    unit, begins = COUNTED[form]
    return (moment - begins) / dt.timedelta(microseconds=unit)


def moments_counted(numbers: pa.ChunkedArray, form: str) -> pa.ChunkedArray:
    """Return the moments that numbers of a form stand for, to the microsecond; null for those beyond all years."""
    unit, begins = COUNTED[form]
    before = (_UNIX_BEGINS - begins) / dt.timedelta(microseconds=unit)
    counted = pc.round(pc.multiply(pc.subtract(numbers, before), float(unit)))
    known = pc.less(pc.abs(counted), 2.0**57)  # some 4,500 years
    return pc.if_else(known, counted, pa.scalar(None, pa.float64())).cast(pa.int64()).cast(pa.timestamp("us"))


def forms_of(texts: Sequence[tuple[str, int]]) -> list[str]:
    """Return the forms of dates that most of texts have, each given with how often it occurs; none if there is none.

    >>> forms_of([("01/02/1974 06:09 PM", 1), ("01/13/1974 06:09 PM", 1)])
    ['%m/%d/%Y %I:%M %p']
    """
    some = texts[:_FEW]
    found = {form: _share(texts, pattern) for pattern, form in FORMS.items() if _share(some, pattern) > 1 / 2}
    most = max(found.values(), default=0.0)
    return [form for form, share in found.items() if share == most > _MOST]


def _share(texts: Sequence[tuple[str, int]], pattern: str) -> float:
    found = re.compile(pattern)
    return sum(n for text, n in texts if found.fullmatch(text)) / max(sum(n for _, n in texts), 1)

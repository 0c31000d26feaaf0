"""What is wrong with a CSV file, in words that help: where Arrow gives a column's number, or no line at all."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa

from minmargin.pools.storage import Location

NOT_UTF8 = "its texts are not in UTF-8; save it in UTF-8, which Excel calls CSV UTF-8"

_MOST_READ = 1 << 28  # characters: to find a line takes seconds at most
_MOST_SHOWN = 40  # of a line


class _Line(NamedTuple):
    """A line that has not as many values as the header; `is_first` if it is the first one below that."""

    number: int
    n_values: int
    is_first: bool


def explain(reason: str, location: Location, delimiter: str, schema: pa.Schema | None) -> str:
    """Return Arrow's reason in better words, with the column or the line, and what mends it.

    `schema` is the file's, if it could be read.
    """
    # In a cell, or in the name of a column.
    if "invalid UTF8 data" in reason or "'utf-8' codec" in reason:
        return NOT_UTF8
    # Where Arrow reads with one thread, it tells the row, too.
    ragged = re.search(
        r"CSV parse error: (?:Row #\d+: )?Expected (\d+) columns, got (\d+): (.*)", reason, re.DOTALL
    )
    if ragged is not None:
        return _of_line(int(ragged[1]), int(ragged[2]), ragged[3], _find_line(location, delimiter))
    wrong = re.match(
        r"In CSV column #(\d+): (?:Row #\d+: )?CSV conversion error to (.+?): "
        r"(invalid value|expected no zone offset in|expected a zone offset in) '(.*)'",
        reason,
        re.DOTALL,
    )
    if wrong is None or schema is None:
        return reason
    return _of_value(schema.names[int(wrong[1])], wrong[2], wrong[4])


def _of_value(name: str, kind: str, value: str) -> str:
    if kind.startswith("timestamp"):
        return (
            f"column {name!r} holds {value!r} where the dates before it have another form; declare it with "
            f"date=[{name!r}], and what stands for a missing one with missing=[...]"
        )
    comma = re.fullmatch(r"[+-]?\d+,\d*", value)
    hint = "declare decimal=','" if comma else "a missing one is left empty, or declared with missing=[...]"
    return f"column {name!r} holds {value!r} where a {kind} was expected; {hint}"


def _of_line(n_columns: int, n_values: int, text: str, line: _Line | None) -> str:
    where = "a line" if line is None else f"line {line.number:,}"
    shown = text if len(text) <= _MOST_SHOWN else text[:_MOST_SHOWN] + "…"
    have = (
        f"{where} has {_count(n_values, 'value')} ({shown!r}), and its first line has "
        f"{_count(n_columns, 'column')}"
    )
    if line is not None and line.is_first and n_values > n_columns:
        return f"{have}; if the first line is a title, remove it"
    return f"{have}; a value with a delimiter, a quote or a line break in it needs quotes around it"


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def _find_line(location: Location, delimiter: str) -> _Line | None:
    """Return the first line that has not as many values as the header; None if it lies too far into the file."""
    try:
        with location.stream() as stream:  # decompresses by suffix
            lines = io.TextIOWrapper(stream, "utf-8", errors="replace", newline="")
            return _first_ragged(_beginning(lines), delimiter)
    except (OSError, ValueError, csv.Error):  # what is wrong was told already: this is where
        return None


def _beginning(lines: io.TextIOWrapper) -> Iterator[str]:
    n_read = 0
    for line in lines:
        yield line
        n_read += len(line)
        if n_read > _MOST_READ:
            return


def _first_ragged(lines: Iterator[str], delimiter: str) -> _Line | None:
    reader = csv.reader(lines, delimiter=delimiter)
    n_columns, ended = None, 0
    is_first = False
    for values in reader:
        begun, ended = ended + 1, reader.line_num
        if not values:  # a blank line, which is no row
            continue
        if n_columns is None:
            n_columns, is_first = len(values), True
            continue
        if len(values) != n_columns:
            return _Line(begun, len(values), is_first)
        is_first = False
    return None

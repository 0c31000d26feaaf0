"""The table of picked rows: what each is, what the base takes it for, and why it was picked."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import pyarrow as pa

from minmargin.properties import cached_property
from minmargin.report.pictures import Picture

BUDGET = 500_000  # characters that all texts of the table may take
_LIMITS = (600, 300, 160, 90, 50, 24, 8)  # characters of a cell: the first that keeps to the budget is used
_CUT = ("text", "sentence")  # the kinds of columns whose cells may be cut: sentences name classes
N_COLUMNS = 20  # of the pool's own, that a page has
N_SHOWN = 8  # of these, that are shown until the reader chooses others


class TableCell(NamedTuple):
    """What a cell shows; `key` is what it is sorted by, where that is more."""

    text: str
    key: str | None = None


@dataclass(frozen=True)
class TableColumn:
    """A column of the table: numbers, dates, texts, sentences of ours, or pictures, which stand beside their texts.

    `shown` tells whether a reader sees it before choosing columns.
    """

    name: str
    cells: Sequence[TableCell | Picture | None]
    kind: str
    shown: bool = True

    @cached_property  # the page asks for every cell
    def long(self) -> bool:
        """Whether it holds texts to read, and not only names, addresses and the like."""
        return self.kind == "sentence" or (
            self.kind == "text"
            and any(isinstance(cell, TableCell) and _is_to_read(cell.text) for cell in self.cells)
        )

    @property
    def numeric(self) -> bool:
        """Whether it is sorted by size, and stands at the right."""
        return self.kind == "number"


def number_column(name: str, values: Sequence[Any]) -> TableColumn:
    """Return a column of numbers, None where there is none."""
    return TableColumn(name, [_number_or_nothing(value) for value in values], "number")


def text_column(name: str, values: Sequence[Any]) -> TableColumn:
    """Return a column of texts."""
    return TableColumn(name, [TableCell("" if value is None else str(value)) for value in values], "text")


def sentence_column(name: str, sentences: Sequence[str]) -> TableColumn:
    """Return a column of sentences: as wide as one needs, however short they are."""
    return TableColumn(name, [TableCell(sentence) for sentence in sentences], "sentence")


def picture_column(name: str, pictures: Sequence[Picture | None]) -> TableColumn:
    """Return a column of pictures."""
    return TableColumn(name, list(pictures), "picture")


def pool_column(
    name: str, values: pa.ChunkedArray | pa.Array, read: pa.ChunkedArray | None = None
) -> TableColumn:
    """Return a column of the pool, whatever it holds: shown as it stands there, and sorted by what it was read as.

    Args:
        name: what it is called.
        values: its values in the pool.
        read: the same as they were read: "1.250,5" as a number, "3.11.2026" as a date, "n/a" as none.
    """
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    of = values.type if read is None else read.type
    kind = "number" if _is_number(of) else "date" if pa.types.is_temporal(of) else "text"
    if kind == "text" or pa.types.is_time(of) or pa.types.is_duration(of):
        return text_column(name, [_plain(value) for value in values.to_pylist()])
    each = values.to_pylist()
    cells = [
        _cell(*pair, kind) for pair in zip(each, each if read is None else read.to_pylist(), strict=True)
    ]
    return TableColumn(name, cells, kind)


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _cell(value: Any, read: Any, kind: str) -> TableCell:
    """Return what a number or a date is shown as, and what it is sorted by: nothing, where it was read as missing."""
    if _is_nothing(value):
        return TableCell("")
    shown = (
        value.strip() if isinstance(value, str) else _number(value).text if kind == "number" else _date(value)
    )
    if _is_nothing(read):
        return TableCell(shown, "")
    key = _date(read) if kind == "date" else _key_of_number(value, read)
    return TableCell(shown, None if key == shown else key)


def _key_of_number(value: Any, read: Any) -> str | None:
    if isinstance(read, float) and math.isinf(read):
        return "Infinity" if read > 0 else "-Infinity"  # as the page's script spells them
    # Numbers that are none in the pool are sorted by the digits that are shown: keys of all would be most of the page.
    return repr(read) if isinstance(value, str) else None


def _is_nothing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def cut_texts(columns: Sequence[TableColumn]) -> tuple[list[TableColumn], str]:
    """Return the columns with texts so short that the page stays small, and a sentence if some were cut."""
    texts = [column for column in columns if column.kind in _CUT]
    lengths = [len(cell.text) for column in texts for cell in column.cells if isinstance(cell, TableCell)]
    for limit in _LIMITS:
        if limit == _LIMITS[-1] or sum(_room(column, limit) for column in texts) <= BUDGET:
            cut = [_cut(column, limit) if column.kind in _CUT else column for column in columns]
            n_cut = sum(length > limit for length in lengths)
            return cut, f"{n_cut:,} texts are cut at {limit} characters." if n_cut else ""
    raise AssertionError("the last limit always holds")


def _is_to_read(text: str) -> bool:
    # Some scripts have no spaces between words. A path or a web address has none either, and is ASCII.
    return len(text) > 48 and not (text.isascii() and len(text.split()) == 1)


def _room(column: TableColumn, limit: int) -> int:
    """Return how many bytes a column takes in the page at most."""
    return sum(
        len(cell.text[:limit].encode("utf-8", "replace")) + 5 * sum(map(cell.text[:limit].count, "<>&'\"_"))
        for cell in column.cells
        if isinstance(cell, TableCell)
    )


def _cut(column: TableColumn, limit: int) -> TableColumn:
    cells = [
        TableCell(cell.text[: limit - 1] + "…")
        if isinstance(cell, TableCell) and len(cell.text) > limit
        else cell
        for cell in column.cells
    ]
    return replace(column, cells=cells)


def _number_or_nothing(value: Any) -> TableCell:
    return TableCell("") if _is_nothing(value) else _number(value)


def _number(value: Any) -> TableCell:
    if not isinstance(value, float):
        return TableCell(str(value))
    text = f"{value:.4g}"
    return TableCell(text, None if float(text) == value else repr(float(value)))


def _date(value: Any) -> str:
    """Return a date, with its time only where it has one.

    >>> import datetime
    >>> _date(datetime.datetime(2026, 11, 16)), _date(datetime.datetime(2026, 11, 16, 8, 30)), _date(None)
    ('2026-11-16', '2026-11-16 08:30:00', '')
    """
    return "" if value is None else str(value).removesuffix(" 00:00:00")


def _plain(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return f"{len(value):,} bytes"
    return (
        json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, (list, dict)) else str(value)
    )

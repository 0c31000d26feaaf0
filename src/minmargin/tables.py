"""Tables for people, as aligned lines of text or as HTML for a notebook; and numbers for them."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence


def text_table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, left: bool = False) -> str:
    """Return a table as lines; cells stand on the right, as numbers should, or on the left.

    >>> print(text_table(["class", "rows"], [["card", "12"], ["loan", "7"]]))
    class  rows
     card    12
     loan     7
    """
    lines = [headings, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(headings))]
    place = str.ljust if left else str.rjust
    return "\n".join(
        "  ".join(place(cell, width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def html_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table as HTML, in which nothing of the cells is taken for a tag.

    >>> html_table(["class"], [["<b>"]])
    '<table><thead><tr><th>class</th></tr></thead><tbody><tr><td>&lt;b&gt;</td></tr></tbody></table>'
    """
    head = "".join(f"<th>{html.escape(name)}</th>" for name in headings)
    body = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def to_two_digits(value: float) -> int:
    """Return a number of 1 or more, to two digits that count.

    >>> to_two_digits(7), to_two_digits(387.2), to_two_digits(98_765)
    (7, 390, 99000)
    """
    unit = 10 ** max(math.floor(math.log10(value)) - 1, 0)
    return int(round(value / unit) * unit)

"""Tables on a terminal: as wide as it is, whatever that is. In a pipe nothing is wrapped.

A column of prose is wrapped within itself. Where all columns are short and there are too many of them, the table goes
on below, and its first column stands there again: a terminal that broke the lines would leave nothing in line.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

_GAP = 2
_NARROWEST_PROSE = 12  # characters, which most words fit in


def show_table(
    console: Console,
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    prose: Collection[str] = (),
    right: Collection[str] = (),
    styles: Mapping[str, str] | None = None,
) -> None:
    """Print a table without lines that fits the console.

    Columns of `prose` may be wrapped. Those of `right` have their ends below each other, as numbers should.
    `styles` are colors of columns.
    """
    widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
    for number, places in enumerate(_blocks(headings, widths, prose, console.width)):
        if number:
            console.print()
        table = Table(box=None, padding=(0, _GAP, 0, 0), pad_edge=False)
        for place in places:
            wraps = headings[place] in prose
            table.add_column(
                escape(headings[place]),
                justify="right" if headings[place] in right else "left",
                style=(styles or {}).get(headings[place]),
                no_wrap=not wraps,
                overflow="fold" if wraps else "ellipsis",
            )
        for row in rows:
            table.add_row(*(escape(row[place]) for place in places))
        console.print(table)


def _blocks(
    headings: Sequence[str], widths: Sequence[int], prose: Collection[str], room: int
) -> Iterator[list[int]]:
    """Return which columns stand side by side: the first in each block, and as many others as there is room for."""
    least = [
        min(width, _NARROWEST_PROSE) if name in prose else width
        for name, width in zip(headings, widths, strict=True)
    ]
    block = [0]
    for place in range(1, len(headings)):
        taken = sum(least[each] + _GAP for each in block)
        if len(block) > 1 and taken + least[place] > room:
            yield block
            block = [0]
        block.append(place)
    yield block

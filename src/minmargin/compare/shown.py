"""What a comparison found, for programs as an Arrow table, and for people as they read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from minmargin.compare.tables import ScoreTable
from minmargin.compare.words import Words
from minmargin.errors import MissingExtraError

HEADINGS = ["strategy", "labels", "difference", "95% interval", "adjusted p", "verdict"]


@dataclass(frozen=True, repr=False, eq=False)
class ShownTable:
    """Numbers in full, which print and show themselves in a notebook as a table for people.

    Whatever takes Arrow data takes it as it is: `pyarrow.table(found.curves)`, `polars.DataFrame(found.curves)`.

    Attributes:
        shown: the table for people: fewer columns, rounded numbers.
    """

    _arrow: pa.Table
    shown: ScoreTable

    def to_arrow(self) -> pa.Table:
        """Return all columns, as an Arrow table."""
        return self._arrow

    def to_pandas(self) -> Any:
        """Return all columns, as a pandas data frame."""
        return as_pandas(self._arrow)

    def to_pylist(self) -> list[dict[str, Any]]:
        """Return the rows, each as a dict of plain Python values."""
        rows: list[dict[str, Any]] = self._arrow.to_pylist()
        return rows

    @property
    def column_names(self) -> list[str]:
        """The names of all columns."""
        return list(self._arrow.column_names)

    def __len__(self) -> int:
        return int(self._arrow.num_rows)

    def __getitem__(self, name: str) -> pa.ChunkedArray:
        """Return one column."""
        return self._arrow[name]

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Hand the columns to another library, without a copy (the Arrow PyCapsule interface)."""
        return self._arrow.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return self.shown.as_text()

    def _repr_html_(self) -> str:
        return self.shown.as_html()


def show_curves(table: pa.Table, scoring: str, words: Words) -> ShownTable:
    """Return the table of mean scores, as people read it."""
    rows = [
        [
            _line(row),
            f"{row['batch_size']:,}",
            f"{row['draws']:,}",
            words.score(row["mean"]),
            f"{words.score(row['low'])} to {words.score(row['high'])}",
        ]
        for row in table.to_pylist()
    ]
    title = f"Mean test {scoring}, by the number of labels added"
    return ShownTable(
        table, ScoreTable(title, ["strategy", "labels", "draws", "mean", "95% interval"], rows, "")
    )


def show_differences(table: pa.Table, title: str, words: Words) -> ShownTable:
    """Return a table of paired differences, as people read it."""
    rows = [
        [
            _line(row),
            f"{row['batch_size']:,}",
            words.number(row["difference"], signed=True),
            f"{words.number(row['low'])} to {words.number(row['high'])}",
            f"{row['adjusted']:.2g}",
            row["verdict"],
        ]
        for row in table.to_pylist()
    ]
    unit = f" in {words.unit}" if words.unit else ""
    note = f"Differences{unit} within the same draws; p-values after Holm's correction over all rows."
    return ShownTable(table, ScoreTable(title, HEADINGS, rows, note))


def join_tables(tables: Mapping[str, ShownTable], title: str, note: str) -> ShownTable:
    """Return the tables of several scorings as one, with a first column that says which."""
    rows = [[name, *row] for name, table in tables.items() for row in table.shown.rows]
    headings = ["score", *next(iter(tables.values())).shown.headings]
    parts = []
    for name, table in tables.items():
        arrow = table.to_arrow()
        parts.append(arrow.add_column(0, "scoring", pa.array([name] * len(arrow), pa.string())))
    return ShownTable(pa.concat_tables(parts), ScoreTable(title, headings, rows, note))


def as_pandas(table: pa.Table) -> Any:
    """Return an Arrow table as a pandas data frame."""
    try:
        return table.to_pandas()
    except ImportError:
        raise MissingExtraError(
            "to_pandas needs pandas, which is not installed. Use pip install pandas."
        ) from None


def _line(row: Mapping[str, Any]) -> str:
    return str(row["strategy"]) + ("" if row["rounds"] == 1 else f" in {row['rounds']} rounds")

"""How the table was read, as a report tells it: the sentences of the command line, and what was declared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from minmargin.errors import listing
from minmargin.inspection.inspection import HEADINGS, KEYS

N_FINDINGS = 4  # that stand there before the reader asks for the others
N_OPEN = 8  # columns of a table that is not folded
_NAMES = {
    "number": "numbers",
    "category": "categories",
    "text": "free text",
    "date": "dates",
    "drop": "no features",
    "decimal": "before decimals",
    "thousands": "between thousands",
    "missing": "for missing values",
}


class TableAsRead(NamedTuple):
    """How the labeled set and the pool were read.

    Attributes:
        summary: rows, classes, and what columns were taken for, in sentences.
        declared: what the caller said of columns, with a name each.
        findings: what looked wrong, in sentences.
        columns: a row of cells for each column, as `HEADINGS` calls them.
    """

    summary: str
    declared: list[tuple[str, str]]
    findings: list[str]
    columns: list[list[str]]
    headings: tuple[str, ...] = HEADINGS
    n_findings: int = N_FINDINGS
    n_open: int = N_OPEN


def table_as_read(manifest: Mapping[str, Any], spell: Callable[[str], str]) -> TableAsRead | None:
    """Return what a manifest tells of it; None where nothing was looked at, as of arrays by others' models.

    `spell` makes a sentence of the library one of the command line.
    """
    found = manifest.get("inspection")
    if not found or not found["columns"]:
        return None
    return TableAsRead(
        found.get("summary", ""),
        [
            (name, _named(manifest["reading"][key]))
            for key, name in _NAMES.items()
            if key in manifest["reading"]
        ]
        if "reading" in manifest
        else [],
        [spell(each["message"]) for each in found["findings"]],
        [[each[key] for key in KEYS] for each in found["columns"]],
    )


def _named(said: Any) -> str:
    """Return what was declared, as texts in quotes.

    >>> _named(","), _named(["zip", "age"]), _named({"day": "%d.%m.%Y", "hour": ""})
    ("','", "'zip', 'age'", "'day' (%d.%m.%Y), 'hour'")
    """
    if isinstance(said, Mapping):
        return ", ".join(f"{name!r} ({form})" if form else repr(name) for name, form in said.items())
    return repr(said) if isinstance(said, str) else listing(said, most=30)

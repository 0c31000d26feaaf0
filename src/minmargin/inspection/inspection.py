"""What was read, how it is used, and what looks wrong: as a table for people, and as plain values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from minmargin.data.schema import Column
from minmargin.errors import listing, warn
from minmargin.inspection.findings import Finding
from minmargin.inspection.pairs import time_apart, unknown_share
from minmargin.inspection.profiles import Profile
from minmargin.tables import html_table, text_table

#: Of the table of columns.
HEADINGS = ("column", "read as", "missing", "values", "in the pool", "used")
#: What a manifest calls these.
KEYS = ("name", "read_as", "missing", "labeled_values", "in_pool", "used")
_SHOWN_LEVELS = 4

#: Why an id is no feature.
IDENTIFIES = "no: it identifies rows"


@dataclass(frozen=True)
class ColumnSeen:
    """A column of the labeled set or of the pool.

    Attributes:
        column: what it is read as.
        used: what becomes of it, in words.
        labeled: what is seen of it in the labeled set; None if that does not have it.
        pool: what is seen of it in the pool; None if there is none, or it does not have it.
    """

    column: Column
    used: str
    labeled: Profile | None
    pool: Profile | None

    @property
    def kind(self) -> str:
        """What people call such a column."""
        profiles = [profile for profile in (self.labeled, self.pool) if profile is not None]
        if self.used == IDENTIFIES:
            return "id"
        if profiles and all(profile.n_different == 1 and not profile.n_missing for profile in profiles):
            return "constant"
        if self.column.kind == "text":
            return "text" if self.column.is_free_text else "category"
        return self.column.kind

    @property
    def unknown(self) -> float:
        """The share of pool rows whose category no labeled row has."""
        return 0.0 if self.column.is_free_text else unknown_share(self.labeled, self.pool)


@dataclass(frozen=True)
class Inspection:
    """Tables as they are read, before anything is picked.

    Attributes:
        columns: each column.
        class_counts: the rows of each class; None if no label column was named.
        n_labeled: the rows of the labeled set.
        n_pool: those of the pool; None if there is none, or only reading it can tell.
        n_looked_at: how many of them were looked at.
        findings: what looks wrong.
        n_labeled_in_pool: how many rows of the pool have the id of a labeled row, as far as ids were looked at.
        refused: whether the labels are such that `select` would raise an error, which is the first of the findings.
    """

    columns: tuple[ColumnSeen, ...]
    class_counts: dict[str, int] | None
    n_labeled: int
    n_pool: int | None
    n_looked_at: int
    findings: tuple[Finding, ...]
    n_labeled_in_pool: int = 0
    refused: bool = False

    @property
    def summary(self) -> str:
        """A few sentences: the rows, the classes, and what each column is read as."""
        groups: dict[str, list[str]] = {}
        for seen in self.columns:
            group = _PLURALS[seen.kind] if seen.used == "yes" else "No features"
            groups.setdefault(group, []).append(seen.column.name)
        told = [f"{group}: {listing(names, most=6)}" for group, names in groups.items()]
        unknown = [
            f"{seen.column.name!r} ({_percent(seen.unknown)} of the pool)"
            for seen in self.columns
            if seen.unknown
        ]
        if unknown:
            more = f" and {len(unknown) - 4:,} more" if len(unknown) > 4 else ""
            told.append(f"With values that no labeled row has: {', '.join(unknown[:4])}{more}")
        return " ".join([f"Read {self.title}", *(f"{each}." for each in told)])

    @property
    def title(self) -> str:
        """How many rows of what were read, and how many of the pool are labeled already."""
        return " ".join([f"{self._rows()}.", *self._labeled_already()])

    def _labeled_already(self) -> list[str]:
        n = self.n_labeled_in_pool
        if not n:
            return []
        have = "1 row of the pool has" if n == 1 else f"{n:,} rows of the pool have"
        return [f"{have} the id of a labeled row, and {'is' if n == 1 else 'are'} not picked again."]

    def _rows(self) -> str:
        text = f"{self.n_labeled:,} rows" if self.class_counts is None else f"{self.n_labeled:,} labeled rows"
        if self.class_counts is not None:
            most = sorted(
                ((name, n) for name, n in self.class_counts.items() if n), key=lambda pair: -pair[1]
            )
            more = f" and {len(most) - 4:,} more classes" if len(most) > 4 else ""
            text += f" ({', '.join(f'{name} {n:,}' for name, n in most[:4])}{more})"
        if self.n_looked_at == 0:
            return text
        if self.n_looked_at == self.n_pool:
            return f"{text} and {self.n_pool:,} pool rows"
        pool = "of the pool" if self.n_pool is None else f"of {self.n_pool:,} in the pool"
        return f"{text} and {self.n_looked_at:,} rows {pool}"

    def rows(self) -> list[tuple[str, ...]]:
        """Return a line of cells for each column."""
        return [
            (
                seen.column.name,
                seen.kind,
                _missing(seen.labeled or seen.pool),
                _values(seen.labeled),
                _in_pool(seen),
                seen.used,
            )
            for seen in self.columns
        ]

    def __str__(self) -> str:
        """Return the table, and below it what looks wrong."""
        told = [self.title, "", text_table(HEADINGS, self.rows(), left=True)]
        return "\n".join([*told, *(f"\n! {finding.message}" for finding in self.findings)])

    def _repr_html_(self) -> str:
        from html import escape  # noqa: PLC0415 - for notebooks only

        wrong = "".join(f"<li>{escape(finding.message)}</li>" for finding in self.findings)
        return f"<p>{escape(self.title)}</p>{html_table(HEADINGS, self.rows())}" + (
            wrong and f"<ul>{wrong}</ul>"
        )

    def warn(self) -> None:
        """Warn of each thing that looks wrong."""
        for finding in self.findings:
            warn(finding.message)

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain values, for files."""
        return {
            "summary": self.summary,
            "labeled_rows": self.n_labeled,
            "pool_rows": self.n_pool,
            "pool_rows_looked_at": self.n_looked_at,
            "pool_rows_labeled": self.n_labeled_in_pool,
            "class_counts": self.class_counts,
            "columns": [
                {
                    **dict(zip(KEYS, row, strict=True)),
                    "pool_values": _values(seen.pool),
                    "missing_in_pool": _missing(seen.pool),
                    "unknown_in_pool": _percent(seen.unknown),
                }
                for seen, row in zip(self.columns, self.rows(), strict=True)
            ],
            "findings": [finding._asdict() for finding in self.findings],
        }


_PLURALS = {
    "constant": "Constant",
    "number": "Numbers",
    "category": "Categories",
    "text": "Texts",
    "date": "Dates",
    "embedding": "Embeddings",
    "empty": "Without any value",
    "other": "Of other types",
}


def _missing(profile: Profile | None) -> str:
    return "" if profile is None else _percent(profile.n_missing / max(profile.n_rows, 1))


def _percent(share: float) -> str:
    return f"{share:.1%}" if share else ""


def _in_pool(seen: ColumnSeen) -> str:
    """Return what the pool has in a column, and what sets it apart from the labeled set."""
    missing, unknown = _missing(seen.pool), _percent(seen.unknown)
    apart = time_apart(seen.labeled, seen.pool)
    told = [unknown and f"{unknown} unknown", apart and f"all {apart}", missing and f"{missing} missing"]
    return "; ".join(filter(None, [_values(seen.pool), ", ".join(filter(None, told))]))


def _values(profile: Profile | None) -> str:
    if profile is None:
        return ""
    if profile.numbers is not None:
        return f"{profile.numbers.lowest:g} to {profile.numbers.highest:g}"
    if profile.span is not None:
        return " to ".join(profile.span)
    return _levels(profile.levels, profile.n_different)


def _levels(levels: Sequence[tuple[str, int]], n_different: int) -> str:
    if not levels:
        return ""
    shown = ", ".join(text if len(text) <= 16 else text[:15] + "…" for text, _ in levels[:_SHOWN_LEVELS])
    return shown if n_different <= _SHOWN_LEVELS else f"{n_different:,}: {shown}, …"

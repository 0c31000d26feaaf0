"""Findings: what looks wrong with a column, each with an example and what mends it.

A rule looks at one column, in the labeled set and in the pool, and says nothing where there is any doubt: who reads a
warning that is none will not read the next one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import permutations
from typing import NamedTuple

from minmargin.data.guessing import tell_nothing
from minmargin.errors import listing
from minmargin.inspection.points import points_between_thousands
from minmargin.inspection.profiles import Seen
from minmargin.inspection.texts import (
    dates_as_texts,
    marks_among_categories,
    numbers_as_texts,
    numbers_but_for_some,
)
from minmargin.inspection.units import other_units

_FEW_ROWS = 20  # in fewer, chance explains nearly anything
_MOST = 0.9  # of the values: the others are typing errors
_FEW_LEVELS = 20  # of a column whose categories may be written in short elsewhere
_MANY_COLUMNS = 3  # with the same fault: more messages than these, and nobody reads the others
_CODES = {
    *(-(10.0**k - 1) for k in range(1, 7)),
    *(10.0**k - 1 for k in range(2, 7)),
}  # -9, -99, 99, 999, ...
_QUOTED = re.compile(r"'\W")  # as Batch.to_csv writes what begins with =, + and the like
_ID_NAME = re.compile(
    r"(^|[^a-z])(id|ids|key|uuid|guid|index|row|nr|no|number)($|[^a-z])|^unnamed|^\s*$", re.IGNORECASE
)


class Finding(NamedTuple):
    """Something that looks wrong.

    Attributes:
        column: where; None for the labels.
        message: what, with an example, and what mends it.
        others: further columns of which the same holds, as the message says.
    """

    column: str | None
    message: str
    others: tuple[str, ...] = ()


def _looks_like_an_id(seen: Seen) -> Iterator[str]:
    """Whole numbers that identify rows."""
    labeled, numbers = seen.labeled, seen.labeled.numbers
    if (
        numbers is None
        or not numbers.whole
        or labeled.n_rows < _FEW_ROWS
        or labeled.n_different < labeled.n_rows
    ):
        return
    if numbers.even or _ID_NAME.search(seen.column.name):
        yield (
            f"Column {seen.name!r} is a feature, and has a different whole number in each of the "
            f"{labeled.n_rows:,} labeled rows. If it identifies rows, name it as id_column, or use "
            f"drop=[{seen.name!r}]."
        )


def _stands_for_missing(seen: Seen) -> Iterator[str]:
    """Numbers such as -999, far from all others."""
    for where, profile in (("the labeled set", seen.labeled), ("the pool", seen.pool)):
        numbers = None if profile is None else profile.numbers
        if profile is None or numbers is None or profile.n_known < _FEW_ROWS:
            continue
        inner = numbers.next_highest - numbers.next_lowest
        for value, n, gap in (
            (numbers.lowest, numbers.n_lowest, numbers.next_lowest - numbers.lowest),
            (numbers.highest, numbers.n_highest, numbers.highest - numbers.next_highest),
        ):
            if value in _CODES and n > 1 and gap > inner > 0:
                yield (
                    f"Column {seen.name!r} of {where} has {value:g} in {n:,} of {profile.n_known:,} rows, far "
                    f"from all other values. If it stands for a missing value, use missing=['{value:g}']."
                )
                return


def _quoted_formulas(seen: Seen) -> Iterator[str]:
    """Texts with the apostrophe that CSV files of ours have before what a spreadsheet would run, on one side only."""
    if seen.pool is None or seen.column.kind != "text":
        return
    sides = {"the labeled set": seen.labeled, "the pool": seen.pool}
    quoted = {
        where: [text for text, _ in profile.levels if _QUOTED.match(text)] for where, profile in sides.items()
    }
    for (where, texts), (other, others) in permutations(quoted.items(), 2):
        plain = {text for text, _ in sides[other].levels}
        example = next((text for text in texts if text[1:] in plain), None)
        if example is not None and not others:
            yield (
                f"Column {seen.name!r} of {where} has {example!r} where {other} has {example[1:]!r}: a CSV file of "
                "minmargin has an apostrophe before what a spreadsheet would run. Use a Parquet file of the batch, or "
                "remove the apostrophes."
            )
            return


def _unknown_categories(seen: Seen) -> Iterator[str]:
    """Categories of the pool that the labeled set does not have."""
    if (
        seen.pool is None
        or seen.column.kind != "text"
        or seen.pool.n_known < _FEW_ROWS
        or not seen.labeled.levels
    ):
        return
    if seen.labeled.n_different > _MOST * seen.labeled.n_known:  # free text, or ids
        return
    known = {text for text, _ in seen.labeled.levels}
    strange = [(text, n) for text, n in seen.pool.levels if text not in known]
    n_strange = sum(n for _, n in strange)
    if n_strange * 2 <= seen.pool.n_known:
        return
    alike = _alike([text for text, _ in strange], sorted(known))
    example = f"{alike[0]!r} where that has {alike[1]!r}" if alike else f"{strange[0][0]!r}"
    mend = "Spell them alike in both" if alike else "Look whether both have the same columns"
    yield (
        f"Column {seen.name!r}: {n_strange:,} of {seen.pool.n_known:,} values in the pool are categories that the "
        f"labeled set does not have, such as {example}, so they tell nothing. {mend}, or use "
        f"drop=[{seen.name!r}]."
    )


def _alike(strange: list[str], known: list[str]) -> tuple[str, str] | None:
    """Return an unknown category and a known one that is the same in other letters, or both at length and in short."""
    folded = {text.strip().casefold(): text for text in known}
    for text in strange:
        if (same := folded.get(text.strip().casefold())) is not None:
            return text, same
    if len(strange) > _FEW_LEVELS or len(known) > _FEW_LEVELS:
        return None
    pairs = {
        text: [other for key, other in folded.items() if _is_short_for(text.strip().casefold(), key)]
        for text in strange
    }
    if all(len(others) == 1 for others in pairs.values()):
        return strange[0], pairs[strange[0]][0]
    return None


def _is_short_for(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)


def _gone_from_the_pool(seen: Seen) -> Iterator[str]:
    """A feature that has no value, or only one, in the pool."""
    labeled, pool = seen.labeled, seen.pool
    if pool is None or pool.n_rows < _FEW_ROWS or not labeled.n_known or pool.kind == "embedding":
        return
    if not pool.n_known:
        yield (
            f"Column {seen.name!r} has no value in any row of the pool, and {labeled.n_known:,} in the labeled set. "
            f"Look whether it was written, or use drop=[{seen.name!r}]."
        )
    elif pool.n_different == 1 and labeled.n_different > 1 and pool.n_known == pool.n_rows:
        value = pool.levels[0][0] if pool.levels else None if pool.numbers is None else pool.numbers.lowest
        yield (
            f"Column {seen.name!r} is {value!r} in each row of the pool, and has {labeled.n_different:,} values in "
            f"the labeled set. Look whether both were made alike, or use drop=[{seen.name!r}]."
        )


def _different_in_every_row(seen: Seen) -> Iterator[str]:
    """Texts that no two rows have in common: ids, or free text."""
    if seen.column.kind != "text" or seen.column.is_free_text:
        return
    if tell_nothing(seen.labeled.n_different, seen.labeled.n_rows):
        yield (
            f"Text column {seen.name!r} has a different value in nearly every labeled row, so as a category it tells "
            "nothing of other rows. If it identifies rows, name it as id_column. If it is free text, leave it out with "
            "features=[...], or let learner='text' read it alone."
        )


RULES: tuple[Callable[[Seen], Iterator[str]], ...] = (
    numbers_as_texts,
    numbers_but_for_some,
    dates_as_texts,
    points_between_thousands,
    _looks_like_an_id,
    _stands_for_missing,
    _quoted_formulas,
    _unknown_categories,
    _gone_from_the_pool,
    other_units,
    marks_among_categories,
    _different_in_every_row,
)


def find(columns: Sequence[Seen]) -> list[Finding]:
    """Return what looks wrong, column by column; of each the first thing that a rule says.

    Where many have the same fault and are mended alike, it is told once, of the first, with the names of the others.
    """
    found: dict[tuple[object, str], list[tuple[str, str]]] = {}
    for seen in columns:
        said = next(((rule, message) for rule in RULES for message in rule(seen)), None)
        if said is not None:
            rule, message = said
            mend = message.rpartition(". ")[2].replace(repr(seen.name), "")
            found.setdefault((rule, mend), []).append((seen.name, message))
    findings = []
    for alike in found.values():
        if len(alike) < _MANY_COLUMNS:
            findings += [Finding(name, message) for name, message in alike]
            continue
        (name, message), *rest = alike
        others = tuple(other for other, _ in rest)
        findings.append(Finding(name, f"{message} The same holds of {listing(others, most=6)}.", others))
    return findings

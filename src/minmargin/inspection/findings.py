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
from minmargin.inspection.dates import dates_as_numbers
from minmargin.inspection.pairs import gone_from_the_pool, missing_in_one, of_another_time, unknown_categories
from minmargin.inspection.points import points_between_thousands
from minmargin.inspection.profiles import Profile, Seen
from minmargin.inspection.texts import (
    dates_as_texts,
    marks_among_categories,
    numbers_as_texts,
    numbers_but_for_some,
    with_decimals,
)
from minmargin.inspection.units import other_units

_FEW_ROWS = 20  # in fewer, chance explains nearly anything
_SHARE_DIFFERENT = 0.95  # of ids, where some rows are in a table twice
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
    """Whole numbers that identify rows. A few rows may be there twice."""
    labeled, numbers = seen.labeled, seen.labeled.numbers
    if numbers is None or not numbers.whole or labeled.n_known < _FEW_ROWS:
        return
    every = labeled.n_different == labeled.n_rows
    repeated = not labeled.n_missing and _nearly_all_different(labeled) and _nearly_all_different(seen.pool)
    if not every and not repeated:
        return
    if numbers.even or _ID_NAME.search(seen.column.name):
        where = f"each of the {labeled.n_rows:,} labeled rows"
        if not every:
            where = f"nearly every labeled row, {labeled.n_different:,} in {labeled.n_known:,}"
        yield (
            f"Column {seen.name!r} is a feature, and has a different whole number in {where}. If it identifies rows, "
            f"name it as id_column, or use drop=[{seen.name!r}]."
        )


def _nearly_all_different(profile: Profile | None) -> bool:
    """Return whether nearly all known values are different; those of no pool may be."""
    if profile is None:
        return True
    return profile.n_different >= max(_SHARE_DIFFERENT * profile.n_known, _FEW_ROWS)


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
    dates_as_numbers,
    _looks_like_an_id,
    _stands_for_missing,
    _quoted_formulas,
    unknown_categories,
    gone_from_the_pool,
    missing_in_one,
    other_units,
    of_another_time,
    marks_among_categories,
    _different_in_every_row,
)


def find(columns: Sequence[Seen]) -> list[Finding]:
    """Return what looks wrong, column by column; of each the first thing that a rule says.

    Where many have the same fault and are mended alike, it is told once, of the first, with the names of the others.
    """
    found: dict[tuple[object, str], list[tuple[str, str]]] = {}
    for seen in with_decimals(columns):
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

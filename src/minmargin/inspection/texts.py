"""Rules for columns of texts: numbers, dates and marks for missing values that are read as categories."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa

from minmargin.data.conversion import NO_NUMBERS, PADDED, Marks, missing_marks
from minmargin.data.dates import TOLD, forms_of
from minmargin.data.guessing import decimal_of, guess_marks, share
from minmargin.data.thousands import points_in
from minmargin.errors import listing
from minmargin.inspection.profiles import Seen

_FEW_ROWS = 20  # in fewer, chance explains nearly anything
_MOST = 0.9  # of the values: the others are typing errors

_CURRENCIES = "EUR|USD|GBP|CHF|JPY|CNY|INR|AUD|CAD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|BRL|ZAR|RUB|TRY|KRW|MXN"
_CURRENCY = rf"(?:[A-Z]{{0,2}}[€$£¥₹]|{_CURRENCIES})"
_DIGITS = r"\d[\d.,]*(?:[ \u00a0\u202f']\d{3}[\d.,]*)*"
_WITH_UNIT = rf"[+-]?{_CURRENCY}\s?[+-]?{_DIGITS}|[+-]?{_DIGITS}\s?([%€$£¥₹]|[A-Za-z]{{1,3}})"
_WITH_SIGN = rf"\({_DIGITS}\)|{_DIGITS}-|\u2212{_DIGITS}"  # of bookkeepers, of SAP, of typesetters
_WITH_POINT = r"[+-]?\d*\.\d+"
_WITH_COMMA = r"[+-]?\d*,\d+"


class Texts(NamedTuple):
    """The texts of a column of categories, in the labeled set or in the pool.

    Attributes:
        where: which of both, in words.
        every: the texts, without blanks around them, each with how often it occurs.
        marks: those of them that many write for a missing value.
    """

    where: str
    every: list[tuple[str, int]]
    marks: list[tuple[str, int]]

    @property
    def values(self) -> list[tuple[str, int]]:
        """The others, which stand for something."""
        return [each for each in self.every if each not in self.marks]

    def and_missing(self, use: str) -> str:
        """Return how the values are declared, and the marks with them."""
        if not self.marks:
            return use
        missing = f"missing=[{listing((text for text, _ in self.marks), most=3)}]"
        return f"{use}, and {missing}" if " or " in use or " and " in use else f"{use} and {missing}"


def numbers_as_texts(seen: Seen) -> Iterator[str]:
    """Numbers with marks, which are read as categories."""
    for texts in _texts(seen):
        values, read = texts.values, f"Column {seen.name!r} of {texts.where} is read as a category, and"
        n_values, n_texts = _count(values), _count(texts.every)
        n_like = f"its {n_texts:,}" if n_values == n_texts else f"{n_values:,} of its {n_texts:,}"
        written = guess_marks(values, seen.marks, seen.decimals.get(texts.where))
        if written is not None:
            use = texts.and_missing(written.use)
            yield f"{read} {n_like} values look like numbers, such as {written.example!r}. If they are, use {use}."
            return
        if share(values, Marks().number) == 1.0 and (points := points_in(_as_array(values))).doubtful:
            yield (
                f"{read} {n_like} values look like numbers, such as {points.example!r}. If they are, use decimal=',' "
                f"and thousands='.', or number=[{seen.name!r}] if the point is a decimal one."
            )
            return
        if share(values, _WITH_UNIT) > _MOST and share(values, seen.marks.number) < 1.0:
            yield (
                f"{read} its values look like numbers with a unit, such as {_first(values, _WITH_UNIT)!r}. Remove the "
                f"unit, or use drop=[{seen.name!r}]."
            )
            return
        signed = _first(values, _WITH_SIGN)
        if signed is not None and share(values, rf"[+-]?{_DIGITS}|{_WITH_SIGN}") > _MOST:
            plain = "-" + signed.strip("()-\u2212")
            yield (
                f"{read} its values look like numbers, some with another sign for minus, such as {signed!r}. Write "
                f"{plain!r}, or use drop=[{seen.name!r}]."
            )
            return
        if seen.marks.decimal == "," and share(values, _WITH_POINT) > _MOST:
            yield (
                f"{read} its values look like numbers with a decimal point, such as {values[0][0]!r}, where others "
                f"have a comma. Write all in one way, or use drop=[{seen.name!r}]."
            )
            return
        point, comma = _first(values, _WITH_POINT), _first(values, _WITH_COMMA)
        if point and comma and share(values, rf"[+-]?\d+|{_WITH_POINT}|{_WITH_COMMA}") > _MOST:
            yield (
                f"{read} its values look like numbers, some with a decimal point, such as {point!r}, and some with a "
                f"comma, such as {comma!r}. Write all in one way, or use drop=[{seen.name!r}]."
            )
            return


def with_decimals(columns: Sequence[Seen]) -> list[Seen]:
    """Return columns with what comes before decimals in the texts of each file, as far as all that tell it agree."""
    found: dict[str, set[str]] = {}
    for seen in columns:
        for texts in _texts(seen):
            others = [text for text in texts.values if not re.match(seen.marks.number, text[0])]
            decimal = decimal_of(texts.values, seen.marks) if others else None
            if decimal is not None:
                found.setdefault(texts.where, set()).add(decimal)
    settled = {where: marks.pop() for where, marks in found.items() if len(marks) == 1}
    return [seen._replace(decimals=settled) for seen in columns]


def numbers_but_for_some(seen: Seen) -> Iterator[str]:
    """Numbers, read as categories because of a few texts among them, or of many that stand for a missing value."""
    for texts in _texts(seen):
        number, every = seen.marks.number, texts.every
        codes = any(re.match(PADDED, text) for text, _ in every)  # which no mark makes numbers of
        most = _MOST <= share(every, number) < 1.0 or (
            bool(texts.marks) and share(texts.values, number) == 1.0
        )
        if most and len(every) > 10 and not codes:
            others = [(text, n) for text, n in every if not re.match(number, text)]
            yield (
                f"Column {seen.name!r} of {texts.where} is read as a category, since {_count(others):,} of its "
                f"{_count(every):,} values are no numbers, such as {others[0][0]!r}. If they stand for missing values, "
                f"use missing=[{listing((text for text, _ in others), most=3)}]."
            )
            return


def dates_as_texts(seen: Seen) -> Iterator[str]:
    """Dates in a form that is not guessed."""
    for texts in _texts(seen):
        forms = forms_of(texts.values)
        if not forms:
            continue
        untold = len(forms) > 1 or forms[0] not in TOLD.values()
        ways = (
            [f"date={{{seen.name!r}: {form!r}}}" for form in forms] if untold else [f"date=[{seen.name!r}]"]
        )
        what = "dates" if "%y" in forms[0].lower() else "times"
        yield (
            f"Column {seen.name!r} of {texts.where} is read as a category, and its values look like {what}, such as "
            f"{texts.values[0][0]!r}. If they are, use {texts.and_missing(' or '.join(ways))}."
        )
        return


def marks_among_categories(seen: Seen) -> Iterator[str]:
    """Categories beside what many write for a missing value."""
    for texts in _texts(seen, more=NO_NUMBERS):
        if texts.marks and texts.values:
            mark, n = texts.marks[0]
            yield (
                f"Column {seen.name!r} of {texts.where} is read as a category, and {n:,} of its "
                f"{_count(texts.every):,} values are {mark!r}. If this stands for a missing value, use "
                f"missing=[{mark!r}]; if it is a category, category=[{seen.name!r}]."
            )
            return


def _texts(seen: Seen, more: Sequence[str] = ()) -> Iterator[Texts]:
    """Return the texts of a column of categories, in the labeled set, then in the pool, where there are enough.

    What stands for a missing number in any file is left out, but for `more` marks.
    """
    if seen.column.kind != "text" or seen.declared:
        return
    for where, profile in (("the labeled set", seen.labeled), ("the pool", seen.pool)):
        levels = [] if profile is None else [(text.strip(), n) for text, n in profile.levels]
        known = [(text, n) for text, n in levels if text in more or text not in NO_NUMBERS]
        like_none = set(missing_marks(text for text, _ in known))
        marks = [(text, n) for text, n in known if text in more or text in like_none]
        if len(known) > len(marks) and _count(known) >= _FEW_ROWS:
            yield Texts(where, known, marks)


def _as_array(texts: Sequence[tuple[str, int]]) -> pa.ChunkedArray:
    return pa.chunked_array([[text for text, _ in texts]], pa.string())


def _count(texts: Sequence[tuple[str, int]]) -> int:
    return sum(n for _, n in texts)


def _first(texts: Sequence[tuple[str, int]], pattern: str) -> str | None:
    """Return the first text of a form; None if there is none."""
    found = re.compile(pattern)
    return next((text for text, _ in texts if found.fullmatch(text)), None)

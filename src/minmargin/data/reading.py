"""How columns are to be read: what the caller says of them.

Tables come from spreadsheets, databases and surveys, and their types do not tell all. What is declared here holds for
the labeled set and for every row of the pool.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from minmargin.data.conversion import ISO, NO_NUMBERS, Conversion, Marks, Purpose, as_text, is_text
from minmargin.data.dates import TOLD, forms_of
from minmargin.errors import InputError, listing

#: What a column of texts may be, if marks are declared, in this order.
_GUESSED: tuple[Purpose, ...] = ("number", "date")


@dataclass(frozen=True)
class Reading:
    """How the columns of the labeled set and of the pool are to be read.

    What is not declared is taken as it comes: numbers as numbers, texts as categories.

    >>> Reading(category=["zip"], decimal=",", thousands=".", missing=["?"]).declared("zip")
    'category'

    Args:
        number: columns of numbers, which may be texts.
        category: columns whose values are names, also if these are numbers, such as codes.
        text: columns of free text. Only `learner="text"` reads them; others leave them out.
        date: columns of dates; a mapping gives the form of each, as for `datetime.strptime`, or says what numbers
            count: "unix" and "unix-ms" seconds and milliseconds since 1970, "excel" days since 1900. With
            `preprocess="auto"`, year, month, weekday, hour and the days passed become features.
        drop: columns that are no features.
        decimal: what comes before decimals in numbers that are texts: "." or ",".
        thousands: what may stand between groups of three digits in them.
        missing: texts that stand for a missing value.
    """

    number: Iterable[str] | str = ()
    category: Iterable[str] | str = ()
    text: Iterable[str] | str = ()
    date: Mapping[str, str] | Iterable[str] | str = ()
    drop: Iterable[str] | str = ()
    decimal: str = "."
    thousands: str = ""
    missing: Iterable[str] | str = ()
    marks: Marks = field(init=False, repr=False, compare=False)
    _formats: Mapping[str, str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Raise an error if a column is declared twice."""
        formats = dict(self.date) if isinstance(self.date, Mapping) else {}
        _check_forms(formats)
        for name in ("number", "category", "text", "date", "drop"):
            object.__setattr__(self, name, _names(name, getattr(self, name)))
        object.__setattr__(self, "missing", _texts(self.missing))
        object.__setattr__(self, "_formats", formats)
        object.__setattr__(self, "marks", Marks(self.decimal, self.thousands, tuple(self.missing)))
        names = [each for _, columns in self._columns() for each in columns]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise InputError(f"Column {twice[0]!r} is declared twice. Declare each column once.")

    def _columns(self) -> list[tuple[str, tuple[str, ...]]]:
        kinds = ("number", "category", "text", "date", "drop")
        return [(kind, tuple(getattr(self, kind))) for kind in kinds]

    def declared(self, column: str) -> str | None:
        """Return what a column is declared as, "drop" among it; None if nothing is said of it."""
        return next((kind for kind, columns in self._columns() if column in columns), None)

    @property
    def names(self) -> tuple[str, ...]:
        """All columns of which anything is said."""
        return tuple(name for _, columns in self._columns() for name in columns)

    def conversion(self, column: str, values: pa.ChunkedArray) -> Conversion | None:
        """Return what is to become of a column of the labeled set; None: nothing.

        It is declared, or there are marks: then columns of texts may be of numbers or dates.
        """
        declared = self.declared(column)
        if declared == "date":
            return Conversion(
                "date", self.marks, self._formats.get(column) or _date_format(column, values, self.marks)
            )
        if declared in {"number", "category", "text"}:
            return Conversion(cast("Purpose", declared), self.marks)
        if not is_text(values.type):
            numeric = pa.types.is_integer(values.type) or pa.types.is_floating(values.type)
            return Conversion("number", self.marks) if numeric else None
        for purpose, marks in ((purpose, marks) for purpose in _GUESSED for marks in self._marks_for(values)):
            found = Conversion(purpose, marks)
            if found.fits(values):
                return found
        return Conversion("category", self.marks)

    def _marks_for(self, values: pa.ChunkedArray) -> list[Marks]:
        """Return the marks that a column may have of which nothing is said.

        Where decimals have a comma, a point is a decimal point only if it cannot stand between thousands.
        """
        missing = self.marks.missing
        if "." in {self.decimal, self.thousands} or Conversion("number", Marks(",", ".", missing)).fits(
            values
        ):
            return [self.marks]
        return [self.marks, Marks(missing=missing)]

    def is_silent_on(self, column: str) -> bool:
        """Return whether a column is taken as it comes, whatever its values are."""
        return self.marks == Marks() and self.declared(column) is None

    def labels(self, values: nw.Series[Any]) -> Any:
        """Return labels in their own container, or as a list: numbers as numbers, and None for those that are none."""
        written = self._written_with_commas(values) if self.decimal == "," else None
        if not self.marks.missing:
            return values.to_native() if written is None else written
        marks = set(self.marks.missing)
        numbers = {float(each) for each in marks if re.fullmatch(Marks().number, each)}

        def is_none(label: Any) -> bool:
            if isinstance(label, str):
                return label.strip() in marks
            return isinstance(label, (int, float)) and not isinstance(label, bool) and label in numbers

        return [
            None if is_none(each) else each for each in (values.to_list() if written is None else written)
        ]

    def _written_with_commas(self, values: nw.Series[Any]) -> list[float | int | None] | None:
        """Return the numbers that labels are texts of, whole ones as such; None if any is another text."""
        texts = values.to_list()
        known = [each for each in texts if each is not None]
        if not all(isinstance(each, str) for each in known) or not any("," in each for each in known):
            return None
        chunked, as_numbers = pa.chunked_array([texts], pa.string()), Conversion("number", self.marks)
        if not as_numbers.fits(chunked):
            return None
        numbers = as_numbers(chunked, str).to_pylist()
        whole = all(each is None or each.is_integer() for each in numbers)
        return [int(each) if whole and each is not None else each for each in numbers]

    def only(self, columns: Container[str]) -> Reading:
        """Return what is said of these columns, as features, and the marks."""
        said = {
            kind: [name for name in names if name in columns]
            for kind, names in self._columns()
            if kind != "drop"
        }
        dates = {name: self._formats.get(name, "") for name in said.pop("date")}
        return Reading(
            **said, date=dates, decimal=self.decimal, thousands=self.thousands, missing=self.missing
        )

    def left_as_text(self, names: Iterable[str]) -> set[str]:
        """Return the columns of a CSV file whose types are not to be guessed: what is declared reads the texts."""
        return set(self.names) if self.marks == Marks() else set(names)

    def describe(self) -> dict[str, object]:
        """Return what a manifest, or a campaign's settings, record of it: what is not as usual."""
        found = {kind: list(columns) for kind, columns in self._columns() if columns}
        if self._formats:
            found["date"] = dict(self._formats)  # type: ignore[assignment]  # a form for each
        usual = {"decimal": ".", "thousands": "", "missing": ()}
        marks = {name: getattr(self, name) for name, value in usual.items() if getattr(self, name) != value}
        return {
            **found,
            **{name: list(value) if isinstance(value, tuple) else value for name, value in marks.items()},
        }


def _names(argument: str, given: Any) -> tuple[str, ...]:
    """Return the columns that an argument names."""
    names = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, Iterable) else None
    wrong = [given] if names is None else [name for name in names if not isinstance(name, str)]
    if wrong:
        raise InputError(
            f"{argument}={given!r} has to name columns, by texts. Use {argument}=[{str(wrong[0])!r}], say."
        )
    return names or ()


def _texts(given: Any) -> tuple[str, ...]:
    """Return the texts that stand for a missing value; numbers as they are written."""
    marks = (
        [given] if isinstance(given, (str, int, float)) or not isinstance(given, Iterable) else list(given)
    )
    plain = [each.item() if isinstance(each, np.generic) else each for each in marks]
    for each in plain:
        if isinstance(each, bool) or not isinstance(each, (str, int, float)) or each != each:
            raise InputError(
                f"missing={given!r} has {each!r}, which is no text and no number. Give the texts that stand for a "
                "missing value, such as missing=['?']; None and NaN are missing anyway."
            )
    return tuple(each if isinstance(each, str) else f"{each:.15g}" for each in plain)


def _check_forms(formats: Mapping[Any, Any]) -> None:
    for name, form in formats.items():
        if not isinstance(form, str):
            raise InputError(
                f"date has the form {form!r} for column {name!r}, which is no text. Use date={{{str(name)!r}: "
                "'%Y-%m-%d'}, say."
            )


def _date_format(column: str, values: pa.ChunkedArray, marks: Marks) -> str:
    """Return the form of dates that were declared without one, or say that it cannot be told."""
    if pa.types.is_temporal(values.type) or Conversion("date", marks).fits(values):
        return ISO
    texts = pc.utf8_trim_whitespace(as_text(values)).drop_null()
    known = [each for each in texts.to_pylist() if each not in {*NO_NUMBERS, *marks.missing}]
    fitting = [
        form
        for pattern, form in TOLD.items()
        if known
        and all(re.fullmatch(pattern, each) for each in known)
        and Conversion("date", marks, form).fits(values)
    ]
    example = known[0] if known else ""
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise InputError(
            f"Column {column!r} has dates such as {example!r}, which may be of the form {listing(fitting)}. "
            f"Say which, with date={{{column!r}: {fitting[0]!r}}}."
        )
    raise InputError(
        f"Column {column!r} is declared a date, and its values, such as {example!r}, are of no form that is known "
        f"without being told. Say which, with date={{{column!r}: {_likely(known)!r}}}."
    )


def _likely(texts: Sequence[str]) -> str:
    """Return a form that texts may have, or one as an example."""
    return next(iter(forms_of([(text, 1) for text in texts])), "%d %b %Y")


def as_reading(reading: Any) -> Reading:
    """Return how columns are read, as a caller gave it; None stands for guesses alone."""
    if reading is not None and not isinstance(reading, Reading):
        raise InputError(f'reading={reading!r} must be a Reading. Use reading=mm.Reading(decimal=","), say.')
    return Reading() if reading is None else reading

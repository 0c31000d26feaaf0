"""Conversions: what becomes of the values of a column before a learner sees them.

Numbers may be texts with a decimal comma, whole numbers may be codes, "?" may stand for nothing. A value that does not
fit is an error with its row, never another value.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from minmargin.data.dates import COUNTED, forms_of, moments_counted
from minmargin.errors import InputError

#: What a column may be read as. A category is one of a few values, a text is read word by word.
Purpose: TypeAlias = Literal["number", "category", "text", "date"]

#: What stands for a missing number in a file of texts, whatever is declared: as in pyarrow's CSV reader.
NO_NUMBERS = ("", "#N/A", "#N/A N/A", "#NA", "-NaN", "-nan", "N/A", "NA", "NULL", "NaN", "n/a", "nan", "null")

#: What tables have in place of a value that nobody knows, in small letters. "none" and "unknown" are values as often.
MISSING_MARKS = frozenset(
    {
        "?",
        "??",
        "-",
        "--",
        "---",
        ".",
        "..",
        "n/a",
        "#n/a",
        "na",
        "#na",
        "nan",
        "null",
        "(blank)",
        "(null)",
        "\\n",
        # What spreadsheets show for a formula without a value, in English and in German.
        "#n/v",
        "#nv",
        "#null!",
        "#num!",
        "#zahl!",
        "#name?",
        "#value!",
        "#wert!",
        "#ref!",
        "#bezug!",
        "#div/0!",
    }
)

#: The form of dates as 2026-11-16, also with a time, and a zone.
ISO = "ISO"

_BLANKS = " \u00a0\u202f"  # where the mark for thousands is a blank, any of these
PADDED = r"^[+-]?0\d+$"  #: Whole numbers that begin with a zero, which are names.
WHOLE = re.compile(r"[+-]?\d+")
_DAY, _TIME = r"\d{4}-\d{2}-\d{2}", r"[ T]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?"


@dataclass(frozen=True)
class Marks:
    """Marks in texts that stand for numbers, or for nothing.

    Attributes:
        decimal: what comes before the decimals.
        thousands: what may stand between groups of three digits; empty: nothing.
        missing: texts that stand for a missing value.
    """

    decimal: str = "."
    thousands: str = ""
    missing: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Raise an error if numbers could be read in two ways."""
        if self.decimal not in (".", ","):  # which may be of any type
            raise InputError(f"decimal={self.decimal!r} must be '.' or ','.")
        if self.thousands not in ("", ".", ",", "'", " ") or self.thousands == self.decimal:
            raise InputError(
                f"thousands={self.thousands!r} must be one of '.', ',', \"'\" and ' ', and not the decimal mark "
                f"({self.decimal!r})."
            )

    @property
    def number(self) -> str:
        """The regular expression of a number. No thousands follow a leading zero: what is after it are decimals."""
        decimal, between = re.escape(self.decimal), f"[{re.escape(self._between)}]"
        whole = rf"(\d+|[1-9]\d{{0,2}}({between}\d{{3}})+)" if self.thousands else r"\d+"
        return rf"^[+-]?({whole}({decimal}\d*)?|{decimal}\d+)([eE][+-]?\d+)?$"

    @property
    def _between(self) -> str:
        return _BLANKS if self.thousands == " " else self.thousands

    def plain(self, texts: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return texts that stand for numbers in the one way that every reader knows."""
        for mark in self._between:
            texts = pc.replace_substring(texts, mark, "")
        return pc.replace_substring(texts, self.decimal, ".")


@dataclass(frozen=True)
class Conversion:
    """What becomes of the values of a column before a learner sees them.

    Attributes:
        to: what they are read as.
        marks: in the texts that they are.
        date_format: of dates that are texts: ISO, or as for `datetime.strptime`; or of numbers that count time.
    """

    to: Purpose
    marks: Marks = Marks()
    date_format: str = ISO

    def __call__(self, values: pa.ChunkedArray, where: Callable[[int], str]) -> pa.ChunkedArray:
        """Return the values as they are read; `where` names the cell at a place, for the error if it does not fit."""
        read, left = self.read(values)
        wrong = pc.and_(pc.is_null(read), pc.is_valid(left)).to_numpy()
        if wrong.any():
            place = int(wrong.argmax())
            value = values[place].as_py()
            texts = [(value.strip(), 1)] if self.to == "date" and isinstance(value, str) else []
            other = [form for form in forms_of(texts) if form != self.date_format]
            if other:
                raise InputError(
                    f"{where(place)} holds {value!r}, which is no {self._wanted()}, but one of the form "
                    f"{' or '.join(other)}. Write dates in one form, in the labeled set and in the pool."
                )
            raise InputError(
                f"{where(place)} holds {value!r}, which is no {self._wanted()}. "
                "Mend it, or declare what it stands for with missing=[...]."
            )
        return read

    def fits(self, values: pa.ChunkedArray) -> bool:
        """Return whether there are values, and all can be read so without a doubt: 007 is a name."""
        read, left = self.read(values)
        n_left = len(left) - left.null_count
        padded = (
            self.to == "number"
            and is_text(left.type)
            and pc.any(pc.match_substring_regex(left, PADDED)).as_py()
        )
        return n_left > 0 and len(read) - read.null_count == n_left and not padded

    def read(self, values: pa.ChunkedArray) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
        """Return values as they are read, null where that cannot be, and those that must be: all but missing ones."""
        kind = values.type
        if self.to == "date" and pa.types.is_temporal(kind):
            return moments_of(values), values
        if self.to == "number" and not is_text(kind):
            left = self._without_missing(values, as_text(values))
            return left.cast(pa.float64(), safe=False), left  # whole numbers may be larger than floats hold
        texts = as_text(values)
        if self.to in {"category", "text"}:
            left = self._without_missing(texts, texts)
            return left, left
        trimmed = pc.utf8_trim_whitespace(texts)
        left = self._without_missing(trimmed, trimmed, NO_NUMBERS)
        if self.to == "date" and self.date_format in COUNTED:
            return moments_counted(_numbers(left, self.marks), self.date_format), left
        if self.to == "date":
            return _dates(left, self.date_format), left
        numbers = _numbers(left, self.marks)
        codes = [float(each) for each in self.marks.missing if WHOLE.fullmatch(each)]
        if codes:  # 99,0 is the 99 that was declared
            missing = pc.is_in(numbers, value_set=pa.array(codes))
            numbers, left = (
                pc.if_else(missing, pa.scalar(None, each.type), each) for each in (numbers, left)
            )
        return numbers, left

    def _without_missing(
        self, values: pa.ChunkedArray, texts: pa.ChunkedArray, more: tuple[str, ...] = ()
    ) -> pa.ChunkedArray:
        marks = pa.array([*self.marks.missing, *more], pa.string())
        if not len(marks):
            return values
        missing = pc.is_in(pc.utf8_trim_whitespace(texts), value_set=marks)
        return pc.if_else(missing, pa.scalar(None, values.type), values)

    def _wanted(self) -> str:
        if self.to == "date":
            return "date" if self.date_format == ISO else f"date of the form {self.date_format}"
        between = f" and {self.marks.thousands!r} between thousands" if self.marks.thousands else ""
        return f"number with {self.marks.decimal!r} before decimals{between}"


def missing_marks(texts: Iterable[str]) -> list[str]:
    """Return those of different texts that many write for a missing value. Where + is a value, - is one, too.

    >>> missing_marks(["a", "NA", "-"]), missing_marks(["+", "-"])
    (['NA', '-'], [])
    """
    every = list(texts)
    marks = [text for text in every if text.strip().casefold() in MISSING_MARKS]
    if all(_has_word(text) or text in marks for text in every):
        return marks
    return [text for text in marks if _has_word(text)]


def _has_word(text: str) -> bool:
    return any(map(str.isalnum, text))


def moments_of(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return dates as moments in UTC, to the microsecond; one without a zone is taken for a moment in UTC."""
    # Arrow drops the zone, and keeps the moment. What is later than any microsecond that is counted stays an error.
    return values.cast(options=pc.CastOptions(pa.timestamp("us"), allow_time_truncate=True))


def is_text(kind: pa.DataType) -> bool:
    """Return whether a column of this type holds texts, or nothing."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_null(kind))


def as_text(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return values as texts; whole numbers without decimals, also where gaps have made floats of them."""
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if pa.types.is_floating(values.type):
        known = values.drop_null()
        known = known.filter(pc.is_finite(known))
        if pc.all(pc.equal(pc.floor(known), known)).as_py() is not False:
            values = pc.if_else(pc.is_finite(values), values, pa.scalar(None, values.type)).cast(pa.int64())
    return values.cast(pa.string())


def _numbers(texts: pa.ChunkedArray, marks: Marks) -> pa.ChunkedArray:
    fits = pc.match_substring_regex(texts, marks.number)
    return marks.plain(pc.if_else(fits, texts, pa.scalar(None, pa.string()))).cast(pa.float64())


def _dates(texts: pa.ChunkedArray, date_format: str) -> pa.ChunkedArray:
    if date_format != ISO:
        return _without_unreal_days(
            texts, pc.strptime(texts, format=date_format, unit="us", error_is_null=True), date_format
        )
    nothing = pa.scalar(None, pa.string())
    zoned = pc.if_else(
        pc.match_substring_regex(texts, rf"^{_DAY}{_TIME}(Z|[+-]\d{{2}}:?\d{{2}})$"), texts, nothing
    )
    plain = pc.if_else(pc.match_substring_regex(texts, f"^{_DAY}({_TIME})?$"), texts, nothing)
    try:
        with_zone = zoned.cast(pa.timestamp("us", "UTC")).cast(pa.timestamp("us"))
        return pc.coalesce(plain.cast(pa.timestamp("us")), with_zone)
    except pa.ArrowInvalid:  # such as the 31st of June: one by one it takes longer
        return pa.chunked_array([[_moment(each) for each in texts.to_pylist()]], pa.timestamp("us"))


def _without_unreal_days(texts: pa.ChunkedArray, read: pa.ChunkedArray, form: str) -> pa.ChunkedArray:
    """Return dates without those of days that do not exist: Arrow makes the 2nd of March of the 30th of February."""
    doubtful = pc.and_kleene(pc.match_substring_regex(texts, "29|3[01]"), pc.less_equal(pc.day(read), 3))
    unreal = [each for each in pc.unique(texts.filter(doubtful)).to_pylist() if not _is_real(each, form)]
    if not unreal:
        return read
    return pc.if_else(pc.is_in(texts, value_set=pa.array(unreal)), pa.scalar(None, read.type), read)


def _is_real(text: str, form: str) -> bool:
    try:
        dt.datetime.strptime(text, form)
    except ValueError:
        return False
    return True


def _moment(text: str | None) -> object:
    try:
        return None if text is None else pa.scalar(text).cast(pa.timestamp("us")).as_py()
    except pa.ArrowInvalid:
        return None

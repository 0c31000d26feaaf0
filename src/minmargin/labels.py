"""Labels of any type: read from any container, checked, and numbered by their classes."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from minmargin.data.containers import dense, unwrap
from minmargin.data.conversion import missing_marks
from minmargin.data.schema import is_missing
from minmargin.errors import InputError, is_unicode, listing, nearest, not_unicode

#: What surveys write where somebody gave no answer, in small letters.
_NO_ANSWERS = frozenset(
    {
        "k.a.",
        "k. a.",
        "keine angabe",
        "keine antwort",
        "nicht beantwortet",
        "no answer",
        "not answered",
        "not stated",
        "not specified",
        "not available",
        "no response",
        "did not answer",
        "prefer not to answer",
        "prefer not to say",
        "refused to answer",
        "declined to answer",
        "sans réponse",
        "non réponse",
        "ne répond pas",
        "sin respuesta",
        "no contesta",
        "ns/nc",
    }
)
_CODES = frozenset(
    {-1, *(1 - 10**k for k in range(1, 7)), *(10**k - 1 for k in range(2, 7))}
)  # -1, -9, -99, 99, ...
_NUMBER = re.compile(r"[+-]?\d{1,6}(\.0*)?")
_DIGITS = re.compile(r"[+-]?\d")
_WHOLE_WITH_DECIMALS = re.compile(r"[+-]?\d{1,15}[.,]0+")


def as_labels(y: Any) -> NDArray[Any]:
    """Return (N,) labels of one type, or say which are missing or of another."""
    y = _one_dimensional(y)
    if isinstance(y, np.ndarray) and y.dtype.kind in "biufmMSU":
        if y.ndim == 1:
            _refuse_missing(y.tolist() if y.dtype.kind in "fmM" else [])
        # Of numbers longer than these, Arrow knows nothing.
        return y.astype(np.float64) if y.dtype.kind == "f" and y.dtype.itemsize > 8 else y
    values = _as_list(y)
    _refuse_missing(values)
    _refuse_strange(values)
    kinds = sorted({_kind(value) for value in values})
    if len(kinds) > 1:
        raise InputError(f"The labels mix types ({', '.join(kinds)}). Make them all strings or all numbers.")
    return _as_array(values)


def _as_array(values: list[Any]) -> NDArray[Any]:
    """Return labels of one kind as an array that keeps each of them, or say which one no array keeps."""
    for row, value in enumerate(values):
        if isinstance(value, str) and not is_unicode(value):
            raise not_unicode(f"Labeled row {row:,} has the label", value)
        if isinstance(value, (str, bytes)) and value[-1:] in {"\0", b"\0"}:
            raise InputError(f"Labeled row {row:,} has the label {value!r}, which ends with NUL. Remove it.")
    whole = [value for value in values if type(value) is int]
    largest = 1 << (53 if len(whole) < len(values) else 63)  # a float knows fewer numbers
    large = [value for value in whole if not -largest <= value < largest]
    if large and len(whole) == len(values) and min(whole) >= 0 and max(whole) < 1 << 64:
        return np.array(values, dtype=np.uint64)
    if large:
        raise InputError(
            f"There is a label {large[0]}, a number with more digits than are kept. Make labels strings."
        )
    try:
        return np.array(values)
    except ValueError as error:  # lists of several lengths
        raise InputError(
            f"Labeled row 0 has the label {values[0]!r}, which is a {type(values[0]).__name__}. Give one label a row."
        ) from error


def encode_labels(y: NDArray[Any], n_rows: int) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the classes, sorted, and each label's place among them; there must be two or more."""
    if y.ndim != 1 or len(y) != n_rows:
        raise InputError(
            f"There are {n_rows:,} labeled rows and labels of shape {y.shape}. Give one label a row."
        )
    if n_rows == 0:
        raise InputError("The labeled set is empty. Label at least one row of each of two classes.")
    no_classes = [value for value in y.tolist() if not value.is_integer()] if y.dtype.kind == "f" else []
    if no_classes:
        raise InputError(
            f"The labels are numbers such as {no_classes[0]}, not classes. "
            "Minimum-margin picks rows for classifiers: give class labels."
        )
    try:
        classes, codes = np.unique(y, return_inverse=True)
    except TypeError as error:  # such as dicts
        raise InputError(
            f"Labeled row 0 has the label {y[0]!r}, a {type(y[0]).__name__}, and such values have no order. Make "
            "labels strings or numbers."
        ) from error
    if len(classes) == 1:
        raise InputError(
            f"All {n_rows:,} labeled rows are of class {classes.tolist()[0]!r}. "
            "Label at least one row of another class."
        )
    return classes, codes


def is_no_label(label: Any) -> bool:
    """Return whether a label is none: None, NaN, or a text of blanks."""
    return is_missing(label) or (isinstance(label, str) and not label.strip())


def left_out(without: Sequence[int], n_rows: int, column: str) -> str:
    """Return what is said of labeled rows that have no label, and are none: `without` are their numbers."""
    have, they = ("has", "it is") if len(without) == 1 else ("have", "they are")
    return (
        f"{len(without):,} of {n_rows:,} labeled rows {have} no label in column {column!r}, such as row "
        f"{without[0]:,}, so {they} left out. Label such rows, or move them to the pool if they may be picked."
    )


def whole_labels(known: list[Any]) -> list[Any]:
    """Return labels as whole numbers, if they are fractions only because numpy has no other column with gaps."""
    gaps = all(type(label) is float and label.is_integer() for label in known)
    return [int(label) for label in known] if gaps else known


def list_labels(y: Any) -> list[Any]:
    """Return labels in any container as a list of plain values."""
    return _as_list(_one_dimensional(y))


def _one_dimensional(y: Any) -> Any:
    """Return labels as they came; those of a column as one dimension, and those of a masked array as a list."""
    y = unwrap(y, "y")
    if isinstance(y, np.ndarray) and y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    return list(y.tolist()) if isinstance(y, np.ma.MaskedArray) and y.ndim else y


def as_classes(classes: Any, known: NDArray[Any], have: str) -> NDArray[Any]:
    """Return all classes that may occur, sorted, as the caller gave them; they must include the known ones.

    `have` is how an error begins that names one which is missing.
    """
    if isinstance(classes, (str, bytes)):
        raise InputError(f"classes={classes!r} is one class. Use a list: classes=[{classes!r}, ...].")
    given = _like_labels(_as_list(classes, "classes", "the classes that may occur"), known)
    for name in given:
        if isinstance(name, str) and not is_unicode(name):
            raise not_unicode("classes has", name)
    missing = [label for label in known.tolist() if label not in set(given)]
    if missing:
        raise InputError(
            f"{have} {missing[0]!r}, which is not among the classes given ({listing(given)})."
            f"{nearest(str(missing[0]), map(str, given))} Mend it, or add it to classes=[...]."
        )
    every = np.unique(np.array(given, dtype=known.dtype if known.dtype.kind in "OmM" else None))
    # As narrow as the labels are, if that holds them.
    narrow = every.astype(known.dtype) if known.dtype.kind in "iuf" else every
    return narrow if np.array_equal(narrow, every) else every


def _like_labels(given: list[Any], known: NDArray[Any]) -> list[Any]:
    """Return classes as values of the labels' type: a command line has nothing but texts."""
    kind, alike = type(known.tolist()[0]), []
    for name in given:
        value = _read_as(name, kind) if isinstance(name, str) else name
        whole = kind is int and type(value) is float and value.is_integer()
        value = kind(value) if whole or (kind is float and type(value) is int) else value
        if is_missing(value) or type(value) is not kind:
            raise InputError(
                f"classes has {name!r}, and the labels are of type {kind.__name__}. Give classes of that type."
            )
        alike.append(value)
    return alike


def _read_as(text: str, kind: type) -> Any:
    """Return the number, or the truth, that a text stands for; the text itself if it stands for none.

    >>> _read_as("7", int), _read_as("seven", int), _read_as("False", bool)
    (7, 'seven', False)
    """
    if kind is bool:
        return {"true": True, "false": False}.get(text.lower(), text)
    try:
        return kind(text) if kind in {int, float} else text
    except ValueError:
        return text


def _as_list(
    y: Any, name: str = "y", wanted: str = "one label a row, or the name of the label column"
) -> list[Any]:
    native = nw.from_native(y, allow_series=True, pass_through=True)
    if isinstance(native, nw.DataFrame) and native.shape[1] == 1:
        native = native[native.columns[0]]
    if isinstance(native, nw.Series):
        native = dense(native)
        return [value.item() if isinstance(value, np.generic) else value for value in native.to_list()]
    if hasattr(y, "to_pylist"):  # an Arrow array
        return list(y.to_pylist())
    keyed = isinstance(y, Mapping) or (
        isinstance(y, (set, frozenset)) and name == "y"
    )  # which have no rows in order
    if keyed or isinstance(native, nw.DataFrame) or not isinstance(y, Iterable):
        raise InputError(f"{name} is a {type(y).__name__}. Pass {wanted}.")
    return [value.item() if isinstance(value, np.generic) else value for value in y]


def _refuse_missing(values: list[Any]) -> None:
    missing = [row for row, value in enumerate(values) if is_missing(value)]
    if missing:
        others = f" (and {len(missing) - 1:,} others)" if len(missing) > 1 else ""
        raise InputError(
            f"Labeled row {missing[0]:,} has no label{others}. Drop such rows, or use select(..., pool=None), "
            "which picks from them."
        )


def _refuse_strange(values: list[Any]) -> None:
    """Raise an error for labels that models could be trained on, and that no file can hold."""
    for row in {type(value): row for row, value in reversed(list(enumerate(values)))}.values():
        value = values[row]
        if np.ndim(value) or (not isinstance(value, enum.Enum) and _fits_into_arrow(value)):
            continue  # several values a row are told of by their shape
        kind = type(value).__name__
        fix = "Use label.name" if isinstance(value, enum.Enum) else "Make labels strings"
        raise InputError(
            f"Labeled row {row:,} has the label {value!r} of type {kind}, which no file can hold. {fix}."
        )


def _fits_into_arrow(value: Any) -> bool:
    try:
        return not isinstance(pa.array([value]).type, pa.BaseExtensionType)
    except (pa.ArrowException, OverflowError):  # a large number has an error of its own
        return isinstance(value, int)


def ask_about_marks(
    classes: NDArray[Any],
    codes: NDArray[np.intp],
    *,
    can_be_declared: bool,
    without: NDArray[np.int64] | None = None,
) -> None:
    """Raise an error for a class that many write for rows without a label: -1 before 0, 1, ..., blanks, or a mark.

    Two classes -1 and 1 are usual, and are let through. `can_be_declared` says whether what is declared to stand for a
    missing value is no label. `without` are the numbers of rows that were left out before, as they were given.
    """
    known = classes.tolist()
    texts = [name for name in known if isinstance(name, str)]
    marks = [name for name in texts if not name.strip()] or _marks_among(texts)
    also = ""
    if marks:
        what = f"the label {marks[0]!r}" if marks[0].strip() else "an empty label"
    else:
        marks = _codes_among(known)
        if not marks:
            return
        others = [name for name in known if name not in marks]
        what, also = (
            f"the label {_as_mark(marks[0])}, beside labels from {others[0]} to {others[-1]}",
            "" if texts else ", or write labels as texts",
        )
    there = np.flatnonzero(codes == known.index(marks[0]))
    if without is not None:
        there = np.delete(np.arange(len(codes) + len(without)), without)[there]
    others_too = (
        f" and {len(there) - 1:,} other{'s' if len(there) > 2 else ''} have" if len(there) > 1 else " has"
    )
    fix = "drop such rows, or give None, in a file an empty cell, in its place and pick from them with pool=None"
    if can_be_declared and str(marks[0]).strip():
        declared = [_as_mark(each) for each in marks]
        fix = f"use missing=[{listing(declared, most=3)}]"
        if any("," in each for each in declared) and are_whole_with_decimals(known):
            whole = listing([each.partition(",")[0] for each in declared], most=3)
            fix = f"use decimal=',' and missing=[{whole}]"
        if _DIGITS.match(declared[0].strip()):
            fix += ", which holds for features, too"
    raise InputError(
        f"Labeled row {there[0]:,}{others_too} {what}. If this stands for no label, {fix}; if it is a class, name all "
        f"classes with classes=[...]{also}."
    )


def _as_mark(label: Any) -> str:
    return label if isinstance(label, str) else f"{label:.0f}"


def _marks_among(texts: list[str]) -> list[str]:
    """Return those of different texts that stand for no label, as a rule; a number does so among words."""
    answers = [text for text in texts if text.strip().casefold() in _NO_ANSWERS]
    numbers = [text for text in texts if _NUMBER.fullmatch(text.strip())]
    # Where other numbers are classes, so may these be.
    codes = (
        numbers if len(numbers) * 2 <= len(texts) and all(float(text) in _CODES for text in numbers) else []
    )
    return missing_marks(texts) or answers or codes


def _codes_among(known: list[Any]) -> list[Any]:
    """Return numbers that many write for a missing value, far from all others: negative ones, or 99, 999, ..."""
    if are_whole_with_decimals(known):
        numbers = {float(text.replace(",", ".")): text for text in known}
        return [numbers[each] for each in _codes_among(sorted(numbers))]
    if type(known[0]) not in {int, float}:
        return []
    below = [each for each in known if each < 0]
    others = known[len(below) :]
    if below and len(others) > 1 and all(each in _CODES for each in below):
        return below
    last, *before = reversed(known)
    if last in _CODES and len(before) > 1 and last - before[0] > before[0] - before[-1] and before[-1] >= 0:
        return [last]
    return []


def are_whole_with_decimals(names: Sequence[Any]) -> bool:
    """Return whether all are texts of whole numbers that end with ,0 or .0: once they were numbers in a program."""
    return all(isinstance(name, str) and _WHOLE_WITH_DECIMALS.fullmatch(name.strip()) for name in names)


def _kind(value: Any) -> str:
    return "number" if type(value) in {int, float} else type(value).__name__

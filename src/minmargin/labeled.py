"""The labeled set: rows whose label is known, checked once, at the edge; and the bootstrap draws of it.

Labels may be of any type. Draws are stratified, and known as row indices and as multiplicities.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, cast

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from minmargin.data.containers import check_same_index, is_unframed, unwrap
from minmargin.data.intake import Form, Intake
from minmargin.data.rows import Frame, Matrix, Rows, count_rows
from minmargin.data.schema import (
    Column,
    as_rows,
    is_missing,
    missing_column,
    not_a_table,
    require_numbers,
    schema_of,
)
from minmargin.errors import InputError, listing, nearest
from minmargin.manifest import fingerprint_rows
from minmargin.pools import is_path, read_frame
from minmargin.seeds import SeedTree


@dataclass(frozen=True)
class LabeledSet:
    """Rows, their labels, and what is known of both.

    Attributes:
        rows: the rows, with all columns they came with.
        columns: the feature columns, in order; None if the rows have no names.
        one_column: whether the caller named a single column, to be handed over one-dimensional.
        from_files: whether the rows were read from files, a dataset or dicts, so that no kind of frame was chosen.
        y: (N,) the labels as given.
        classes: (C,) the classes that models are to tell apart, sorted; some may be empty, with no row yet.
        codes: (N,) each label's place in `classes`.
        set_aside: empty classes that are not among `classes`, since the learner cannot score them; None if there are
            none.
    """

    rows: Rows
    columns: tuple[Column, ...] | None
    one_column: bool
    from_files: bool
    y: NDArray[Any]
    classes: NDArray[Any]
    codes: NDArray[np.intp]
    set_aside: NDArray[Any] | None = None

    @classmethod
    def of(
        cls,
        X: Any,
        y: Any,
        *,
        classes: Any = None,
        features: str | Sequence[str] | None = None,
        not_features: Sequence[str] = (),
    ) -> LabeledSet:
        """Return the labeled set of rows and labels, or of a frame or file with a label column.

        `classes` are all that may occur; None stands for those of the labels.
        """
        rows = read_frame(X) if is_path(X) else as_rows(X, "The labeled set")
        if isinstance(y, str):
            labels = as_labels(label_column(rows, y))
            not_features = (*not_features, y)
        else:
            check_same_index(X, y)
            labels = as_labels(y)
        known, codes = encode_labels(labels, count_rows(rows))
        if classes is None:
            _ask_about_marks(known, codes)
        else:
            every = as_classes(classes, known, "The labeled set has label")
            known, codes = every, np.searchsorted(every, known)[codes]
        columns = _feature_columns(rows, features, not_features)
        from_files = is_path(X) or is_unframed(X)
        return cls(rows, columns, isinstance(features, str), from_files, labels, known, codes)

    @property
    def every_class(self) -> NDArray[Any]:
        """(C,) all classes that may occur, sorted: also those that are set aside."""
        return self.classes if self.set_aside is None else np.union1d(self.classes, self.set_aside)

    def setting_empty_aside(self) -> LabeledSet:
        """Return the same rows for a learner that scores only classes it has seen."""
        seen, codes = np.unique(self.codes, return_inverse=True)
        if len(seen) == len(self.classes):
            return self
        empty = np.delete(self.classes, seen)
        return replace(self, classes=self.classes[seen], codes=codes, set_aside=empty)

    def require_table(self) -> None:
        """Raise an error for an array with more than two dimensions, which few learners take."""
        if len(self.row_shape or ()) > 1:
            raise not_a_table("The labeled set", self.rows.shape)

    @property
    def row_shape(self) -> tuple[int, ...] | None:
        """The shape of one row of an array; None if the rows have names."""
        return None if isinstance(self.rows, nw.DataFrame) else tuple(int(n) for n in self.rows.shape[1:])

    @property
    def counts(self) -> NDArray[np.int64]:
        """(C,) the number of rows of each class."""
        return np.bincount(self.codes, minlength=len(self.classes))

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of the feature columns; None if the rows have none."""
        return None if self.columns is None else tuple(column.name for column in self.columns)

    def numeric_intake(self, *, takes_sparse: bool, missing: bool) -> Intake:
        """Return the intake of a learner that takes numbers only, or say why it cannot.

        Args:
            takes_sparse: whether the learner can be given a CSR array.
            missing: whether it can be given NaN.
        """
        self.require_table()
        if self.columns is not None:
            require_numbers(self.columns)
            width = sum(column.width or 1 for column in self.columns)
            return Intake("matrix", self.columns, width, missing=missing)
        rows = cast("Matrix", self.rows)
        if rows.ndim == 1:
            raise InputError(
                "The labeled set is a list of texts, and this learner takes numbers only. Use learner='text', or a "
                "scikit-learn pipeline that begins with a vectorizer."
            )
        form: Form = "sparse" if sparse.issparse(rows) and takes_sparse else "matrix"
        return Intake(form, None, rows.shape[1], missing=missing)

    def describe(self) -> dict[str, Any]:
        """Return what the manifest records of this labeled set."""
        rows = dict(zip(self.classes.tolist(), self.counts.tolist(), strict=True))
        counts = {str(name): rows.get(name, 0) for name in self.every_class.tolist()}
        return {
            "rows": len(self.codes),
            "class_counts": counts,
            "features": None if self.names is None else list(self.names),
            "fingerprint": fingerprint_rows(self.rows),
            "label_fingerprint": fingerprint_rows(self.y),
        }


def label_column(rows: Rows, name: str) -> Any:
    """Return the column of a frame that holds the labels, in its own container."""
    if not isinstance(rows, nw.DataFrame):
        raise InputError(
            f"y={name!r} names a label column, but the labeled set is an array without column names. "
            "Pass the labels themselves as y."
        )
    if name not in rows.columns:
        raise missing_column(name, rows.columns, "the labeled set")
    return rows[name].to_native()


def _feature_columns(
    rows: Rows, features: str | Sequence[str] | None, not_features: Sequence[str]
) -> tuple[Column, ...] | None:
    schema = schema_of(rows)
    if schema.columns is None:
        return None
    if features is None:
        chosen = [column for column in schema.columns if column.name not in not_features]
    else:
        names = [features] if isinstance(features, str) else list(features)
        repeated = [name for name, times in Counter(names).items() if times > 1]
        if repeated:
            raise InputError(f"features names {listing(repeated)} twice. Name each column once.")
        by_name = {column.name: column for column in schema.columns}
        for name in names:
            if name not in by_name:
                raise missing_column(name, schema.names, "the labeled set")
        chosen = [by_name[name] for name in names]
    if not chosen:
        raise InputError("The labeled set has no feature column left. Name some with features=[...].")
    return tuple(_seen_empty(column, rows) for column in chosen)


def _seen_empty(column: Column, rows: Rows) -> Column:
    """Return the column, as an empty one if it is a text column without any text."""
    frame = cast("Frame", rows)
    if column.kind == "text" and frame[column.name].null_count() == frame.shape[0]:
        return replace(column, kind="empty")
    return column


def as_labels(y: Any) -> NDArray[Any]:
    """Return (N,) labels of one type, or say which are missing or of another."""
    y = unwrap(y, "y")
    if isinstance(y, np.ndarray) and y.dtype.kind != "O":
        labels = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
        if labels.ndim == 1:
            _refuse_missing(labels.tolist() if labels.dtype.kind in "fmM" else [])
        return labels
    values = list_labels(y)
    _refuse_missing(values)
    kinds = sorted({_kind(value) for value in values})
    if len(kinds) > 1:
        raise InputError(f"The labels mix types ({', '.join(kinds)}). Make them all strings or all numbers.")
    return np.array(values)


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
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) == 1:
        raise InputError(
            f"All {n_rows:,} labeled rows are of class {classes.tolist()[0]!r}. "
            "Label at least one row of another class."
        )
    return classes, codes


def list_labels(y: Any) -> list[Any]:
    """Return labels in any container as a list of plain values."""
    y = unwrap(y, "y")
    return _as_list(y[:, 0] if isinstance(y, np.ndarray) and y.ndim == 2 and y.shape[1] == 1 else y)


def as_classes(classes: Any, known: NDArray[Any], have: str) -> NDArray[Any]:
    """Return all classes that may occur, sorted, as the caller gave them; they must include the known ones.

    `have` is how an error begins that names one which is missing.
    """
    if isinstance(classes, (str, bytes)):
        raise InputError(f"classes={classes!r} is one class. Use a list: classes=[{classes!r}, ...].")
    given = _like_labels(_as_list(classes, "classes", "the classes that may occur"), known)
    missing = [label for label in known.tolist() if label not in set(given)]
    if missing:
        raise InputError(
            f"{have} {missing[0]!r}, which is not among the classes given ({listing(given)})."
            f"{nearest(str(missing[0]), map(str, given))} Mend it, or add it to classes=[...]."
        )
    return np.unique(np.array(given, dtype=known.dtype if known.dtype.kind in "OmM" else None))


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
        return list(native.to_list())
    if hasattr(y, "to_pylist"):  # an Arrow array
        return list(y.to_pylist())
    if isinstance(native, nw.DataFrame) or not isinstance(y, Iterable):
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


def _ask_about_marks(classes: NDArray[Any], codes: NDArray[np.intp]) -> None:
    """Raise an error for a class that many write for rows without a label: -1 before 0, 1, ..., or an empty text.

    Two classes -1 and 1 are usual, and are let through.
    """
    first = classes[0].item() if isinstance(classes[0], np.generic) else classes[0]
    row = int(np.flatnonzero(codes == 0)[0])
    if isinstance(first, str) and not first:
        what = "an empty label"
    elif type(first) in {int, float} and first == -1 and len(classes) > 2 and classes[1] >= 0:
        what = f"the label -1, beside labels from {classes.tolist()[1]} to {classes.tolist()[-1]}"
    else:
        return
    raise InputError(
        f"Labeled row {row:,} has {what}. If this stands for no label, give None in its place, and pool=None to pick "
        "from such rows; if it is a class, name all classes with classes=[...]."
    )


def _kind(value: Any) -> str:
    return "number" if type(value) in {int, float} else type(value).__name__


def draw_sizes(
    counts: NDArray[np.int64], fraction: float, class_names: Sequence[object] | None = None
) -> NDArray[np.int64]:
    """Return how many rows a member draws of each class: floor(fraction * count) (Algorithm 1).

    Of an empty class that is none.
    The fraction is taken as the decimal it was written as, so 0.29 of 100 rows is 29 of them
    although the nearest float lies below.

    >>> draw_sizes(np.array([100, 7]), 0.29)
    array([29,  2])
    """
    number = isinstance(fraction, (int, float, np.number)) and not isinstance(fraction, bool)
    if not (number and math.isfinite(fraction) and fraction > 0):
        raise InputError(f"bootstrap_fraction={fraction!r} must be a number above 0; 1.0 is usual.")
    exact = Fraction(repr(float(fraction)))
    sizes = np.array([math.floor(exact * int(count)) for count in counts], dtype=np.int64)
    drawn_out = (sizes == 0) & (counts > 0)
    if drawn_out.any():
        lost = int(np.flatnonzero(drawn_out)[0])
        name = lost if class_names is None else class_names[lost]
        rarest = int(counts[counts > 0].min())
        smallest = math.ceil(10_000 / rarest) / 10_000
        raise InputError(
            f"bootstrap_fraction={fraction!r} draws no row of class {name!r}, which has "
            f"{int(counts[lost]):,} labeled rows. Use bootstrap_fraction>={smallest:g}."
        )
    return sizes


@dataclass(frozen=True)
class Bootstrap:
    """The members' draws, each made with replacement within every class.

    Attributes:
        codes: (N,) the class of each labeled row, as 0..C-1.
        sizes: (C,) how many rows a member draws of each class.
        seeds: the run's seed tree. A draw depends on it and on the member's number alone, so a
            committee of 50 begins with the 25 members of the smaller one.
    """

    codes: NDArray[np.intp]
    sizes: NDArray[np.int64]
    seeds: SeedTree

    def indices(self, member: int) -> NDArray[np.intp]:
        """Return the labeled rows that a member is trained on, class by class."""
        rng = self.seeds.bootstrap(member)
        draws = []
        for code, size in enumerate(self.sizes):
            if size == 0:  # an empty class
                continue
            rows = np.flatnonzero(self.codes == code)
            draws.append(rows[rng.integers(0, len(rows), size=int(size))])
        return np.concatenate(draws)

    def multiplicities(self, member: int) -> NDArray[np.int64]:
        """Return (N,) how often each labeled row stands in a member's draw."""
        return np.bincount(self.indices(member), minlength=len(self.codes))

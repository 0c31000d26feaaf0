"""The labeled set: rows whose label is known, checked once, at the edge; and the bootstrap draws of it.

Labels may be of any type. Draws are stratified, and known as row indices and as multiplicities.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, cast

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse

from minmargin.data.containers import check_same_index, is_unframed
from minmargin.data.conversion import NO_NUMBERS, Marks, as_text
from minmargin.data.guessing import guess_marks
from minmargin.data.intake import Form, Intake
from minmargin.data.objects import check_one_type_each, chunks_of
from minmargin.data.reading import Reading, as_reading
from minmargin.data.rows import Frame, Matrix, Rows, count_rows, take_rows
from minmargin.data.schema import (
    Column,
    as_rows,
    is_missing,
    missing_column,
    not_a_table,
    require_numbers,
    schema_of,
)
from minmargin.errors import InputError, listing, warn
from minmargin.labels import (
    as_classes,
    as_labels,
    ask_about_marks,
    encode_labels,
    is_no_label,
    left_out,
    list_labels,
    whole_labels,
)
from minmargin.manifest import fingerprint_rows
from minmargin.pools import is_path, read_frame
from minmargin.seeds import SeedTree

#: Times the labeled set that a draw may have: it is kept in memory.
LARGEST_FRACTION = 1000


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
        left_out: the numbers of rows, as they were given, that had no label and are not among these; None: there were
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
    left_out: NDArray[np.int64] | None = None

    @classmethod
    def of(
        cls,
        X: Any,
        y: Any,
        *,
        classes: Any = None,
        features: str | Sequence[str] | None = None,
        not_features: Sequence[str] = (),
        reading: Reading | None = None,
        say: Callable[[str], None] = warn,
    ) -> LabeledSet:
        """Return the labeled set of rows and labels, or of a frame or file with a label column.

        `classes` are all that may occur; None stands for those of the labels. `reading` says how columns are read. Rows
        whose cell of the label column is empty are left out, and `say` is called with it.
        """
        reading = as_reading(reading)
        rows, given = rows_and_labels(X, y, reading)
        unlabeled = None
        if isinstance(y, str):
            not_features = (*not_features, y)
            classes = list(classes) if isinstance(classes, Iterator) else classes
            rows, given, unlabeled = _without_unlabeled(rows, given, classes)
            if unlabeled is not None:
                say(left_out(unlabeled.tolist(), count_rows(rows) + len(unlabeled), y))
        labels = as_labels(given)
        known, codes = encode_labels(labels, count_rows(rows))
        if classes is None:
            ask_about_marks(known, codes, can_be_declared=isinstance(y, str), without=unlabeled)
        else:
            every = as_classes(classes, known, "The labeled set has label")
            known, codes = every, np.searchsorted(every, known)[codes]
        from_files = is_path(X) or is_unframed(X)
        columns = feature_columns(rows, features, not_features, reading)
        one_column = isinstance(features, str)
        return cls(rows, columns, one_column, from_files, labels, known, codes, left_out=unlabeled)

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
            check_one_type_each(
                cast("Frame", self.rows), cast("tuple[str, ...]", self.names), "the labeled set"
            )
            require_numbers(self.columns, self.how_to_declare)
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

    def how_to_declare(self, column: Column) -> str:
        """Return an example of texts that look like numbers, and what declares them to be some; empty: they do not."""
        if column.conversion is not None:  # somebody has said what they are
            return ""
        texts = as_text(chunks_of(cast("Frame", self.rows)[column.name])).to_pylist()
        known = [text.strip() for text in texts if text is not None and text.strip() not in NO_NUMBERS]
        written = guess_marks([(text, 1) for text in known], Marks()) if known else None
        return "" if written is None else f"such as {written.example!r}. If they are, use {written.use}"

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


def rows_and_labels(X: Any, y: Any, reading: Reading) -> tuple[Rows, Any]:
    """Return rows, read if they are in files, and their labels as they were given: y itself, or the column it names."""
    label = y if isinstance(y, str) else None
    rows = read_frame(X, reading, label=label) if is_path(X) else as_rows(X, "The labeled set")
    if isinstance(y, str):
        return rows, reading.labels(_label_column(rows, y))
    check_same_index(X, y)
    return rows, y


def _without_unlabeled(rows: Rows, given: Any, classes: Any) -> tuple[Rows, Any, NDArray[np.int64] | None]:
    """Return rows that have a label, their labels, and the numbers of the others, if there are both."""
    labels = list_labels(given)
    named = [] if classes is None or isinstance(classes, (str, bytes)) else list_labels(classes)
    without = [is_missing(label) or (is_no_label(label) and label not in named) for label in labels]
    places = np.flatnonzero(without)
    if len(places) in {0, len(labels)}:
        return rows, given, None
    left = np.flatnonzero(~np.array(without))
    return take_rows(rows, left), whole_labels([labels[place] for place in left.tolist()]), places


def _label_column(rows: Rows, name: str) -> nw.Series[Any]:
    """Return the column of a frame that holds the labels."""
    if not isinstance(rows, nw.DataFrame):
        raise InputError(
            f"y={name!r} names a label column, but the labeled set is an array without column names. "
            "Pass the labels themselves as y."
        )
    if name not in rows.columns:
        raise missing_column(name, rows.columns, "the labeled set")
    return rows[name]


def feature_columns(
    rows: Rows,
    features: str | Sequence[str] | None,
    not_features: Sequence[str],
    reading: Reading | None = None,
) -> tuple[Column, ...] | None:
    """Return the columns that are features, with what becomes of their values; None for an array."""
    reading = as_reading(reading)
    columns = _chosen_columns(rows, features, (*not_features, *reading.drop))
    if columns is not None:
        return _as_declared(cast("Frame", rows), columns, reading)
    if reading != Reading():
        raise InputError(
            "How columns are read was declared, but the labeled set is an array without column names. Pass a data "
            "frame or files."
        )
    return None


def _chosen_columns(
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


def _as_declared(rows: Frame, columns: Sequence[Column], reading: Reading) -> tuple[Column, ...]:
    """Return the columns with what becomes of their values, as it was declared or is guessed."""
    for name in reading.names:
        if name not in rows.columns:
            raise missing_column(name, rows.columns, "the labeled set")
    found = []
    for column in columns:
        if column.kind in {"embedding", "empty"} or reading.is_silent_on(column.name):
            found.append(column)
            continue
        values = chunks_of(rows[column.name], "the labeled set")
        if pa.types.is_nested(values.type):
            raise InputError(
                f"Column {column.name!r} is {column.type_name}, which has several values a row. Leave it out with "
                f"drop=[{column.name!r}], or make texts or numbers of it."
            )
        found.append(column.read_by(reading.conversion(column.name, values)))
    return tuple(found)


def _seen_empty(column: Column, rows: Rows) -> Column:
    """Return the column, as an empty one if it is a text column without any text."""
    frame = cast("Frame", rows)
    if column.kind == "text" and frame[column.name].null_count() == frame.shape[0]:
        return replace(column, kind="empty")
    return column


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
    if fraction > LARGEST_FRACTION:
        raise InputError(
            f"bootstrap_fraction={fraction!r} must be {LARGEST_FRACTION:,} at most: models of larger draws hardly "
            "differ. 1.0 is usual."
        )
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

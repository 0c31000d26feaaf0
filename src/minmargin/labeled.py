"""The labeled set: rows whose label is known, checked once, at the edge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import type_of_target

from minmargin.errors import InputError
from minmargin.fingerprint import fingerprint_rows
from minmargin.pools import is_path, read_frame
from minmargin.rows import Rows, count_rows
from minmargin.schema import Column, as_rows, missing_column, schema_of


@dataclass(frozen=True)
class LabeledSet:
    """Rows, their labels, and what is known of both.

    Attributes:
        rows: the rows, with all columns they came with.
        columns: the feature columns, in order; None if the rows have no names.
        one_column: whether the caller named a single column, to be handed over one-dimensional.
        from_files: whether the rows were read from files, so that no kind of frame was chosen.
        y: (N,) the labels as given.
        classes: (C,) the classes, sorted.
        codes: (N,) each label's place in `classes`.
    """

    rows: Rows
    columns: tuple[Column, ...] | None
    one_column: bool
    from_files: bool
    y: NDArray[Any]
    classes: NDArray[Any]
    codes: NDArray[np.intp]

    @classmethod
    def of(
        cls,
        X: Any,
        y: Any,
        *,
        features: str | Sequence[str] | None = None,
        not_features: Sequence[str] = (),
    ) -> LabeledSet:
        """Return the labeled set of rows and labels, or of a frame or file with a label column."""
        from_files = is_path(X)
        rows = read_frame(X) if from_files else as_rows(X, "The labeled set")
        if isinstance(y, str):
            labels = _label_column(rows, y)
            not_features = (*not_features, y)
        else:
            labels = _as_array(y)
        classes, codes = _check_labels(labels, count_rows(rows))
        columns = _feature_columns(rows, features, not_features)
        return cls(rows, columns, isinstance(features, str), from_files, labels, classes, codes)

    @property
    def counts(self) -> NDArray[np.int64]:
        """(C,) the number of rows of each class."""
        return np.bincount(self.codes, minlength=len(self.classes))

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of the feature columns; None if the rows have none."""
        return None if self.columns is None else tuple(column.name for column in self.columns)

    def describe(self) -> dict[str, Any]:
        """Return what the manifest records of this labeled set."""
        counts = {str(name): int(n) for name, n in zip(self.classes.tolist(), self.counts, strict=True)}
        return {
            "rows": len(self.codes),
            "class_counts": counts,
            "features": None if self.names is None else list(self.names),
            "fingerprint": fingerprint_rows(self.rows),
            "label_fingerprint": fingerprint_rows(self.y),
        }


def _label_column(rows: Rows, name: str) -> NDArray[Any]:
    if not isinstance(rows, nw.DataFrame):
        raise InputError(
            f"y={name!r} names a label column, but the labeled set is an array without column names. "
            "Pass the labels themselves as y."
        )
    if name not in rows.columns:
        raise missing_column(name, rows.columns, "the labeled set")
    return _as_array(rows[name])


def _as_array(y: Any) -> NDArray[Any]:
    if not isinstance(y, np.ndarray):
        series = nw.from_native(y, allow_series=True, pass_through=True)
        y = series.to_list() if isinstance(series, nw.Series) else list(y)
        y = np.array(y, dtype=object) if any(each is None for each in y) else np.asarray(y)
    return np.asarray(y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y)


def _check_labels(y: NDArray[Any], n_rows: int) -> tuple[NDArray[Any], NDArray[np.intp]]:
    if y.ndim != 1 or len(y) != n_rows:
        raise InputError(
            f"There are {n_rows:,} labeled rows and labels of shape {y.shape}. Give one label a row."
        )
    if n_rows == 0:
        raise InputError("The labeled set is empty. Label at least one row of each of two classes.")
    missing = [i for i, label in enumerate(y) if label is None or label != label]
    if missing:
        raise InputError(
            f"Labeled row {missing[0]:,} has no label (and {len(missing) - 1:,} others). "
            "Drop these rows or move them to the pool."
        )
    try:
        classes, codes = np.unique(y, return_inverse=True)
    except TypeError:
        kinds = sorted({type(label).__name__ for label in y})
        raise InputError(
            f"The labels mix types ({', '.join(kinds)}). Make them all strings or all numbers."
        ) from None
    if y.dtype.kind == "f" and type_of_target(y) == "continuous":
        raise InputError(
            f"The labels are fractions such as {y[y % 1 != 0][0]}, not classes. "
            "Minimum-margin picks rows for classifiers: give class labels."
        )
    if len(classes) == 1:
        raise InputError(
            f"All {n_rows:,} labeled rows are of class {classes.tolist()[0]!r}. "
            "Label at least one row of another class."
        )
    return classes, codes


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
        for name in names:
            if name not in schema.names:
                raise missing_column(name, schema.names, "the labeled set")
        chosen = [column for name in names for column in schema.columns if column.name == name]
    if not chosen:
        raise InputError("The labeled set has no feature column left. Name some with features=[...].")
    return tuple(chosen)

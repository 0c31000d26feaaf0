"""Labels of any type, checked and turned into classes and codes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from minmargin.data.schema import is_missing
from minmargin.errors import InputError


def as_labels(y: Any) -> NDArray[Any]:
    """Return (N,) labels of one type, or say which are missing or of another."""
    if isinstance(y, np.ndarray) and y.dtype.kind != "O":
        labels = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
        if labels.ndim == 1:
            _refuse_missing(labels.tolist() if labels.dtype.kind in "fmM" else [])
        return labels
    values = _as_list(y)
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


def _as_list(y: Any) -> list[Any]:
    native = nw.from_native(y, allow_series=True, pass_through=True)
    if isinstance(native, nw.DataFrame) and native.shape[1] == 1:
        native = native[native.columns[0]]
    if isinstance(native, nw.Series):
        return list(native.to_list())
    if hasattr(y, "to_pylist"):  # an Arrow array
        return list(y.to_pylist())
    if isinstance(native, nw.DataFrame) or not isinstance(y, Iterable):
        raise InputError(f"y is a {type(y).__name__}. Pass one label a row, or the name of the label column.")
    return [value.item() if isinstance(value, np.generic) else value for value in y]


def _refuse_missing(values: list[Any]) -> None:
    missing = [row for row, value in enumerate(values) if is_missing(value)]
    if missing:
        others = f" (and {len(missing) - 1:,} others)" if len(missing) > 1 else ""
        raise InputError(
            f"Labeled row {missing[0]:,} has no label{others}. Drop such rows or move them to the pool."
        )


def _kind(value: Any) -> str:
    return "number" if type(value) in {int, float} else type(value).__name__

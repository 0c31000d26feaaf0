"""`preprocess="auto"`: makes numbers of an ordinary table, so that any learner can take it.

Numeric columns are imputed with their mean and standardized, and so are the year, month, weekday, hour and day of
dates. Text columns are one-hot encoded, with a missing text as a category of its own. It is fitted once, on the whole
labeled set, and shared by the base and all members.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, cast

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from minmargin.data.columns import text_array, to_matrix
from minmargin.data.conversion import NO_NUMBERS, Marks
from minmargin.data.guessing import Written, guess_marks, tell_nothing
from minmargin.data.intake import Intake
from minmargin.data.objects import check_one_type_each, how_to_derive
from minmargin.data.rows import Frame, Matrix
from minmargin.data.schema import Column
from minmargin.errors import InputError, listing
from minmargin.labeled import LabeledSet

_DENSE_WIDTH = 512  # wider tables are mostly zeros of one-hot codes: keep them sparse


class TablePreprocessor:
    """Turns rows of numbers and texts into rows of comparable numbers."""

    def __init__(self, columns: Sequence[Column] | None, *, sparse_output: bool) -> None:
        for column in columns or ():
            if column.kind == "other":
                raise InputError(
                    f"Column {column.name!r} is {column.type_name}, which preprocess='auto' cannot turn into "
                    f"numbers. Leave it out with features=[...], or {how_to_derive(column)}."
                )
        self._texts = [column.name for column in columns or () if column.kind == "text"]
        self._numbers = [column.name for column in columns or () if column.kind != "text"]
        self._named = columns is not None
        self._sparse_output = sparse_output
        self._scaler: Pipeline = make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler())
        self._encoder = OneHotEncoder(handle_unknown="ignore")

    @classmethod
    def of(cls, rows: Any, columns: Sequence[Column] | None, *, sparse_output: bool) -> TablePreprocessor:
        """Return a preprocessor with the means, scales and categories of the labeled set."""
        made = cls(columns, sparse_output=sparse_output)
        if made._has_numbers:
            made._scaler.fit(made._number_matrix(rows))
        if made._texts:
            made._encoder.fit(made._text_matrix(rows))
        return made

    def transform(self, rows: Any) -> Matrix:
        """Return (n, D) floats: CSR if the table is wide and the learner takes it, else dense."""
        parts = []
        if self._has_numbers:
            parts.append(self._scaler.transform(self._number_matrix(rows)))
        if self._texts:
            parts.append(self._encoder.transform(self._text_matrix(rows)))
        width = sum(part.shape[1] for part in parts)
        if self._sparse_output and width > _DENSE_WIDTH:
            return sparse.csr_array(sparse.hstack(parts, format="csr")).sorted_indices()
        return np.hstack([_dense(part) for part in parts])

    @property
    def _has_numbers(self) -> bool:
        return bool(self._numbers) or not self._named

    def _number_matrix(self, rows: Any) -> NDArray[np.float64]:
        if isinstance(rows, nw.DataFrame):
            rows = to_matrix(rows.select(self._numbers))
        # One memory layout, whatever the rows came in: sums over columns may depend on it.
        return np.ascontiguousarray(_dense(rows), dtype=np.float64)

    def _text_matrix(self, rows: Frame) -> NDArray[Any]:
        return np.stack([text_array(rows[name]) for name in self._texts], axis=1)


def _dense(X: Any) -> NDArray[Any]:
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X)


def preprocessing_intake(labeled: LabeledSet) -> Intake:
    """Return the form in which `TablePreprocessor` takes these rows."""
    labeled.require_table()
    if labeled.columns is not None:
        columns = tuple(
            column for column in labeled.columns if column.kind != "empty" and not column.is_free_text
        )
        if not columns:
            raise InputError(
                f"There is no feature left but free text ({listing(labeled.names or ())}). Use learner='text'."
            )
        check_one_type_each(cast("Frame", labeled.rows), [each.name for each in columns], "the labeled set")
        _refuse_free_text(cast("Frame", labeled.rows), columns)
        width = sum(column.width or 1 for column in columns)
        return Intake("table", columns, width, missing=True)
    rows = cast("Matrix", labeled.rows)
    if rows.ndim == 1:
        raise InputError(
            "preprocess='auto' is for tables, and the labeled set is a list of texts. Use learner='text'."
        )
    if rows.ndim != 2 or rows.dtype.kind not in "fiub":
        raise InputError(
            "preprocess='auto' needs column names to tell numbers from texts, and the labeled set is an array "
            "that is not numeric. Pass a data frame."
        )
    return Intake("matrix", None, rows.shape[1], missing=True)


def _refuse_free_text(rows: Frame, columns: Sequence[Column]) -> None:
    """Raise an error if every feature is a text that hardly any two rows have in common."""
    n_rows = rows.shape[0]
    names = [column.name for column in columns]
    if all(
        column.kind == "text" and tell_nothing(rows[column.name].n_unique(), n_rows) for column in columns
    ):
        have = f"Text column {names[0]!r} has" if len(names) == 1 else f"Text columns {listing(names)} have"
        nothing = (
            f"{have} a different value in nearly each of the {n_rows:,} labeled rows, and there is no other feature, "
            "so there is nothing to learn from categories."
        )
        written = _written_numbers(rows, columns)
        if written is not None:
            raise InputError(
                f"{nothing} These look like numbers, such as {written.example!r}: use {written.use}."
            )
        raise InputError(f"{nothing} This looks like free text: use learner='text'.")


def _written_numbers(rows: Frame, columns: Sequence[Column]) -> Written | None:
    """Return how the first column with numbers among its texts writes them; None if there is no such column."""
    for column in columns:
        texts = sorted(Counter(text.strip() for text in text_array(rows[column.name])).items())
        known = [(text, n) for text, n in texts if text not in NO_NUMBERS]
        marks = Marks() if column.conversion is None else column.conversion.marks
        written = guess_marks(known, marks) if known else None
        if written is not None:
            return written
    return None

# ruff: noqa: SLF001 - what is saved of a preprocessor, and set in a new one, is what is inside
"""The preprocessing of `preprocess="auto"`, as arrays of means and scales and lists of categories."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from minmargin.committee.storage.packed import Packed, pack_arrays
from minmargin.committee.storage.saved import Saved
from minmargin.data.schema import Column
from minmargin.errors import InputError
from minmargin.learners.base import Preprocessor
from minmargin.learners.preprocess import TablePreprocessor

_CATEGORIES = "categories.json"


def pack_preprocessor(preprocessor: Preprocessor) -> Packed:
    """Return a fitted preprocessor as files."""
    if type(preprocessor) is not TablePreprocessor:
        raise InputError(f"Preprocessing by {type(preprocessor).__name__} cannot be saved.")
    files = {}
    if preprocessor._has_numbers:
        imputer, scaler = preprocessor._scaler[0], preprocessor._scaler[1]
        files = pack_arrays(
            {
                "preprocessor_fill": imputer.statistics_,
                "preprocessor_center": scaler.mean_,
                "preprocessor_scale": scaler.scale_,
            }
        )
    if preprocessor._texts:
        # As JSON: numpy's texts lose what an odd category may end with.
        categories = [each.tolist() for each in preprocessor._encoder.categories_]
        files[_CATEGORIES] = json.dumps({"categories": categories}).encode()
    return Packed({"sparse_output": preprocessor._sparse_output}, files)


def unpack_preprocessor(
    saved: Saved, columns: Sequence[Column] | None, width: int
) -> tuple[TablePreprocessor, int]:
    """Return the saved preprocessor, and how many columns it makes.

    Args:
        saved: the files.
        columns: the feature columns; None if they have no names.
        width: how many numbers a row of an array without names has.
    """
    sparse_output = saved.content.inner("preprocessor").get("sparse_output", bool)
    made = TablePreprocessor(columns, sparse_output=sparse_output)
    n_made = 0
    if made._has_numbers:
        numbers = [column for column in columns or () if column.kind != "text"]
        n_made = width if columns is None else sum(column.width or 1 for column in numbers)
        fill, center, scale = (
            saved.array(f"preprocessor_{name}", ["f8"], (n_made,)) for name in ("fill", "center", "scale")
        )
        if not (np.isfinite(fill).all() and np.isfinite(center).all() and (scale > 0).all()):
            raise saved.content.wrong("the means and scales of its preprocessing are no numbers")
        # Fitted on one row, scikit-learn's objects have everything that theirs need; the mean of one row is that row.
        made._scaler.fit(fill[np.newaxis])
        made._scaler[1].mean_, made._scaler[1].scale_ = center, scale
    if made._texts:
        categories = _categories(saved, len(made._texts))
        first = np.array([[each[0] for each in categories]], dtype=object)
        made._encoder.set_params(categories=[np.array(each, dtype=object) for each in categories]).fit(first)
        n_made += sum(map(len, categories))
    return made, n_made


def _categories(saved: Saved, n_columns: int) -> list[list[Any]]:
    fields = saved.json(_CATEGORIES)
    lists: list[list[Any]] = fields.each("categories", list)
    for each in lists:
        texts = all(isinstance(category, str) for category in each)
        if not (texts and each and len(set(each)) == len(each)):
            raise fields.wrong("its categories are not different texts")
    if len(lists) != n_columns:
        raise fields.wrong(f"it has categories for {len(lists):,} columns, and there are {n_columns:,}")
    return lists

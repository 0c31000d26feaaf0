"""What chains of scalers and imputers do to columns: choose them, fill them, shift them and scale them.

Such a chain keeps a linear model linear in the raw columns. With w the weight of a scaled column, the weight of the
raw one is w / scale, the intercept loses w * center / scale, and a missing value adds w * fill / scale where the raw
value is taken as 0. So a model behind an imputer is linear in the raw columns, missing values as 0, and in marks of
what is missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from minmargin.data.rows import Matrix
from minmargin.errors import InputError

Floats = NDArray[np.float64]
Places = NDArray[np.intp]

# x / scale - center / scale loses as many digits as this has: beyond it, shift and scale are better left apart.
_FARTHEST_CENTER = 1e8


@dataclass(frozen=True)
class Columns:
    """Columns made of raw ones, each of one: ((fill if x is missing else x) - center) / scale.

    Attributes:
        source: (D,) the raw column x that each is made of.
        center: (D,) in units of x.
        scale: (D,) in units of x.
        fill: (D,) in units of x; NaN where nothing stands in for a missing value.
    """

    source: Places
    center: Floats
    scale: Floats
    fill: Floats

    @classmethod
    def raw(cls, n_columns: int) -> Columns:
        """Return the raw columns as they are."""
        return cls(np.arange(n_columns), np.zeros(n_columns), np.ones(n_columns), np.full(n_columns, np.nan))

    @classmethod
    def side_by_side(cls, parts: Sequence[Columns]) -> Columns:
        """Return the columns of all parts, in order."""
        of = {name: [getattr(part, name) for part in parts] for name in ("source", "center", "scale", "fill")}
        return cls(**{name: np.concatenate(arrays) for name, arrays in of.items()})

    def take(self, places: Places) -> Columns:
        """Return some of these columns."""
        return Columns(self.source[places], self.center[places], self.scale[places], self.fill[places])

    def scaled(self, center: Floats | float, scale: Floats | float) -> Columns:
        """Return these columns z as (z - center) / scale."""
        return replace(
            self,
            center=self.center + self.scale * np.asarray(center, dtype=np.float64),
            scale=self.scale * np.asarray(scale, dtype=np.float64),
        )

    def filled(self, values: Floats) -> Columns:
        """Return these columns with values for what is still missing; a column is dropped if its value is NaN."""
        fill = np.where(np.isnan(self.fill), self.center + self.scale * values, self.fill)
        return replace(self, fill=fill).take(np.flatnonzero(~np.isnan(values)))

    @property
    def sound(self) -> bool:
        """Whether shift and scale can be folded into weights without loss."""
        return bool(len(self.source) and np.all(np.abs(self.center / self.scale) <= _FARTHEST_CENTER))

    def fill_all(self, X: Matrix) -> bool:
        """Return whether no value that these columns are made of stays missing."""
        return isinstance(X, sparse.csr_array) or not np.isnan(X[:, self.source[np.isnan(self.fill)]]).any()

    def __call__(self, X: Matrix) -> Matrix:
        """Return (n, D): these columns of raw rows, in the type of X."""
        chosen = X[:, self.source]
        center, scale, fill = (each.astype(X.dtype) for each in (self.center, self.scale, self.fill))
        if isinstance(chosen, sparse.csr_array):
            chosen.data /= scale[chosen.indices]
            return chosen
        missing = np.isnan(chosen)
        if missing.any():
            chosen = np.where(missing, fill, chosen)
        chosen -= center
        chosen /= scale
        return chosen

    def unfold(self, weights: Floats, intercepts: Floats, n_raw: int) -> tuple[Floats, Floats, Floats]:
        """Return the same linear functions in terms of raw columns and of marks of what is missing there.

        Args:
            weights: (D, O) of these columns.
            intercepts: (O,).
            n_raw: how many raw columns there are.

        Returns:
            (n_raw, O) weights, (n_raw, O) weights of the marks, (O,) intercepts.
        """
        each = weights / self.scale[:, np.newaxis]
        raw = np.zeros((n_raw, weights.shape[1]))
        np.add.at(raw, self.source, each)
        marks = np.zeros_like(raw)
        np.add.at(marks, self.source, each * np.nan_to_num(self.fill)[:, np.newaxis])
        return raw, marks, intercepts - self.center @ each


@dataclass(frozen=True)
class Expansion:
    """What compiled models are linear in: the raw columns in use, missing values as 0, and marks of these.

    Attributes:
        used: the raw columns that some model looks at.
        filled: those of them that may be missing.
    """

    used: tuple[int, ...]
    filled: tuple[int, ...]

    @classmethod
    def of(cls, models: Sequence[Columns]) -> Expansion:
        """Return the expansion for the columns of these models."""
        source, fill = (
            np.concatenate([getattr(model, name) for model in models]) for name in ("source", "fill")
        )
        used = np.unique(source)
        return cls(tuple(used.tolist()), tuple(np.setdiff1d(used, source[np.isnan(fill)]).tolist()))

    @property
    def width(self) -> int:
        """How many columns there are after the expansion."""
        return len(self.used) + len(self.filled)

    def weights(self, raw: Floats, marks: Floats) -> Floats:
        """Return (width, O): the weights of the expanded columns, from those of all raw columns and their marks."""
        return np.concatenate([raw[list(self.used)], marks[list(self.filled)]])

    def __call__(self, X: Matrix) -> NDArray[Any]:
        """Return (n, width) in the type of X."""
        assert isinstance(X, np.ndarray), "what lets missing values through is not compiled for CSR rows"
        values = X[:, list(self.used)]
        missing = np.isnan(values)
        may_be = np.isin(self.used, self.filled)
        wrong = missing & ~may_be
        if wrong.any():
            raise InputError(
                f"Column {self.used[int(wrong.any(axis=0).argmax())]:,} of the pool has a missing value (NaN), and "
                "the learner has an imputer for other columns only. Fill it, drop the row, or add an imputer."
            )
        return np.hstack([np.where(missing, 0, values), missing[:, may_be]], dtype=X.dtype)

"""What the public functions take, as types: for annotations, editors and type checkers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol, SupportsIndex, TypeAlias

import numpy as np

from minmargin.device import DeviceChoice, Precision
from minmargin.execution import EngineLike, EngineName
from minmargin.learners.base import Classifier, LearnerLike, LearnerName, Preprocess
from minmargin.pools.base import Pool
from minmargin.strategies.base import Needs, StrategyLike, StrategyName

__all__ = [
    "ArrayLike",
    "ArrowDataset",
    "Classifier",
    "DeviceChoice",
    "EngineLike",
    "EngineName",
    "LabelsLike",
    "LearnerLike",
    "LearnerName",
    "Needs",
    "PoolLike",
    "Precision",
    "Preprocess",
    "RowsLike",
    "Seed",
    "SparseLike",
    "StrategyLike",
    "StrategyName",
]


class ArrayLike(Protocol):
    """What numpy can read: an array, a tensor; a frame or a series of pandas, polars or pyarrow."""

    def __array__(self) -> Any:
        """Return it as an array."""
        ...


class SparseLike(Protocol):
    """A sparse matrix or array of scipy, in any format."""

    def tocsr(self) -> Any:
        """Return it by rows."""
        ...


class ArrowDataset(Protocol):
    """A dataset of pyarrow."""

    @property
    def scanner(self) -> Callable[..., Any]:
        """Reads it."""
        ...


_Row: TypeAlias = str | Sequence[float] | ArrayLike  # a text, or numbers
_Chunk: TypeAlias = ArrayLike | SparseLike | Sequence[str]

#: Rows: an array, a frame, a sparse matrix, a list of texts or of rows; or files by their path, folder or glob.
RowsLike: TypeAlias = ArrayLike | SparseLike | str | Path | Sequence[_Row | Path]

#: Labels: one for each row, or the name of the column that holds them.
LabelsLike: TypeAlias = str | ArrayLike | Iterable[object]

#: A pool: what rows may be, a dataset of pyarrow, chunks of rows one after the other, or a pool of one's own.
PoolLike: TypeAlias = (
    ArrayLike | SparseLike | str | Path | Iterable[_Row | Path | _Chunk] | ArrowDataset | Pool
)

#: A seed: a whole number, a generator of numpy, or None for a fresh one.
Seed: TypeAlias = SupportsIndex | np.random.Generator | np.random.RandomState | None

"""What the public functions take, as types: for annotations, editors and type checkers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, SupportsIndex, TypeAlias

import numpy as np

from minmargin.device import DeviceChoice, DeviceLike, Precision
from minmargin.execution import EngineLike, EngineName
from minmargin.learners.base import Classifier, LearnerLike, LearnerName, Preprocess
from minmargin.pools.base import Pool
from minmargin.strategies.base import Needs, StrategyLike, StrategyName

__all__ = [
    "ArrayLike",
    "ArrowDataset",
    "Classifier",
    "DeviceChoice",
    "DeviceLike",
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


class HubDataset(Protocol):
    """A dataset of Hugging Face, with positions or as a stream."""

    @property
    def column_names(self) -> Any:
        """The names of its columns."""
        ...

    @property
    def with_format(self) -> Callable[..., Any]:
        """Gives it in the form of another library."""
        ...


class TensorDataset(Protocol):
    """A `torch.utils.data.TensorDataset`."""

    @property
    def tensors(self) -> tuple[Any, ...]:
        """The tensors, rows first."""
        ...


class TensorLoader(Protocol):
    """A `torch.utils.data.DataLoader` or `Subset`."""

    @property
    def dataset(self) -> Any:
        """Where its rows come from."""
        ...


class DeltaTable(Protocol):
    """A table of Delta Lake."""

    @property
    def to_pyarrow_dataset(self) -> Callable[..., Any]:
        """Gives it as a dataset of pyarrow."""
        ...


#: Containers that hold rows, of libraries that are not needed here.
_Container: TypeAlias = HubDataset | TensorDataset | TensorLoader | DeltaTable | ArrowDataset

_Row: TypeAlias = str | Sequence[float] | ArrayLike | Mapping[str, Any]  # a text, numbers, or columns by name
_Chunk: TypeAlias = ArrayLike | SparseLike | Sequence[str]

#: Columns by name, as tokenizers give them.
_Columns: TypeAlias = Mapping[str, ArrayLike | Sequence[Any]]

#: Rows: an array, a frame, a sparse matrix, a list of texts, of rows or of dicts, a dict of columns; a dataset of
#: Hugging Face, torch, pyarrow, Delta or Lance; or files by their path, folder or glob.
RowsLike: TypeAlias = ArrayLike | SparseLike | str | Path | Sequence[_Row | Path] | _Columns | _Container

#: Labels: one for each row, or the name of the column that holds them.
LabelsLike: TypeAlias = str | ArrayLike | Iterable[object]

#: A pool: what rows may be, chunks of rows one after the other, or a pool of one's own.
PoolLike: TypeAlias = (
    ArrayLike | SparseLike | str | Path | Iterable[_Row | Path | _Chunk] | _Columns | _Container | Pool
)

#: A seed: a whole number, a generator of numpy, or None for a fresh one.
Seed: TypeAlias = SupportsIndex | np.random.Generator | np.random.RandomState | None

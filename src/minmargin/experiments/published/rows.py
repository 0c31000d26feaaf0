"""The rows that published tables are made of: as numbers, uncoded and unscaled, packed for other machines.

The study codes its problems in its own way, and rounds them. Here a table's own rules say what is done to rows.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from minmargin.experiments.packing import pack, unpack
from minmargin.experiments.study.coding import Columns, Images
from minmargin.experiments.study.sets import OTHER_READERS, READERS

#: Types that columns are packed in: the first that has all values exactly.
_TYPES = ("uint8", "float32", "float64")


class Rows(NamedTuple):
    """The rows of a set.

    Attributes:
        name: of the set.
        X: (n, D) numbers; levels of nominal columns are numbered in the order of their names.
        y: (n,) classes, as 0..C-1.
    """

    name: str
    X: NDArray[Any]
    y: NDArray[np.intp]

    @property
    def fingerprint(self) -> str:
        """A checksum of rows and labels: results from other bits do not belong together."""
        X = np.ascontiguousarray(self.X, dtype=np.float64)
        return f"{zlib.crc32(self.y.astype(np.int64).tobytes(), zlib.crc32(X.tobytes())):08x}"


def make_rows(name: str, data_dir: Path | None = None) -> Rows:
    """Return the rows of a set, from its files."""
    real = (READERS | OTHER_READERS)[name](data_dir)
    features = real.features
    assert isinstance(features, Columns | Images), "texts are in no published table"
    if isinstance(features, Images):
        numbers: NDArray[Any] = features.pixels.reshape(len(features), -1)
    else:
        levels = [np.unique(column, return_inverse=True)[1] for column in features.nominals.T]
        numbers = np.column_stack([features.numbers, *levels])
    fitting = next(each for each in _TYPES if (numbers.astype(each) == numbers).all())
    return Rows(name, numbers.astype(fitting), np.unique(real.labels, return_inverse=True)[1])


def pack_rows(folder: Path, names: Iterable[str], data_dir: Path | None = None) -> list[Path]:
    """Write sets that are not yet in a folder, and return the paths of all."""

    def arrays_of(name: str) -> dict[str, Any]:
        rows = make_rows(name, data_dir)
        return {"X": rows.X, "y": rows.y.astype(np.int16)}

    return pack(folder, names, arrays_of)


@lru_cache(maxsize=2)
def load_rows(folder: Path, name: str) -> Rows:
    """Return the rows of a set that was packed into a folder."""
    X, y = unpack(folder, name, ("X", "y"), check=_check_arrays, called="Set", command="minmargin published")
    return Rows(name, X, y.astype(np.intp))


def _check_arrays(X: NDArray[Any], y: NDArray[Any]) -> None:
    if X.ndim != 2 or y.shape != X.shape[:1] or X.dtype.name not in _TYPES or y.dtype != np.int16:
        raise ValueError("its arrays are not rows and labels")

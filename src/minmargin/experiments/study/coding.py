"""How the rows of real sets become numbers of one size: no label is looked at.

A column of numbers is brought to mean 0 and variance 1 over all rows of its set. A nominal column becomes one column of
0 and 1 for each of its levels, and columns that are 0 and 1 already stay so. Texts and images become a few directions;
those keep their proportions, and all are scaled by one number, so that a column has variance 1 on average. A model with
the usual penalty then fits all alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

#: A level of a nominal column that fewer rows have shares its column with others that are as rare.
RARE_LEVEL = 0.005

TEXT_DIRECTIONS = 96
IMAGE_DIRECTIONS = 64

Floats = NDArray[np.float64]


class Features(Protocol):
    """Rows that can be coded."""

    def __len__(self) -> int: ...

    def code(self, rows: NDArray[np.intp]) -> Floats:
        """Return (n, D) some rows, coded by what is known of all."""
        ...


class Columns(NamedTuple):
    """Rows of a table.

    Attributes:
        numbers: (n, d) float64; none is missing.
        nominals: (n, e) levels, texts or codes.
    """

    numbers: Floats
    nominals: NDArray[Any]

    def __len__(self) -> int:
        return len(self.numbers)

    def code(self, rows: NDArray[np.intp]) -> Floats:
        """Return (n, D) some rows, numbers first."""
        parts = [standardize(self.numbers, rows)]
        parts += [one_hot(column, rows) for column in self.nominals.T]
        return np.concatenate(parts, axis=1)


class Texts(NamedTuple):
    """Rows that are texts."""

    texts: Sequence[str]

    def __len__(self) -> int:
        return len(self.texts)

    def code(self, rows: NDArray[np.intp]) -> Floats:
        """Return (n, D) the directions in which the word counts of all texts differ most."""
        from sklearn.decomposition import TruncatedSVD  # noqa: PLC0415 - slow to import
        from sklearn.feature_extraction.text import TfidfVectorizer  # noqa: PLC0415

        words = TfidfVectorizer(sublinear_tf=True, min_df=2).fit_transform(self.texts)
        n_directions = min(TEXT_DIRECTIONS, words.shape[1] - 1)
        return level(TruncatedSVD(n_directions, random_state=0).fit_transform(words))[rows]


class Images(NamedTuple):
    """Rows that are images: (n, pixels)."""

    pixels: NDArray[Any]

    def __len__(self) -> int:
        return len(self.pixels)

    def code(self, rows: NDArray[np.intp]) -> Floats:
        """Return (n, D) the directions in which all images differ most."""
        from sklearn.decomposition import PCA  # noqa: PLC0415 - slow to import

        n_directions = min(IMAGE_DIRECTIONS, self.pixels.shape[1])
        return level(PCA(n_directions, svd_solver="covariance_eigh").fit_transform(self.pixels))[rows]


def standardize(numbers: Floats, rows: NDArray[np.intp]) -> Floats:
    """Return (n, d) some rows, each column with mean 0 and variance 1 over all rows, unless it is of 0 and 1.

    >>> standardize(np.array([[1.0, 5.0, 1.0], [3.0, 5.0, 0.0]]), np.array([1, 0])).tolist()
    [[1.0, 0.0, 0.0], [-1.0, 0.0, 1.0]]
    """
    as_it_is = np.isin(numbers, (0, 1)).all(axis=0)
    center = np.where(as_it_is, 0.0, numbers.mean(axis=0))
    deviation = numbers.std(axis=0)
    scale = np.where(as_it_is | (deviation == 0), 1.0, deviation)  # a column of one value is all 0
    return np.asarray((numbers[rows] - center) / scale)


def one_hot(column: NDArray[Any], rows: NDArray[np.intp]) -> Floats:
    """Return (n, levels) some rows of a nominal column: 1 at a row's level; rare levels share the last column.

    >>> one_hot(np.array(["no", "yes", "no"]), np.array([0, 1])).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    _, codes, counts = np.unique(column, return_inverse=True, return_counts=True)
    common = counts >= RARE_LEVEL * len(column)
    places = np.where(common, np.cumsum(common) - 1, common.sum())
    n_columns = int(common.sum()) + (not common.all())
    return np.asarray(np.eye(n_columns)[places[codes[rows]]])


def level(directions: Floats) -> Floats:
    """Return columns scaled by one number, so that their variance is 1 on average."""
    return np.asarray(directions / np.sqrt(directions.var(axis=0).mean()))

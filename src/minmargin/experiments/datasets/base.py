"""What a data set is: where its files come from, how they are recognised, and the table they hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray


class Table(NamedTuple):
    """Labelled rows, in the order of the files: shuffle before any split.

    Attributes:
        X: (n, D) features: float32 in [0, 1] for images, float64 for tables.
        y: (n,) class codes 0..C-1.
        classes: (C,) the classes' names.
        test_X: (m, D) the standard test set; None where there is none.
        test_y: (m,) its class codes; None where there is none.
        features: (D,) the columns' names.
    """

    X: NDArray[Any]
    y: NDArray[np.intp]
    classes: tuple[str, ...]
    test_X: NDArray[Any] | None  # noqa: N815 - X is the field's name for a feature matrix
    test_y: NDArray[np.intp] | None
    features: tuple[str, ...]


#: Turns the content of a data set's files, by file name, into its table. The content has been verified.
Loader: TypeAlias = Callable[[Mapping[str, bytes]], Table]


@dataclass(frozen=True)
class Source:
    """An address of a file, plain or compressed; `member` names the file inside a zip or tar archive."""

    url: str
    member: str | None = None


@dataclass(frozen=True)
class DataFile:
    """A file of a data set, known by its content.

    Attributes:
        name: its name without the suffix of a compression.
        n_bytes: the size of its content, not compressed.
        sha256: the checksum of its content, not compressed, so that copies of any compression are alike.
        sources: addresses to fetch it from, the best first; empty where none is known.
    """

    name: str
    n_bytes: int
    sha256: str
    sources: tuple[Source, ...] = ()


@dataclass(frozen=True)
class Dataset:
    """An entry of the registry.

    Attributes:
        name: how callers ask for it, and the folder its files lie in.
        title: what it is, in a few words.
        origin: who made it and where its files can be had, for people.
        license: the terms it is published under.
        files: the files that the loader reads.
        n_rows: rows of the table, without those of a standard test set.
        n_features: columns of the table.
        n_classes: classes of the table.
        load: turns the files' content into the table.
        note: what to know before using it.
    """

    name: str
    title: str
    origin: str
    license: str
    files: tuple[DataFile, ...]
    n_rows: int
    n_features: int
    n_classes: int
    load: Loader
    note: str

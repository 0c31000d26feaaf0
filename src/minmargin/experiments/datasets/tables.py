"""The tables of numbers: one file each, and no standard test set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from minmargin.experiments.datasets.base import Table
from minmargin.experiments.datasets.formats import read_arff, read_csv, read_svmlight, to_matrix

_SHUTTLE_CLASSES = ("Rad Flow", "Fpv Close", "Fpv Open", "High", "Bypass", "Bpv Close", "Bpv Open")
_MAGIC_FEATURES = (
    "fLength",
    "fWidth",
    "fSize",
    "fConc",
    "fConc1",
    "fAsym",
    "fM3Long",
    "fM3Trans",
    "fAlpha",
    "fDist",
)
# The free energy of the common fold, the shorter sequence's length, then the shares of A, U and C in either sequence.
_COD_RNA_FEATURES = ("energy", "length", "a_1", "u_1", "c_1", "a_2", "u_2", "c_2")
_COVTYPE_FEATURES = (
    "elevation",
    "aspect",
    "slope",
    "horizontal_distance_to_hydrology",
    "vertical_distance_to_hydrology",
    "horizontal_distance_to_roadways",
    "hillshade_9am",
    "hillshade_noon",
    "hillshade_3pm",
    "horizontal_distance_to_fire_points",
    *(f"wilderness_area_{i}" for i in range(1, 5)),
    *(f"soil_type_{i}" for i in range(1, 41)),
)
_LODGEPOLE_PINE = 2  # about half of covtype's rows: the usual positive class


def load_nomao(files: Mapping[str, bytes]) -> Table:
    """Return Nomao: pairs of places, alike or not; codes of nominal columns are taken as numbers."""
    rows = read_arff(files["nomao.arff"])
    labels = _labels(rows)
    return _table(rows, labels - 1, ("different places", "same place"), tuple(rows.column_names[:-1]))


def load_shuttle(files: Mapping[str, bytes]) -> Table:
    """Return Statlog (Shuttle): the state of a radiator, from nine sensors."""
    rows = read_csv(files["shuttle.trn"], header=False)
    names = tuple(f"sensor_{i}" for i in range(1, rows.num_columns))
    return _table(rows, _labels(rows) - 1, _SHUTTLE_CLASSES, names)


def load_magic04(files: Mapping[str, bytes]) -> Table:
    """Return MAGIC: showers of a gamma ray or of a hadron, as a telescope saw them."""
    rows = read_csv(files["magic04.data"], header=False)
    hadron = pc.equal(rows[rows.num_columns - 1], "h")
    return _table(rows, hadron.to_numpy(), ("gamma", "hadron"), _MAGIC_FEATURES)


def load_a9a(files: Mapping[str, bytes]) -> Table:
    """Return a9a: people who earn more than 50,000 dollars or not, from 123 yes-or-no features."""
    X, signs = read_svmlight(files["a9a"], 123)
    return _signed(X, signs, tuple(f"feature_{i}" for i in range(1, 124)))


def load_cod_rna(files: Mapping[str, bytes]) -> Table:
    """Return cod-rna: pairs of sequences that share a non-coding RNA or not."""
    X, signs = read_svmlight(files["cod-rna"], len(_COD_RNA_FEATURES))
    return _signed(X, signs, _COD_RNA_FEATURES)


def load_covtype(files: Mapping[str, bytes]) -> Table:
    """Return Covertype: forest of lodgepole pine against any other."""
    rows = read_csv(files["covtype.data"], header=False)
    return _table(rows, _labels(rows) == _LODGEPOLE_PINE, ("other", "lodgepole pine"), _COVTYPE_FEATURES)


def _labels(rows: pa.Table) -> NDArray[np.int64]:
    """Return the last column, whole numbers."""
    labels: NDArray[np.int64] = rows[rows.num_columns - 1].to_numpy()
    return labels


def _table(rows: pa.Table, codes: NDArray[Any], classes: tuple[str, ...], features: tuple[str, ...]) -> Table:
    X = to_matrix(dict(zip(features, rows.columns[:-1], strict=True)))
    return Table(X, codes.astype(np.intp), classes, None, None, features)


def _signed(X: NDArray[np.float64], signs: NDArray[np.float64], features: tuple[str, ...]) -> Table:
    return Table(X, (signs > 0).astype(np.intp), ("-1", "+1"), None, None, features)

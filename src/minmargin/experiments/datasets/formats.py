"""The file formats that data sets come in, each from bytes to arrays or Arrow tables."""

from __future__ import annotations

import io
import re
import struct
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv

_ATTRIBUTE = re.compile(rb"^@attribute\s+(\S+)", re.IGNORECASE | re.MULTILINE)
_DATA = re.compile(rb"^@data[^\n]*\n", re.IGNORECASE | re.MULTILINE)


def read_idx(content: bytes) -> NDArray[np.uint8]:
    """Return the array of an idx file of unsigned bytes: MNIST's format."""
    n_dimensions = content[3]
    shape = struct.unpack_from(f">{n_dimensions}I", content, 4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * n_dimensions).reshape(shape)


def read_csv(content: bytes, *, header: bool = True, texts: Iterable[str] = ()) -> pa.Table:
    """Return a table of comma-separated values, where NA is a missing one.

    Without a header the columns are named f0, f1 and so on. `texts` names columns to be left as they are written.
    """
    return csv.read_csv(
        pa.BufferReader(content),
        read_options=csv.ReadOptions(autogenerate_column_names=not header),
        convert_options=csv.ConvertOptions(
            null_values=["NA"], strings_can_be_null=True, column_types=dict.fromkeys(texts, pa.string())
        ),
    )


def read_arff(content: bytes) -> pa.Table:
    """Return the table of an ARFF file whose values need no quotes."""
    data = _DATA.search(content)
    assert data is not None, "an ARFF file has a line @data"
    names = [name.decode() for name in _ATTRIBUTE.findall(content, 0, data.start())]
    return read_csv(content[data.end() :], header=False).rename_columns(names)


def read_svmlight(content: bytes, n_features: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the dense features and the labels of an svmlight file with indices from 1."""
    from sklearn.datasets import load_svmlight_file  # noqa: PLC0415 - scikit-learn takes long to import

    sparse, labels = load_svmlight_file(io.BytesIO(content), n_features=n_features, zero_based=False)
    return sparse.toarray(), labels


def to_floats(column: Any) -> NDArray[np.float64]:
    """Return an Arrow column of numbers as floats, NaN where a value is missing."""
    floats: NDArray[np.float64] = column.cast(pa.float64()).to_numpy()
    return floats


def to_matrix(columns: Mapping[str, Any]) -> NDArray[np.float64]:
    """Return columns of numbers, numpy's or Arrow's, side by side."""
    n_rows = len(next(iter(columns.values())))
    matrix = np.empty((n_rows, len(columns)))
    for place, column in enumerate(columns.values()):
        matrix[:, place] = column if isinstance(column, np.ndarray) else to_floats(column)
    return matrix

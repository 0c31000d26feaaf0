"""Short hashes that tell whether data is the data of an earlier run.

They look at the shape, the types and an even sample of the rows (of files: the size and both ends, or the time and
tag that object storage keeps), so that a billion rows cost as little as a thousand. They notice a changed file or a
re-sorted table; they are no proof that every cell is equal.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from minmargin.data.rows import Rows, count_rows, take_rows

_SAMPLED_ROWS, _SAMPLED_CELLS = 4096, 1 << 18


def fingerprint_rows(rows: Rows) -> str:
    """Return a hash of the shape, types and sampled rows of rows in memory."""
    n = count_rows(rows)
    n_cells = rows.nnz if sparse.issparse(rows) else math.prod(rows.shape)
    n_sampled = min(n, _SAMPLED_ROWS, max(_SAMPLED_CELLS * n // max(n_cells, 1), 64))  # of wide rows, fewer
    picked = np.unique(np.linspace(0, max(n - 1, 0), n_sampled).astype(np.intp))
    sample = take_rows(rows, picked)
    if isinstance(sample, nw.DataFrame):
        types = [(name, str(dtype)) for name, dtype in sample.schema.items()]
        values = list(sample.to_dict(as_series=False).values())
        return _digest([repr((n, types)), repr(values)])
    if isinstance(sample, sparse.csr_array):
        arrays = (sample.indptr, sample.indices, sample.data)
        return _digest([repr((rows.shape, str(sample.dtype))), *(a.tobytes() for a in arrays)])
    content = repr(sample.tolist()) if sample.dtype.hasobject else sample.tobytes()
    return _digest([repr((rows.shape, str(sample.dtype))), content])


def fingerprint_files(identities: Iterable[Iterable[str | bytes]]) -> str:
    """Return a hash of what files tell of themselves: names, sizes, and both ends or the times and tags in a store."""
    return _digest(part for identity in identities for part in identity)


def fingerprint_values(values: Any) -> str:
    """Return a hash of every value of an Arrow array."""
    runs = (values[start : start + _SAMPLED_ROWS] for start in range(0, len(values), _SAMPLED_ROWS))
    return _digest(repr(run.to_pylist()) for run in runs)


def _digest(parts: Iterable[str | bytes]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        content = part.encode() if isinstance(part, str) else part
        digest.update(len(content).to_bytes(8, "little"))
        digest.update(content)
    return "sha256:" + digest.hexdigest()[:32]


def fingerprint_models(models: Any) -> str:
    """Return a hash of trained models that are arrays; nothing for others, which their training has to tell apart."""
    arrays = _arrays_of(models) if is_dataclass(models) else []
    shapes = [repr((array.shape, str(array.dtype))) for array in arrays]
    return _digest([*shapes, *(np.ascontiguousarray(array).tobytes() for array in arrays)]) if arrays else ""


def _arrays_of(models: Any) -> list[NDArray[Any]]:
    """Return the arrays in the fields of a dataclass, and of those in it."""
    found: list[NDArray[Any]] = []
    for each in fields(models):
        value = getattr(models, each.name)
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, np.ndarray):
                found.append(item)
            elif is_dataclass(item):
                found += _arrays_of(item)
    return found

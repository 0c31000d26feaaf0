"""Keys of many rows: those of `data.keys`, made by a kernel where a pool is large."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from minmargin.data.keys import Keys, keys_of_numbers, numbers_of_columns
from minmargin.data.rows import Matrix

_COMPILED = np.dtype(np.float32), np.dtype(np.float64)


def make_keys(vectors: Matrix, *, compiled: bool) -> Keys:
    """Return the keys of (n, D) numbers: the same to the bit whether or not compiled code makes them."""
    if not compiled or isinstance(vectors, sparse.csr_array) or vectors.dtype not in _COMPILED:
        return keys_of_numbers(vectors)
    from minmargin.compute.cpu.keys import add_up  # noqa: PLC0415 - imports numba

    keys = np.empty((len(vectors), 2), np.uint64)
    add_up(np.ascontiguousarray(vectors), numbers_of_columns(vectors.shape[1]), keys)
    return keys

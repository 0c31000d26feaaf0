"""Keys: what tells rows apart. Rows that a model sees alike are copies, and have the same key.

A key is a hash of all values of a row, in two halves of 64 bits. Each half is a sum over the columns of a value's bits
times a number that is the column's own, modulo 2^64. Sums of whole numbers are the same in any order, and a zero gives
nothing: so the same values have the same key in rows that are dense or sparse, in float32 or float64, wherever in the
pool they stand.

Two different rows could have the same key, but none will. With numbers of the columns that are drawn at random, a half
of theirs is the same with a chance of 2^(t-64), where t is the lowest bit in which values differ. Numbers like 1 and 2
differ only in high bits; hence these are folded onto low ones, other ones in each half. That leaves about one chance in
2^100, and one in 2^77 for rows that differ in nothing but signs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from minmargin.data.rows import Matrix
from minmargin.hashes import hash_rows

#: (n, 2): the two halves of each row's key.
Keys: TypeAlias = NDArray[np.uint64]

_FIRST, _SECOND = (
    np.uint64(0x243F6A8885A308D3),
    np.uint64(0x13198A2E03707344),
)  # digits of pi: nobody's choice
#: How far the bits of a value are folded, in each half.
FOLDS = np.uint64(32), np.uint64(43)
_TILE = 1 << 14  # values that are handled at a time, so that all steps find them in the cache: 128 KB


def keys_of_numbers(vectors: Matrix) -> Keys:
    """Return the keys of (n, D) numbers; -0.0 is 0.0, and a NaN is like any other."""
    n_rows, width = vectors.shape
    n_values = vectors.nnz if isinstance(vectors, sparse.csr_array) else n_rows * width
    step = max(_TILE * n_rows // max(n_values, 1), 1)
    columns = numbers_of_columns(width)
    keys = np.empty((n_rows, 2), np.uint64)
    for start in range(0, n_rows, step):
        tile = slice(start, start + step)
        if isinstance(vectors, sparse.csr_array):
            _add_up_sparse(vectors, vectors.indptr[start : start + step + 1], columns, keys[tile])
        else:
            for half, bits in enumerate(_folded(vectors[tile])):
                np.einsum("ij,j->i", bits, columns[half], out=keys[tile, half])
    return keys


def _add_up_sparse(
    vectors: sparse.csr_array, ends: NDArray[Any], columns: NDArray[np.uint64], keys: Keys
) -> None:
    some = slice(ends[0], ends[-1])
    for half, bits in enumerate(_folded(vectors.data[some])):
        # The sum of a row is the difference of two running sums, modulo 2^64 as all of it.
        running = np.zeros(len(bits) + 1, np.uint64)
        np.cumsum(bits * columns[half, vectors.indices[some]], out=running[1:])
        at_ends = running[ends - ends[0]]
        keys[:, half] = at_ends[1:] - at_ends[:-1]


@lru_cache(maxsize=4)
def numbers_of_columns(width: int) -> NDArray[np.uint64]:
    """Return (2, D) odd numbers, so that no bit of a value is lost."""
    columns = np.arange(width, dtype=np.int64)
    return np.stack([hash_rows(seed, columns) | np.uint64(1) for seed in (_FIRST, _SECOND)])


def _folded(values: NDArray[Any]) -> Iterator[NDArray[np.uint64]]:
    """Yield the bits of numbers as float64, for each half; the same for numbers that are equal."""
    same = values.astype(np.float64, order="C")
    same += 0.0  # which makes 0.0 of -0.0
    with np.errstate(over="ignore", invalid="ignore"):
        finite = np.isfinite(values.sum())
    if not finite:
        same[np.isnan(same)] = np.nan  # there are many
    bits = same.view(np.uint64)
    for fold in FOLDS:
        folded = bits >> fold
        folded ^= bits
        yield folded


def keys_of_values(X: Any) -> Keys:
    """Return the keys of rows that are not numbers: of a data frame, or of an array of texts or other values."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    rows = frame.iter_rows() if isinstance(frame, nw.DataFrame) else iter(np.asarray(X, dtype=object))
    digests = [hashlib.blake2b(repr(_plain(row)).encode(), digest_size=16).digest() for row in rows]
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64).reshape(-1, 2)


def _plain(value: Any) -> Any:
    """Return a value in a form that is written out whole, the same for values that are equal."""
    if isinstance(value, np.ndarray | list | tuple):
        return tuple(map(_plain, value))
    if isinstance(value, np.generic):
        value = value.item()
    return value + 0.0 if isinstance(value, float) else value


def are_copies(keys: Keys, *order: NDArray[Any]) -> NDArray[np.bool_]:
    """Return (n,) whether a row of the same key comes before it, by `order`: what counts most comes last.

    >>> same, other = (1, 2), (3, 4)
    >>> are_copies(np.array([same, other, same], np.uint64), np.array([0.5, 0.1, 0.2])).tolist()
    [True, False, False]
    """
    copies = np.zeros(len(keys), dtype=bool)
    ordered = np.sort(keys[:, 0])
    if not (ordered[1:] == ordered[:-1]).any():  # which is nearly always so, and found out soon
        return copies
    in_line = np.lexsort((*order, keys[:, 1], keys[:, 0]))
    ordered = keys[in_line]
    copies[in_line[1:]] = (ordered[1:] == ordered[:-1]).all(axis=1)
    return copies


def count_copies(keys: Keys) -> int:
    """Return how many rows would have to go so that all are distinct."""
    return int(np.count_nonzero(are_copies(keys)))


def are_among(keys: Keys, others: Keys) -> NDArray[np.bool_]:
    """Return (n,) whether a row has the key of one of the others."""
    whole = np.dtype([("first", np.uint64), ("second", np.uint64)])  # both halves as one value
    ours, theirs = (np.ascontiguousarray(each).view(whole)[:, 0] for each in (keys, others))
    return np.isin(ours, theirs)

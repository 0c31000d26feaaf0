"""Rows made on the fly: row r is a hash of r, so a pool of any length needs the memory of one chunk."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numba import njit

CHUNK_SIZE = 65_536


def chunks(n_rows: int, n_features: int, chunk_size: int = CHUNK_SIZE) -> Iterator[np.ndarray]:
    """Return rows 0..n_rows-1 in runs: float32, uniform in [-2, 2), the same for any chunk size."""
    assert n_features % 4 == 0, "one hash makes four features"
    for first in range(0, n_rows, chunk_size):
        rows = np.empty((min(chunk_size, n_rows - first), n_features), dtype=np.float32)
        _fill(np.uint64(first * n_features // 4), rows.reshape(-1))
        yield rows


def labeled_set(n_features: int, n_classes: int = 2, n_rows: int = 500) -> tuple[np.ndarray, np.ndarray]:
    """Return X and y: rows of the same kind, with noisy labels from a linear rule."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (n_rows, n_features)).astype(np.float32)
    noise = rng.gumbel(size=(n_rows, n_classes))
    return X, (X @ rng.normal(size=(n_features, n_classes)) + noise).argmax(axis=1)


@njit(nogil=True, cache=True)
def _fill(first, values):  # type: ignore[no-untyped-def]
    scale = np.float32(2.0**-14)
    for i in range(len(values) // 4):
        # The splitmix64 generator, by counter; each hash is cut into four 16-bit numbers.
        z = (first + np.uint64(i) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
        values[4 * i] = np.float32(np.int16(z)) * scale
        values[4 * i + 1] = np.float32(np.int16(z >> np.uint64(16))) * scale
        values[4 * i + 2] = np.float32(np.int16(z >> np.uint64(32))) * scale
        values[4 * i + 3] = np.float32(np.int16(z >> np.uint64(48))) * scale

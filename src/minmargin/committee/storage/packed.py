"""Parts of a committee as they are written: a description for the JSON file, and the contents of further files."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Packed(NamedTuple):
    """One part of a committee.

    Attributes:
        description: what the JSON file says of it.
        files: the contents of its own files, by name.
    """

    description: dict[str, Any]
    files: dict[str, bytes]


def pack_arrays(arrays: Mapping[str, NDArray[Any]]) -> dict[str, bytes]:
    """Return the content of a .npy file for each array."""
    return {f"{name}.npy": _npy(array) for name, array in arrays.items()}


def _npy(array: NDArray[Any]) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()

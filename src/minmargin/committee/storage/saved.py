"""A saved committee's files, read with their sizes and checksums checked before anything is made of them."""

from __future__ import annotations

import hashlib
import io
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from minmargin.committee.storage.damage import damaged
from minmargin.committee.storage.index import read_bounded, read_index
from minmargin.errors import InputError
from minmargin.fields import Fields


@dataclass(frozen=True)
class Saved:
    """A folder with a committee.

    Attributes:
        folder: where it is.
        content: what its JSON file says.
    """

    folder: Path
    content: Fields

    @classmethod
    def open(cls, folder: Path) -> Saved:
        """Return the committee in a folder; its other files are read when they are asked for."""
        if not folder.is_dir():
            raise InputError(f"There is no folder {str(folder)!r}. Give the one that committee.save wrote.")
        return cls(folder, read_index(folder))

    def size(self, name: str) -> int:
        """Return how many bytes a file had when it was saved. More are never read."""
        return self._recorded(name).size("bytes")

    def read(self, name: str) -> bytes:
        """Return the content of a file that is exactly what was saved."""
        path, recorded, size = self.folder / name, self._recorded(name), self.size(name)
        content = read_bounded(path, size)
        if len(content) != size:
            raise damaged(path, f"it has {len(content):,} bytes and {size:,} were saved")
        if hashlib.sha256(content).hexdigest() != recorded.get("sha256", str):
            raise damaged(path, "its content does not have the recorded checksum, so it was altered")
        return content

    def array(
        self, name: str, dtypes: Sequence[str], shape: Sequence[int | None] | None = None
    ) -> NDArray[Any]:
        """Return a saved array.

        Args:
            name: what it is called.
            dtypes: the types that it may have: numpy's letters of kinds and sizes, or of kinds alone.
            shape: the shape that it must have; None stands for any length.
        """
        path = self.folder / f"{name}.npy"
        array = parse_npy(self.read(path.name), path)
        if not {array.dtype.kind, f"{array.dtype.kind}{array.dtype.itemsize}"} & set(dtypes):
            raise damaged(path, f"it holds {array.dtype}, which is no type that it can have")
        fits = shape is None or (
            array.ndim == len(shape)
            and all(wanted in {None, found} for wanted, found in zip(shape, array.shape, strict=True))
        )
        if not fits:
            wanted = ", ".join("any" if each is None else str(each) for each in shape or ())
            raise damaged(path, f"it has shape {array.shape} and must have ({wanted})")
        return array

    def json(self, name: str) -> Fields:
        """Return a saved JSON object."""
        path, content = self.folder / name, self.read(name)
        try:
            values = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise damaged(path, "it is not JSON") from error
        return Fields(values, partial(damaged, path))

    def _recorded(self, name: str) -> Fields:
        files = self.content.inner("files")
        if name not in files.names:
            raise self.content.wrong(f"it does not list {name!r}")
        return files.inner(name)


def parse_npy(content: bytes, path: Path) -> NDArray[Any]:
    """Return the array of a .npy file that has as many bytes as its header promises. Objects are never unpickled."""
    file = io.BytesIO(content)
    try:
        version = npy.read_magic(file)
        read_header = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}[version]
        shape, _, dtype = read_header(file)
    except Exception as error:  # a header made to do harm lets numpy's parser raise nearly anything
        raise damaged(path, "it does not begin like a .npy file of numbers or texts") from error
    promised, there = math.prod(shape) * dtype.itemsize, len(content) - file.tell()
    plain = dtype.kind in "biufU" and dtype.itemsize > 0 and min(shape, default=0) >= 0
    if not plain or promised != there:
        raise damaged(path, f"its header promises {dtype} of shape {shape}, and {there:,} bytes follow")
    file.seek(0)
    try:
        array = npy.read_array(file, allow_pickle=False)
    except (ValueError, OverflowError) as error:
        raise damaged(path, "it is not a .npy file that can be read") from error
    # Texts of code points that do not exist would fail where they are shown.
    if dtype.kind == "U" and array.size and array.ravel("K").view(dtype.byteorder + "u4").max() > 0x10FFFF:
        raise damaged(path, "it holds texts that are none")
    native = array.dtype.newbyteorder("=")
    return np.asarray(array.astype(native, copy=False))

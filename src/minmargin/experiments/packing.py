"""Rows of an experiment as one small file a set, so that a machine without the sets can be handed all of them."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from minmargin.committee.storage.saved import parse_npy
from minmargin.errors import InputError
from minmargin.files import make_folder, write_whole

_LARGEST_ARRAY = 1 << 30


def pack(folder: Path, names: Iterable[str], arrays_of: Callable[[str], dict[str, Any]]) -> list[Path]:
    """Write the arrays of those that are not yet in a folder, and return the paths of all."""
    make_folder(folder)
    paths = []
    for name in names:
        path = _path(folder, name)
        if not path.exists():
            write_whole(path, partial(_write, arrays_of(name)))
        paths.append(path)
    return paths


def unpack(
    folder: Path,
    name: str,
    arrays: Sequence[str],
    *,
    check: Callable[..., None],
    called: str,
    command: str,
) -> list[NDArray[Any]]:
    """Return arrays that were packed into a folder.

    Args:
        folder: where they are.
        name: what they were packed as.
        arrays: what they are called.
        check: is given them, and raises a ValueError if they are not what they should be.
        called: what an error calls that which was packed, such as "Problem".
        command: what packs it.
    """
    path = _path(folder, name)
    if not path.is_file():
        raise InputError(
            f"{called} {name!r} is not packed: there is no file {str(path)!r}. Use {command} --pack first."
        )
    try:
        with zipfile.ZipFile(path) as archive:
            found = [_read(archive, each, path) for each in arrays]
        check(*found)
    except (
        OSError,
        EOFError,
        KeyError,
        ValueError,
        NotImplementedError,  # of zipfile, for a compression that it does not know
        zipfile.BadZipFile,
        zlib.error,
    ) as error:
        raise InputError(
            f"{str(path)!r} cannot be read ({error}). Delete it, then use {command} --pack."
        ) from error
    return found


def _write(arrays: dict[str, Any], file: IO[bytes]) -> None:
    np.savez_compressed(file, **arrays)


def _read(archive: zipfile.ZipFile, name: str, path: Path) -> NDArray[Any]:
    """Return an array, whose size is known before it is unpacked."""
    size = archive.getinfo(f"{name}.npy").file_size
    if size > _LARGEST_ARRAY:
        raise ValueError(f"{name} has {size:,} bytes, more than a problem has")
    return parse_npy(archive.read(f"{name}.npy"), path)


def _path(folder: Path, name: str) -> Path:
    return folder / f"{name}.npz"

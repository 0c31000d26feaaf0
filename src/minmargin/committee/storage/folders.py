"""Folders that appear whole or not at all."""

from __future__ import annotations

import ctypes
import os
import secrets
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from minmargin.errors import InputError
from minmargin.files import claimed, sync_folder, temporary_beside

_HERE, _EXCHANGE = -100, 2  # Linux: AT_FDCWD and RENAME_EXCHANGE


def write_folder(folder: Path, files: Mapping[str, bytes], check: Callable[[Path], None]) -> None:
    """Write a folder of files through a temporary one beside it.

    Readers find the old folder or the new one, never a part: the files are on disk before the name is.

    Args:
        folder: where it shall be; what is there is replaced.
        files: the contents of the files, by name.
        check: raises an error if the folder that is there must not be replaced.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{str(folder)!r} is a file. Give a folder.")
    if not folder.parent.is_dir():
        raise InputError(
            f"Folder {str(folder.parent)!r} does not exist, so {folder.name!r} cannot be written there."
        )
    try:
        if folder.exists():
            check(folder)
        with temporary_beside(folder, _make_folder) as temporary:
            try:
                for name, content in files.items():
                    _write_file(temporary / name, content)
                sync_folder(temporary)
                _put_in_place(temporary, folder)
                sync_folder(folder.parent)
            finally:
                # What could not be finished, or what was replaced; nothing, if the folder is a new one.
                shutil.rmtree(temporary, ignore_errors=True)
    except OSError as error:
        raise InputError(f"{str(folder)!r} cannot be written: {error.strerror}.") from error


def _make_folder(path: Path) -> Path:
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    temporary.mkdir()
    return temporary


def _write_file(path: Path, content: bytes) -> None:
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _put_in_place(temporary: Path, folder: Path) -> None:
    """Give the temporary folder its final name; afterwards the old folder, if there was one, has the temporary one."""
    if not folder.exists():
        temporary.rename(folder)
    elif not _exchange(temporary, folder):
        aside = temporary.with_suffix(".old")
        with claimed(folder):  # under the other name, too
            folder.rename(aside)
            try:
                temporary.rename(folder)
            except BaseException:
                aside.rename(folder)
                raise
            aside.rename(temporary)


def _exchange(one: Path, other: Path) -> bool:
    """Return whether two folders have changed names in one step, which only Linux, and not every disk, can do."""
    if sys.platform != "linux":
        return False
    rename = getattr(ctypes.CDLL(None), "renameat2", None)
    return rename is not None and rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0

"""The calls that SQLite makes to the system, as points.

SQLite lets a program replace them, one by one, by name. Where its library cannot be reached, each statement is a point.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from faults.points import Points, path_of

_POINTER = ctypes.c_void_p
_kept: list[Any] = []  # what C calls must stay alive


class _FileSystem(ctypes.Structure):
    """The beginning of sqlite3_vfs, as of version 3 of that structure."""


_FileSystem._fields_ = [
    ("version", ctypes.c_int),
    ("file_size", ctypes.c_int),
    ("longest_path", ctypes.c_int),
    ("next", _POINTER),
    ("name", ctypes.c_char_p),
    ("data", _POINTER),
    *((name, _POINTER) for name in ("open", "delete", "access", "full_path")),
    *((name, _POINTER) for name in ("dl_open", "dl_error", "dl_sym", "dl_close")),
    *((name, _POINTER) for name in ("randomness", "sleep", "current_time", "last_error", "current_time_64")),
    ("set_call", ctypes.CFUNCTYPE(ctypes.c_int, _POINTER, ctypes.c_char_p, _POINTER)),
    ("get_call", ctypes.CFUNCTYPE(_POINTER, _POINTER, ctypes.c_char_p)),
]


def install(points: Points) -> None:
    """Make points of what SQLite does in this process from now on."""
    system = _file_system()
    if system is None:
        _install_statements(points)
        return
    for name, kind, make in (
        ("open", _OPEN, _make_open),
        ("unlink", _UNLINK, _make_unlink),
        ("ftruncate", _TRUNCATE, _make_truncate),
        ("write", _WRITE, _make_write),
        ("pwrite", _WRITE_AT, _make_write_at),
        ("pwrite64", _WRITE_AT, _make_write_at),
    ):
        address = system.contents.get_call(system, name.encode())
        if address is None:
            continue
        replaced = kind(_guarded(make(points, kind(address))))
        _kept.append(replaced)
        system.contents.set_call(system, name.encode(), ctypes.cast(replaced, _POINTER))


def _file_system() -> Any:
    """Return SQLite's file system; None where its library hides its names."""
    import _sqlite3  # noqa: PLC0415 - the module that has the library

    try:
        library = ctypes.CDLL(_sqlite3.__file__)
        find = library.sqlite3_vfs_find
    except (AttributeError, OSError):
        return None
    find.restype = ctypes.POINTER(_FileSystem)
    found = find(None)
    return found if found and found.contents.version >= 3 else None


def _install_statements(points: Points) -> None:
    connect = sqlite3.connect

    def watched(address: str, *arguments: Any, **options: Any) -> sqlite3.Connection:
        db = connect(address, *arguments, **options)
        path = address.removeprefix("file://").partition("?")[0]
        db.set_trace_callback(lambda _: points.reach("statement", path, lambda: None))
        return db

    sqlite3.connect = watched  # type: ignore[assignment]


_OPEN = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_int, use_errno=True)
_UNLINK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, use_errno=True)
_TRUNCATE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int64, use_errno=True)
_WRITE = ctypes.CFUNCTYPE(ctypes.c_ssize_t, ctypes.c_int, _POINTER, ctypes.c_size_t, use_errno=True)
_WRITE_AT = ctypes.CFUNCTYPE(
    ctypes.c_ssize_t, ctypes.c_int, _POINTER, ctypes.c_size_t, ctypes.c_int64, use_errno=True
)


def _guarded(call: Callable[..., int]) -> Callable[..., int]:
    """Return a function for C: an error of the system becomes -1 and errno."""

    def guarded(*arguments: Any) -> int:
        try:
            return call(*arguments)
        except OSError as error:
            ctypes.set_errno(error.errno or errno.EIO)
            return -1

    return guarded


def _make_open(points: Points, call: Any) -> Callable[..., int]:
    def opened(path: bytes, flags: int, mode: int) -> int:
        if not flags & os.O_CREAT or Path(os.fsdecode(path)).exists():
            return call(path, flags, mode)
        return points.reach("create", os.fsdecode(path), lambda: call(path, flags, mode))

    return opened


def _make_unlink(points: Points, call: Any) -> Callable[..., int]:
    return lambda path: points.reach("unlink", os.fsdecode(path), lambda: call(path))


def _make_truncate(points: Points, call: Any) -> Callable[..., int]:
    return lambda file, size: points.reach("truncate", path_of(file), lambda: call(file, size))


def _make_write(points: Points, call: Any) -> Callable[..., int]:
    def written(file: int, data: int, size: int) -> int:
        return points.reach(
            "write",
            path_of(file),
            lambda: call(file, data, size),
            begin=lambda part: call(file, data, int(size * part)),
        )

    return written


def _make_write_at(points: Points, call: Any) -> Callable[..., int]:
    def written(file: int, data: int, size: int, place: int) -> int:
        return points.reach(
            "write",
            path_of(file),
            lambda: call(file, data, size, place),
            begin=lambda part: call(file, data, int(size * part), place),
        )

    return written

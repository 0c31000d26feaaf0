"""Points of a process where a fault can strike: every call that changes what is below a folder.

Python's calls are wrapped, and so are those that SQLite makes by itself. The first run of a command counts its points;
later ones are struck at one of them. A process that is struck has files as any crash would leave them.
"""

from __future__ import annotations

import builtins
import errno
import functools
import io
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from minmargin.committee.storage import folders

Kind: TypeAlias = Literal["none", "after", "inside", "full"]

# Calls that take space, which a full disk refuses. A disk that allocates late says so at fsync.
_TAKE_SPACE = {"create", "write", "mkdir", "fsync"}


class Fate(NamedTuple):
    """What happens to a process.

    Attributes:
        kind: "after": it is killed when the call at the point has returned; "inside": before, or with only a part of
            the bytes written; "full": from the point on, the disk has no space.
        at: the number of the point, from 1.
        part: of the bytes that are written before it is killed inside.
    """

    kind: Kind = "none"
    at: int = 0
    part: float = 0.5


class Points:
    """Counts the points that a process reaches, and strikes at one of them."""

    def __init__(self, folder: Path, fate: Fate) -> None:
        self.folder, self.fate = str(folder.resolve()), fate
        self.names: list[str] = []

    def install(self) -> None:
        """Watch this process from now on."""
        for name in ("replace", "rename", "unlink", "remove", "rmdir", "mkdir", "chmod"):
            self._wrap_path(name)
        self._wrap_descriptors()
        opened = functools.partial(_open, self)
        builtins.open = io.open = opened  # type: ignore[assignment]
        exchange = folders._exchange
        folders._exchange = lambda one, other: self.reach("rename", str(one), lambda: exchange(one, other))

    def holds(self, path: str) -> bool:
        """Return whether a path is the folder or below it."""
        return f"{os.path.abspath(path)}/".startswith(f"{self.folder}/")  # noqa: PTH100 - links are not followed

    def reach(self, name: str, path: str, call: Callable[[], Any], *, begin: Any = None) -> Any:
        """Return call(), unless the fate is otherwise; `begin` does a part of it."""
        if not self.holds(path):
            return call()
        self.names.append(f"{name} {os.path.relpath(path, self.folder)}")
        kind, at, part = self.fate
        if kind == "full" and len(self.names) >= at and name in _TAKE_SPACE:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
        if kind == "inside" and len(self.names) == at:
            if begin is not None:
                begin(part)
            _die()
        try:
            return call()
        finally:
            if kind == "after" and len(self.names) == at:
                _die()

    def _wrap_path(self, name: str) -> None:
        call = getattr(os, name)

        @functools.wraps(call)
        def watched(path: Any, *arguments: Any, **options: Any) -> Any:
            folder = options.get("dir_fd")
            where = os.fsdecode(path) if folder is None else f"{path_of(folder)}/{os.fsdecode(path)}"
            return self.reach(name, where, lambda: call(path, *arguments, **options))

        setattr(os, name, watched)

    def _wrap_descriptors(self) -> None:
        fsync, write, open_file = os.fsync, os.write, os.open

        def watched_fsync(descriptor: int) -> None:
            self.reach("fsync", path_of(descriptor), lambda: fsync(descriptor))

        def watched_write(descriptor: int, data: Any) -> int:
            return self.write(path_of(descriptor), data, lambda some: write(descriptor, some))

        def watched_open(path: Any, flags: int, *arguments: Any, **options: Any) -> int:
            if not flags & os.O_CREAT:
                return open_file(path, flags, *arguments, **options)
            return self.reach(
                "create", os.fsdecode(path), lambda: open_file(path, flags, *arguments, **options)
            )

        os.fsync, os.write, os.open = watched_fsync, watched_write, watched_open  # type: ignore[assignment]

    def write(self, path: str, data: Any, write: Callable[[Any], int]) -> int:
        """Return write(data), or less."""
        content = memoryview(data).cast("B")

        def begin(part: float) -> None:
            if some := int(len(content) * part):
                write(content[:some])

        return self.reach("write", path, lambda: write(data), begin=begin)


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def path_of(descriptor: int) -> str:
    """Return what a descriptor was opened as."""
    return str(Path(f"/proc/self/fd/{descriptor}").readlink())


class _RawFile(io.FileIO):
    """A file whose writes are points."""

    points: Points

    def write(self, data: Any) -> int:
        return self.points.write(path_of(self.fileno()), data, super().write)


_open_as_ever = io.open


def _open(
    points: Points,
    file: Any,
    mode: str = "r",
    buffering: int = -1,
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
    closefd: bool = True,
    opener: Any = None,
) -> Any:
    """Return what open() returns, with points where it writes."""
    path = path_of(file) if isinstance(file, int) else os.fsdecode(file)
    if not set(mode) & set("wax+") or not points.holds(path):
        return _open_as_ever(file, mode, buffering, encoding, errors, newline, closefd, opener)

    def make() -> _RawFile:
        raw = _RawFile(file, mode.replace("b", "").replace("t", ""), closefd=closefd, opener=opener)
        raw.points = points
        return raw

    raw = make() if isinstance(file, int) else points.reach("create", path, make)
    if buffering == 0:
        return raw
    buffer = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
    return buffer if "b" in mode else io.TextIOWrapper(buffer, encoding, errors, newline)

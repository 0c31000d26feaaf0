"""Files that appear whole or not at all, and folders that one process at a time works in."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from minmargin.errors import InputError

LOCK = "lock"


def check_writable(path: str | Path) -> None:
    """Raise an error if a file cannot be written there, for those who have long work to do before they write it."""
    path = _behind_links(Path(path))
    if not path.parent.is_dir():
        raise InputError(f"Folder {str(path.parent)!r} does not exist. Make it, or write elsewhere.")
    if path.is_dir():
        raise InputError(f"{str(path)!r} is a folder. Name a file in it.")
    try:
        tempfile.TemporaryFile(dir=path.parent).close()
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be written: {error.strerror}.") from error


def write_whole(path: str | Path, write: Callable[[IO[bytes]], None]) -> Path:
    """Write a file through a temporary one beside it, and return its path.

    Readers see the old file or the new one, never a part: the bytes are on disk before the name is. A link stays one:
    the file that it leads to is written.
    """
    given, path = Path(path), _behind_links(Path(path))
    if not path.parent.is_dir():
        raise InputError(
            f"Folder {str(path.parent)!r} does not exist, so {path.name!r} cannot be written there."
        )
    try:
        with temporary_beside(path, _make_file) as temporary:
            try:
                with temporary.open("wb") as file:
                    write(file)
                    file.flush()
                    os.fsync(file.fileno())
                # A temporary file is private; the final one is as open as the user's other files.
                temporary.chmod(0o666 & ~_umask())
                temporary.replace(path)
            except BaseException:
                with suppress(OSError):
                    temporary.unlink(missing_ok=True)
                raise
        sync_folder(path.parent)
    except OSError as error:  # a full disk, a quota, a limit on the size of files
        raise InputError(f"{str(path)!r} cannot be written: {_reason(error)}.") from error
    return given


def _make_file(path: Path) -> Path:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    os.close(handle)
    return Path(name)


@contextmanager
def temporary_beside(path: Path, make: Callable[[Path], Path]) -> Iterator[Path]:
    """Give a temporary file or folder for a path, and remove those that processes which were killed have left.

    `make` makes it and returns where it is: .NAME.XXXXXXXX.tmp beside the path. As long as this process has it, it is
    locked, so that nobody takes it for one that was left.
    """
    with suppress(OSError):  # a folder that may be written to and not listed
        _remove_left(path)
    while True:
        temporary = make(path)
        with claimed(temporary):
            if temporary.exists():
                yield temporary
                return
        # Somebody took it for one that was left, in the moment before it was locked.


@contextmanager
def claimed(path: Path) -> Iterator[None]:
    """Lock a file or folder, whatever it is called meanwhile, where the file system has locks."""
    try:
        import fcntl  # noqa: PLC0415 - not on Windows
    except ImportError:
        yield
        return
    with ExitStack() as stack:
        with suppress(OSError):
            descriptor = os.open(path, os.O_RDONLY)
            stack.callback(os.close, descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield


def _remove_left(path: Path) -> None:
    """Remove temporary files and folders for a path that no process has any more."""
    try:
        import fcntl  # noqa: PLC0415 - not on Windows
    except ImportError:  # nobody can tell which are in use
        return
    ours = re.compile(rf"\.{re.escape(path.name)}\.[a-z0-9_]{{8}}\.(tmp|old)")
    for left in [each for each in path.parent.iterdir() if ours.fullmatch(each.name)]:
        with suppress(OSError), ExitStack() as stack:  # it is in use, or gone
            descriptor = os.open(left, os.O_RDONLY)
            stack.callback(os.close, descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if left.is_dir():
                shutil.rmtree(left)
            else:
                left.unlink()


def make_folder(path: Path) -> None:
    """Make a folder, and those that it is in, unless it is there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"Folder {str(path)!r} cannot be made: {error.strerror}.") from error


def _behind_links(path: Path) -> Path:
    """Return where a path leads if it is a link, and else the path itself."""
    try:
        return path.resolve() if path.is_symlink() else path
    except (OSError, RuntimeError) as error:  # as Python calls a loop until 3.13
        raise InputError(f"{str(path)!r} is a link that leads round in a circle. Remove it.") from error


def write_text(path: str | Path, text: str) -> Path:
    """Write a text in UTF-8, whole or not at all, and return the path."""

    def write(file: IO[bytes]) -> None:
        file.write(text.encode())

    return write_whole(path, write)


def write_json(path: str | Path, content: Any) -> Path:
    """Write a JSON file, whole or not at all, and return its path."""

    def write(file: IO[bytes]) -> None:
        file.write(json.dumps(content, indent=2).encode() + b"\n")

    return write_whole(path, write)


def _reason(error: OSError) -> str:
    """Return why, in the system's words; Arrow puts its own around them."""
    return error.strerror or (os.strerror(error.errno) if error.errno else str(error).rstrip("."))


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def sync_folder(folder: Path) -> None:
    """Have the names in a folder written to disk."""
    if os.name == "nt":  # Windows cannot open a folder
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class LockError(InputError):
    """A folder could not be locked: somebody else has it, or it cannot be written to."""


@contextmanager
def locked_folder(folder: Path, what: str) -> Iterator[None]:
    """Keep other processes out of a folder, which is made if need be; `what` names it in errors.

    The lock goes with the process that has it, however that ends.
    """
    try:
        import fcntl  # noqa: PLC0415 - not on Windows
    except ImportError:
        raise LockError(
            f"{what} {str(folder)!r} cannot be locked: this system has no fcntl, which keeps other processes out. "
            "Use Linux or macOS; on Windows, WSL."
        ) from None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / LOCK).open("a+")
    except OSError as error:
        raise LockError(
            f"{what} {str(folder)!r} cannot be used: {error.strerror}. Use a folder that you may write to."
        ) from error
    with file as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            raise LockError(
                f"{what} {str(folder)!r} is in use by {lock.read().strip() or 'another process'}. "
                "Wait for it, or use another folder."
            ) from None
        with suppress(OSError):  # on a full disk the lock holds, it only does not tell whose it is
            lock.seek(0)
            lock.truncate()
            os.write(lock.fileno(), f"process {os.getpid()} on {socket.gethostname()}\n".encode())
        yield

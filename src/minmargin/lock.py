"""Locks: one process at a time in a folder."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from minmargin.errors import InputError

LOCK = "lock"


class LockError(InputError):
    """A folder could not be locked: somebody else has it, or it cannot be written to."""


@contextmanager
def locked_folder(folder: Path, what: str) -> Iterator[None]:
    """Keep other processes out of a folder, which is made if need be; `what` names it in errors.

    The lock goes with the process that has it, however that ends.
    """
    import fcntl  # noqa: PLC0415 - not on Windows

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

"""A SQLite file: opening it, changing all of it or nothing, and telling one state of it from another."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_SECONDS_TO_WAIT = 30.0  # for another process that reads or writes the file


def open_database(path: Path, mode: str) -> sqlite3.Connection:
    """Return a connection to a file, which the mode "rwc" makes if there is none."""
    address = f"{path.absolute().as_uri()}?mode={mode}"
    db = sqlite3.connect(address, uri=True, timeout=_SECONDS_TO_WAIT, isolation_level=None)
    try:
        db.execute("PRAGMA foreign_keys = ON")
        db.execute("PRAGMA trusted_schema = OFF")
    except BaseException:
        db.close()
        raise
    return db


def stamp_of(path: Path) -> tuple[int, ...]:
    """Return what changes with a file; nothing if there is none, which SQLite says in its own words."""
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """Make all changes or none."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:  # on a full disk SQLite has ended it already
            db.execute("ROLLBACK")
        raise

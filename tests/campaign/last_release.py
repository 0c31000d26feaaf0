"""Campaigns as the last release wrote them: without any checksum but those of batches."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path


def without_seal(folder: Path | str) -> None:
    """Make the journal of a campaign one of format 1."""
    with closing(sqlite3.connect(Path(folder) / "journal.sqlite", isolation_level=None)) as db:
        for table in ("files", "settings", "seal"):
            db.execute(f"DROP TABLE {table}")
        db.execute("PRAGMA user_version = 1")

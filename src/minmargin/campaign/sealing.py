"""The seal of a journal: a checksum of all that it says, written with every change and checked before it is read.

A journal is a database, which SQLite changes in place and does not check for flipped bits. So the checksum is of its
tables and their rows, not of its bytes. With it go the checksums of the files that a campaign begins with, and the
settings that it knows. Whoever can write the file can write a seal, too: what a journal says is therefore looked at
besides, as far as others rely on it.

Format 1, of earlier versions, has no seal. Such a journal is looked at in the same way, and with the next change it
becomes one of format 2: its seal then covers it and the files as they are at that time.
"""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from minmargin.campaign.schema import ADDED, SEALED, TABLES
from minmargin.campaign.settings import SETTINGS, check_setting
from minmargin.fields import parse_json

#: Without a seal, and with one.
UNSEALED, FORMAT = 1, 2
#: The files that a campaign begins with, which never change.
OWN_FILES = ("initial.parquet", "held-out.parquet")

_TYPES = {"INTEGER": int, "TEXT": str}
_SHA256 = re.compile(r"[0-9a-f]{64}")


class _Column(NamedTuple):
    """A column of a table, as SQLite describes it."""

    name: str
    kind: type
    may_be_null: bool


def begin_seal(db: sqlite3.Connection, folder: Path, settings: Mapping[str, Any]) -> None:
    """Give a journal the tables of a seal: with the checksums of its folder's files, and the settings."""
    for statement in SEALED:
        db.execute(statement)
    known = {name: checksum(folder / name) for name in OWN_FILES if (folder / name).is_file()}
    db.executemany("INSERT INTO files VALUES (?, ?)", known.items())
    put_settings(db, settings)
    db.execute(f"PRAGMA user_version = {FORMAT}")


def put_settings(db: sqlite3.Connection, settings: Mapping[str, Any]) -> None:
    """Write down what settings are by now."""
    rows = [(name, json.dumps(value)) for name, value in settings.items()]
    db.executemany("INSERT OR REPLACE INTO settings VALUES (?, ?)", rows)


def write_seal(db: sqlite3.Connection) -> None:
    """Write the checksum of all that a journal says by now."""
    db.execute("DELETE FROM seal")
    db.execute("INSERT INTO seal VALUES (?)", (_digest(db, []),))


def check_journal(db: sqlite3.Connection) -> None:
    """Raise a ValueError or one of SQLite's own errors unless a journal says what we could have written."""
    version = version_of(db)
    tables = _check_tables(db, version)
    ((found,),) = db.execute("PRAGMA integrity_check(1)").fetchall()
    if found != "ok":
        raise ValueError(str(found).splitlines()[-1])
    if db.execute("PRAGMA foreign_key_check").fetchone() is not None:
        raise ValueError("a row of one table names a row of another that is not there")
    wrong: list[str] = []
    digest = _digest(db, wrong, tables)
    if version == FORMAT and db.execute("SELECT sha256 FROM seal").fetchall() != [(digest,)]:
        raise ValueError("it was changed since minmargin wrote it")
    if wrong:
        raise ValueError(wrong[0])
    _check_sense(db, tables)


def version_of(db: sqlite3.Connection) -> int:
    """Return the format of a journal."""
    ((version,),) = db.execute("PRAGMA user_version").fetchall()
    return int(version)


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@cache
def _known_tables() -> dict[str, tuple[_Column, ...]]:
    """Return the tables that there may be, as SQLite itself describes them."""
    with closing(sqlite3.connect(":memory:")) as db:
        for statement in (*TABLES, *ADDED, *SEALED):
            db.execute(statement)
        names = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: _columns_of(db, name) for name in names}


def _required(version: int) -> Iterable[str]:
    statements = (*TABLES, *SEALED) if version == FORMAT else TABLES
    found = (re.match(r"CREATE TABLE (\w+)", statement) for statement in statements)
    return [match[1] for match in found if match is not None]


def _columns_of(db: sqlite3.Connection, table: str) -> tuple[_Column, ...]:
    described = db.execute('SELECT name, type, "notnull", pk FROM pragma_table_info(?)', (table,)).fetchall()
    return tuple(
        _Column(name, _TYPES.get(kind, bytes), not (not_null or pk)) for name, kind, not_null, pk in described
    )


def _check_tables(db: sqlite3.Connection, version: int) -> list[str]:
    """Return the names of a journal's tables, or say what no journal has."""
    known = _known_tables()
    found = db.execute("SELECT type, name FROM sqlite_master ORDER BY name").fetchall()
    tables = [name for kind, name in found if kind == "table"]
    odd = [
        name
        for kind, name in found
        if kind not in {"table", "index"} or (kind == "table" and name not in known)
    ]
    if odd:
        raise ValueError(f"it has {odd[0]!r}, which no journal has")
    missing = [name for name in _required(version) if name not in tables]
    if missing:
        raise ValueError(f"it lacks the table {missing[0]!r}")
    for name in tables:
        if _columns_of(db, name) != known[name]:
            raise ValueError(f"its table {name!r} has other columns")
    return tables


def _digest(db: sqlite3.Connection, wrong: list[str], tables: Iterable[str] | None = None) -> str:
    """Return a checksum of all tables but the seal's; what has the wrong type is added to `wrong`."""
    digest = hashlib.sha256()
    schema = db.execute("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name").fetchall()
    digest.update(repr(schema).encode())
    known = _known_tables()
    for name in tables or [each for kind, each, *_ in schema if kind == "table"]:
        if name == "seal":
            continue
        digest.update(name.encode())
        columns = known[name]
        for row in db.execute(f"SELECT * FROM {name} ORDER BY rowid"):  # noqa: S608 - a name of ours
            digest.update(repr(row).encode(errors="surrogatepass"))
            for column, value in zip(columns, row, strict=True):
                if not (type(value) is column.kind or (value is None and column.may_be_null)):
                    wrong.append(f"its table {name!r} has {str(value)[:40]!r} as {column.name}")
    return digest.hexdigest()


def _check_sense(db: sqlite3.Connection, tables: Iterable[str]) -> None:
    """Raise a ValueError if a journal says what cannot be, although its types are right."""
    rounds = db.execute("SELECT round, file, sha256, addition FROM rounds ORDER BY round").fetchall()
    additions = [number for (number,) in db.execute("SELECT addition FROM additions ORDER BY addition")]
    if additions != list(range(1, len(additions) + 1)):
        raise ValueError("its additions are not numbered from 1 on")
    for place, (number, file, sha256, addition) in enumerate(rounds, start=1):
        if number != place or file != batch_name(number):
            raise ValueError(f"round {place} is not the one of that number, in a file of its own")
        if _SHA256.fullmatch(sha256) is None or not 0 <= addition <= len(additions):
            raise ValueError(f"round {place} has no checksum, or knew labels that were never added")
    for what, query in _IMPOSSIBLE.items():
        if db.execute(query).fetchone() is not None:
            raise ValueError(what)
    _check_told(db, tables, len(rounds))


def _check_told(db: sqlite3.Connection, tables: Iterable[str], n_rounds: int) -> None:
    """Raise a ValueError unless all JSON in a journal is what others look for there."""
    if "probabilities" in tables:
        for (text,) in db.execute("SELECT settings FROM probabilities"):
            _check_evidence(text)
    if "stop_sets" in tables:
        for (text,) in db.execute("SELECT predicted FROM stop_sets"):
            _check_stop_set(text)
    if "settings" in tables:
        for name, value in db.execute("SELECT name, value FROM settings"):
            _check_setting(name, value)
    if "changes" in tables:
        for number, name, *values in db.execute("SELECT round, name, before, after FROM changes"):
            if not 0 <= number <= n_rounds:
                raise ValueError(f"{name} was changed after round {number}, which there is not")
            for value in values:
                _check_setting(name, value)


def batch_name(number: int) -> str:
    """Return the name of the file of a round's batch."""
    return f"round-{number:03d}.parquet"


def _check_setting(name: str, value: str) -> None:
    if name not in SETTINGS:
        raise ValueError(f"it tells of a setting {name[:40]!r}, which there is not")
    check_setting(name, parse_json(value))


def _check_evidence(text: str) -> None:
    """Raise a ValueError unless a text is what `given` writes of the probabilities that a round was picked by."""
    used = parse_json(text)
    columns, told = (used.get("columns"), used.get("told", {})) if isinstance(used, dict) else ((), None)
    if not (columns is None or _is_in_words(columns)) or not isinstance(told, dict):
        raise ValueError("it does not tell the columns of given probabilities")
    if not all(map(_is_in_words, told.values())):
        raise ValueError("it tells of given probabilities something else than texts")


def _check_stop_set(text: str) -> None:
    """Raise a ValueError unless a text is what the journal writes of the rows that models are compared on."""
    predicted = parse_json(text)
    if not isinstance(predicted, dict) or not all(
        isinstance(ids, list) and all(isinstance(each, str) for each in ids) for ids in predicted.values()
    ):
        raise ValueError("it does not tell what the rows of a stop set were taken for")


def _is_in_words(value: Any) -> bool:
    return isinstance(value, str) or (
        isinstance(value, list) and bool(value) and all(map(_is_in_words, value))
    )


_IMPOSSIBLE = {
    "the picks of a round are not ranked from 1 on": (
        "SELECT 1 FROM rounds LEFT JOIN picks USING (round) GROUP BY rounds.round "
        "HAVING min(rank) IS NOT 1 OR max(rank) IS NOT count(*)"
    ),
    "a pick was withdrawn before it was made": "SELECT 1 FROM picks WHERE withdrawn <= round",
    "a label was added before its round knew of it": (
        "SELECT 1 FROM labels JOIN rounds USING (round) WHERE labels.addition <= rounds.addition"
    ),
    "a measurement counts what cannot be": (
        "SELECT 1 FROM measurements WHERE correct < 0 OR labels < 0 OR addition < 0 "
        "OR addition > (SELECT count(*) FROM additions)"
    ),
}

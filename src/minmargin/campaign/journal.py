"""The journal: rounds, picks, labels and measurements of a campaign, in one SQLite file.

Every change is one transaction, so that a process that is killed leaves the state before it or the one after it. SQLite
keeps its ordinary rollback journal and not a write-ahead log: changes are few, the campaign is one file that can be
copied, and it may lie on a network file system.

Nothing is overwritten. Each call that adds labels is an addition with a number of its own, and a label that was
corrected stands beside the one before it, so that what was known in any round can be told later.

Before anything is read, all of it is checked, once for every state of the file: see `sealing`.
"""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from minmargin.campaign.database import open_database, stamp_of, transaction
from minmargin.campaign.schema import (
    AUDITS,
    BY_CLASS,
    CHANGES,
    FORGET_UNMADE,
    PROBABILITIES,
    STOP_SETS,
    TABLES,
)
from minmargin.campaign.sealing import (
    FORMAT,
    UNSEALED,
    begin_seal,
    check_journal,
    put_settings,
    version_of,
    write_seal,
)
from minmargin.campaign.settings import Settings
from minmargin.errors import InputError
from minmargin.files import check_writable


class Round(NamedTuple):
    """One selection: its batch file, and what it depended on."""

    number: int
    file: str
    sha256: str
    seed: int
    pool: str
    addition: int
    picked_at: str


class Evidence(NamedTuple):
    """What was given to pick a round by: its fingerprint, and how it was used, as JSON."""

    fingerprint: str
    settings: str


class Change(NamedTuple):
    """A setting that was changed after a round; its values are as in settings.json."""

    round: int
    name: str
    before: Any
    after: Any


class Label(NamedTuple):
    """The label of a row, and the round that offered it."""

    round: int
    label: str


class ClassTally(NamedTuple):
    """How many rows of a class were right, and how many were tried."""

    name: str
    correct: int
    tested: int

    @property
    def recall(self) -> float:
        """The part of the class's rows that were right."""
        return self.correct / self.tested


class Measurement(NamedTuple):
    """How often a model that was trained on the labels up to an addition was right.

    `classes` has every class of the rows that were tried; it is empty where an earlier version measured.
    """

    addition: int
    labels: int
    correct: int
    tested: int
    way: str
    classes: tuple[ClassTally, ...] = ()

    @property
    def accuracy(self) -> float | None:
        """The part of the rows that were right; None if none could be tried."""
        return self.correct / self.tested if self.tested else None

    @property
    def balanced_accuracy(self) -> float | None:
        """The mean recall of the classes, each counting the same; None if it is not known."""
        return sum(each.recall for each in self.classes) / len(self.classes) if self.classes else None

    @property
    def most_common(self) -> ClassTally | None:
        """The class that most of the rows have; None if it is not known."""
        return max(self.classes, key=lambda each: each.tested, default=None)


@dataclass(frozen=True)
class Journal:
    """The SQLite file of a campaign."""

    path: Path

    def begin(self, classes: Iterable[str], settings: Settings) -> None:
        """Write a new journal that knows these classes and settings, beside the files that a campaign begins with.

        What a beginning that was cut off has left is removed.
        """
        for left in (self.path, self.path.with_name(self.path.name + "-journal")):
            left.unlink(missing_ok=True)
        with self._connected(new=True) as db, transaction(db):
            for statement in TABLES:
                db.execute(statement)
            db.executemany("INSERT INTO classes (name) VALUES (?)", [(name,) for name in classes])
            begin_seal(db, self.path.parent, settings.plain())
            write_seal(db)

    def settings(self) -> dict[str, Any]:
        """Return the settings as they were when they were last written down; nothing for a journal without a seal."""
        if not self._has("settings"):
            return {}
        return {name: json.loads(value) for name, value in self._read("SELECT name, value FROM settings")}

    def checksum_of(self, name: str) -> str | None:
        """Return the checksum of a file that the campaign began with; None for a journal without a seal."""
        if not self._has("files"):
            return None
        found = self._read("SELECT sha256 FROM files WHERE name = ?", name)
        # A file that was not there in the beginning has no right checksum.
        return found[0][0] if found else ""

    def classes(self) -> list[str]:
        """Return the classes that are known so far."""
        return [name for (name,) in self._read("SELECT name FROM classes ORDER BY rowid")]

    def rounds(self) -> list[Round]:
        """Return the rounds, in order."""
        query = "SELECT round, file, sha256, seed, pool, addition, picked_at FROM rounds ORDER BY round"
        return [Round(*row) for row in self._read(query)]

    def evidence(self) -> dict[int, Evidence]:
        """Return what each round was picked by, where probabilities were given."""
        if not self._has("probabilities"):
            return {}
        rows = self._read("SELECT round, fingerprint, settings FROM probabilities ORDER BY round")
        return {number: Evidence(*row) for number, *row in rows}

    def audits(self) -> dict[int, dict[str, str]]:
        """Return for each round that drew rows by chance what its model took each of them for, by id."""
        if not self._has("audits"):
            return {}
        query = "SELECT round, id, predicted FROM audits JOIN picks USING (round, id) ORDER BY round, rank"
        audits: dict[int, dict[str, str]] = defaultdict(dict)
        for number, each, predicted in self._read(query):
            audits[number][each] = predicted
        return dict(audits)

    def stop_sets(self) -> dict[int, dict[str, str]]:
        """Return for each round that had a stop set what its model took each row of it for, by id."""
        if not self._has("stop_sets"):
            return {}
        rows = self._read("SELECT round, predicted FROM stop_sets ORDER BY round")
        return {
            number: {each: name for name, ids in json.loads(text).items() for each in ids}
            for number, text in rows
        }

    def changes(self) -> list[Change]:
        """Return the settings that were changed, in the order in which they were."""
        if not self._has("changes"):
            return []
        rows = self._read("SELECT round, name, before, after FROM changes ORDER BY change")
        return [
            Change(number, name, json.loads(before), json.loads(after))
            for number, name, before, after in rows
        ]

    def last_addition(self) -> int:
        """Return the number of the last addition; 0 if there are only the labels of the beginning."""
        ((last,),) = self._read("SELECT coalesce(max(addition), 0) FROM additions")
        return int(last)

    def picks(self, number: int) -> list[str]:
        """Return the ids that a round picked, best first."""
        return [each for (each,) in self._read("SELECT id FROM picks WHERE round = ? ORDER BY rank", number)]

    def offers(self) -> dict[str, int]:
        """Return for every id that was ever picked the last round that did."""
        return dict(self._read("SELECT id, max(round) FROM picks GROUP BY id"))

    def withdrawn(self) -> set[str]:
        """Return the ids that went back into the pool and were not picked again."""
        query = "SELECT id FROM picks GROUP BY id HAVING sum(withdrawn IS NULL) = 0"
        return {each for (each,) in self._read(query)}

    def counts(self) -> dict[int, tuple[int, int]]:
        """Return for each round how many rows it picked, and how many of them were withdrawn without a label."""
        query = """
            SELECT picks.round, count(*), sum(withdrawn IS NOT NULL AND labels.id IS NULL)
            FROM picks LEFT JOIN (SELECT DISTINCT round, id FROM labels) AS labels USING (round, id)
            GROUP BY picks.round"""
        return {number: (picked, withdrawn) for number, picked, withdrawn in self._read(query)}

    def labels(self, upto: int | None = None) -> dict[str, Label]:
        """Return the labels by id, as they are now or were after an addition."""
        # For max(), SQLite takes the other columns from the row that has the maximum.
        query = "SELECT id, round, label, max(addition) FROM labels WHERE addition <= ? GROUP BY id"
        last = self.last_addition() if upto is None else upto
        return {each: Label(number, label) for each, number, label, _ in self._read(query, last)}

    def measurements(self) -> dict[int, Measurement]:
        """Return the measurements, by the addition they follow."""
        classes: dict[int, list[ClassTally]] = defaultdict(list)
        if self._has("measured_classes"):
            query = "SELECT addition, class, correct, tested FROM measured_classes ORDER BY addition, class"
            for addition, *tally in self._read(query):
                classes[addition].append(ClassTally(*tally))
        query = "SELECT addition, labels, correct, tested, way FROM measurements ORDER BY addition"
        return {
            row[0]: Measurement(*row)._replace(classes=tuple(classes[row[0]])) for row in self._read(query)
        }

    def add_round(
        self,
        made: Round,
        ids: Sequence[str],
        *,
        withdraw: Iterable[str] = (),
        evidence: Evidence | None = None,
        audit: Mapping[str, str] | None = None,
        stop_set: Mapping[str, str] | None = None,
    ) -> None:
        """Write down a round and its picks, best first; earlier offers of the ids in `withdraw` end with it.

        `evidence` is what was given to pick it by; None if models were trained. `audit` has the ids that were drawn by
        chance, and what the model takes each for; `stop_set` the same of the rows that models are compared on.
        """
        with self._writing() as db:
            db.execute("INSERT INTO rounds VALUES (?, ?, ?, ?, ?, ?, ?)", made)
            if evidence is not None:
                db.execute(PROBABILITIES)
                db.execute("INSERT INTO probabilities VALUES (?, ?, ?)", (made.number, *evidence))
            db.executemany(
                "UPDATE picks SET withdrawn = ? WHERE id = ? AND withdrawn IS NULL",
                [(made.number, each) for each in withdraw],
            )
            db.executemany(
                "INSERT INTO picks (round, id, rank) VALUES (?, ?, ?)",
                [(made.number, each, rank) for rank, each in enumerate(ids, start=1)],
            )
            if audit:
                db.execute(AUDITS)
                rows = [(made.number, each, predicted) for each, predicted in audit.items()]
                db.executemany("INSERT INTO audits VALUES (?, ?, ?)", rows)
            if stop_set:
                of_class: dict[str, list[str]] = defaultdict(list)
                for each, predicted in stop_set.items():
                    of_class[predicted].append(each)
                db.execute(STOP_SETS)
                db.execute("INSERT INTO stop_sets VALUES (?, ?)", (made.number, json.dumps(of_class)))

    def know_settings(self, settings: Settings) -> None:
        """Write down what the settings are: whoever finds others later knows that they were changed by hand."""
        with self._writing() as db:
            put_settings(db, settings.plain())

    def add_changes(self, changes: Iterable[Change]) -> None:
        """Write down settings that are about to be changed, in place of changes that were never made."""
        rows = [
            (each.name, each.round, json.dumps(each.before), json.dumps(each.after), now())
            for each in changes
        ]
        with self._writing() as db:
            db.execute(CHANGES)
            db.executemany(FORGET_UNMADE, [row[:3] for row in rows])
            insert = "INSERT INTO changes (name, round, before, after, changed_at) VALUES (?, ?, ?, ?, ?)"
            db.executemany(insert, rows)

    def add_labels(self, labels: Mapping[str, Label], *, source: str, classes: Iterable[str] = ()) -> int:
        """Write down labels by id, and classes that were not known before; return the addition's number."""
        addition = self.last_addition() + 1
        with self._writing() as db:
            db.execute("INSERT INTO additions VALUES (?, ?, ?)", (addition, source, now()))
            db.executemany("INSERT INTO classes VALUES (?, ?)", [(name, addition) for name in classes])
            db.executemany(
                "INSERT INTO labels (addition, round, id, label) VALUES (?, ?, ?, ?)",
                [(addition, label.round, each, label.label) for each, label in labels.items()],
            )
        return addition

    def add_measurement(self, made: Measurement) -> None:
        """Write down a measurement."""
        with self._writing() as db:
            db.execute(BY_CLASS)
            db.execute("DELETE FROM measured_classes WHERE addition = ?", (made.addition,))
            *numbers, classes = made
            db.execute("INSERT OR REPLACE INTO measurements VALUES (?, ?, ?, ?, ?, ?)", (*numbers, now()))
            db.executemany(
                "INSERT INTO measured_classes VALUES (?, ?, ?, ?)",
                [(made.addition, *each) for each in classes],
            )

    def _has(self, table: str) -> bool:
        return bool(self._read("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", table))

    def _read(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        with self._connected() as db:
            return db.execute(query, values).fetchall()

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._connected() as db, transaction(db):
            if version_of(db) == UNSEALED:
                begin_seal(db, self.path.parent, Settings.read(self.path.parent).plain())
            yield db
            write_seal(db)

    @contextmanager
    def _connected(self, *, new: bool = False) -> Iterator[sqlite3.Connection]:
        """Give a connection to a journal that was checked; only a new one may make the file."""
        if not new:
            _check_once(self.path, stamp_of(self.path))
        try:
            with closing(open_database(self.path, "rwc" if new else "rw")) as db:
                yield db
        except sqlite3.Error as error:
            raise _unusable(self.path, str(error)) from error


@lru_cache(maxsize=4)
def _check_once(path: Path, stamp: tuple[int, ...]) -> None:
    """Raise an error unless a journal is whole; one that was checked is not checked again until its file changes."""
    del stamp  # it tells one state of the file from another
    try:
        with closing(open_database(path, "rw")) as db:
            db.execute("BEGIN")
            version = version_of(db)
            if version in {UNSEALED, FORMAT}:
                check_journal(db)
    except (sqlite3.Error, ValueError, OverflowError) as error:
        raise _unusable(path, str(error)) from error
    if version not in {UNSEALED, FORMAT}:
        raise InputError(
            f"{str(path)!r} has format {version}, and this version reads {UNSEALED} and {FORMAT}. "
            "Use the version that wrote it."
        )


def _unusable(path: Path, reason: str) -> InputError:
    if reason == "unable to open database file" and path.parent.is_dir():
        check_writable(path)  # which says so if the disk is full: SQLite does not
    return InputError(
        f"{str(path)!r} cannot be used: {reason}. Nothing was changed; if it is damaged, put back a copy of the folder."
    )


def now() -> str:
    """Return the time as the journal writes it."""
    return datetime.now(UTC).isoformat(timespec="seconds")

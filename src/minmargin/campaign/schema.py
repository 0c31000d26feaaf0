"""The tables of the journal, in SQL."""

from __future__ import annotations

TABLES = (
    """CREATE TABLE classes (
        name TEXT PRIMARY KEY,
        addition INTEGER REFERENCES additions  -- NULL: known from the beginning
    )""",
    """CREATE TABLE rounds (
        round INTEGER PRIMARY KEY CHECK (round >= 1),
        file TEXT NOT NULL UNIQUE,
        sha256 TEXT NOT NULL,
        seed INTEGER NOT NULL,
        pool TEXT NOT NULL,  -- the pool's fingerprint
        addition INTEGER NOT NULL,  -- the last one that this round knew; 0: the labels of the beginning
        picked_at TEXT NOT NULL
    )""",
    """CREATE TABLE picks (
        round INTEGER NOT NULL REFERENCES rounds,
        id TEXT NOT NULL,
        rank INTEGER NOT NULL CHECK (rank >= 1),
        withdrawn INTEGER REFERENCES rounds,  -- the round for which it went back into the pool
        PRIMARY KEY (round, id),
        UNIQUE (round, rank)
    )""",
    # A row is never offered twice, unless the first offer was withdrawn.
    "CREATE UNIQUE INDEX offers ON picks (id) WHERE withdrawn IS NULL",
    """CREATE TABLE additions (
        addition INTEGER PRIMARY KEY CHECK (addition >= 1),
        source TEXT NOT NULL,
        added_at TEXT NOT NULL
    )""",
    """CREATE TABLE labels (
        addition INTEGER NOT NULL REFERENCES additions,
        round INTEGER NOT NULL,
        id TEXT NOT NULL,
        label TEXT NOT NULL REFERENCES classes,
        PRIMARY KEY (id, addition),
        FOREIGN KEY (round, id) REFERENCES picks
    )""",
    """CREATE TABLE measurements (
        addition INTEGER PRIMARY KEY,  -- the last one whose labels the model was trained on; 0: those of the beginning
        labels INTEGER NOT NULL,
        correct INTEGER NOT NULL,
        tested INTEGER NOT NULL CHECK (tested >= correct),  -- 0: there were too few labels
        way TEXT NOT NULL,
        measured_at TEXT NOT NULL
    )""",
)
# What a round was picked by, where models elsewhere gave it. It is made with the first such round.
PROBABILITIES = """CREATE TABLE IF NOT EXISTS probabilities (
    round INTEGER PRIMARY KEY REFERENCES rounds,
    fingerprint TEXT NOT NULL,
    settings TEXT NOT NULL  -- JSON: which columns, what they are, of which classes, and how rows were picked
)"""
# Rows that a round has drawn by chance, and what its model took them for before they were labeled. It is made with the
# first such round.
AUDITS = """CREATE TABLE IF NOT EXISTS audits (
    round INTEGER NOT NULL,
    id TEXT NOT NULL,
    predicted TEXT NOT NULL,
    PRIMARY KEY (round, id),
    FOREIGN KEY (round, id) REFERENCES picks
)"""
# What the models of rounds take the same rows of the pool for, whose labels nobody is asked for. It is made with the
# first round that has a stop set.
STOP_SETS = """CREATE TABLE IF NOT EXISTS stop_sets (
    round INTEGER PRIMARY KEY REFERENCES rounds,
    predicted TEXT NOT NULL  -- JSON: for each class the ids of the rows that are taken for it
)"""
# What was set otherwise, and after which round. It is made with the first change.
CHANGES = """CREATE TABLE IF NOT EXISTS changes (
    change INTEGER PRIMARY KEY,
    round INTEGER NOT NULL,  -- the last one that was picked before
    name TEXT NOT NULL,
    before TEXT NOT NULL,  -- JSON, as in settings.json
    after TEXT NOT NULL,
    changed_at TEXT NOT NULL
)"""
# A process that is killed before it writes the settings leaves a change of a name from the value that is still there.
# Rounds since are told by it, so it goes only if there were none.
FORGET_UNMADE = """DELETE FROM changes
    WHERE change = (SELECT max(change) FROM changes WHERE name = ?) AND round = ? AND before = ?"""
# Earlier journals lack it. It is made when a measurement is written, and what reads only the other tables does without
# it, so the format keeps its number.
BY_CLASS = """CREATE TABLE IF NOT EXISTS measured_classes (
    addition INTEGER NOT NULL REFERENCES measurements,
    class TEXT NOT NULL,
    correct INTEGER NOT NULL,
    tested INTEGER NOT NULL CHECK (tested >= correct AND tested >= 1),
    PRIMARY KEY (addition, class)
)"""
#: What journals may have besides the first tables.
ADDED = (PROBABILITIES, AUDITS, STOP_SETS, CHANGES, BY_CLASS)
# The seal: what tells of damage. Journals of format 1 have none.
SEALED = (
    """CREATE TABLE files (
        name TEXT PRIMARY KEY NOT NULL,  -- of what the campaign began with
        sha256 TEXT NOT NULL
    )""",
    """CREATE TABLE settings (
        name TEXT PRIMARY KEY NOT NULL,
        value TEXT NOT NULL  -- JSON, as in settings.json
    )""",
    """CREATE TABLE seal (
        sha256 TEXT NOT NULL  -- of all other tables
    )""",
)

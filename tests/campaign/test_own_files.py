"""What a campaign keeps is what it wrote, or is refused by name; folders of the last release go on as they are."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest

import minmargin as mm
from campaign.flowers import answers
from campaign.last_release import without_seal
from minmargin.campaign.database import transaction
from minmargin.campaign.journal import Journal
from minmargin.campaign.sealing import version_of, write_seal


def complaint(call, *args, **more):
    with pytest.raises(mm.InputError) as caught:
        call(*args, **more)
    return str(caught.value)


def edit(**changed):
    path = Path("flowers/settings.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), **changed}))


def change_journal(statement, *, sealed=True):
    with closing(sqlite3.connect("flowers/journal.sqlite", isolation_level=None)) as db:
        db.execute("PRAGMA ignore_check_constraints = ON")
        db.execute(statement)
        if sealed:
            write_seal(db)


def play_round(campaign):
    batch = campaign.next(n_jobs=1)
    campaign.add_labels(answers(batch), n_jobs=1)
    return batch


@pytest.mark.parametrize("name", ["initial.parquet", "held-out.parquet"])
def test_a_flipped_bit_in_the_first_rows_is_found(begin, name):
    campaign = begin(held_out="held-out.csv")
    path = Path("flowers", name)
    content = bytearray(path.read_bytes())
    for place in range(0, len(content), 97):
        content[place] ^= 4
        path.write_bytes(content)
        assert complaint(campaign.next, n_jobs=1) == (
            f"'flowers/{name}' was changed since it was written. Put back a copy."
        )
        content[place] ^= 4


def test_a_campaign_of_the_last_release_goes_on_and_has_checksums_from_the_next_change_on(begin):
    play_round(begin())
    without_seal("flowers")
    campaign = mm.Campaign.open("flowers")
    assert campaign.status(n_jobs=1).rounds[1].labeled == 7
    play_round(campaign)
    with closing(sqlite3.connect("flowers/journal.sqlite")) as db:
        assert version_of(db) == 2
    Path("flowers/initial.parquet").write_bytes(b"other")
    assert complaint(campaign.labeled) == (
        "'flowers/initial.parquet' was changed since it was written. Put back a copy."
    )


SEALED = (
    "'flowers/journal.sqlite' cannot be used: {}. Nothing was changed; if it is damaged, put back a copy of the "
    "folder."
)


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("UPDATE rounds SET file = '../x.parquet'", "round 1 is not the one of that number, in a file of its own"),
        ("UPDATE rounds SET sha256 = 'x'", "round 1 has no checksum, or knew labels that were never added"),
        ("UPDATE picks SET rank = rank + 100", "the picks of a round are not ranked from 1 on"),
        ("UPDATE picks SET rank = 'x' || rank", "its table 'picks' has 'x1' as rank"),
        ("DELETE FROM picks", "a row of one table names a row of another that is not there"),
        ("UPDATE labels SET label = 'rose'", "a row of one table names a row of another that is not there"),
        ("DROP TABLE measurements", "it lacks the table 'measurements'"),
        ("ALTER TABLE rounds RENAME COLUMN seed TO seeds", "its table 'rounds' has other columns"),
        ("CREATE TRIGGER t AFTER INSERT ON picks BEGIN DELETE FROM picks; END", "it has 't', which no journal has"),
        ("UPDATE settings SET value = '[' WHERE name = 'keep'", "Expecting value: line 1 column 2 (char 1)"),
        ("UPDATE settings SET value = '7' WHERE name = 'keep'", "keep=7 must be a list of columns."),
    ],
)  # fmt: skip
def test_a_journal_that_says_what_cannot_be_is_refused_although_its_seal_fits(begin, statement, reason):
    play_round(begin())
    change_journal(statement)
    assert complaint(mm.Campaign.open, "flowers") == SEALED.format(reason)


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("UPDATE additions SET source = 'elsewhere'", "it was changed since minmargin wrote it"),
        (
            "UPDATE additions SET source = CAST(x'ffc0' AS TEXT)",
            "Could not decode to UTF-8 column 'source' with text '\ufffd\ufffd'",
        ),
    ],
)
def test_a_journal_that_was_changed_is_refused(begin, statement, reason):
    play_round(begin())
    change_journal(statement, sealed=False)
    assert complaint(mm.Campaign.open, "flowers") == SEALED.format(reason)


def test_a_journal_of_a_later_version(begin):
    begin()
    change_journal("PRAGMA user_version = 3", sealed=False)
    assert complaint(mm.Campaign.open, "flowers") == (
        "'flowers/journal.sqlite' has format 3, and this version reads 1 and 2. Use the version that wrote it."
    )


def test_other_columns_to_keep_may_be_written_into_the_settings_by_hand(begin):
    play_round(begin(features=["a", "b"]))
    edit(keep=["c"])
    with pytest.warns(mm.DataWarning) as caught:
        campaign = mm.Campaign.open("flowers")
    (told,) = (str(each.message) for each in caught)
    assert told == (
        "'flowers/settings.json' was changed: Batches carry 'c' from round 2 on (none before). Those that were written "
        "stay as they are."
    )
    play_round(campaign)
    assert [campaign.batch(number).column_names[-1] for number in (1, 2)] == ["b", "c"]
    assert len(campaign.labeled()) == 15 + 14


REFUSED = {
    'has features=["a"], and the campaign began with ["a", "b", "c", "d"]. Put it back. Batches hold these columns of '
    "the picked rows, and no others to learn from. Begin another campaign, with labeled.parquet of this one as its "
    "labeled rows.": {"features": ["a"]},
    "has seed=1, and the campaign began with 0. Put it back. Every round has its own from it, already.": {
        "seed": 1
    },
    "was changed, and cannot be used: batch_size=0 must be a whole number >= 1.": {"batch_size": 0},
    "has n_models=10000000000, and n_models must be a whole number from 0 to 1,000,000,000.": {
        "n_models": 10**10
    },
    "has bootstrap_fraction=0, and bootstrap_fraction must be a number above 0, up to 1,000.": {
        "bootstrap_fraction": 0
    },
    "has preprocess=\"some\", and preprocess must be one of 'none', 'auto'.": {"preprocess": "some"},
}


@pytest.mark.parametrize("told", REFUSED)
def test_what_may_not_be_changed_by_hand_is_refused_by_name(begin, told):
    play_round(begin())
    edit(**REFUSED[told])
    assert complaint(mm.Campaign.open, "flowers") == f"'flowers/settings.json' {told}"


def test_settings_of_the_last_release_that_do_not_fit_the_batches_are_refused(begin):
    play_round(begin(features=["a", "b"]))
    without_seal("flowers")
    edit(keep=["c"])
    assert complaint(mm.Campaign.open("flowers").labeled) == (
        "'flowers/batches/round-001.parquet' holds 2 columns of the pool, and settings.json names 3 ('a', 'b', 'c'). "
        "Put features and keep back as they were; minmargin campaign set changes keep."
    )
    edit(keep=[], features=["a", "z"])
    assert complaint(mm.Campaign.open("flowers").labeled) == (
        "'flowers/initial.parquet' has no column 'z', which settings.json names (columns: 'a', 'b', 'y', 'row_id'). "
        "Put settings.json back as it was."
    )


def test_a_kind_that_ids_are_not_of(begin):
    play_round(begin())
    without_seal("flowers")
    edit(id_kind="integer")
    told = complaint(mm.Campaign.open, "flowers")
    assert told.startswith("'flowers/journal.sqlite' has id 'r")
    assert told.endswith(
        "and settings.json says that it is of kind 'integer'. Put back a copy of the folder."
    )


def test_a_full_disk_is_what_is_told_of(begin):
    """SQLite ends a transaction by itself when a disk is full. It must not be ended again."""
    begin()
    with closing(sqlite3.connect("flowers/journal.sqlite", isolation_level=None)) as db:
        ((pages,),) = db.execute("PRAGMA page_count").fetchall()
        db.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(sqlite3.OperationalError) as caught, transaction(db):
            db.executemany("INSERT INTO classes (name) VALUES (?)", [(f"{n:0200}",) for n in range(5_000)])
    assert str(caught.value) == "database or disk is full"
    assert Journal(Path("flowers/journal.sqlite")).classes() == sorted(pd.read_csv("labeled.csv").y.unique())

"""Campaigns: their journal, settings and own files, opened, looked at and taken a round further."""

from __future__ import annotations

import json
import random
import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import minmargin as mm
from campaign.last_release import without_seal
from fuzz.changes import change_bytes, change_database, change_json, change_table, written
from fuzz.target import Change, Target, check_picks
from minmargin.campaign.folder import PROJECT_FILE
from minmargin.campaign.sealing import write_seal
from minmargin.integrations.label_studio.destination import Destination

_ROWS, _BATCH_SIZE = 40, 4
_RNG = np.random.default_rng(0)
_POOL = pd.DataFrame(_RNG.normal(size=(_ROWS, 3)).round(2), columns=["a", "b", "c"])
_POOL["key"] = [f"r{row:02}" for row in range(_ROWS)]
_LABELS = {key: ("yes" if a > 0 else "no") for key, a in zip(_POOL["key"], _POOL["a"], strict=True)}


def _write(folder: Path) -> None:
    """Write a campaign with two rounds, an audit, a changed setting and held-out rows."""
    _POOL.to_parquet(folder / "pool.parquet")
    labeled = _POOL.assign(y=_POOL["key"].map(_LABELS))
    campaign = mm.Campaign.init(
        folder / "campaign",
        pool=folder / "pool.parquet",
        labeled=labeled[:8],
        held_out=labeled[8:14],
        label_column="y",
        id_column="key",
        features=["a", "b"],
        keep=["c"],
        batch_size=_BATCH_SIZE,
        n_models=2,
        audit=2,
        random_state=0,
    )
    settings = folder / "campaign" / "settings.json"
    settings.write_text(json.dumps({**json.loads(settings.read_text()), "pool": ["../pool.parquet"]}))
    for keep in (["c"], []):
        campaign = mm.Campaign.open(folder / "campaign")
        campaign.set(keep=keep)
        batch = campaign.next(n_jobs=1)
        campaign.add_labels({each: _LABELS[each] for each in batch.ids.tolist()}, n_jobs=1)


def _write_unsealed(folder: Path) -> None:
    _write(folder)
    without_seal(folder / "campaign")


def _use(folder: Path) -> Any:
    """Return what a campaign says and does: its status, its labeled rows, and its next round with labels."""
    campaign = mm.Campaign.open(folder / "campaign")
    try:
        before = json.loads(json.dumps(campaign.status(n_jobs=1).to_dict()))
        repr(campaign), campaign._repr_html_()
        labeled = campaign.labeled().to_pylist()
        batch = campaign.next(unlabeled_ok=True, n_jobs=1)
        added = campaign.add_labels({each: _LABELS[each] for each in batch.ids.tolist()}, n_jobs=1)
    except mm.MinMarginError as error:
        # Of what was set by hand, errors tell the value, as they do for arguments.
        if folder.name in str(error) or (folder / "edited").exists():
            raise mm.InputError(f"{folder.name}: {error}") from error
        raise
    return before, labeled, batch.rows.tolist(), batch.scores.tolist(), list(added)


def _check(answer: Any) -> None:
    _, labeled, rows, scores, _ = answer
    check_picks(rows, scores, n_rows=_ROWS)
    assert len(labeled) <= _ROWS, f"{len(labeled)} labeled rows"


def _change_journal(folder: Path, rng: random.Random, *, sealed: bool) -> Change:
    path = folder / "campaign" / "journal.sqlite"
    if sealed and rng.random() < 0.4:
        return Change(change_bytes(path, rng))
    if not sealed and rng.random() < 0.3:
        return Change(change_bytes(path, rng), signed=True)
    words = change_database(path, rng)
    if sealed and rng.random() < 0.8:
        with closing(sqlite3.connect(path, isolation_level=None)) as db:
            try:
                write_seal(db)
            except (sqlite3.Error, KeyError, ValueError):  # what cannot be sealed
                return Change(words)
    return Change(words, signed=True)


def _change_settings(folder: Path, rng: random.Random) -> Change:
    path = folder / "campaign" / "settings.json"
    (folder / "edited").touch()
    if rng.random() < 0.3:
        return Change(change_bytes(path, rng), signed=False)
    content, words = change_json(json.loads(path.read_text()), rng, _WORDS)
    path.write_text(written(json.dumps(content)))
    return Change(words)


#: What settings say, to be said in the wrong place.
_WORDS = (
    *(
        "text",
        "integer",
        "number",
        "boolean",
        "margin",
        "random",
        "k-centers",
        "given",
        "auto",
        "none",
        "a",
        "c",
        "key",
    ),
    *(
        3,
        30,
        ["a"],
        ["a", "b", "c"],
        ["c", "key"],
        {"prefilter": 3},
        {"lambda": 1},
        {"decimal": ","},
        "logistic",
    ),
)


def _change_files(folder: Path, rng: random.Random) -> Change:
    inside = folder / "campaign"
    files = [inside / "initial.parquet", inside / "held-out.parquet", *sorted((inside / "batches").iterdir())]
    path = rng.choice(files)
    if rng.random() < 0.6:
        return Change(change_bytes(path, rng))
    import pyarrow.parquet as pq  # noqa: PLC0415 - here only

    table, words = change_table(pq.read_table(path), rng)
    pq.write_table(table, path)
    return Change(f"{path.name}: {words}")


def _write_destination(folder: Path) -> None:
    Destination("http://localhost:8080", 7, columns=["a"]).write(folder)


def _use_destination(folder: Path) -> Any:
    found = Destination.read(folder)
    return (
        found
        if found is None
        else (found.url, found.project, found.columns, found.question, found.predictions)
    )


def _check_destination(answer: Any) -> None:
    assert answer is None or isinstance(answer[0], str), "no address"


def _change_destination(folder: Path, rng: random.Random) -> Change:
    path = folder / PROJECT_FILE
    if rng.random() < 0.5:
        return Change(change_bytes(path, rng), signed=True)
    content, words = change_json(json.loads(path.read_text()), rng)
    path.write_text(written(json.dumps(content)))
    return Change(words, signed=True)


TARGETS = {
    "destination": Target(
        "projects of Label Studio that a campaign remembers",
        _write_destination,
        _change_destination,
        _use_destination,
        _check_destination,
    ),
    "campaign-journal": Target(
        "journals of campaigns", _write, partial(_change_journal, sealed=True), _use, _check, share=0.5
    ),
    "campaign-old-journal": Target(
        "journals of the last release, without a seal",
        _write_unsealed,
        partial(_change_journal, sealed=False),
        _use,
        _check,
        share=0.3,
    ),
    "campaign-settings": Target("settings of campaigns", _write, _change_settings, _use, _check, share=0.5),
    "campaign-files": Target(
        "first rows and batches of campaigns", _write, _change_files, _use, _check, share=0.5
    ),
}

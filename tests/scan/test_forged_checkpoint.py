"""A checkpoint whose checksums fit, and which says what no scan could have found, is refused with the reason."""

from __future__ import annotations

import hashlib
import json
import random

import numpy as np
import pyarrow as pa
import pytest

import minmargin as mm
from minmargin.pools import memory
from minmargin.scan import checkpoint, fragments

ROWS, BATCH_SIZE = 40, 10


@pytest.fixture(autouse=True)
def small_fragments(monkeypatch):
    monkeypatch.setattr(fragments, "_FRAGMENT_ROWS", 8)
    monkeypatch.setattr(fragments, "_TIMES_THE_BATCH", 0)
    monkeypatch.setattr(memory, "_UNIT", 8)
    monkeypatch.setattr(checkpoint, "_SECONDS", 0.0)


def select(folder, **more):
    rng = np.random.default_rng(0)
    X, pool, y = rng.normal(size=(20, 3)), rng.normal(size=(ROWS, 3)), np.arange(20) % 2
    return mm.select(X, y, pool, BATCH_SIZE, n_models=2, random_state=0, n_jobs=1, checkpoint=folder, **more)


@pytest.fixture
def folder(tmp_path):
    def interrupt(stage, done, _):
        if stage == "scanning" and done >= ROWS // 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        select(tmp_path / "c", progress=interrupt)
    return tmp_path / "c"


def forge(folder, **changed):
    path = folder / "checkpoint.json"
    state = {**json.loads(path.read_text()), **changed}
    del state["sha256"]
    path.write_text(json.dumps({**state, "sha256": checkpoint._digest_of(state)}))


def forge_rows(folder, change):
    entry = json.loads((folder / "checkpoint.json").read_text())["kept"][0]
    path = folder / entry["file"]
    table = change(pa.ipc.open_file(path.read_bytes()).read_all())
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    forge(folder, kept=[{**entry, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}])
    return entry["file"]


def complaint(folder):
    with pytest.raises(mm.InputError) as caught:
        select(folder)
    return str(caught.value)


FORGED = {
    "it counts 24 rows, and its finished fragments have 0": {"finished": []},
    "its finished fragments are not among the 5 of the pool, each once": {"finished": [0, 0, 1]},
    "'finished' holds 'x', where each must be a whole number": {"finished": ["x"]},
    "'rows' is None and must be a whole number": {"rows": None},
    "'rows_scored_exactly' is -1": {"rows_scored_exactly": -1},
    "'kept' is 7 and must be a list": {"kept": 7},
    "it has another number of files": {"kept": []},
    "it holds str where an object was expected": {"kept": ["x"]},
    "it names a file '../x.arrow', which no checkpoint has": {"kept": [{"file": "../x.arrow", "sha256": ""}]},
    "'asked' is 'x' and must be an object": {"asked": "x"},
    "'format' is 'x' and must be a whole number": {"format": "x"},
}


@pytest.mark.parametrize("reason", FORGED)
def test_fields_that_cannot_be(folder, reason):
    forge(folder, **FORGED[reason])
    assert complaint(folder) == f"Checkpoint '{folder}' is damaged: {reason}. Remove it to start anew."


def set_column(name, values):
    return lambda table: table.set_column(
        table.column_names.index(name), name, pa.array(values(table[name].to_pylist()), table[name].type)
    )


FORGED_ROWS = {
    "it keeps 9 of 24 rows": lambda table: table.slice(1),
    "it has other columns than the selection keeps": lambda table: table.drop_columns(["second"]),
    "its column 'first' is no int32 without gaps": lambda table: table.set_column(
        table.column_names.index("first"), "first", table["first"].cast(pa.string())
    ),
    "its rows are not rows of finished fragments, each once": set_column("row", lambda rows: [39, *rows[1:]]),
    "its scores are no finite numbers": set_column("score", lambda scores: [float("nan"), *scores[1:]]),
    "it tells of classes that are not among 2": set_column("predicted", lambda codes: [2, *codes[1:]]),
    "it tells of members that are not among 2": set_column("member", lambda members: [-2, *members[1:]]),
}


@pytest.mark.parametrize("reason", FORGED_ROWS)
def test_rows_that_cannot_be(folder, reason):
    name = forge_rows(folder, FORGED_ROWS[reason])
    assert complaint(folder) == (
        f"Checkpoint '{folder}' is damaged: {name} cannot be used: {reason}. Remove it to start anew."
    )


def test_deep_json_and_a_file_of_another_kind(folder):
    (folder / "checkpoint.json").write_text("[" * 200_000)
    assert complaint(folder) == (
        f"Checkpoint '{folder}' is damaged: checkpoint.json cannot be read. Remove it to start anew."
    )


def test_a_file_that_is_no_arrow_file(folder):
    entry = json.loads((folder / "checkpoint.json").read_text())["kept"][0]
    content = random.Random(0).randbytes(100)  # noqa: S311 - no secrets
    (folder / entry["file"]).write_bytes(content)
    forge(folder, kept=[{**entry, "sha256": hashlib.sha256(content).hexdigest()}])
    assert complaint(folder) == (
        f"Checkpoint '{folder}' is damaged: {entry['file']} is no Arrow file: Not an Arrow file. Remove it to start "
        "anew."
    )

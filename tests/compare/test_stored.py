"""Draws and parts on disk are what was written, or refused by name; those without a checksum are read as they are."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import minmargin as mm
from minmargin.compare.sealed import read_sealed, write_sealed
from minmargin.experiments.study.facts import read_facts
from minmargin.experiments.study.problems import load_problem

SCHEMA = pa.schema([("draw", pa.int32()), ("score", pa.float64())])
TABLE = pa.table({"draw": [0, 1], "score": [0.5, 0.25]}, schema=SCHEMA)


def complaint(call, *args, **more):
    with pytest.raises(ValueError, match=r"\S") as caught:
        call(*args, **more)
    return str(caught.value)


def test_a_table_is_read_back_and_another_in_its_place_is_refused(tmp_path):
    path = write_sealed(tmp_path / "t.parquet", TABLE)
    assert read_sealed(path, SCHEMA).equals(TABLE)
    metadata = pq.read_schema(path).metadata
    other = pa.table({"draw": [0, 1], "score": [0.5, 0.75]}, schema=SCHEMA.with_metadata(metadata))
    pq.write_table(other, path)
    assert complaint(read_sealed, path, SCHEMA) == "it does not have its checksum"
    pq.write_table(other.replace_schema_metadata(None), path)
    assert read_sealed(path, SCHEMA).equals(other.replace_schema_metadata(None))


def test_columns_that_are_missing_or_have_gaps_are_not_read_as_empty(tmp_path):
    path = write_sealed(tmp_path / "t.parquet", TABLE.drop_columns(["draw"]))
    assert complaint(read_sealed, path, SCHEMA) == "it has no column 'draw'"
    path = write_sealed(tmp_path / "t.parquet", TABLE.set_column(0, "draw", pa.nulls(2, pa.int32())))
    assert complaint(read_sealed, path, SCHEMA) == "column 'draw' has gaps"


@pytest.fixture
def play(tmp_path):
    def play():
        X, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 2
        asked = {"strategies": ["margin", "random"], "batch_sizes": [5], "n_draws": 2, "n_labeled": 10}
        return mm.compare(X, y, **asked, n_models=2, random_state=0, n_jobs=1, out=tmp_path / "out")

    return play


def test_a_draw_in_the_place_of_another_is_refused(play, tmp_path):
    play()
    first, second = sorted((tmp_path / "out" / "draws").glob("*.parquet"))
    second.write_bytes(first.read_bytes())
    assert complaint(play) == (
        f"'{second}' is no draw that can be read (it is of another draw). Remove it, and it is played again."
    )
    second.write_bytes(b"PAR1")
    assert complaint(play).startswith(f"'{second}' is no draw that can be read (")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("null", "it holds NoneType where an object was expected"),
        ("[" * 200_000, "it is nested too deeply"),
        ('{"seed": "x"}', "'seed' is 'x' and must be a whole number"),
    ],
)
def test_settings_of_draws_that_tell_nothing(play, tmp_path, text, reason):
    play()
    path = tmp_path / "out" / "draws" / "settings.json"
    path.write_text(text)
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 2
    assert complaint(mm.compare, X, y, out=tmp_path / "out") == (
        f"'{path}' does not tell the settings of the draws beside it ({reason}). Put it back, or use another folder."
    )


def test_facts_and_problems_that_tell_nothing(tmp_path):
    (tmp_path / "problems.json").write_text(json.dumps({"phoneme": 7}))
    assert complaint(read_facts, tmp_path) == (
        f"'{tmp_path}/problems.json' does not tell what is known of problems ('phoneme' is 7 and must be an object). "
        "Remove it: the next run of the study writes it anew."
    )
    path = tmp_path / "phoneme.npz"
    np.savez(path, X=np.zeros((2, 1), np.float16), y=np.array([0, 5], np.int16), names=np.array(["a", "b"]))
    assert complaint(load_problem, tmp_path, "phoneme") == (
        f"'{path}' cannot be read (its labels are not among its classes). Delete it, then use "
        "minmargin study --pack."
    )


def _constant(model, X, y):
    return 1.0


@pytest.mark.parametrize(
    "functions",
    [{"strategies": [lambda candidates: candidates.uniform]}, {"scoring": lambda model, X, y: 1.0}],
    ids=["strategy", "scoring"],
)
def test_functions_without_a_name_are_not_kept(functions, tmp_path):
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 2
    settings = {"n_labeled": 10, "batch_sizes": [3], "n_draws": 2, "n_models": 2, "random_state": 0}
    assert complaint(mm.compare, X, y, **settings, **functions, out=tmp_path / "out") == (
        "out= knows a function by its name, and a lambda has none. Write it with def."
    )
    assert not (tmp_path / "out").exists()
    assert len(mm.compare(X, y, **settings, scoring=_constant, out=tmp_path / "out").results)

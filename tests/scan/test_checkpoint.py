"""Checkpoints: an interrupted selection goes on where it stopped, and gives the same batch or an error."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import dataset
from sklearn.datasets import load_digits

import minmargin as mm
from minmargin.errors import InputError
from minmargin.pools import memory
from minmargin.scan import checkpoint, fragments

DIGITS, NUMBERS = load_digits(return_X_y=True)
X, Y, POOL = DIGITS[:200], NUMBERS[:200], DIGITS[200:]


@pytest.fixture(autouse=True)
def small_fragments(monkeypatch):
    monkeypatch.setattr(fragments, "_FRAGMENT_ROWS", 100)
    monkeypatch.setattr(fragments, "_TIMES_THE_BATCH", 1)
    monkeypatch.setattr(memory, "_UNIT", 64)
    monkeypatch.setattr(checkpoint, "_SECONDS", 0.0)


def select(folder=None, batch_size=20, *, pool=POOL, random_state=0, **settings):
    return mm.select(X, Y, pool, batch_size, random_state=random_state, checkpoint=folder, **settings)


def interrupted_at(done, folder, *, select=select, **settings):
    def interrupt(stage, rows, total):
        if stage == "scanning" and rows >= done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        select(folder, progress=interrupt, n_jobs=1, **settings)


@pytest.mark.parametrize(
    "strategy",
    ["min-margin", "random-margin-mix", "k-centers", "badge", "spread", "soft-rank", "cluster-margin"],
)
@pytest.mark.parametrize("distinct", [False, True])
def test_a_selection_goes_on_where_it_stopped(strategy, distinct, tmp_path):
    whole = select(strategy=strategy, distinct=distinct)
    interrupted_at(500, tmp_path, strategy=strategy, distinct=distinct)
    seen = []
    batch = select(
        tmp_path,
        strategy=strategy,
        distinct=distinct,
        progress=lambda stage, done, _: seen.append(done) if stage == "scanning" else None,
    )
    assert seen[0] >= 400
    np.testing.assert_array_equal(batch.rows, whole.rows)
    np.testing.assert_array_equal(batch.scores, whole.scores)
    assert batch.to_pandas().equals(whole.to_pandas())


def test_a_finished_one_is_read_back(tmp_path):
    first = select(tmp_path)
    seen = []
    again = select(tmp_path, progress=lambda stage, done, _: seen.append((stage, done)))
    assert [done for stage, done in seen if stage == "scanning"] == [len(POOL)]
    np.testing.assert_array_equal(again.rows, first.rows)


def test_without_a_seed_the_first_one_is_kept(tmp_path):
    interrupted_at(300, tmp_path, random_state=None)
    seed = json.loads((tmp_path / "checkpoint.json").read_text())["asked"]["seed"]
    batch = select(tmp_path, random_state=None)
    np.testing.assert_array_equal(batch.rows, select(random_state=seed).rows)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"batch_size": 21}, "batch_size was 20, now 21"),
        ({"strategy": "margin"}, 'strategy was "min-margin", now "margin"'),
        ({"random_state": 1}, "seed was 0, now 1"),
        ({"n_models": 5}, "n_models was 25, now 5"),
        ({"pool": POOL[:-1]}, "pool rows was 1597, now 1596"),
        ({"distinct": False}, "distinct was true, now false"),
        ({"learner": "random-forest"}, r'learner was "logistic", now "RandomForestClassifier\(\)"'),
    ],
)
def test_another_selection_is_refused_with_what_differs(change, told, tmp_path):
    interrupted_at(300, tmp_path)
    before = (tmp_path / "checkpoint.json").read_bytes()
    with pytest.raises(InputError, match=told):
        select(tmp_path, **change)
    assert (tmp_path / "checkpoint.json").read_bytes() == before


def test_other_labels_are_refused(tmp_path):
    interrupted_at(300, tmp_path)
    with pytest.raises(InputError, match="labels: label_fingerprint was"):
        mm.select(X, Y[::-1], POOL, 20, random_state=0, checkpoint=tmp_path)


@pytest.fixture
def files(tmp_path):
    folder = tmp_path / "pool"
    folder.mkdir()
    for number, rows in enumerate(np.array_split(POOL, 4)):
        np.save(folder / f"part-{number}.npy", rows)
        os.utime(folder / f"part-{number}.npy", ns=(0, 10**18))
    return folder


def test_a_file_that_was_written_anew_is_named_with_its_times(files, tmp_path):
    interrupted_at(300, tmp_path / "state", pool=files)
    changed = files / "part-2.npy"
    os.utime(changed, ns=(0, 10**18 + 1))
    n_bytes = f"{changed.stat().st_size:,} bytes"
    with pytest.raises(InputError) as caught:
        select(tmp_path / "state", pool=files)
    assert str(caught.value) == (
        f"Checkpoint '{tmp_path}/state' belongs to another selection (pool files: {changed} was "
        f'"{n_bytes}, 2001-09-09T01:46:40.000000000", now "{n_bytes}, 2001-09-09T01:46:40.000000001"). '
        "Use another folder, or remove it to start anew."
    )
    os.utime(changed, ns=(0, 10**18))
    np.testing.assert_array_equal(select(tmp_path / "state", pool=files).rows, select().rows)


def test_of_many_files_the_first_few_are_named(files, tmp_path):
    interrupted_at(300, tmp_path / "state", pool=files)
    for number in range(4):
        os.utime(files / f"part-{number}.npy", ns=(0, 0))
    np.save(files / "part-4.npy", POOL)
    with pytest.raises(InputError, match=r"part-3.npy was .*; and 4 more\)") as caught:
        select(tmp_path / "state", pool=files)
    assert "part-4" not in str(caught.value)


def test_a_dataset_has_times_too(tmp_path):
    path = tmp_path / "pool.parquet"
    pq.write_table(pa.table({f"x{place}": POOL[:, place] for place in range(64)}), path, row_group_size=100)
    interrupted_at(300, tmp_path / "state", pool=dataset.dataset(path))
    os.utime(path, ns=(0, 0))
    with pytest.raises(InputError, match=r"pool files: .*pool.parquet was \".*, now \".* 1970-01-01"):
        select(tmp_path / "state", pool=dataset.dataset(path))


def test_threads_and_chunks_may_differ(tmp_path):
    interrupted_at(300, tmp_path)
    np.testing.assert_array_equal(select(tmp_path, n_jobs=2, chunk_size=77).rows, select().rows)


def test_damage_is_found(tmp_path):
    committee = mm.fit_committee(X, Y, n_models=5, random_state=0)

    def select(folder=None, **settings):
        return committee.select(POOL, 20, checkpoint=folder, **settings)

    interrupted_at(300, tmp_path, select=select)
    saved = {path: path.read_bytes() for path in tmp_path.iterdir() if path.name != "lock"}
    assert len(saved) == 2
    rng = np.random.default_rng(0)
    right = select().rows
    n_refused = 0
    for path, content in saved.items():
        for _ in range(60):
            for other in tmp_path.glob("*.*"):
                other.unlink()
            for other, whole in saved.items():
                other.write_bytes(whole)
            damaged = bytearray(content)
            if rng.random() < 0.3:
                del damaged[rng.integers(len(damaged)) :]
            else:
                damaged[rng.integers(len(damaged))] ^= 1 << rng.integers(8)
            path.write_bytes(bytes(damaged))
            try:
                np.testing.assert_array_equal(select(tmp_path).rows, right)
            except InputError as error:
                n_refused += str(tmp_path) in str(error)
    assert n_refused > 100


def test_a_second_process_is_refused_and_told_of_the_first(tmp_path):
    with checkpoint.Checkpoint(tmp_path, {}).locked():
        script = textwrap.dedent(f"""
            from pathlib import Path
            from minmargin.scan.checkpoint import Checkpoint
            with Checkpoint(Path({str(tmp_path)!r}), {{}}).locked():
                pass
        """)
        second = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert second.returncode == 1
    assert f"is in use by process {os.getpid()} on " in second.stderr
    with checkpoint.Checkpoint(tmp_path, {}).locked():
        pass


def test_one_of_a_version_without_distinct_rows_goes_on(tmp_path):
    interrupted_at(300, tmp_path, distinct=False)
    path = tmp_path / "checkpoint.json"
    saved = json.loads(path.read_text())
    del saved["asked"]["distinct"], saved["sha256"]
    path.write_text(json.dumps({**saved, "sha256": checkpoint._digest_of(saved)}))
    with pytest.raises(InputError, match="distinct was false, now true"):
        select(tmp_path)
    np.testing.assert_array_equal(select(tmp_path, distinct=False).rows, select(distinct=False).rows)


def test_a_newer_format_is_not_guessed_at(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "_FORMAT", 2)
    interrupted_at(300, tmp_path)
    monkeypatch.setattr(checkpoint, "_FORMAT", 1)
    with pytest.raises(InputError, match="has format 2, and this version reads 1"):
        select(tmp_path)


def test_a_function_without_a_name_cannot_be_told_from_another(tmp_path):
    X = np.random.default_rng(0).normal(size=(300, 3))
    y = X[:50, 0] > 0
    with pytest.raises(mm.InputError) as caught:
        mm.select(X[:50], y, X, 4, strategy=lambda c: c.uniform, checkpoint=tmp_path / "found")
    assert str(caught.value) == (
        "checkpoint= knows a function by its name, and a lambda has none. Write it with def."
    )
    committee = mm.fit_committee(X[:50], y, n_models=2)
    with pytest.raises(mm.InputError, match=r"^checkpoint= knows a function by its name, and a partial"):
        committee.select(X, 4, strategy=partial(_uniform), checkpoint=tmp_path / "found")


def _uniform(candidates):
    return candidates.uniform

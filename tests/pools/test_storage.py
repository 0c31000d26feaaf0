"""Pools in object storage: the same batch as from disk."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv as arrow_csv
from pyarrow import feather

import minmargin as mm
from complaints import LABELED, LABELED_FRAME, LABELS, POOL_TABLE, X, complaint, pick
from iris_files import assert_same
from minmargin.pools import find_files, open_pool, read_frame
from minmargin.pools.files import FilePool
from stored_pools import CONTENTS, QUOTED, S3, SECRET, parquet, written

# From disk: as ever


def test_paths_on_disk_connect_to_nothing(
    tmp_path: Path, reference: mm.Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(uri: str) -> None:
        pytest.fail(f"connected to {uri}")

    monkeypatch.setattr("minmargin.pools.stores._connect", refuse)
    folder = tmp_path / "ä b:c" / "d"
    folder.mkdir(parents=True)
    path = folder / "pool%20.parquet"
    path.write_bytes(parquet())
    for source in (path, str(path), f"{folder}/*.parquet", f"{folder}/../d", folder, [path]):
        assert_same(pick(LABELED_FRAME, pool=source, batch_size=20), reference)


def test_a_file_uri_is_a_path(tmp_path: Path, reference: mm.Batch) -> None:
    folder = tmp_path / "a b"
    folder.mkdir()
    (folder / "pool.parquet").write_bytes(parquet())
    for source in (f"{folder.as_uri()}/pool.parquet", f"{folder.as_uri()}/*.parquet", f"file://{folder}"):
        batch = pick(LABELED_FRAME, pool=source, batch_size=20)
        assert_same(batch, reference)
        assert batch.manifest["pool"]["source"] == source
        assert find_files(source) == [folder / "pool.parquet"]
    assert complaint(pool="file://elsewhere/x.csv") == (
        "'file://elsewhere/x.csv' is on another machine. Use file:///path for files on this one."
    )


def test_files_on_this_machine_are_found_without_asking_storage(tmp_path: Path) -> None:
    (tmp_path / "x.csv").touch()
    assert find_files(["s3://nowhere/x.csv", tmp_path / "x.csv"]) == [tmp_path / "x.csv"]


# From S3: every format, and every way to name files


@pytest.mark.parametrize("name", CONTENTS)
def test_every_format_gives_the_batch_of_the_local_file(
    s3: S3, tmp_path: Path, reference: mm.Batch, name: str
) -> None:
    uri = s3.put(f"pool/formats/{name}", CONTENTS[name])
    (tmp_path / name).write_bytes(CONTENTS[name])
    labeled = LABELED if name.endswith(".npy") else LABELED_FRAME
    stored = pick(labeled, pool=uri, batch_size=20, chunk_size=40)
    assert_same(stored, pick(labeled, pool=tmp_path / name, batch_size=20, chunk_size=40))
    assert_same(stored, reference)
    assert stored.manifest["pool"]["source"] == f"s3://pool/formats/{name}"


def test_compressed_csv_is_read_by_its_suffix(s3: S3, reference: mm.Batch) -> None:
    path = "pool/gz/pool.csv.gz"
    with s3.filesystem.open_output_stream(path, compression="gzip") as file:
        arrow_csv.write_csv(POOL_TABLE, file)
    assert_same(pick(LABELED_FRAME, pool=s3.uri(path), batch_size=20), reference)


def test_a_folder_a_glob_and_a_list_are_read_in_path_order(
    s3: S3, parts: list[str], reference: mm.Batch
) -> None:
    for source in (
        s3.uri("pool/parts"),
        s3.uri("pool/parts/"),
        s3.uri("pool/parts/[abc]*"),
        s3.uri("pool/par*/**/[!_]*.parquet"),
        parts,
        [*parts, s3.uri("pool/parts/b/*.parquet")],
    ):
        assert_same(pick(LABELED_FRAME, pool=source, batch_size=20), reference)


def test_the_labeled_set_can_be_in_storage_too(s3: S3, parts: list[str], reference: mm.Batch) -> None:
    labeled = s3.put(
        "pool/labeled.parquet",
        parquet(POOL_TABLE.take(np.arange(0, 150, 5)).append_column("y", pa.array(LABELS))),
    )
    assert_same(pick(labeled, "y", s3.uri("pool/parts"), 20), reference)
    assert len(read_frame(labeled)) == 30


def test_escapes_and_spaces_in_a_uri_name_the_same_key(s3: S3, reference: mm.Batch) -> None:
    s3.put("pool/a b/ü?.parquet", parquet())
    for name in ("a b/ü%3F.parquet", "a%20b/%C3%BC%3F.parquet", "a b/*.parquet"):
        assert_same(pick(LABELED_FRAME, pool=s3.uri(f"pool/{name}"), batch_size=20), reference)


def test_a_uri_can_hold_the_credentials(s3: S3, parts: list[str], reference: mm.Batch) -> None:
    batch = pick(LABELED_FRAME, pool=s3.uri("pool/parts", user_info=f"key:{QUOTED}@"), batch_size=20)
    assert_same(batch, reference)
    assert SECRET not in json.dumps(batch.manifest)
    assert batch.manifest["pool"]["source"] == "s3://pool/parts"


def test_only_needed_columns_are_read(s3: S3) -> None:
    random = np.random.default_rng(0)
    wide = pa.table({name: random.random(5000) for name in "abcdefghijklmnop"})
    for name, content in (
        ("wide.parquet", parquet(wide, compression="none")),
        (
            "wide.feather",
            written(lambda t, sink: feather.write_feather(t, sink, compression="uncompressed"), wide),
        ),
    ):
        pool = FilePool(s3.put(f"pool/{name}", content))
        s3.served.clear()
        rows = list(pool.chunks({"a": "number", "c": "number"}, 1000))
        assert rows[0].columns == ["a", "c"]
        assert 0 < s3.bytes_read() < len(content) / 4


def test_the_parts_of_a_row_group_are_asked_for_at_once(s3: S3) -> None:
    many = pa.table({f"column {i}": np.arange(500.0) for i in range(50)})
    pool = FilePool(s3.put("pool/many.parquet", parquet(many)))
    s3.served.clear()
    assert sum(len(rows) for rows in pool.chunks(None, 1000)) == 500
    assert sum(method == "GET" for method, _, _ in s3.served) <= 4


# Groups, other processes, and files that change


def test_remote_groups_one_by_one_are_all_rows(s3: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minmargin.pools.npy._GROUP", 40)
    for name in ("groups.parquet", "batches.feather", "rows.npy", "columns.npy"):
        (file,) = FilePool(s3.put(f"pool/groups/{name}", CONTENTS[name])).files
        assert file.groups is not None
        assert sum(file.groups) == file.n_rows == 150
        whole = np.concatenate([np.asarray(rows) for rows in file.chunks(None, 1000)])
        one_by_one = [list(file.chunks(None, 1000, range(n, n + 1))) for n in range(len(file.groups))]
        assert [sum(map(len, rows)) for rows in one_by_one] == list(file.groups)
        assert np.array_equal(
            np.concatenate([np.asarray(rows) for part in one_by_one for rows in part]), whole
        )
        assert np.array_equal(whole, X)


READ_PICKLED = """
import pickle, sys
for _ in range(3):
    pool = pickle.load(sys.stdin.buffer)
    print([sum(len(rows) for rows in file.chunks(None, 1000)) for file in pool.files])
"""


def test_a_pickled_pool_is_read_by_another_process(s3: S3, tmp_path: Path, parts: list[str]) -> None:
    (tmp_path / "pool.parquet").write_bytes(CONTENTS["groups.parquet"])
    with_credentials = s3.uri("pool/parts", user_info="key:anything@")
    content = b""
    for source in (tmp_path, s3.uri("pool/parts"), with_credentials):
        pool = FilePool(source)
        list(pool.chunks(None, 1000))
        content += pickle.dumps(pool)
    assert SECRET.encode() not in content  # those of the environment are found there again
    command = [sys.executable, "-c", READ_PICKLED]
    done = subprocess.run(command, input=content, capture_output=True, check=True, env=os.environ)
    assert [json.loads(line) for line in done.stdout.splitlines()] == [[150], [40, 50, 60], [40, 50, 60]]


def test_a_stored_file_that_was_replaced_is_named(s3: S3) -> None:
    pool = FilePool(s3.put("pool/replaced.parquet", CONTENTS["groups.parquet"]))
    assert len(list(pool.chunks(None, 1000))) == 12
    s3.put("pool/replaced.parquet", parquet(POOL_TABLE.take(np.arange(150)[::-1]), row_group_size=13))
    with pytest.raises(mm.InputError, match=r"^'s3://pool/replaced.parquet' was replaced or changed since"):
        list(pool.chunks(None, 1000))
    s3.filesystem.delete_file("pool/replaced.parquet")
    with pytest.raises(
        mm.InputError, match=r"^'s3://pool/replaced.parquet' was removed since it was opened\. "
    ):
        list(pool.chunks(None, 1000))


def test_the_fingerprint_of_stored_files_changes_with_them(s3: S3) -> None:
    uri = s3.put("pool/printed.parquet", CONTENTS["whole.parquet"])
    s3.served.clear()
    before = open_pool(uri).describe()
    assert open_pool(uri).describe() == before
    s3.put("pool/printed.parquet", parquet(POOL_TABLE.take(np.arange(150)[::-1])))
    assert open_pool(uri).describe()["fingerprint"] != before["fingerprint"]

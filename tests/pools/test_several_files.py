"""Pools of several files: their order, parts that are read by themselves, and files that change."""

from __future__ import annotations

import os
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import feather

import minmargin as mm
from complaints import LABELED, LABELED_FRAME, LABELS, NAMES, X, y
from iris_files import WHOLE, assert_same, pick, table, write_csv, write_parquet
from minmargin.pools.files import FilePool


def write_parts(folder: Path) -> list[Path]:
    """Write the pool in three files, not in the order of their names."""
    (folder / "b").mkdir(parents=True)
    parts = {"b/0.parquet": X[40:90], "c.parquet": X[90:], "a.parquet": X[:40]}
    return [write_parquet(folder / name, table(part), row_group_size=17) for name, part in parts.items()]


@pytest.mark.parametrize("chunk_size", [11, 1000])
def test_a_folder_is_read_with_its_subfolders_in_path_order(
    tmp_path: Path, reference: mm.Batch, chunk_size: int
) -> None:
    write_parts(tmp_path)
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / "_metadata.parquet").write_text("not a pool file")
    (tmp_path / ".hidden.parquet").write_text("not a pool file")
    (tmp_path / "readme.txt").write_text("not a pool file")
    assert_same(pick(LABELED_FRAME, tmp_path, chunk_size=chunk_size), reference)


def test_a_list_of_paths_is_read_in_path_order_once_each(tmp_path: Path, reference: mm.Batch) -> None:
    paths = write_parts(tmp_path)
    assert_same(pick(LABELED_FRAME, paths), reference)
    assert_same(pick(LABELED_FRAME, [*map(str, reversed(paths)), str(paths[0])]), reference)


def test_a_recursive_glob_is_read_in_path_order(tmp_path: Path, reference: mm.Batch) -> None:
    write_parts(tmp_path)
    assert_same(pick(LABELED_FRAME, f"{tmp_path}/**/*.parquet"), reference)


@pytest.mark.parametrize("glob", ["", "/**", "/**/*.parquet"])
def test_a_folder_that_links_to_itself_is_read_once(tmp_path: Path, reference: mm.Batch, glob: str) -> None:
    """With two such links there are 2^40 paths to each file, which nobody should list."""
    pool = tmp_path / "pool"
    write_parts(pool)
    (pool / "loop").symlink_to(pool)
    (pool / "b" / "loop").symlink_to("..")
    with pytest.warns(mm.DataWarning) as found:
        assert_same(pick(LABELED_FRAME, f"{pool}{glob}"), reference)
    said = "is a link to a folder that is read anyhow. Each file is read once."
    loops = [f"{str(pool / name)!r} {said}" for name in ("b/loop", "loop")]
    assert sorted(str(each.message) for each in found) == loops


@pytest.mark.parametrize("glob", ["", "/**/*.parquet", "/*/*.parquet"])
def test_links_to_other_folders_are_followed(tmp_path: Path, reference: mm.Batch, glob: str) -> None:
    write_parts(tmp_path / "elsewhere" / "all")
    (tmp_path / "pool").mkdir()
    (tmp_path / "elsewhere" / "all" / "b" / "0.parquet").rename(tmp_path / "elsewhere" / "all" / "b.parquet")
    (tmp_path / "pool" / "link").symlink_to(tmp_path / "elsewhere" / "all")
    assert_same(pick(LABELED_FRAME, f"{tmp_path}/pool{glob}"), reference)


def test_links_to_one_file_are_one_file(tmp_path: Path, reference: mm.Batch) -> None:
    paths = write_parts(tmp_path)
    links = [tmp_path / f"link {number}.parquet" for number in range(3)]
    for link in links:
        link.symlink_to(paths[1])
    message = (
        f"{str(links[0])!r} is the file {str(paths[1])!r}, by a link. So are 2 more. Each file is read once."
    )
    with pytest.warns(mm.DataWarning, match=f"^{re.escape(message)}$"):
        assert_same(pick(LABELED_FRAME, tmp_path), reference)


def test_a_pipe_is_refused_before_anybody_waits_for_it(tmp_path: Path) -> None:
    pipe = tmp_path / "pool.parquet"
    os.mkfifo(pipe)
    message = (
        f"{str(pipe)!r} is a pipe or a device, and a pool must be files that can be read again. "
        "Write its content to a file first."
    )
    with pytest.raises(mm.InputError, match=f"^{re.escape(message)}$"):
        pick(LABELED_FRAME, pipe)


def test_a_path_with_glob_marks_that_exists_is_that_file(tmp_path: Path, reference: mm.Batch) -> None:
    path = write_parquet(tmp_path / "pool [1].parquet", table())
    assert_same(pick(LABELED_FRAME, str(path)), reference)


def test_both_suffixes_of_a_format_are_one_format(tmp_path: Path, reference: mm.Batch) -> None:
    write_parquet(tmp_path / "0.parquet", table(X[:70]))
    write_parquet(tmp_path / "1.pq", table(X[70:]))
    assert_same(pick(LABELED_FRAME, tmp_path), reference)


@pytest.mark.parametrize("other", [pa.int64(), pa.float32(), pa.int8()])
def test_files_may_differ_in_the_type_of_their_numbers(tmp_path: Path, other: pa.DataType) -> None:
    schema = pa.schema([(name, other) for name in NAMES])
    write_parquet(tmp_path / "0.parquet", table(WHOLE[:70]))
    write_parquet(tmp_path / "1.parquet", table(WHOLE[70:]).cast(schema))
    assert_same(pick(pd.DataFrame(WHOLE[::5], columns=NAMES), tmp_path), pick(WHOLE[::5], WHOLE))


def test_files_without_rows_between_others_do_no_harm(tmp_path: Path, reference: mm.Batch) -> None:
    for name, part in (("0", X[:0]), ("1", X[:70]), ("2", X[:0]), ("3", X[70:])):
        write_parquet(tmp_path / f"{name}.parquet", table(part))
    assert_same(pick(LABELED_FRAME, tmp_path), reference)


def test_ids_and_kept_columns_follow_their_rows_over_files(tmp_path: Path, reference: mm.Batch) -> None:
    for start in (0, 75):
        numbers = np.arange(start, start + 75)
        extra = {"id": [f"id-{n}" for n in numbers], "title": [f"title {n}" for n in numbers]}
        write_parquet(tmp_path / f"{start:03}.parquet", table(X[numbers], **extra))
    batch = pick(LABELED_FRAME, tmp_path, id_column="id", keep=["title"], chunk_size=9)
    assert_same(batch, reference)
    assert batch.ids.tolist() == [f"id-{row}" for row in reference.rows]
    assert batch.kept.to_pydict() == {"title": [f"title {row}" for row in reference.rows]}


def test_the_labeled_set_can_be_files_with_a_label_column(tmp_path: Path, reference: mm.Batch) -> None:
    labeled = table(LABELED, label=LABELS)
    write_parquet(tmp_path / "labeled-0.parquet", labeled.slice(0, 11))
    write_parquet(tmp_path / "labeled-1.parquet", labeled.slice(11))
    batch = mm.select(
        f"{tmp_path}/labeled-*.parquet",
        "label",
        write_parquet(tmp_path / "pool.parquet", table()),
        20,
        n_models=3,
        random_state=0,
        n_jobs=1,
    )
    assert_same(batch, reference)


# Groups: parts that can be read by themselves, by any process

WRITERS: dict[str, Callable[[Path, np.ndarray, int], Any]] = {
    ".parquet": lambda path, rows, size: pq.write_table(table(rows), path, row_group_size=size),
    ".feather": lambda path, rows, size: feather.write_feather(table(rows), str(path), chunksize=size),
    ".npy": lambda path, rows, size: np.save(path, rows),
}


@settings(max_examples=40)
@given(n=st.integers(1, 150), size=st.integers(1, 60), chunk_size=st.integers(1, 70))
@pytest.mark.parametrize("suffix", WRITERS)
def test_groups_one_by_one_are_all_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, n: int, size: int, chunk_size: int
) -> None:
    monkeypatch.setattr("minmargin.pools.npy._GROUP", size)
    path = tmp_path / f"pool{suffix}"
    WRITERS[suffix](path, X[:n], size)
    (file,) = pickle.loads(pickle.dumps(FilePool(path))).files  # noqa: S301 - our own
    assert sum(file.groups) == file.n_rows == n
    assert len(file.groups) == -(-n // size)
    parts = [list(file.chunks(None, chunk_size, range(g, g + 1))) for g in range(len(file.groups))]
    assert [sum(map(len, part)) for part in parts] == list(file.groups)
    two = min(2, len(parts))
    assert sum(map(len, file.chunks(None, chunk_size, range(two)))) == sum(file.groups[:two])
    assert np.array_equal(np.concatenate([np.asarray(rows) for part in parts for rows in part]), X[:n])
    assert np.array_equal(np.concatenate(list(map(np.asarray, file.chunks(None, chunk_size)))), X[:n])


def test_a_csv_file_has_no_groups(tmp_path: Path) -> None:
    (file,) = FilePool(write_csv(tmp_path / "pool.csv", table())).files
    assert file.groups is file.n_rows is None


def test_what_is_sent_to_workers_is_small(tmp_path: Path) -> None:
    np.save(tmp_path / "pool.npy", np.zeros((100_000, 4)))
    assert len(pickle.dumps(FilePool(tmp_path / "pool.npy"))) < 2000


# Files that change between opening and reading


@pytest.mark.parametrize("suffix", [*WRITERS, ".csv"])
def test_a_file_that_was_replaced_is_named(tmp_path: Path, suffix: str) -> None:
    def write(rows: np.ndarray) -> None:
        write_csv(path, table(rows)) if suffix == ".csv" else WRITERS[suffix](path, rows, 40)

    path = tmp_path / f"pool{suffix}"
    write(X)
    pool = FilePool(path)
    before = path.stat()
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    with pytest.raises(mm.InputError) as caught:
        list(pool.chunks(None, 1000))
    assert str(caught.value) == (
        f"'{path}' was replaced or changed since it was opened (of equal size). Start again when nothing writes "
        "to it; nothing was written."
    )
    write(X[:20])
    with pytest.raises(mm.InputError) as caught:
        list(pool.chunks(None, 1000))
    sizes = f"{before.st_size:,} bytes then, {path.stat().st_size:,} now"
    assert str(caught.value) == (
        f"'{path}' was replaced or changed since it was opened ({sizes}). Start again when nothing writes "
        "to it; nothing was written."
    )
    path.unlink()
    with pytest.raises(mm.InputError) as caught:
        list(pool.chunks(None, 1000))
    assert str(caught.value) == (
        f"'{path}' was removed since it was opened. Put it back and start again; nothing was written."
    )


@pytest.mark.parametrize("last", [True, False])
def test_a_file_that_is_changed_while_it_is_read_is_named(tmp_path: Path, last: bool) -> None:
    path = write_parquet(tmp_path / "pool.parquet", table(), row_group_size=75)
    chunks = FilePool(path).chunks(None, 1000)
    for _ in range(2 if last else 1):
        next(chunks)
    path.write_bytes(b"PAR1" * (path.stat().st_size // 4))
    with pytest.raises(mm.InputError, match="was replaced or changed since it was opened"):
        list(chunks)


def test_row_groups_that_do_not_add_up_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_parquet(tmp_path / "pool.parquet", table(), row_group_size=75)
    pool = FilePool(path)
    monkeypatch.setattr(pool.files[0], "groups", (75, 76))
    with pytest.raises(mm.InputError, match=r"\(it has 150 rows in place of 151\)"):
        list(pool.chunks(None, 1000))


# Arrow datasets


@pytest.mark.parametrize("chunk_size", [13, 1000])
def test_an_arrow_dataset_gives_the_array_batch(tmp_path: Path, reference: mm.Batch, chunk_size: int) -> None:
    write_parts(tmp_path)
    assert_same(pick(LABELED_FRAME, ds.dataset(tmp_path), chunk_size=chunk_size), reference)


def test_partition_columns_of_a_dataset_can_be_kept(tmp_path: Path) -> None:
    ds.write_dataset(table(species=y), tmp_path, format="parquet", partitioning=["species"])
    batch = pick(LABELED_FRAME, ds.dataset(tmp_path, partitioning=["species"]), keep=["species"])
    assert batch.kept["species"].to_pylist() == y[batch.rows].tolist()


# What the manifest records


def test_the_fingerprint_of_files_changes_with_their_content(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "pool.csv", table())
    first = pick(LABELED_FRAME, path).manifest["pool"]
    again = pick(LABELED_FRAME, path).manifest["pool"]
    path.write_bytes(path.read_bytes().replace(b"5.1", b"5.2"))
    changed = pick(LABELED_FRAME, path).manifest["pool"]
    assert first == again
    assert (first["rows"], first["kind"], first["source"], first["files"]) == (150, "files", str(path), 1)
    assert first["fingerprint"] != changed["fingerprint"]


def change_when_read(change: Callable[[], object]) -> Callable[[str, int, int | None], None]:
    """Return a progress function that changes something once all rows are read, and before the batch is made."""

    def look(stage: str, done: int, total: int | None) -> None:
        if stage == "scanning" and done == len(X):
            change()

    return look


@pytest.mark.parametrize("suffix", [*WRITERS, ".csv"])
@pytest.mark.parametrize("change", ["cut", "grown", "removed"])
def test_a_file_that_is_changed_after_it_was_read_is_named(tmp_path: Path, suffix: str, change: str) -> None:
    path = tmp_path / f"pool{suffix}"
    write_csv(path, table()) if suffix == ".csv" else WRITERS[suffix](path, X, 40)
    size = path.stat().st_size
    changes = {
        "cut": lambda: os.truncate(path, size - 1),
        "grown": lambda: os.truncate(path, size + 1),
        "removed": lambda: path.unlink(missing_ok=True),
    }
    labeled = (LABELED if suffix == ".npy" else LABELED_FRAME, LABELS)
    with pytest.raises(mm.InputError) as caught:
        mm.select(*labeled, path, 5, n_models=2, n_jobs=1, progress=change_when_read(changes[change]))
    now = size + {"cut": -1, "grown": 1, "removed": 0}[change]
    assert str(caught.value) == (
        f"'{path}' was removed since it was opened. Put it back and start again; nothing was written."
        if change == "removed"
        else f"'{path}' was replaced or changed since it was opened ({size:,} bytes then, {now:,} now). Start again "
        "when nothing writes to it; nothing was written."
    )


def test_the_file_of_a_memory_map_that_is_written_to_is_named(tmp_path: Path) -> None:
    path = tmp_path / "pool.npy"
    np.save(path, X)

    def write() -> None:
        with path.open("ab") as file:
            file.write(b"more")

    with pytest.raises(mm.InputError, match=r"^'.*pool\.npy' was replaced or changed since it was opened \("):
        mm.select(
            LABELED,
            LABELS,
            np.load(path, mmap_mode="r"),
            5,
            n_models=2,
            n_jobs=1,
            progress=change_when_read(write),
        )


def test_files_that_a_folder_gains_later_are_not_read(tmp_path: Path) -> None:
    write_parts(tmp_path)
    expected = mm.select(LABELED_FRAME, LABELS, tmp_path, 5, n_models=2, n_jobs=1, random_state=0)

    def gain(*_: object) -> None:
        write_parquet(tmp_path / "b" / "1.parquet", table())

    batch = mm.select(LABELED_FRAME, LABELS, tmp_path, 5, n_models=2, n_jobs=1, random_state=0, progress=gain)
    assert (tmp_path / "b" / "1.parquet").exists()
    assert_same(batch, expected)
    assert batch.manifest["pool"] == expected.manifest["pool"]
    assert batch.manifest["pool"]["files"] == 3

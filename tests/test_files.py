"""Files appear whole or not at all."""

from __future__ import annotations

import errno
import json
import os
import stat
import tempfile
from pathlib import Path
from typing import IO

import pytest

import minmargin as mm
from minmargin.errors import InputError
from minmargin.files import check_writable, claimed, make_folder, write_json, write_text, write_whole


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def write_half(file: IO[bytes]) -> None:
    file.write(b"half of the n")
    raise RuntimeError("the power went")


def test_a_file_is_written_and_its_path_returned(tmp_path: Path) -> None:
    path = write_whole(str(tmp_path / "new.bin"), lambda file: file.write(b"content"))
    assert path == tmp_path / "new.bin"
    assert path.read_bytes() == b"content"
    assert names(tmp_path) == ["new.bin"]


def test_a_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "file.bin"
    path.write_bytes(b"a longer old content")
    write_whole(path, lambda file: file.write(b"new"))
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, error: type[BaseException]
) -> None:
    path = tmp_path / "file.bin"
    path.write_bytes(b"old")

    def write(file: IO[bytes]) -> None:
        file.write(b"half of the n")
        raise error("the power went")

    with pytest.raises(error, match="the power went"):
        write_whole(path, write)
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["file.bin"]


def test_a_failed_write_of_a_new_file_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="the power went"):
        write_whole(tmp_path / "file.bin", write_half)
    assert names(tmp_path) == []


def test_the_old_file_is_there_until_the_new_one_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "file.bin"
    path.write_bytes(b"old")
    seen = []

    def write(file: IO[bytes]) -> None:
        file.write(b"new")
        seen.append(path.read_bytes())

    write_whole(path, write)
    assert seen == [b"old"]


def test_a_link_stays_one_and_its_target_is_written(tmp_path: Path) -> None:
    folder, link = tmp_path / "elsewhere", tmp_path / "link.txt"
    folder.mkdir()
    target = folder / "target.txt"
    link.symlink_to("elsewhere/target.txt")
    for text in ("new", "newer"):  # the target is not there at first
        check_writable(link)
        assert write_text(link, text) == link
        assert link.is_symlink()
        assert target.read_text() == text
    assert [each.name for each in folder.iterdir()] == ["target.txt"]


def test_links_that_lead_round_in_a_circle_are_refused(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.symlink_to(there)
    there.symlink_to(here)
    for attempt in (lambda: write_text(here, "x"), lambda: check_writable(here)):
        with pytest.raises(InputError) as caught:
            attempt()
        assert str(caught.value) == f"{str(here)!r} is a link that leads round in a circle. Remove it."


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(mm.InputError) as caught:
        write_whole(tmp_path / "no" / "file.bin", write_half)
    assert str(caught.value) == (
        f"Folder '{tmp_path}/no' does not exist, so 'file.bin' cannot be written there."
    )


@pytest.mark.skipif(os.name == "nt", reason="Windows has no umask")
def test_a_file_is_as_open_as_the_users_other_files(tmp_path: Path) -> None:
    write_whole(tmp_path / "ours", lambda file: file.write(b""))
    (tmp_path / "theirs").touch()
    ours, theirs = (stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("ours", "theirs"))
    assert ours == theirs


def test_json_is_written_whole_with_a_last_line_end(tmp_path: Path) -> None:
    text = write_json(tmp_path / "file.json", {"a": [1, "ü"]}).read_text()
    assert json.loads(text) == {"a": [1, "ü"]}
    assert text.endswith("}\n")


def test_json_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(TypeError):
        write_json(tmp_path / "file.json", {"a": object()})
    assert names(tmp_path) == []


def test_where_a_file_can_be_written_nothing_is_left(tmp_path: Path) -> None:
    (tmp_path / "there.csv").write_bytes(b"old")
    for name in ("new.csv", "there.csv"):
        check_writable(tmp_path / name)
    assert names(tmp_path) == ["there.csv"]
    assert (tmp_path / "there.csv").read_bytes() == b"old"


def test_where_a_file_cannot_be_written_it_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def told(path: Path) -> str:
        with pytest.raises(mm.InputError) as caught:
            check_writable(path)
        return str(caught.value).replace(f"{tmp_path}", "HERE")

    assert told(tmp_path / "no" / "x.csv") == "Folder 'HERE/no' does not exist. Make it, or write elsewhere."
    assert told(tmp_path) == "'HERE' is a folder. Name a file in it."

    def refuse(**_: object) -> None:  # permissions do not bind root, who may run these tests
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    assert told(tmp_path / "x.csv") == "'HERE/x.csv' cannot be written: Permission denied."


def test_what_killed_processes_left_for_the_same_file_is_removed(tmp_path: Path) -> None:
    (tmp_path / ".batch.csv.ab_c1234.tmp").write_bytes(b"half")
    (tmp_path / ".batch.csv.0123abcd.old").mkdir()
    (tmp_path / ".batch.csv.0123abcd.old" / "file").touch()
    others = [".other.csv.ab_c1234.tmp", ".batch.csv.mine.tmp", ".batch.csv.ab_c1234.tmp.txt"]
    for name in others:
        (tmp_path / name).touch()
    write_whole(tmp_path / "batch.csv", lambda file: file.write(b"all"))
    assert sorted(names(tmp_path)) == sorted([*others, "batch.csv"])


def test_what_somebody_still_writes_is_left_alone(tmp_path: Path) -> None:
    other = tmp_path / ".batch.csv.ab_c1234.tmp"
    other.write_bytes(b"half")
    with claimed(other):
        write_whole(tmp_path / "batch.csv", lambda file: file.write(b"all"))
        assert sorted(names(tmp_path)) == [".batch.csv.ab_c1234.tmp", "batch.csv"]
    write_whole(tmp_path / "batch.csv", lambda file: file.write(b"all"))
    assert names(tmp_path) == ["batch.csv"]


def test_two_writers_of_one_file_do_not_disturb_each_other(tmp_path: Path) -> None:
    def write_another_meanwhile(file: IO[bytes]) -> None:
        file.write(b"first")
        write_whole(tmp_path / "batch.csv", lambda other: other.write(b"second"))

    write_whole(tmp_path / "batch.csv", write_another_meanwhile)
    assert (tmp_path / "batch.csv").read_bytes() == b"first"
    assert names(tmp_path) == ["batch.csv"]


def test_a_temporary_file_that_was_taken_for_a_left_one_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    make = tempfile.mkstemp

    def make_and_lose_the_first(**asked: str) -> tuple[int, str]:
        handle, name = make(**asked)
        made.append(name)
        if len(made) == 1:
            Path(name).unlink()
        return handle, name

    monkeypatch.setattr("tempfile.mkstemp", make_and_lose_the_first)
    write_whole(tmp_path / "batch.csv", lambda file: file.write(b"all"))
    assert len(made) == 2
    assert names(tmp_path) == ["batch.csv"]


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    make_folder(tmp_path / "a" / "b")
    make_folder(tmp_path / "a" / "b")
    (tmp_path / "file").touch()
    with pytest.raises(InputError) as caught:
        make_folder(tmp_path / "file" / "b")
    assert str(caught.value) == f"Folder '{tmp_path}/file/b' cannot be made: Not a directory."


def test_a_folder_whose_names_cannot_be_put_on_disk_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(folder: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder))

    monkeypatch.setattr("minmargin.files.sync_folder", full)
    with pytest.raises(InputError) as caught:
        write_text(tmp_path / "x.txt", "text")
    assert str(caught.value) == f"'{tmp_path}/x.txt' cannot be written: No space left on device."

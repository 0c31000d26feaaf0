"""Fetching from a real server: resumed, unpacked, verified, and whole or not at all."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import importlib
import io
import lzma
import stat
import tarfile
import zipfile

import pytest

from minmargin.errors import InputError, MissingExtraError
from minmargin.experiments.datasets import Source, fetch_dataset, load_dataset, verify_dataset

CONTENT = b"".join(b"%d,%d\n" % (i, i % 2) for i in range(20_000))
CHECKSUM = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture(autouse=True)
def _small_chunks_and_no_waiting(monkeypatch):
    monkeypatch.setattr("minmargin.experiments.datasets.fetching._N_RETRIES", 0)
    monkeypatch.setattr("minmargin.experiments.datasets.fetching._CHUNK_BYTES", 100)
    monkeypatch.setattr("pooch.core.time.sleep", lambda _: None)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


def everything_in(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def zipped(name, content):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("readme", "other")
        archive.writestr(name, content)
    return file.getvalue()


def tarred(name, content):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        member = tarfile.TarInfo(name)
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    return file.getvalue()


@pytest.mark.parametrize(
    ("packed", "member"),
    [
        (CONTENT, None),
        (gzip.compress(CONTENT), None),
        (lzma.compress(CONTENT), None),
        (bz2.compress(CONTENT), None),
        (zipped("inner.txt", CONTENT), "inner.txt"),
        (zipped("inner.gz", gzip.compress(CONTENT)), "inner.gz"),
        (tarred("folder/inner.txt", CONTENT), "folder/inner.txt"),
    ],
    ids=["plain", "gz", "xz", "bz2", "zip", "gz in zip", "tgz"],
)
def test_the_content_is_stored_plain_whatever_was_sent(origin, register, tmp_path, packed, member):
    register(origin.source("/file", packed, member))
    assert fetch_dataset("toy", tmp_path) == [tmp_path / "toy" / "toy.csv"]
    assert (tmp_path / "toy" / "toy.csv").read_bytes() == CONTENT
    assert everything_in(tmp_path) == ["toy", "toy/toy.csv"]
    assert load_dataset("toy", tmp_path).X.shape == (20_000, 1)


@pytest.mark.parametrize(
    ("packed", "member"),
    [
        (gzip.compress(bytes(50 << 20)), None),
        (lzma.compress(bytes(50 << 20), preset=0), None),
        (bz2.compress(bytes(50 << 20), 1), None),
        (zipped("inner.gz", gzip.compress(bytes(50 << 20))), "inner.gz"),
    ],
    ids=["gz", "xz", "bz2", "gz in zip"],
)
def test_no_more_is_unpacked_than_a_file_has(origin, register, tmp_path, packed, member):
    register(origin.source("/file", packed, member))
    with pytest.raises(InputError) as caught:
        fetch_dataset("toy", tmp_path)
    assert str(caught.value) == (
        f"File 'toy.csv' of data set 'toy' was not fetched: {origin.url}/file gave something else (It unpacks to more "
        f"than {len(CONTENT):,} bytes). Try again later, or get it from its origin (the school) and put it into "
        f"{str(tmp_path / 'toy')!r}."
    )


def test_a_server_that_sends_too_much_is_given_up_and_nothing_of_it_kept(
    origin, register, tmp_path, monkeypatch
):
    monkeypatch.setattr("minmargin.experiments.datasets.fetching._MOST_BYTES", 1 << 20)
    register(origin.source("/file", bytes(3 << 20)))
    with pytest.raises(InputError) as caught:
        fetch_dataset("toy", tmp_path)
    assert str(caught.value) == (
        f"File 'toy.csv' of data set 'toy' was not fetched: {origin.url}/file sent more than 1 MiB. Try again later, "
        f"or get it from its origin (the school) and put it into {str(tmp_path / 'toy')!r}."
    )
    assert everything_in(tmp_path) == []


def test_a_fetched_file_is_as_open_as_others(origin, register, tmp_path):
    register(origin.source("/file", CONTENT))
    other = tmp_path / "other"
    other.touch()
    (path,) = fetch_dataset("toy", tmp_path)
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(other.stat().st_mode)


def test_what_is_here_and_right_is_not_fetched_again(origin, register, tmp_path):
    register(origin.source("/file", CONTENT))
    (tmp_path / "toy").mkdir()
    here = tmp_path / "toy" / "toy.csv.xz"
    here.write_bytes(lzma.compress(CONTENT))
    assert fetch_dataset("toy", tmp_path) == [here]
    assert origin.asked == []


def test_what_is_here_and_altered_is_fetched_anew(origin, register, tmp_path):
    register(origin.source("/file", CONTENT))
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "toy.csv").write_bytes(CONTENT[:-1])
    fetch_dataset("toy", tmp_path)
    assert [status.state for status in verify_dataset("toy", tmp_path)] == ["ok"]


def test_progress_counts_received_bytes_up_to_the_total(origin, register, tmp_path):
    register(origin.source("/file", CONTENT))
    reports = []
    fetch_dataset("toy", tmp_path, progress=lambda *report: reports.append(report))
    assert {(stage, total) for stage, _, total in reports} == {("toy/toy.csv", len(CONTENT))}
    counts = [done for _, done, _ in reports]
    assert counts == sorted(counts)
    assert counts[-1] == len(CONTENT)
    assert len(counts) > 1


# A connection that breaks


def broken_fetch(origin, register, tmp_path, *, n_sent):
    """Fetch from a server that breaks off after some bytes; return the packed file."""
    packed = gzip.compress(CONTENT)
    register(origin.source("/file.gz", packed))
    origin.cut_after = [n_sent]
    with pytest.raises(InputError, match=r"did not give it \(.+\)\. Try again later"):
        fetch_dataset("toy", tmp_path)
    assert not (tmp_path / "toy" / "toy.csv").exists()
    return packed


def test_a_download_that_broke_off_is_resumed(origin, register, tmp_path):
    packed = broken_fetch(origin, register, tmp_path, n_sent=1000)
    reports = []
    fetch_dataset("toy", tmp_path, progress=lambda *report: reports.append(report))
    assert origin.asked == [("/file.gz", None), ("/file.gz", "bytes=1000-")]
    assert reports[-1] == ("toy/toy.csv", len(packed), len(packed))
    assert (tmp_path / "toy" / "toy.csv").read_bytes() == CONTENT
    assert everything_in(tmp_path) == ["toy", "toy/toy.csv"]


def test_a_server_without_ranges_sends_the_whole_file_again(origin, register, tmp_path):
    broken_fetch(origin, register, tmp_path, n_sent=1000)
    origin.understands_ranges = False
    fetch_dataset("toy", tmp_path)
    assert origin.asked[-1] == ("/file.gz", "bytes=1000-")
    assert (tmp_path / "toy" / "toy.csv").read_bytes() == CONTENT


def test_a_partial_file_that_is_longer_than_the_whole_is_given_up(origin, register, tmp_path):
    packed = broken_fetch(origin, register, tmp_path, n_sent=1000)
    (part,) = (tmp_path / "toy" / ".fetching").iterdir()
    part.write_bytes(b"x" * (len(packed) + 5))
    fetch_dataset("toy", tmp_path)
    assert [wanted for _, wanted in origin.asked[1:]] == [f"bytes={len(packed) + 5}-", None]
    assert (tmp_path / "toy" / "toy.csv").read_bytes() == CONTENT


def test_tries_follow_each_other_and_each_resumes_the_one_before(origin, register, tmp_path, monkeypatch):
    monkeypatch.setattr("minmargin.experiments.datasets.fetching._N_RETRIES", 2)
    register(origin.source("/file.gz", gzip.compress(CONTENT)))
    origin.cut_after = [1000, 500]
    fetch_dataset("toy", tmp_path)
    assert [wanted for _, wanted in origin.asked] == [None, "bytes=1000-", "bytes=1500-"]
    assert (tmp_path / "toy" / "toy.csv").read_bytes() == CONTENT


def test_a_wrong_beginning_is_found_out_and_fetched_anew_by_the_next_try(
    origin, register, tmp_path, monkeypatch
):
    broken_fetch(origin, register, tmp_path, n_sent=1000)
    (part,) = (tmp_path / "toy" / ".fetching").iterdir()
    part.write_bytes(b"x" * 1000)
    monkeypatch.setattr("minmargin.experiments.datasets.fetching._N_RETRIES", 1)
    fetch_dataset("toy", tmp_path)
    assert [wanted for _, wanted in origin.asked[1:]] == ["bytes=1000-", None]
    assert (tmp_path / "toy" / "toy.csv").read_bytes() == CONTENT


# Sources that fail


def test_wrong_content_is_refused_and_nothing_is_left_behind(origin, register, tmp_path):
    source = origin.source("/file", CONTENT + b"more\n")
    register(source)
    with pytest.raises(InputError) as caught:
        fetch_dataset("toy", tmp_path)
    assert str(caught.value) == (
        f"File 'toy.csv' of data set 'toy' was not fetched: {source.url} gave something else (its content has not "
        f"sha256 {CHECKSUM}). Try again later, or get it from its origin (the school) and put it into "
        f"'{tmp_path / 'toy'}'."
    )
    assert everything_in(tmp_path) == []


def test_wrong_content_does_not_replace_a_file(origin, register, tmp_path):
    register(origin.source("/file", b"wrong"))
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "toy.csv").write_bytes(b"older")
    with pytest.raises(InputError, match="gave something else"):
        fetch_dataset("toy", tmp_path)
    assert (tmp_path / "toy" / "toy.csv").read_bytes() == b"older"
    assert everything_in(tmp_path) == ["toy", "toy/toy.csv"]


@pytest.mark.parametrize(
    ("packed", "member", "reason"),
    [
        (zipped("a.txt", CONTENT), "b.txt", r"The archive has no file 'b.txt' \(files: 'readme', 'a.txt'\)"),
        (tarred("a.txt", CONTENT), "b.txt", r"The archive has no file 'b.txt' \(files: 'a.txt'\)"),
        (b"<html>Moved</html>", "b.txt", "It cannot be unpacked: "),
        (gzip.compress(CONTENT)[:500], None, "It cannot be unpacked: "),
    ],
)
def test_an_archive_that_cannot_be_used_is_refused(origin, register, tmp_path, packed, member, reason):
    register(origin.source("/file", packed, member))
    with pytest.raises(InputError, match=rf"gave something else \({reason}"):
        fetch_dataset("toy", tmp_path)
    assert everything_in(tmp_path) == []


def test_the_next_source_is_tried_when_one_fails(origin, register, tmp_path):
    absent = Source(f"{origin.url}/absent")
    register(absent, origin.source("/wrong", b"wrong"), origin.source("/right", CONTENT))
    fetch_dataset("toy", tmp_path)
    assert [path for path, _ in origin.asked] == ["/absent", "/wrong", "/right"]


def test_a_partial_file_is_never_continued_from_another_source(origin, register, tmp_path):
    register(origin.source("/broken", CONTENT), origin.source("/right.gz", gzip.compress(CONTENT)))
    origin.cut_after = [1000]
    fetch_dataset("toy", tmp_path)
    assert origin.asked == [("/broken", None), ("/right.gz", None)]
    assert everything_in(tmp_path) == ["toy", "toy/toy.csv"]


def test_all_failed_sources_are_named(origin, register, tmp_path):
    unreachable = "http://127.0.0.1:1/file"
    register(Source(f"{origin.url}/absent"), Source(unreachable))
    with pytest.raises(InputError) as caught:
        fetch_dataset("toy", tmp_path)
    reasons = (
        f"{origin.url}/absent did not give it (status 404); {unreachable} did not give it (ConnectionError)"
    )
    assert f"was not fetched: {reasons}. Try again later" in str(caught.value)


def test_a_file_without_a_source_says_where_to_get_it_and_where_to_put_it(register, tmp_path):
    register()
    with pytest.raises(InputError) as caught:
        fetch_dataset("toy", tmp_path)
    assert str(caught.value) == (
        "File 'toy.csv' of data set 'toy' was not fetched: no address is known that has it in this form. Try again "
        f"later, or get it from its origin (the school) and put it into '{tmp_path / 'toy'}'."
    )


def test_a_folder_that_cannot_be_made_is_an_error(origin, register, tmp_path):
    register(origin.source("/file", CONTENT))
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"'.*file/toy' cannot be written to: Not a directory\."):
        fetch_dataset("toy", tmp_path / "file")


def test_a_missing_pooch_names_the_extra(origin, register, tmp_path, monkeypatch):
    register(origin.source("/file", CONTENT))
    real = importlib.import_module

    def without_pooch(name):
        if name == "pooch":
            raise ImportError(name)
        return real(name)

    monkeypatch.setattr("minmargin.experiments.datasets.fetching.importlib.import_module", without_pooch)
    with pytest.raises(MissingExtraError) as caught:
        fetch_dataset("toy", tmp_path)
    assert str(caught.value) == (
        "Fetching a data set needs pooch, which is not installed. Use pip install 'minmargin[data]'."
    )


def test_nothing_is_printed(origin, register, tmp_path, capfd):
    register(origin.source("/file", CONTENT))
    fetch_dataset("toy", tmp_path)
    assert capfd.readouterr() == ("", "")

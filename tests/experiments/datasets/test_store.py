"""Where data sets are looked for, how they are recognised, and what is said when they are missing or altered."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import lzma
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from minmargin.errors import InputError
from minmargin.experiments.datasets import DATASETS, data_folders, find_dataset, load_dataset, verify_dataset
from minmargin.experiments.datasets.packing import unpack

CONTENT = b"".join(b"%d,%d\n" % (i, i % 2) for i in range(20_000))
CHECKSUM = hashlib.sha256(CONTENT).hexdigest()
PACKERS = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress, ".bz2": bz2.compress}


@pytest.fixture(autouse=True)
def _toy_and_no_folders(register, monkeypatch, tmp_path):
    register()
    monkeypatch.delenv("MINMARGIN_DATA", raising=False)
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda name: str(tmp_path / "cache" / name))


def put(folder, content, suffix=""):
    path = folder / "toy" / f"toy.csv{suffix}"
    path.parent.mkdir(parents=True)
    path.write_bytes(PACKERS[suffix](content))
    return path


# Where


def test_a_named_folder_is_the_only_one():
    assert data_folders("here") == [Path("here")]
    assert data_folders("~/here") == [Path.home() / "here"]


def test_the_environment_comes_before_the_cache(monkeypatch, tmp_path):
    cache = tmp_path / "cache" / "minmargin" / "data"
    assert data_folders() == [cache]
    monkeypatch.setenv("MINMARGIN_DATA", str(tmp_path / "named"))
    assert data_folders() == [tmp_path / "named", cache]


@pytest.mark.parametrize("folder", ["named", "cache/minmargin/data"])
def test_a_set_is_found_in_either_folder(monkeypatch, tmp_path, folder):
    monkeypatch.setenv("MINMARGIN_DATA", str(tmp_path / "named"))
    path = put(tmp_path / folder, CONTENT)
    assert [status.path for status in verify_dataset("toy")] == [path]
    assert load_dataset("toy").y.tolist() == [0, 1] * 10_000


# Recognised by content


@pytest.mark.parametrize("suffix", PACKERS)
def test_a_copy_of_any_compression_verifies_and_loads_alike(tmp_path, suffix):
    path = put(tmp_path, CONTENT, suffix)
    (status,) = verify_dataset("toy", tmp_path)
    assert (status.state, status.path, status.sha256) == ("ok", path, CHECKSUM)
    table = load_dataset("toy", tmp_path)
    assert np.array_equal(table.X[:, 0], np.arange(20_000))


@given(st.binary(), st.sampled_from(list(PACKERS)))
def test_unpacking_gives_back_any_content_that_is_not_packed_itself(content, suffix):
    assume(not content.startswith((b"\x1f\x8b", b"\xfd7zXZ\x00", b"BZh")))
    assert unpack(PACKERS[suffix](content)) == content


# Missing and altered


def test_a_missing_set_says_where_it_was_looked_for_and_how_to_get_it(monkeypatch, tmp_path):
    named, cache = tmp_path / "named", tmp_path / "cache" / "minmargin" / "data"
    monkeypatch.setenv("MINMARGIN_DATA", str(named))
    with pytest.raises(InputError) as caught:
        load_dataset("toy")
    assert str(caught.value) == (
        f"Data set 'toy' is not on this machine: 'toy.csv' not in '{named / 'toy'}' or '{cache / 'toy'}'. "
        "Use minmargin data fetch toy, or get the files from their origin (the school) and put them into "
        f"'{named / 'toy'}'."
    )
    (status,) = verify_dataset("toy")
    assert (status.state, status.path, status.sha256) == ("missing", None, None)


@pytest.mark.parametrize("suffix", PACKERS)
def test_an_altered_file_is_named_with_both_checksums(tmp_path, suffix):
    path = put(tmp_path, CONTENT + b"1,1\n", suffix)
    other = hashlib.sha256(CONTENT + b"1,1\n").hexdigest()
    (status,) = verify_dataset("toy", tmp_path)
    assert (status.state, status.path, status.sha256) == ("altered", path, other)
    with pytest.raises(InputError) as caught:
        load_dataset("toy", tmp_path)
    assert str(caught.value) == (
        f"'{path}' is altered: its content has sha256 {other}, not {CHECKSUM}. "
        "Delete it, then use minmargin data fetch toy."
    )


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".bz2"])
def test_a_file_that_was_cut_short_is_altered(tmp_path, suffix):
    path = put(tmp_path, CONTENT, suffix)
    path.write_bytes(path.read_bytes()[:-20])
    (status,) = verify_dataset("toy", tmp_path)
    assert (status.state, status.path, status.sha256) == ("altered", path, None)
    with pytest.raises(InputError, match=rf"is altered: its content cannot be unpacked, not {CHECKSUM}\."):
        load_dataset("toy", tmp_path)


def test_an_unreadable_file_is_an_error(tmp_path, monkeypatch):
    path = put(tmp_path, CONTENT)

    def deny(self):
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "read_bytes", deny)
    with pytest.raises(InputError) as caught:
        verify_dataset("toy", tmp_path)
    assert str(caught.value) == f"'{path}' cannot be read: Permission denied."


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(InputError) as caught:
        load_dataset("fashion_mnist")
    told = str(caught.value)
    assert told.startswith("There is no data set 'fashion_mnist' (names: ")
    assert all(repr(name) in told for name in DATASETS)
    assert told.endswith("). Did you mean 'fashion-mnist'?")


# The registry


@pytest.mark.parametrize("name", DATASETS)
def test_an_entry_is_complete(name):
    entry = find_dataset(name)
    assert entry.name == name
    assert all((entry.title, entry.origin, entry.license, entry.note, entry.files))
    assert not entry.origin.endswith(".")
    assert min(entry.n_rows, entry.n_features, entry.n_classes - 1) > 0
    for file in entry.files:
        assert len(bytes.fromhex(file.sha256)) == 32
        assert file.n_bytes > 0
        assert file.sources
        assert not file.name.endswith((".gz", ".xz", ".bz2"))
        assert all(source.url.startswith(("https://", "http://fashion-mnist.")) for source in file.sources)

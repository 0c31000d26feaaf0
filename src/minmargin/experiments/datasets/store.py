"""Data sets that are on this machine: checked against their checksums, and loaded."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Literal, NamedTuple

from minmargin.errors import InputError, listing
from minmargin.experiments.datasets.base import DataFile, Dataset, Table
from minmargin.experiments.datasets.packing import unpack
from minmargin.experiments.datasets.places import data_folders, find_file, home_of
from minmargin.experiments.datasets.registry import find_dataset


class FileStatus(NamedTuple):
    """What was found of a file.

    Attributes:
        file: the registry's entry.
        state: "ok"; "missing": it is nowhere; "altered": its content has another checksum, or cannot be unpacked.
        path: where it was found; None if it is missing.
        sha256: the checksum of the content that was found; None if it is missing or cannot be unpacked.
    """

    file: DataFile
    state: Literal["ok", "missing", "altered"]
    path: Path | None
    sha256: str | None


def load_dataset(name: str, data_dir: str | Path | None = None) -> Table:
    """Return the table of a data set whose files are on this machine.

    Args:
        name: one of `DATASETS`.
        data_dir: the folder with a folder for each data set; by default $MINMARGIN_DATA, then the user's cache.
    """
    dataset = find_dataset(name)
    missing = [file.name for file in dataset.files if find_file(dataset, file, data_dir) is None]
    if missing:
        folders = " or ".join(repr(str(folder / name)) for folder in data_folders(data_dir))
        raise InputError(
            f"Data set {name!r} is not on this machine: {listing(missing)} not in {folders}. "
            f"Use minmargin data fetch {name}, or get the files from their origin ({dataset.origin}) "
            f"and put them into {str(home_of(dataset, data_dir))!r}."
        )
    return dataset.load({file.name: _read_verified(dataset, file, data_dir) for file in dataset.files})


def verify_dataset(name: str, data_dir: str | Path | None = None) -> list[FileStatus]:
    """Return the state of each file of a data set: ok, missing or altered."""
    dataset = find_dataset(name)
    return [_check(dataset, file, data_dir)[0] for file in dataset.files]


def _read_verified(dataset: Dataset, file: DataFile, data_dir: str | Path | None) -> bytes:
    """Return the content of a file that is there, which must be the known one."""
    status, content = _check(dataset, file, data_dir)
    if status.state == "altered":
        found = "cannot be unpacked" if status.sha256 is None else f"has sha256 {status.sha256}"
        raise InputError(
            f"{str(status.path)!r} is altered: its content {found}, not {file.sha256}. "
            f"Delete it, then use minmargin data fetch {dataset.name}."
        )
    return content


def _check(dataset: Dataset, file: DataFile, data_dir: str | Path | None) -> tuple[FileStatus, bytes]:
    """Return the state of a file, and its content, which is empty unless it could be read."""
    path = find_file(dataset, file, data_dir)
    if path is None:
        return FileStatus(file, "missing", None, None), b""
    try:
        content = unpack(path.read_bytes())
    except InputError:
        return FileStatus(file, "altered", path, None), b""
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be read: {error.strerror}.") from error
    found = hashlib.sha256(content).hexdigest()
    return FileStatus(file, "ok" if found == file.sha256 else "altered", path, found), content

"""Where the files of data sets are: FOLDER/NAME/FILE, plain or compressed.

A folder that the caller names is the only one looked in. Otherwise it is the folder that the environment names, then
the user's cache.
"""

from __future__ import annotations

import os
from pathlib import Path

from minmargin.experiments.datasets.base import DataFile, Dataset
from minmargin.experiments.datasets.packing import SUFFIXES

#: The environment variable that names a folder of data sets.
VARIABLE = "MINMARGIN_DATA"


def data_folders(data_dir: str | Path | None = None) -> list[Path]:
    """Return the folders that data sets are looked for in, in order; new files go into the first."""
    if data_dir is not None:
        return [Path(data_dir).expanduser()]
    from platformdirs import user_cache_dir  # noqa: PLC0415 - only those who name no folder need it

    cache = Path(user_cache_dir("minmargin")) / "data"
    named = os.environ.get(VARIABLE)
    return [Path(named).expanduser(), cache] if named else [cache]


def find_file(dataset: Dataset, file: DataFile, data_dir: str | Path | None = None) -> Path | None:
    """Return the path of a file of a data set, or None if it is nowhere."""
    for folder in data_folders(data_dir):
        for suffix in SUFFIXES:
            path = folder / dataset.name / f"{file.name}{suffix}"
            if path.is_file():
                return path
    return None


def home_of(dataset: Dataset, data_dir: str | Path | None = None) -> Path:
    """Return the folder that new files of a data set go into."""
    return data_folders(data_dir)[0] / dataset.name

"""Public data sets by name: fetched, verified and loaded as plain arrays.

A new one is one entry of `registry` and one loader; docs/data.md shows how.
"""

from minmargin.datasets.base import DataFile, Dataset, Source, Table
from minmargin.datasets.fetching import fetch_dataset
from minmargin.datasets.places import data_folders, find_file
from minmargin.datasets.registry import DATASETS, find_dataset
from minmargin.datasets.store import FileStatus, load_dataset, verify_dataset

__all__ = [
    "DATASETS",
    "DataFile",
    "Dataset",
    "FileStatus",
    "Source",
    "Table",
    "data_folders",
    "fetch_dataset",
    "find_dataset",
    "find_file",
    "load_dataset",
    "verify_dataset",
]

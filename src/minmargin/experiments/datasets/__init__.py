"""Public data sets by name: fetched, verified and loaded as plain arrays.

A new one is one entry of `registry` and one loader; docs/data.md shows how.
"""

from minmargin.experiments.datasets.base import DataFile, Dataset, Source, Table
from minmargin.experiments.datasets.fetching import fetch_dataset
from minmargin.experiments.datasets.places import data_folders, find_file
from minmargin.experiments.datasets.registry import DATASETS, find_dataset
from minmargin.experiments.datasets.store import FileStatus, load_dataset, verify_dataset

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

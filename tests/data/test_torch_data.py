"""Tensors, datasets of tensors and loaders of them, as labeled sets and pools."""

from __future__ import annotations

import numpy as np
import pytest

import minmargin as mm
from contract_cases import data

torch = pytest.importorskip("torch")
from torch.utils.data import DataLoader, Dataset, RandomSampler, Subset, TensorDataset, random_split  # noqa: E402


@pytest.fixture
def tensors():
    X, y, pool = data()
    return torch.tensor(X), torch.tensor(np.unique(y, return_inverse=True)[1]), torch.tensor(pool)


def pick(X, y, pool):
    return mm.select(X, y, pool, 6, n_models=3, random_state=1, device="cpu")


def test_a_dataset_of_tensors_and_its_loader_are_the_rows_in_it(tensors):
    X, y, pool = tensors
    expected = pick(X.numpy(), y.numpy(), pool.numpy())
    for given in (
        pool,
        pool.clone().requires_grad_(),
        TensorDataset(pool),
        TensorDataset(pool, torch.zeros(len(pool))),
        DataLoader(TensorDataset(pool), batch_size=7),
        DataLoader(TensorDataset(pool), batch_size=7, drop_last=True),
        Subset(TensorDataset(pool), range(len(pool))),
    ):
        assert pick(X, y, given) == expected
    labeled = TensorDataset(X, y)
    assert pick(labeled, labeled.tensors[1], TensorDataset(pool)) == expected


def test_rows_of_a_subset_are_numbered_by_their_places_in_it(tensors):
    X, y, pool = tensors
    part, _ = random_split(TensorDataset(pool), [0.5, 0.5], generator=torch.Generator().manual_seed(0))
    expected = pick(X, y, pool.numpy()[part.indices])
    assert pick(X, y, part) == expected
    assert pick(X, y, DataLoader(part)) == expected


def test_a_loader_of_a_hub_dataset_is_that_dataset(tensors):
    datasets = pytest.importorskip("datasets")
    X, y, pool = tensors
    rows = datasets.Dataset.from_dict({"vector": pool.numpy()})
    assert pick(X, y, DataLoader(rows.with_format("torch"))).rows.tolist() == pick(X, y, pool).rows.tolist()


@pytest.mark.parametrize(
    "make",
    [
        lambda rows: DataLoader(rows, shuffle=True),
        lambda rows: DataLoader(rows, sampler=RandomSampler(rows)),
    ],
    ids=["shuffle", "sampler"],
)
def test_a_loader_that_shuffles_is_refused(tensors, make):
    X, y, pool = tensors
    with pytest.raises(mm.InputError) as caught:
        pick(X, y, make(TensorDataset(pool)))
    assert str(caught.value) == (
        "The pool is a DataLoader that gives rows in another order than its dataset, so row numbers would mean "
        "nothing. Use shuffle=False and no sampler, or give loader.dataset."
    )


class Squares(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, place):
        return torch.tensor([place**2])


@pytest.mark.parametrize(
    "make",
    [
        lambda rows: DataLoader(Squares()),
        lambda rows: DataLoader(rows, collate_fn=lambda rows: rows),
    ],
    ids=["another dataset", "another collate_fn"],
)
def test_a_loader_that_makes_rows_is_refused(tensors, make):
    X, y, pool = tensors
    loader = make(TensorDataset(pool))
    with pytest.raises(mm.InputError) as caught:
        pick(X, y, loader)
    assert str(caught.value) == (
        f"The pool is a DataLoader that makes its rows as it goes, of a {type(loader.dataset).__name__}. Use a "
        "TensorDataset and the usual collate_fn, or give the rows as an array."
    )


def test_other_datasets_of_torch_are_refused(tensors):
    X, y, pool = tensors
    with pytest.raises(mm.InputError) as caught:
        pick(X, y, Subset(Squares(), [0]))
    assert str(caught.value) == (
        "The pool is a Subset of a Squares. Use a Subset of a TensorDataset, or give the rows as an array."
    )
    with pytest.raises(mm.InputError) as caught:
        pick(X, y, TensorDataset(pool, pool, pool))
    assert str(caught.value) == (
        "The pool is a TensorDataset of 3 tensors, and one of rows, or of rows and labels, is needed. Give the rows as "
        "one tensor."
    )

"""Keys are the same for rows that have the same values, and for no others, however the rows are kept."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy import sparse

from minmargin.compute import make_keys
from minmargin.data import keys as of_rows
from minmargin.data.keys import are_among, are_copies, count_copies, keys_of_numbers, keys_of_values

# Numbers that differ in few bits, in the sign alone, or not at all.
VALUES = st.sampled_from([0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 1.0 + 2.0**-23, 3.0e-39, np.inf])
ROWS = arrays(np.float32, array_shapes(min_dims=2, max_dims=2, max_side=40), elements=VALUES)


def with_explicit_zeros(X):
    """Return a CSR array that holds all values of X, zeros too, the last column first."""
    n_rows, width = X.shape
    columns = np.tile(np.arange(width)[::-1], n_rows)
    return sparse.csr_array((X[:, ::-1].ravel(), columns, np.arange(0, n_rows * width + 1, width)), X.shape)


@given(X=ROWS)
def test_keys_are_equal_exactly_where_all_values_are(X):
    keys = keys_of_numbers(X)
    rows = [tuple(row) for row in X.tolist()]
    for one in range(len(rows)):
        for other in range(one):
            assert (keys[one].tolist() == keys[other].tolist()) == (rows[one] == rows[other])
    assert count_copies(keys) == len(rows) - len(set(rows))


@given(X=ROWS, tile=st.sampled_from([1, 7, 1 << 14]))
def test_no_way_to_keep_rows_changes_their_keys(X, tile):
    keys = keys_of_numbers(X)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(of_rows, "_TILE", tile)
        ways = [X, X.astype(np.float64), np.asfortranarray(X), sparse.csr_array(X), with_explicit_zeros(X)]
        for rows in ways:
            np.testing.assert_array_equal(keys_of_numbers(rows), keys)
            np.testing.assert_array_equal(make_keys(rows, compiled=True), keys)
        np.testing.assert_array_equal(np.concatenate([keys_of_numbers(X[:1]), keys_of_numbers(X[1:])]), keys)


def test_a_missing_value_is_like_any_other():
    other_nan = np.array([0xFFF8_0000_0000_0123], np.uint64).view(np.float64)[0]
    X = np.array([[1.0, np.nan], [1.0, other_nan], [np.nan, 1.0], [np.inf, -np.inf]])
    assert count_copies(keys_of_numbers(X)) == 1
    np.testing.assert_array_equal(*keys_of_numbers(X)[:2])
    np.testing.assert_array_equal(make_keys(X, compiled=True), keys_of_numbers(X))


def test_rows_that_have_no_values_are_all_alike():
    assert keys_of_numbers(sparse.csr_array((3, 5))).tolist() == [[0, 0]] * 3
    assert keys_of_numbers(np.empty((0, 5))).shape == (0, 2)


def test_of_a_million_rows_no_two_meet():
    """Whole numbers and signs differ in few and high bits."""
    grid = np.stack(np.meshgrid(*[np.arange(-16.0, 16.0)] * 4), axis=-1).reshape(-1, 4)
    assert count_copies(keys_of_numbers(grid)) == 0
    for half in range(2):
        assert len(np.unique(keys_of_numbers(grid)[:, half])) > len(grid) - 5


@pytest.mark.parametrize(
    "make",
    [
        pd.DataFrame,
        pl.DataFrame,
        pa.table,
        lambda columns: np.array([*zip(*columns.values(), strict=True)], object),
    ],
)
def test_other_values_are_compared_one_by_one(make):
    rows = make({"city": ["Bonn", "Köln", "Bonn", "Bonn"], "size": [0.0, 1.0, -0.0, 2.0]})
    keys = keys_of_values(rows)
    assert are_copies(keys).tolist() == [False, False, True, False]


def test_texts_and_lists_are_values_too():
    texts = np.array(["a, b", "a", "a, b", ""], object)
    assert are_copies(keys_of_values(texts)).tolist() == [False, False, True, False]
    long = np.arange(5000.0)
    lists = pd.DataFrame({"vector": [long, np.r_[long[:2500], -1.0, long[2501:]], long.copy()]})
    assert are_copies(keys_of_values(lists)).tolist() == [False, False, True]


@given(
    numbers=st.lists(st.integers(0, 5), max_size=30),
    others=st.lists(st.integers(0, 5), max_size=30),
)
def test_copies_come_after_the_first_and_are_found_among_others(numbers, others):
    keys, theirs = (
        np.array([(n % 2, n // 2) for n in each], np.uint64).reshape(-1, 2) for each in (numbers, others)
    )
    later_first = -np.arange(len(numbers))
    firsts = {number: place for place, number in enumerate(numbers)}  # the last place of each stays
    expected = [firsts[number] != place for place, number in enumerate(numbers)]
    assert are_copies(keys, later_first).tolist() == expected
    assert are_among(keys, theirs).tolist() == [number in others for number in numbers]


def test_keys_are_the_same_on_every_machine():
    """A checkpoint may be taken up elsewhere, and a cluster may have machines of several kinds."""
    assert keys_of_numbers(np.array([[1.0, -2.5, 0.0]])).tolist() == [
        [15292799466333274112, 18030429688982325888]
    ]

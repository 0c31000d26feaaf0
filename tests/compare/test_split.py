"""Splits: deals that depend on the seed and their number alone, and errors that name the fix."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minmargin.compare.split import Split, check_rounds
from minmargin.errors import InputError
from minmargin.labeled import LabeledSet

RNG = np.random.default_rng(0)


def table_of(counts):
    y = np.repeat(np.arange(len(counts)), counts)
    return LabeledSet.of(RNG.normal(size=(len(y), 2)), y)


def split_of(table, n_labeled=10, test_size=0.5, fraction=1.0, seed=0, n_draws=3):
    return Split.of(
        table,
        n_labeled=n_labeled,
        test_size=test_size,
        bootstrap_fraction=fraction,
        seed=seed,
        n_draws=n_draws,
    )


@given(st.integers(2, 20), st.integers(0, 2**40), st.integers(0, 100))
def test_a_deal_is_a_partition_of_the_table_and_can_be_made_again(n_labeled, seed, draw):
    split = split_of(table_of([30, 30]), n_labeled=n_labeled, seed=seed)
    deal, again = split.deal(draw), split.deal(draw)
    parts = [deal.labeled, deal.pool, deal.test]
    assert sorted(np.concatenate(parts)) == list(range(60))
    assert [len(part) for part in parts] == [n_labeled, split.n_pool, 30]
    assert len(np.unique(deal.y[deal.labeled])) == 2
    for one, other in zip(deal[1:], again[1:], strict=True):
        np.testing.assert_array_equal(one, other)
    assert set(split.deal(draw + 1).test) != set(deal.test)


def test_members_can_be_given_two_classes():
    split = split_of(table_of([100, 12]), n_labeled=10, fraction=0.5, n_draws=20)
    for draw in range(20):
        deal = split.deal(draw)
        assert np.bincount(deal.y[deal.labeled]).min() >= 2


def test_classes_are_drawn_as_often_as_they_are_there():
    split = split_of(table_of([150, 50]), n_labeled=40)
    shares = [split.deal(draw).y[split.deal(draw).labeled].mean() for draw in range(200)]
    assert np.mean(shares) == pytest.approx(0.25, abs=0.02)
    assert np.std(shares) > 0.02  # it is not stratified


@pytest.mark.parametrize(
    ("n_labeled", "test_size", "n_rows", "expected"),
    [
        (100, 0.5, 19_020, (25, 50, 100, 200, 400, 800, 1600)),
        (100, 0.5, 569, (25, 50)),
        (10, 0.2, 200, (2, 5, 10, 20, 40)),
        (100, 0.5, 230, (7,)),  # half of a pool that is too small for a quarter of the labels
    ],
)
def test_usual_batch_sizes_go_up_to_half_the_pool(n_labeled, test_size, n_rows, expected):
    split = split_of(table_of([n_rows // 2, n_rows - n_rows // 2]), n_labeled=n_labeled, test_size=test_size)
    assert split.check_batch_sizes(None) == expected


def test_batch_sizes_are_sorted_and_each_is_played_once():
    split = split_of(table_of([50, 50]))
    assert split.check_batch_sizes([20, 5, 20]) == (5, 20)
    assert split.check_batch_sizes(7) == (7,)


MESSAGES = [
    (
        lambda: split_of(table_of([30, 30]), n_labeled=40),
        (
            "The table has 60 rows, and n_labeled=40 with test_size=0.5 (30 rows) leaves none to pick from. Use "
            "smaller ones, or a larger table."
        ),
    ),
    (
        lambda: split_of(table_of([30, 1, 1])),
        (
            "Some classes have a single row, which cannot be both learned from and tested on: 1, 2. Drop such rows, "
            "or merge the classes with others."
        ),
    ),
    (
        lambda: split_of(table_of([30, 30]), test_size=1.5),
        "test_size=1.5 must be a fraction between 0 and 1, or a whole number of rows. 0.5 is usual.",
    ),
    (lambda: split_of(table_of([30, 30]), test_size=0), "test_size=0 must be a whole number >= 1."),
    (
        lambda: split_of(table_of([30, 30]), n_labeled=1),
        "n_labeled=1 must be a whole number >= 2; 100 is usual.",
    ),
    (
        lambda: split_of(table_of([99_998, 2]), n_labeled=5),
        (
            "None of 100 random samples of n_labeled=5 rows had two classes that members can be given: class 0 has "
            "99,998 of 100,000 rows. Use a larger n_labeled."
        ),
    ),
    (
        lambda: split_of(table_of([50, 50])).check_batch_sizes([10, 60]),
        (
            "batch_sizes has 60, and of the 100 rows only 40 can be picked: 10 are labeled and 50 are for testing. Use "
            "batch sizes of at most 40."
        ),
    ),
    (
        lambda: split_of(table_of([50, 50])).check_batch_sizes([]),
        "batch_sizes is empty. Name at least one, or leave it out.",
    ),
    (
        lambda: split_of(table_of([50, 50])).check_batch_sizes([0.5]),
        "batch_sizes=0.5 must be a whole number >= 1.",
    ),
    (
        lambda: check_rounds((1, 6), (5, 50)),
        "rounds=6 cannot divide a batch of 5. Use fewer rounds or larger batches.",
    ),
    (lambda: check_rounds((), (5,)), "rounds is empty. Use rounds=1 for one round."),
]


@pytest.mark.parametrize(("make", "message"), MESSAGES, ids=range(len(MESSAGES)))
def test_errors_name_the_fix(make, message):
    with pytest.raises(InputError) as error:
        make()
    assert str(error.value) == message

"""Stratified draws: sizes, replacement, independence of K."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minmargin as mm
from minmargin.labeled import Bootstrap, draw_sizes
from minmargin.seeds import SeedTree

CODES = np.repeat([0, 1, 2], [10, 5, 100])


@given(
    beta=st.sampled_from([0.2, 0.29, 0.5, 1.0, 1.5, 3.0]),
    member=st.integers(0, 50),
    seed=st.integers(0, 2**60),
)
def test_every_class_keeps_its_share(beta, member, seed):
    sizes = draw_sizes(np.bincount(CODES), beta)
    drawn = Bootstrap(CODES, sizes, SeedTree(seed)).indices(member)
    assert np.bincount(CODES[drawn]).tolist() == sizes.tolist()


@pytest.mark.parametrize(
    ("beta", "count", "size"),
    [(0.29, 100, 29), (0.7, 10, 7), (1.1, 10, 11), (0.999, 10, 9), (1.0, 3, 3), (2.5, 3, 7)],
)
def test_sizes_are_the_floor_of_the_fraction_as_written(beta, count, size):
    assert draw_sizes(np.array([count]), beta).tolist() == [size]


@pytest.mark.parametrize("count", [3, 7, 1000])
def test_the_smallest_fraction_that_an_error_names_works(count):
    with pytest.raises(mm.InputError) as error:
        draw_sizes(np.array([count]), 0.00001)
    named = float(str(error.value).rpartition(">=")[2].rstrip("."))
    assert draw_sizes(np.array([count]), named).tolist() == [1]


def test_multiplicities_count_the_indices():
    bootstrap = Bootstrap(CODES, draw_sizes(np.bincount(CODES), 1.0), SeedTree(7))
    counted = np.zeros(len(CODES), dtype=int)
    np.add.at(counted, bootstrap.indices(3), 1)
    assert bootstrap.multiplicities(3).tolist() == counted.tolist()
    assert counted.max() > 1, "drawn with replacement"


def test_members_draw_differently_and_alike_in_any_committee():
    bootstrap = Bootstrap(CODES, draw_sizes(np.bincount(CODES), 1.0), SeedTree(7))
    draws = {tuple(bootstrap.indices(member)) for member in range(20)}
    assert len(draws) == 20
    X, y = np.random.default_rng(0).normal(size=(115, 3)), CODES
    few = mm.fit_committee(X, y, n_models=2, random_state=7).scorer.member_weights
    many = mm.fit_committee(X, y, n_models=4, random_state=7).scorer.member_weights
    np.testing.assert_array_equal(few, many[:, :2])


def test_every_row_is_equally_likely():
    bootstrap = Bootstrap(CODES, draw_sizes(np.bincount(CODES), 1.0), SeedTree(0))
    total = sum(bootstrap.multiplicities(member) for member in range(3000))
    # Each row is drawn 3000 times in expectation; 6 standard deviations of a Poisson count is 330.
    assert np.abs(total - 3000).max() < 330

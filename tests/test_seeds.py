"""One seed, many independent streams."""

import numpy as np
import pytest
from scipy import stats

import minmargin as mm
from minmargin.hashes import hash_rows
from minmargin.seeds import SeedTree

ROWS = np.arange(200_000)


def test_hash_is_splitmix64():
    """The first outputs of splitmix64 with state 0, as its author published them."""
    expected = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    assert hash_rows(np.uint64(0), np.arange(3)).tolist() == expected


def test_uniform_numbers_are_uniform_and_independent_of_ties():
    seeds = SeedTree(3)
    uniform = seeds.uniform(ROWS)
    assert uniform.min() >= 0
    assert uniform.max() < 1
    counts = np.histogram(uniform, bins=100, range=(0, 1))[0]
    chi_square = ((counts - 2000) ** 2 / 2000).sum()
    assert chi_square < 160, "99 degrees of freedom: 1 in 10,000"
    assert abs(np.corrcoef(uniform, seeds.ties(ROWS).astype(float))[0, 1]) < 0.01


def test_noise_is_gumbel_noise_and_independent_of_the_other_numbers():
    seeds = SeedTree(3)
    noise = seeds.gumbel(ROWS)
    assert stats.kstest(noise, stats.gumbel_r.cdf).pvalue > 1e-4
    for other in (seeds.uniform(ROWS), seeds.ties(ROWS).astype(float)):
        assert abs(stats.spearmanr(noise, other).statistic) < 0.01
    assert abs(stats.spearmanr(noise[1:], noise[:-1]).statistic) < 0.01


def test_noise_grows_with_its_bits():
    """So rows can be dismissed by comparing integers, before any logarithm is made."""
    seeds = SeedTree(3)
    order = np.argsort(seeds.noise_bits(ROWS))
    assert (np.diff(seeds.gumbel(ROWS)[order]) >= 0).all()


def test_old_branches_of_the_tree_stay_where_they_are():
    """Batches of earlier versions can be had again."""
    seeds, rows = SeedTree(3), np.array([0, 7])
    assert seeds.ties(rows).tolist() == [6718008176652144687, 3093276442089562115]
    assert seeds.uniform(rows).tolist() == [0.25023702311142837, 0.6837281569455238]
    assert seeds.noise_bits(rows).tolist() == [1320745050550318104, 11119277803336278572]


def test_the_two_numbers_of_a_proposal_are_uniform_and_independent():
    seeds = SeedTree(3)
    pairs = seeds.proposals(ROWS)
    counts = np.histogram2d(*pairs.T, bins=10, range=[(0, 1), (0, 1)])[0]
    chi_square = ((counts - 2000) ** 2 / 2000).sum()
    assert chi_square < 160, "99 degrees of freedom: 1 in 10,000"
    np.testing.assert_array_equal(seeds.proposals(ROWS[500:600]), pairs[500:600])
    assert abs(np.corrcoef(pairs[:, 0], seeds.uniform(ROWS))[0, 1]) < 0.01


def test_a_row_has_the_same_number_whatever_rows_it_comes_with():
    seeds = SeedTree(3)
    np.testing.assert_array_equal(seeds.uniform(ROWS)[500:600], seeds.uniform(ROWS[500:600]))
    np.testing.assert_array_equal(seeds.gumbel(ROWS)[500:600], seeds.gumbel(ROWS[500:600]))
    assert seeds.ties(np.array([2**40]))[0] != seeds.ties(np.array([0]))[0]


def test_the_same_random_state_plants_the_same_tree():
    assert SeedTree.plant(5) == SeedTree.plant(np.int64(5))
    assert SeedTree.plant(None) != SeedTree.plant(None)
    assert SeedTree.plant(np.random.RandomState(0)) == SeedTree.plant(np.random.RandomState(0))
    assert SeedTree.plant(np.random.default_rng(0)) == SeedTree.plant(np.random.default_rng(0))


@pytest.mark.parametrize("random_state", [-1, 1.5, "seed"])
def test_what_cannot_seed_is_refused(random_state):
    with pytest.raises(mm.InputError, match="cannot seed a run"):
        SeedTree.plant(random_state)

"""Picks that lie apart: one definition, whoever computes, and the chances that k-means++ promises."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import sparse

from brute_force_apart import Apart, squared_distance
from minmargin.compute import Embedding, models, pick_apart
from minmargin.compute.apart import PlainDistances
from minmargin.compute.cpu.apart import DenseDistances, SparseDistances
from minmargin.seeds import SeedTree

BELOW_ONE = 1.0 - 2.0**-53


def factors(seed, n, n_left, n_right, digits, scale=1.0):
    """Return made-up embeddings; few digits make many of them equal."""
    rng = np.random.default_rng(seed)
    left, right = rng.normal(size=(n, n_left)), rng.normal(size=(n, n_right)) * scale
    if digits is not None:
        left, right = np.round(left, digits), np.round(right, digits)
    return Embedding(left, right * (rng.random((n, n_right)) < 0.7))


def as_lists(embedding):
    return list(zip(embedding.left.tolist(), embedding.right.tolist(), strict=True))


def as_csr(embedding):
    return Embedding(embedding.left, sparse.csr_array(embedding.right))


def ways():
    """Return who can compute, and in which form they take the right factors."""
    return [
        PlainDistances,
        lambda e: PlainDistances(as_csr(e)),
        lambda e: DenseDistances(*e, 1),
        lambda e: SparseDistances(*as_csr(e), 1),
    ]


def picks_of_all_ways(embedding, n_picks, ties, chance, centers=None):
    """Return what numpy and compiled kernels pick, of dense and of sparse rows; the size of the work is set aside."""
    found = []
    for small_work in (1 << 62, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(models, "SMALL_WORK", small_work)
            for form in (Embedding._make, as_csr):
                given_centers = None if centers is None else form(centers)
                found.append(
                    pick_apart(
                        form(embedding), n_picks, ties=ties, chance=chance, centers=given_centers, n_jobs=2
                    )
                )
    return found


@settings(deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 60),
    n_left=st.integers(1, 4),
    n_right=st.integers(1, 20),
    n_picks=st.integers(1, 70),
    n_centers=st.sampled_from([0, 1, 40]),
    digits=st.sampled_from([0, 1, None]),
    scale=st.sampled_from([1e-3, 1.0, 1e6]),
)
def test_every_way_picks_what_the_oracle_picks(seed, n, n_left, n_right, n_picks, n_centers, digits, scale):
    embedding = factors(seed, n, n_left, n_right, digits, scale)
    centers = factors(seed + 1, n_centers, n_left, n_right, digits, scale) if n_centers else None
    seeds = SeedTree(seed)
    ties = seeds.ties(np.arange(n))
    oracle = Apart(as_lists(embedding), as_lists(centers) if centers else ())
    expected = oracle.pick(n_picks, ties.tolist(), lambda t: seeds.proposals(np.array([t]))[0].tolist())
    for picked, distances in picks_of_all_ways(embedding, n_picks, ties, seeds.proposals, centers):
        assert picked.tolist() == expected[0]
        assert distances.tolist() == expected[1]


@settings(deadline=None, max_examples=20)
@given(
    seed=st.integers(0, 2**32 - 1),
    extreme=st.sampled_from([0.0, BELOW_ONE]),
    digits=st.sampled_from([0, None]),
)
@example(seed=7, extreme=0.0, digits=0)  # no bound is left when all are brought up to date
def test_numbers_at_the_ends_of_chance_pick_what_the_oracle_picks(seed, extreme, digits):
    """Then rounding may lead past the last candidate of a block, or of all; there are three blocks."""
    embedding = factors(seed, 1100, 1, 1, digits)
    ties = np.zeros(1100, dtype=np.uint64)
    oracle = Apart(as_lists(embedding))
    expected = oracle.pick(12, ties.tolist(), lambda t: (extreme, 0.5 * (t % 2)))

    def chance(numbers):
        return np.stack([np.full(len(numbers), extreme), 0.5 * (numbers % 2)], axis=1)

    for picked, distances in picks_of_all_ways(embedding, 12, ties, chance):
        assert picked.tolist() == expected[0]
        assert distances.tolist() == expected[1]


def test_many_picks_are_those_of_the_oracle():
    """Bounds are brought up to date at growing intervals, and compiled kernels share the work among threads."""
    embedding, seeds = factors(0, 700, 2, 3, None), SeedTree(0)
    ties = seeds.ties(np.arange(700))
    chances = seeds.proposals(np.arange(5000)).tolist()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("minmargin.compute.cpu.apart._SHARE", 1000)
        found = picks_of_all_ways(embedding, 600, ties, seeds.proposals)
    expected = Apart(as_lists(embedding)).pick(600, ties.tolist(), lambda t: chances[t])
    for picked, distances in found:
        assert picked.tolist() == expected[0]
        assert distances.tolist() == expected[1]


@given(seed=st.integers(0, 2**32 - 1), n_held=st.integers(1, 30), scale=st.sampled_from([1e-3, 1.0, 1e200]))
@settings(deadline=None)
def test_every_way_has_the_same_distances(seed, n_held, scale):
    """With products beyond the range of float64, too: a distance that is no number is 0."""
    embedding = factors(seed, 40, 3, 11, None, scale)
    bounds = []
    for way in ways():
        distances = way(embedding)
        source = as_csr(embedding) if isinstance(distances, SparseDistances) else embedding
        for row in range(n_held):
            distances.hold(source, row, distances.squares[row])
        lowered = np.full(40, np.inf)
        distances.lower(lowered)
        assert [distances.nearest(i, 0) for i in range(40)] == lowered.tolist()
        bounds.append(lowered)
    for lowered in bounds:
        assert lowered.tobytes() == bounds[0].tobytes()
    if scale < 1e100:
        of_rows = as_lists(embedding)
        assert bounds[0].tolist() == [
            min(squared_distance(e, of_rows[k]) for k in range(n_held)) for e in of_rows
        ]


def test_an_outlier_is_soon_forgotten():
    """Seen from far away all bounds are large, and nearly all proposals are rejected; after 1,024 they are mended."""
    embedding, seeds = factors(0, 4000, 2, 3, None), SeedTree(0)
    embedding.right[17] = 1e5
    ties = seeds.ties(np.arange(4000))
    chances = seeds.proposals(np.arange(20_000)).tolist()
    asked = []

    def chance(numbers):
        asked.append(len(numbers))
        return seeds.proposals(numbers)

    found = picks_of_all_ways(embedding, 12, ties, chance)
    assert 1024 < sum(asked) / len(found) <= 4096
    expected = Apart(as_lists(embedding)).pick(12, ties.tolist(), lambda t: chances[t])
    for picked, distances in found:
        assert picked.tolist() == expected[0]
        assert distances.tolist() == expected[1]


def test_equal_embeddings_are_picked_once():
    kinds = factors(0, 7, 2, 3, None)
    copies = np.random.default_rng(0).integers(0, 7, 2000)
    embedding, seeds = Embedding(kinds.left[copies], kinds.right[copies]), SeedTree(1)
    for picked, distances in picks_of_all_ways(embedding, 50, seeds.ties(np.arange(2000)), seeds.proposals):
        assert sorted(copies[picked]) == list(range(7))
        assert (distances > 0).all()


def test_given_centers_are_not_picked_again():
    embedding, seeds = factors(0, 1300, 2, 12, None), SeedTree(1)
    given_rows = Embedding(embedding.left[:1200], embedding.right[:1200])  # more than are held at a time
    for picked, _ in picks_of_all_ways(
        embedding, 200, seeds.ties(np.arange(1300)), seeds.proposals, given_rows
    ):
        assert sorted(picked.tolist()) == list(range(1200, 1300))


def test_the_longest_is_first_and_ties_decide_among_equals():
    embedding = Embedding(np.ones((4, 1)), np.array([[1.0], [2.0], [-2.0], [2.0]]))
    picked, distances = pick_apart(
        embedding, 1, ties=np.array([0, 9, 3, 3], dtype=np.uint64), chance=SeedTree(0).proposals
    )
    assert (picked.tolist(), distances.tolist()) == ([2], [4.0])


def test_nothing_to_pick_gives_nothing():
    none = Embedding(np.empty((0, 2)), np.empty((0, 3)))
    one = Embedding(np.ones((1, 2)), np.ones((1, 3)))
    for candidates, n_picks, centers in ((none, 5, None), (none, 5, one), (one, 0, None), (one, 5, one)):
        ties = np.zeros(len(candidates.left), np.uint64)
        picked, distances = pick_apart(
            candidates, n_picks, ties=ties, chance=SeedTree(0).proposals, centers=centers
        )
        assert (len(picked), len(distances)) == (0, 0)


def test_picks_are_as_likely_as_k_means_plus_plus_makes_them():
    """Ordered triples of picks of six points, over 20,000 seeds: bounds are out of date for the third."""
    points = np.array([[0.0, 0.0], [3.0, 0.5], [1.0, 2.0], [0.5, 0.2], [2.0, 2.0], [0.1, 1.0]])
    embedding = Embedding(np.ones((6, 1)), points)
    squares = ((points[:, np.newaxis] - points) ** 2).sum(axis=2)
    expected = {}
    for second in (0, 2, 3, 4, 5):
        chance_of_second = squares[1, second] / squares[1].sum()
        nearest = np.minimum(squares[1], squares[second])
        for third in range(6):
            if nearest[third] > 0:
                expected[second, third] = chance_of_second * nearest[third] / nearest.sum()
    n_seeds, counts = 20_000, dict.fromkeys(expected, 0)
    numbers = np.random.default_rng(0).random((n_seeds, 64, 2))
    for mine in numbers:
        picked, _ = pick_apart(embedding, 3, ties=np.zeros(6, np.uint64), chance=lambda _, mine=mine: mine)
        assert picked[0] == 1, "the longest"
        counts[tuple(picked[1:].tolist())] += 1
    chi_square = sum((counts[pair] - n_seeds * p) ** 2 / (n_seeds * p) for pair, p in expected.items())
    assert len(expected) == 20
    assert chi_square < 43.8, "19 degrees of freedom: 1 in 1,000"

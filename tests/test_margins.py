"""The formulas, checked by hand, against scipy and against 200-bit arithmetic."""

import mpmath
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import special

from minmargin import margins

# Two members, two rows, three classes.
MEMBERS = np.array(
    [
        [[0.5, 0.3, 0.2], [0.1, 0.8, 0.1]],
        [[0.1, 0.5, 0.4], [0.2, 0.7, 0.1]],
    ]
)


def test_margin_is_highest_minus_second():
    np.testing.assert_allclose(margins.margin(MEMBERS), [[0.2, 0.7], [0.1, 0.5]])


def test_min_margin_is_the_smallest_over_members():
    np.testing.assert_allclose(margins.min_margin(MEMBERS), [0.1, 0.5])


@given(
    seed=st.integers(0, 2**32 - 1),
    shape=st.tuples(st.integers(1, 9), st.integers(1, 12), st.integers(2, 5)),
    coarse=st.booleans(),
)
def test_members_taken_in_one_at_a_time_give_the_same_to_the_bit(seed, shape, coarse):
    members = np.random.default_rng(seed).random(shape)
    if coarse:  # many ties
        members = np.round(members, 1)
    closest = margins.margin(members).argmin(axis=0)
    for given_as in (members, (scores.copy() for scores in members)):
        found = margins.member_margins(given_as)
        np.testing.assert_array_equal(found.margins.min(axis=0), margins.min_margin(members))
        np.testing.assert_array_equal(margins.ordered_mean(found.margins), margins.mean_margin(members))
        np.testing.assert_array_equal(found.contested, members[closest, np.arange(shape[1])])
    for formula in (margins.mean_scores, margins.votes):
        np.testing.assert_array_equal(formula(iter(members)), formula(members))


def test_mean_margin_and_margin_of_mean_differ():
    np.testing.assert_allclose(margins.mean_margin(MEMBERS), [0.15, 0.6])
    # Mean scores of the first row: 0.3, 0.4, 0.3.
    np.testing.assert_allclose(margins.margin_of_mean(MEMBERS), [0.1, 0.6])


def test_votes_are_counted_for_each_class_the_earlier_one_of_a_tie():
    assert margins.votes(MEMBERS).tolist() == [[1, 1, 0], [0, 2, 0]]
    assert margins.votes(np.array([[[0.4, 0.4, 0.2], [0.2, 0.4, 0.4]]])).tolist() == [[1, 0, 0], [0, 1, 0]]


def test_negative_variance_sums_the_variance_over_classes():
    np.testing.assert_allclose(margins.negative_variance(MEMBERS), -MEMBERS.var(axis=0).sum(axis=1))


def test_top_two_gives_the_earlier_class_in_a_tie():
    first, second = margins.top_two(np.array([[0.4, 0.4, 0.2], [0.2, 0.4, 0.4], [0.5, 0.5, 0.5]]))
    assert first.tolist() == [0, 1, 0]
    assert second.tolist() == [1, 2, 1]


def test_softmax_and_sigmoid_agree_with_scipy():
    logits = np.random.default_rng(0).normal(scale=20, size=(50, 7))
    np.testing.assert_allclose(margins.softmax(logits), special.softmax(logits, axis=1), rtol=1e-14)
    np.testing.assert_allclose(margins.sigmoid_pair(logits)[..., 1], special.expit(logits), rtol=1e-14)


def test_a_sigmoid_is_the_softmax_of_two_classes_to_the_bit():
    logit = np.random.default_rng(1).normal(scale=10, size=1000)
    pair = margins.softmax(np.stack([np.zeros_like(logit), logit], axis=1))
    np.testing.assert_array_equal(margins.sigmoid_pair(logit), pair)


@given(st.floats(min_value=-708, max_value=0))
def test_the_exponential_is_within_one_ulp_of_the_true_value(x):
    found = float(margins.exp_nonpositive(np.array([x]))[0])
    with mpmath.workprec(200):
        error = abs(mpmath.mpf(found) - mpmath.exp(mpmath.mpf(x))) / mpmath.mpf(float(np.spacing(found)))
    assert error <= 1


@pytest.mark.parametrize(("x", "expected"), [(0.0, 1.0), (-708.1, 0.0), (-1e300, 0.0), (-np.inf, 0.0)])
def test_the_exponential_has_exact_ends(x, expected):
    assert margins.exp_nonpositive(np.array([x]))[0] == expected


@given(st.floats(min_value=5e-324, allow_infinity=False))
@example(np.finfo(float).tiny)
@example(np.finfo(float).max)
@example(np.sqrt(0.5))
@example(np.nextafter(np.sqrt(0.5), 0.0))
@example(np.nextafter(1.0, 0.0))
@example(np.nextafter(1.0, 2.0))
def test_the_logarithm_is_within_one_ulp_of_the_true_value(x):
    assert ulps_off_log(x) <= 1


@given(st.floats(0.5, 2.0))
def test_the_logarithm_is_within_one_ulp_near_one(x):
    assert ulps_off_log(x) <= 1


def ulps_off_log(x):
    found = float(margins.log(np.array([x]))[0])
    with mpmath.workprec(200):
        error = abs(mpmath.mpf(found) - mpmath.log(mpmath.mpf(x)))
        return error / mpmath.mpf(float(np.spacing(abs(found))))


@pytest.mark.parametrize(("x", "expected"), [(1.0, 0.0), (0.0, -np.inf), (-1.0, np.nan), (np.nan, np.nan)])
def test_the_logarithm_has_exact_ends_and_does_not_warn(x, expected):
    np.testing.assert_array_equal(margins.log(np.array([x])), [expected])


@pytest.mark.parametrize("bits", [0, 1 << 12, 94 << 56, 1 << 63, (1 << 64) - 4097, (1 << 64) - 1])
def test_gumbel_noise_is_minus_the_logarithm_of_minus_the_logarithm_of_the_bits(bits):
    found = float(margins.gumbel(np.array([bits], dtype=np.uint64))[0])
    with mpmath.workprec(200):
        u = (mpmath.mpf(bits >> 12) + 0.5) / 2**52
        expected = float(-mpmath.log(-mpmath.log(u)))
    assert np.isfinite(found)
    assert found == pytest.approx(expected, rel=2e-15, abs=2e-16)


@given(st.integers(0, 2**52 - 2))
@example(2**51 - 1)
@example(int(2**52 / np.e))  # where a step of the bits moves the noise least
def test_gumbel_noise_does_not_fall_from_one_step_of_the_bits_to_the_next(step):
    first = max(step - 500, 0)
    steps = np.arange(first, min(first + 1000, 2**52), dtype=np.uint64)
    assert (np.diff(margins.gumbel(steps << np.uint64(12))) >= 0).all()


@given(arrays(np.float64, (4, 3, 3), elements=st.floats(0, 1)))
def test_min_margin_never_exceeds_the_mean_margin(members):
    assert (margins.min_margin(members) <= margins.mean_margin(members) + 1e-12).all()

"""Statistics of paired draws: against scipy, by hand, and what must hold for any numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from minmargin.compare.statistics import (
    Tally,
    adjust,
    area,
    careful_difference,
    decide,
    join,
    paired_difference,
    slope,
    summarize,
    tally,
)

RNG = np.random.default_rng(3)
FIRST = RNG.normal(0.8, 0.1, (4, 3, 30))
SECOND = FIRST - RNG.normal(0.02, 0.05, (4, 3, 30))

p_value_lists = hnp.arrays(np.float64, st.integers(1, 12), elements=st.floats(0, 1))


# Bands


def test_bands_are_those_of_scipy():
    bands = summarize(FIRST)
    np.testing.assert_allclose(bands.mean, FIRST.mean(axis=-1))
    np.testing.assert_allclose(bands.deviation, FIRST.std(axis=-1, ddof=1))
    np.testing.assert_allclose(bands.error, stats.sem(FIRST, axis=-1))
    assert (bands.n_draws == 30).all()


def test_bands_leave_out_missing_draws():
    bands = summarize([[1.0, np.nan, 3.0], [np.nan, np.nan, 5.0], [np.nan] * 3])
    assert bands.n_draws.tolist() == [2, 1, 0]
    np.testing.assert_array_equal(bands.mean, [2, 5, np.nan])
    np.testing.assert_allclose(bands.deviation, [np.sqrt(2), np.nan, np.nan])
    np.testing.assert_allclose(bands.error, [1, np.nan, np.nan])


# Paired differences


def test_differences_are_those_of_scipys_paired_t_test():
    difference = paired_difference(FIRST, SECOND)
    test = stats.ttest_rel(FIRST, SECOND, axis=-1)
    interval = test.confidence_interval(0.95)
    np.testing.assert_allclose(difference.mean, (FIRST - SECOND).mean(axis=-1))
    np.testing.assert_allclose(difference.p_value, test.pvalue)
    np.testing.assert_allclose(difference.low, interval.low)
    np.testing.assert_allclose(difference.high, interval.high)


def test_a_difference_by_hand():
    # Differences 1, 2, 3: mean 2, standard error 1/sqrt(3), t with 2 degrees of freedom reaches 4.302653.
    difference = paired_difference([2.0, 4.0, 6.0], [1.0, 2.0, 3.0])
    assert difference.mean == pytest.approx(2)
    assert difference.high - difference.mean == pytest.approx(4.302653 / np.sqrt(3))
    assert difference.p_value == pytest.approx(0.0741799)


def test_a_draw_counts_only_where_both_have_it():
    whole = paired_difference([1.0, 2.0, 9.0, 4.0], [0.5, 1.0, 2.0, 2.5])
    holed = paired_difference([1.0, 2.0, 9.0, np.nan, 4.0], [0.5, 1.0, 2.0, 7.0, 2.5])
    assert whole == holed
    assert paired_difference([1.0, np.nan, 3.0], [np.nan, 2.0, 1.0]).n_draws == 1


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([0.5], [0.4], (0.1, -np.inf, np.inf, 1.0, 1)),  # one draw tells nothing of the spread
        ([np.nan], [0.4], (np.nan, np.nan, np.nan, np.nan, 0)),
        ([0.5, 0.25], [0.5, 0.25], (0.0, 0.0, 0.0, 1.0, 2)),
        ([0.75, 0.5], [0.5, 0.25], (0.25, 0.25, 0.25, 0.0, 2)),
    ],
)
def test_differences_where_a_t_test_has_no_answer(first, second, expected):
    np.testing.assert_allclose(np.array(paired_difference(first, second), dtype=float), expected)


@given(hnp.arrays(np.float64, (2, 6), elements=st.floats(0, 1, width=16)))
def test_swapping_the_two_mirrors_the_difference(pair):
    there, back = paired_difference(*pair), paired_difference(*pair[::-1])
    np.testing.assert_array_equal(there.mean, -back.mean)
    np.testing.assert_array_equal(there.low, -back.high)
    np.testing.assert_array_equal(there.p_value, back.p_value)


@given(hnp.arrays(np.float64, (2, 5), elements=st.floats(0, 1, width=16)), st.sampled_from([0.01, 0.05, 0.2]))
def test_an_interval_leaves_out_zero_just_where_the_p_value_is_below_its_level(pair, level):
    difference = paired_difference(*pair, level=level)
    if abs(difference.p_value - level) > 1e-9:
        assert (difference.low > 0 or difference.high < 0) == (difference.p_value < level)


# Families of comparisons


def test_holm_by_hand():
    # 0.01 * 4, then max(0.04, 0.02 * 3), then max(0.06, 0.03 * 2), then max(0.06, 0.04 * 1)
    np.testing.assert_allclose(adjust([0.04, 0.01, 0.03, 0.02]), [0.06, 0.04, 0.06, 0.06])


def test_missing_comparisons_are_no_part_of_the_family():
    np.testing.assert_allclose(adjust([[0.01, np.nan], [0.04, 0.5]]), [[0.03, np.nan], [0.08, 0.5]])


@given(p_value_lists)
def test_holm_lies_between_no_correction_and_bonferroni_and_keeps_the_order(p_values):
    adjusted = adjust(p_values)
    assert (adjusted >= p_values).all()
    assert (adjusted <= np.minimum(1, p_values * len(p_values)) + 1e-15).all()
    assert (np.diff(adjusted[np.argsort(p_values, kind="stable")]) >= 0).all()


@given(p_value_lists, st.floats(0.001, 0.5))
def test_holm_finds_what_its_steps_find(p_values, level):
    """The definition: from the smallest on, each p-value meets level / (how many are left), until one does not."""
    found = np.zeros(len(p_values), dtype=bool)
    for step, place in enumerate(np.argsort(p_values, kind="stable")):
        if p_values[place] * (len(p_values) - step) >= level:
            break
        found[place] = True
    np.testing.assert_array_equal(adjust(p_values) < level, found)


def test_wins_and_losses_are_what_stands_after_correction():
    clear, faint = np.array([0.5, 0.6, 0.7, 0.6]), np.array([0.1, 0.5, 0.9, 0.5])
    first = np.stack([clear, -clear, faint, np.full(4, np.nan)])
    difference = paired_difference(first, np.zeros_like(first))
    assert faint.mean() / stats.sem(faint) > stats.t.ppf(0.95, 3)  # faint, but not nothing
    decided = decide(difference)
    assert decided.tolist() == [1, -1, 0, 0]
    assert tally(decided) == Tally(1, 2, 1)
    assert tally(decided, difference.n_draws > 0) == Tally(1, 1, 1)


def test_joined_differences_are_one_family():
    whole = paired_difference(FIRST, SECOND)
    parts = [paired_difference(first, second) for first, second in zip(FIRST, SECOND, strict=True)]
    for joined, plain in zip(join(parts), whole, strict=True):
        np.testing.assert_array_equal(joined, plain.ravel())
    assert whole.cell(1, 2) == paired_difference(FIRST[1, 2], SECOND[1, 2])


def test_many_comparisons_need_a_clearer_difference():
    values = np.array([0.2, 0.6, 1.0, 0.5])
    alone = paired_difference(values, np.zeros(4))
    assert decide(alone).tolist() == 1
    crowd = np.stack([values, *RNG.normal(0, 1, (30, 4))])
    assert decide(paired_difference(crowd, np.zeros_like(crowd)))[0] == 0


# Curves


def test_the_area_is_the_mean_height_over_the_logarithm_of_the_size():
    # Heights 1, 3, 3 at 1, 10, 1000: (2 * 1 + 3 * 2) / 3 decades.
    assert area([[1.0], [3.0], [3.0]], [1, 10, 1000]) == pytest.approx([8 / 3])
    assert area([[0.5, 0.25]], [100]).tolist() == [0.5, 0.25]


def test_a_draw_without_one_of_the_sizes_has_no_area():
    np.testing.assert_array_equal(area([[1.0, 1.0], [1.0, np.nan], [1.0, 1.0]], [1, 2, 4]), [1, np.nan])


@given(st.floats(0, 1), st.lists(st.integers(1, 10**6), min_size=2, max_size=8, unique=True))
def test_a_flat_curve_has_its_height_as_area(height, sizes):
    assert area(np.full((3, len(sizes), 2), height), sorted(sizes)) == pytest.approx(np.full((3, 2), height))


def test_slopes_are_those_of_a_fitted_line():
    along, values = [-2.0, -1.0, 0.0, 1.0, 2.0], RNG.normal(size=(5, 7))
    np.testing.assert_allclose(slope(values, along), np.polyfit(along, values, 1)[0])


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([0.5, 0.25], [0.5, 0.25], (0.0, 0.0, 0.0, 1.0, 2)),
        ([0.75, 0.5], [0.5, 0.25], (0.25, -np.inf, np.inf, 0.5, 2)),
        ([0.93, 0.91], [0.85, 0.83], (0.08, -np.inf, np.inf, 0.5, 2)),  # equal but for rounding
        ([0.75] * 5, [0.5] * 5, (0.25, -np.inf, np.inf, 0.0625, 5)),
        ([0.75] * 6, [0.5] * 6, (0.25, 0.25, 0.25, 0.0, 6)),
    ],
)
def test_a_few_draws_that_are_all_alike_tell_no_more_than_their_sign(first, second, expected):
    np.testing.assert_allclose([float(part) for part in careful_difference(first, second)], expected)


def test_draws_that_differ_are_told_as_by_a_t_test():
    first, second = [0.8, 0.9, 0.85], [0.7, 0.84, 0.77]
    assert careful_difference(first, second) == paired_difference(first, second)

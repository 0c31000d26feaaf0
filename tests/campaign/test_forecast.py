"""Forecasts: the curve that made the points is found again, and intervals hold what made them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize
from scipy.stats import chi2

from minmargin.campaign.forecast import CONFIDENCE, GAIN, Curve, Forecast, Point, fit_curve, make_forecast

LABELS = (300, 400, 500, 600, 700, 800)
CURVES = st.builds(Curve, st.floats(0.7, 0.99), st.floats(0.5, 6.0), st.floats(0.3, 0.9)).filter(
    lambda curve: curve.at(LABELS[0]) > 0.2
)


def measured(curve: Curve, tested: int, seed: int | None = None) -> list[Point]:
    """Return accuracies of a curve, exact but for rounding, or as so many rows would show them."""
    rng = None if seed is None else np.random.default_rng(seed)
    return [
        Point(
            n,
            round(tested * curve.at(n)) if rng is None else int(rng.binomial(tested, curve.at(n))),
            tested,
        )
        for n in LABELS
    ]


def labels_for_a_point(curve: Curve, now: int) -> float:
    """Return how many labels it takes, by halving; infinity if the curve ends before."""
    if curve.at(1e9) - curve.at(now) <= GAIN:
        return float("inf")
    return float(brentq(lambda more: curve.at(now + more) - curve.at(now) - GAIN, 0.0, 1e9, maxiter=500))


@given(CURVES)
@settings(deadline=None, max_examples=20)
def test_a_curve_is_found_again_by_its_points(curve):
    found = fit_curve(measured(curve, 10**9))
    for n in (*LABELS, 1600):
        assert found.at(n) == pytest.approx(curve.at(n), abs=5e-4)


@given(CURVES)
@settings(deadline=None, max_examples=20)
def test_exact_points_give_an_exact_forecast(curve):
    truth = labels_for_a_point(curve, 900)
    found = make_forecast(measured(curve, 10**8), 900)
    if truth > 50 * 900:
        assert found.far
    else:
        # Ten times as many labels ahead, the last digits of a curve matter.
        assert found.labels == pytest.approx(truth, rel=0.1 if truth < 10 * 900 else 0.25)
        assert found.low * 0.95 <= truth <= found.high * 1.05


@pytest.mark.parametrize("seed", range(4))
def test_the_interval_ends_where_the_best_curve_through_it_fits_too_badly(seed):
    """The oracle lets an optimizer look for the best curve that gains a point with m labels: a, and the exponent."""
    points, now = measured(Curve(0.95, 2.0, 0.5), 5000, seed), 900
    labels, correct, tested = np.array(points, dtype=float).T
    likely = (correct + 1) / (tested + 2)
    variances = likely * (1 - likely) / tested

    def misfit(more: float) -> float:
        def of(parameters: np.ndarray) -> float:
            a, c = parameters
            to_gain = GAIN / (1 - (1 + more / now) ** -c)
            return float((((correct / tested - a + to_gain * (labels / now) ** -c) ** 2) / variances).sum())

        starts = [(a, c) for a in (0.9, 1.5) for c in (0.05, 0.3, 0.9)]
        return min(minimize(of, start, bounds=[(0, 9), (0.01, 1.0)], tol=1e-12).fun for start in starts)

    found = make_forecast(points, now)
    least = misfit(found.labels)
    scatter = max(1.0, least / (len(points) - 3))
    worst = least + scatter * chi2.ppf(CONFIDENCE, 1)
    for end in (found.low, found.high):
        if end is not None:
            assert misfit(end) == pytest.approx(worst, rel=0.1)
    assert misfit(found.low / 1.2) > worst
    assert found.high is None or misfit(found.high * 1.2) > worst


def test_intervals_hold_the_truth_as_often_as_they_say():
    curve, now = Curve(0.95, 2.0, 0.5), 900
    truth = labels_for_a_point(curve, now)
    made = [make_forecast(measured(curve, 2000, seed), now) for seed in range(200)]
    held = [each.low <= truth and (each.high is None or truth <= each.high) for each in made]
    assert np.mean(held) >= CONFIDENCE
    assert np.mean([each.tells for each in made]) > 0.5


def test_of_few_points_or_few_rows_nothing_is_told():
    points = measured(Curve(0.95, 2.0, 0.5), 5000)
    assert make_forecast(points[:3], 600) is None
    assert make_forecast([*points[:3], points[0]], 600) is None, "four measurements of three models"
    assert make_forecast([*points[:3], Point(700, 0, 0)], 800) is None, "one was not measured"
    few = make_forecast(measured(Curve(0.95, 2.0, 0.5), 30), 900)
    assert not few.tells
    assert few.sentence == "Forecast: cannot tell yet how many labels one more point of accuracy takes."


def test_a_flat_curve_tells_that_more_labels_hardly_pay():
    flat = make_forecast([Point(n, 45_000, 50_000) for n in LABELS], 900)
    assert (flat.labels, flat.high) == (None, None)
    assert flat.far
    assert not flat.tells
    assert flat.sentence.startswith("Forecast: one more point of accuracy takes more than ")


def test_a_forecast_in_words():
    assert Forecast(900, 912, 404, 2530).sentence == (
        "Forecast: about 910 more labels for one more point of accuracy (400 to 2,500, 80% interval)."
    )
    assert not Forecast(900, 912, 40, 2530).tells
    assert not Forecast(900, 912, 404, None).tells
    assert Forecast(900, 912, 404, None).to_dict()["high"] is None

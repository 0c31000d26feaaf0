"""What the directions of a map mean: the features that go along with them, in words."""

from __future__ import annotations

import numpy as np

from minmargin.report.directions import describe_directions
from minmargin.report.features import Feature, FeatureKind

RNG = np.random.default_rng(0)
POINTS = RNG.normal(size=(500, 2))
RIGHT, UP = POINTS.T


def feature(name: str, kind: FeatureKind, values: np.ndarray) -> Feature:
    return Feature(name, kind, values, values[:3], None)


def test_features_are_named_with_what_there_is_more_of() -> None:
    features = [
        feature("noise", "number", RNG.normal(size=500)),
        feature("income", "number", -RIGHT + 0.5 * RNG.normal(size=500)),
        feature("age", "number", RIGHT),
        feature("day", "date", -UP),
        feature("job", "category", np.where(UP > 1, "cook", None)),
        feature('the word "late"', "presence", UP < 0.5),
    ]
    assert describe_directions(POINTS, features) == (
        'To the right: more age, less income. Upwards: earlier day, not the word "late", job is cook.'
    )
    assert describe_directions(POINTS, features, n_named=1) == "To the right: more age. Upwards: earlier day."


def test_a_direction_that_goes_along_with_nothing_is_said_to_mix_features() -> None:
    noise = feature("noise", "number", RNG.normal(size=500))
    still = feature("still", "number", np.zeros(500))
    assert describe_directions(POINTS, [noise, still]) == (
        "Neither direction goes along with a single feature: both mix many."
    )
    assert describe_directions(POINTS, [noise, feature("age", "number", UP)]) == (
        "To the right: a mixture of many features. Upwards: more age."
    )


def test_rows_without_a_value_are_passed_over() -> None:
    age = np.where(RIGHT > 2, np.nan, -RIGHT)
    assert describe_directions(POINTS, [feature("age", "number", age)]) == (
        "To the right: less age. Upwards: a mixture of many features."
    )

"""What sets rows apart from the pool: the question that tells most, for numbers, dates, categories and words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_iris

import minmargin as mm
from minmargin.execution import silent
from minmargin.report.differences import Difference, set_apart
from minmargin.report.features import Feature, FeatureKind, Features, average_images, features_of
from minmargin.report.rows import names_to_show
from minmargin.report.survey import survey_pool

N = 1000
NUMBERS = np.arange(N, dtype=np.float64)


def feature(kind: FeatureKind, pool: Any, picks: Any, labeled: Any = None, name: str = "age") -> Feature:
    dtype: Any = {"category": object, "presence": bool}.get(kind, np.float64)
    pool, picks = np.asarray(pool, dtype), np.asarray(picks, dtype)
    return Feature(name, kind, pool, picks, None if labeled is None else np.asarray(labeled, dtype))


def found(*features: Feature) -> list[Difference]:
    differences = set_apart(Features(list(features)), "picks")
    assert differences is not None
    return differences.found


@pytest.mark.parametrize(
    ("kind", "pool", "picks", "expected"),
    [
        ("number", NUMBERS, NUMBERS[:400], ("age ≤ 399", 1.0, 0.4)),
        ("number", NUMBERS / 8, NUMBERS[600:] / 8, ("age > 74.88", 1.0, 0.4)),
        ("number", NUMBERS % 2, np.ones(200), ("age = 1", 1.0, 0.5)),
        ("number", NUMBERS % 2, np.zeros(200), ("age = 0", 1.0, 0.5)),
        ("number", NUMBERS % 4, np.full(200, 3), ("age = 3", 1.0, 0.25)),
        ("number", NUMBERS, np.full(200, np.nan), ("age is missing", 1.0, 0.0)),
        ("number", np.where(NUMBERS < 500, np.nan, 7), np.full(200, 7), ("age is not missing", 1.0, 0.5)),
        ("date", NUMBERS * 86400e6, NUMBERS[:400] * 86400e6, ("age ≤ 1971-02-04", 1.0, 0.4)),
        ("date", NUMBERS * 3600e6, NUMBERS[600:] * 3600e6, ("age > 1970-01-25 23:00", 1.0, 0.4)),
        ("category", ["a", "b"] * 500, ["a"] * 150 + ["b"] * 50, ("age is a", 0.75, 0.5)),
        ("category", ["a", "b", "c", "d"] * 250, ["b", "c", "d"] * 100, ("age is not a", 1.0, 0.75)),
        ("category", ["a", None] * 500, [None] * 200, ("age is missing", 1.0, 0.5)),
        ("category", ["a", None] * 500, ["a"] * 200, ("age is a", 1.0, 0.5)),
        ("presence", NUMBERS < 20, NUMBERS < 200, ("has age", 0.2, 0.02)),
        ("presence", NUMBERS < 500, NUMBERS < 200, ("has not age", 0.8, 0.5)),
    ],
)
def test_the_question_that_tells_most_is_asked(
    kind: FeatureKind, pool: Any, picks: Any, expected: tuple[str, float, float]
) -> None:
    ((question, share, of_pool),) = found(feature(kind, pool, picks))
    assert (question, pytest.approx(share), pytest.approx(of_pool)) == expected


def test_the_largest_difference_comes_first_whatever_the_kind() -> None:
    first = feature("category", ["a", "b"] * 500, ["a"] * 400, name="job")
    second = feature("number", NUMBERS, NUMBERS[:600], name="age")
    third = feature("presence", NUMBERS < 500, NUMBERS < 800, name="the word")
    asked = [each.question for each in found(third, second, first)]
    assert asked == ["job is a", "age ≤ 599", "has the word"]


def test_random_rows_are_hardly_ever_set_apart() -> None:
    rng = np.random.default_rng(0)

    def random_features() -> list[Feature]:
        return [
            feature("number", rng.normal(size=N), rng.normal(size=60)),
            feature("number", rng.normal(size=N), rng.normal(size=60)),
            feature("category", rng.choice(["a", "b", "c"], N), rng.choice(["a", "b", "c"], 60)),
            feature("presence", rng.random(N) < 0.02, rng.random(60) < 0.02),
        ]

    n_apart = sum(len(found(*random_features())) > 0 for _ in range(300))
    assert n_apart <= 0.05 * 300


def test_what_is_not_known_of_labeled_rows_is_not_asked() -> None:
    features = Features([feature("number", NUMBERS, NUMBERS[:400])])
    assert set_apart(features, "labeled") is None
    differences = set_apart(features._replace(n_passed_over=9), "picks")
    assert differences is not None
    assert differences.n_features == 10


def test_the_labeled_set_is_held_against_the_pool_too() -> None:
    known = feature("number", NUMBERS, NUMBERS[:400], labeled=NUMBERS[700:])
    differences = set_apart(Features([known]), "labeled")
    assert differences is not None
    assert [each.question for each in differences.found] == ["age > 699"]


# Where features come from


def features_of_batch(batch: mm.Batch, **more: Any) -> Features:
    assert batch.origin is not None
    columns = names_to_show(batch, batch.origin, None)
    survey = survey_pool(batch, batch.origin, columns=columns, progress=silent)
    return features_of(survey, batch.origin, len(batch), **more)


X, y = load_iris(return_X_y=True)
SETTINGS: dict[str, Any] = {"n_models": 3, "random_state": 0, "n_jobs": 1}


def test_columns_are_told_as_the_learner_reads_them() -> None:
    table = pd.DataFrame(
        {
            "length": [f"{value:.1f}".replace(".", ",") for value in X[:, 2]],
            "day": pd.to_datetime("2026-01-01") + pd.to_timedelta(np.arange(150), "D"),
            "job": pd.Categorical([["cook", "clerk", None][row % 3] for row in range(150)]),
            "known": np.arange(150) % 2 == 0,
            "note": [f"row {row}" for row in range(150)],
        }
    )
    labeled = table[::5].assign(note="same")
    with pytest.warns(mm.DataWarning):
        batch = mm.select(
            labeled, y[::5], table, 10, preprocess="auto", reading=mm.Reading(decimal=","), **SETTINGS
        )
    told = {each.name: each for each in features_of_batch(batch).told}
    assert {name: each.kind for name, each in told.items()} == {
        "length": "number",
        "day": "date",
        "job": "category",
        "known": "category",
    }
    np.testing.assert_allclose(told["length"].picks, X[batch.rows, 2])
    np.testing.assert_allclose(told["length"].labeled, X[::5, 2])
    days = (told["day"].picks / 86400e6).astype("datetime64[D]")
    assert days.tolist() == table["day"][batch.rows].dt.date.tolist()
    jobs = [
        None if job is None else str(job)
        for job in table["job"].astype(object).where(table["job"].notna(), None)
    ]
    assert told["job"].picks.tolist() == [jobs[row] for row in batch.rows]
    assert set(told["known"].pool) == {"True", "False"}


def test_places_of_an_array_are_told_by_number_and_of_an_image_by_row_and_column() -> None:
    batch = mm.select(X[::5], y[::5], X, 10, **SETTINGS)
    features = features_of_batch(batch)
    assert [each.name for each in features.told] == [f"feature {place}" for place in range(4)]
    np.testing.assert_array_equal(features.told[3].picks, X[batch.rows, 3])
    np.testing.assert_array_equal(features.told[3].labeled, X[::5, 3])
    image = features_of_batch(batch, image_shape=(2, 2))
    assert [each.name for each in image.told] == ["pixel 0, 0", "pixel 0, 1", "pixel 1, 0", "pixel 1, 1"]
    averages = average_images(image, (2, 2))
    assert list(averages) == ["pool", "labeled", "batch"]
    np.testing.assert_allclose(averages["batch"], X[batch.rows].mean(axis=0))
    assert average_images(image, (2, 3)) == {}


def test_pixels_of_colors_are_told_by_their_color() -> None:
    wide = np.concatenate([X, X[:, :2]], axis=1)
    told = features_of_batch(mm.select(wide[::5], y[::5], wide, 10, **SETTINGS), image_shape=(1, 2, 3)).told
    assert [each.name for each in told] == [
        f"pixel 0, {column} {color}" for column in (0, 1) for color in ("red", "green", "blue")
    ]


def test_texts_are_told_by_their_words_and_sparse_rows_by_what_they_have() -> None:
    texts = [f"{'petal' if row[2] > 2 else 'sepal'} word{place % 7}" for place, row in enumerate(X)]
    told = features_of_batch(mm.select(texts[::5], y[::5], texts, 5, learner="text", **SETTINGS)).told
    words = {each.name: each for each in told}
    np.testing.assert_array_equal(words['the word "petal"'].labeled, ["petal" in text for text in texts[::5]])
    thin = sparse.csr_array(np.where(X > 1.5, X, 0.0))
    told = features_of_batch(mm.select(thin[::5], y[::5], thin, 10, **SETTINGS)).told
    assert sorted(each.name for each in told) == [f"feature {place}" for place in range(4)]
    assert {each.kind for each in told} == {"presence"}


def test_of_given_probabilities_only_the_features_are_told() -> None:
    probabilities = np.random.default_rng(0).dirichlet(np.ones(2), size=150)
    table = pd.DataFrame({"no": probabilities[:, 0], "yes": probabilities[:, 1], "age": X[:, 0]})
    batch = mm.select_from_probabilities(table, 10, columns=["no", "yes"], features=["age"], random_state=0)
    assert [each.name for each in features_of_batch(batch).told] == ["age"]
    bare = mm.select_from_probabilities(probabilities, 10, random_state=0)
    assert features_of_batch(bare).told == []

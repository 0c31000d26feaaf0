"""The map: principal components, two columns, or the plane itself with the models' boundaries."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import minmargin as mm
from minmargin.execution import silent
from minmargin.report.chart import Chart, _leads, make_chart
from minmargin.report.survey import survey_pool

X, y = load_iris(return_X_y=True)
NAMES = ["a", "b", "c", "d"]
SETTINGS: dict[str, Any] = {"n_models": 4, "random_state": 0, "n_jobs": 1}


def chart_of(batch: mm.Batch, columns: Any = None) -> Chart | None:
    assert batch.origin is not None
    named = [name for name in columns or () if isinstance(name, str)]
    survey = survey_pool(batch, batch.origin, columns=named, progress=silent)
    return make_chart(survey, batch.origin, len(batch), columns)


def test_many_features_are_drawn_by_their_principal_components() -> None:
    batch = mm.select(X[::5], y[::5], X, 10, **SETTINGS)
    chart = chart_of(batch)
    assert chart is not None
    pca = PCA(2).fit(np.concatenate([X, X[::5], X[batch.rows]]))
    np.testing.assert_allclose(chart.picks, pca.transform(X[batch.rows]), atol=1e-9)
    np.testing.assert_allclose(chart.labeled, pca.transform(X[::5]), atol=1e-9)
    assert chart.how == "The first two principal components, which show 98% of the variance."
    assert chart.boundaries is None
    assert not chart.measured


def test_two_places_are_drawn_as_they_are() -> None:
    batch = mm.select(X[::5], y[::5], X, 10, **SETTINGS)
    chart = chart_of(batch, (3, -4))
    assert chart is not None
    np.testing.assert_array_equal(chart.picks, X[batch.rows][:, [3, 0]])
    np.testing.assert_array_equal(chart.labeled, X[::5][:, [3, 0]])
    assert chart.axes == ("feature 3", "feature -4")


def test_two_columns_are_drawn_as_they_are_in_the_pool() -> None:
    pool = pd.DataFrame(X, columns=NAMES).assign(weight=np.arange(150))
    batch = mm.select(pool.loc[::5, NAMES], y[::5], pool, 10, preprocess="auto", **SETTINGS)
    chart = chart_of(batch, ("d", "a"))
    assert chart is not None
    np.testing.assert_array_equal(chart.picks, X[batch.rows][:, [3, 0]])
    np.testing.assert_array_equal(chart.labeled, X[::5][:, [3, 0]])
    chart = chart_of(batch, ("weight", "a"))
    assert chart is not None
    np.testing.assert_array_equal(chart.picks[:, 0], batch.rows)
    assert chart.labeled is None
    assert chart.how == (
        "Columns weight and a of the pool. The labeled set is not shown: its rows do not have these columns."
    )


def test_rows_that_lack_a_value_are_not_drawn_and_counted() -> None:
    pool = pd.DataFrame(X, columns=NAMES).assign(price=np.where(np.arange(150) % 3 == 0, np.nan, 1.0))
    batch = mm.select(pool.loc[::5, NAMES], y[::5], pool, 10, **SETTINGS)
    chart = chart_of(batch, ("price", "a"))
    assert chart is not None
    n_unknown = int((batch.rows % 3 == 0).sum())
    assert (len(chart.sample), len(chart.picks)) == (100, 10 - n_unknown)
    assert chart.how.endswith(f" {n_unknown} picks are not shown: they lack a value there.")


def test_a_column_of_texts_cannot_be_drawn() -> None:
    pool = pd.DataFrame(X, columns=NAMES).assign(color=["red", "blue"] * 75)
    batch = mm.select(pool.loc[::5, NAMES], y[::5], pool, 10, **SETTINGS)
    with pytest.raises(mm.InputError) as error:
        chart_of(batch, ("a", "color"))
    assert str(error.value) == (
        "Column 'color' of the pool is String, and a map needs numbers. "
        "Name two columns of numbers with columns=(..., ...)."
    )


def test_a_place_that_rows_do_not_have_is_named() -> None:
    batch = mm.select(X[::5], y[::5], X, 10, **SETTINGS)
    with pytest.raises(mm.InputError) as error:
        chart_of(batch, (0, 4))
    assert str(error.value) == "columns names feature 4, and rows have 4. Use 0 to 3."


@pytest.mark.parametrize(
    "learner", ["logistic", make_pipeline(StandardScaler(), LogisticRegression())], ids=["ours", "scaled"]
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_two_features_are_drawn_with_the_boundaries_of_every_model(learner: Any, n_classes: int) -> None:
    """A member's lead over a grid is zero where its two best classes are even."""
    wanted = y < n_classes
    plane, labels = 10 * X[wanted][:, 2:], y[wanted]
    batch = mm.select(plane[::5], labels[::5], plane, 10, learner=learner, **SETTINGS)
    chart = chart_of(batch)
    assert chart is not None
    assert chart.boundaries is not None
    np.testing.assert_array_equal(chart.picks, plane[batch.rows])
    assert len(chart.boundaries.members) == 4
    assert batch.origin is not None
    scorer = batch.origin.scan.models.scorer
    x, y_ = chart.boundaries.x[37], chart.boundaries.y[80]
    for lead, scores in zip(
        chart.boundaries.members, scorer.each_member(np.array([[x, y_]]), device="cpu"), strict=True
    ):
        np.testing.assert_allclose(lead[:, 80, 37], _leads(scores)[0], atol=1e-12)


def test_a_frame_of_two_columns_names_the_axes() -> None:
    pool = pd.DataFrame(X[:, :2], columns=["length", "width"])
    batch = mm.select(pool[::5], y[::5], pool, 10, preprocess="auto", **SETTINGS)
    chart = chart_of(batch)
    assert chart is not None
    assert (chart.axes, chart.how) == (("length", "width"), "The two features, as preprocessed.")


def test_a_strategy_without_members_shows_the_boundary_of_the_base() -> None:
    batch = mm.select(X[::5, :2], y[::5], X[:, :2], 10, strategy="margin", **SETTINGS)
    chart = chart_of(batch)
    assert chart is not None
    assert chart.boundaries is not None
    assert len(chart.boundaries.members) == 1


def test_rows_of_one_number_have_no_map() -> None:
    batch = mm.select(X[::5, :1], y[::5], X[:, :1], 10, **SETTINGS)
    assert chart_of(batch) is None


def test_a_committee_from_disk_has_a_map_of_its_labeled_rows_too(tmp_path) -> None:
    folder = mm.fit_committee(X[::5], y[::5], n_models=4, random_state=0).save(tmp_path / "committee")
    batch = mm.load_committee(folder).select(X, 10)
    chart = chart_of(batch)
    assert chart is not None
    assert chart.labeled is not None
    assert len(chart.labeled) == 30


def test_leads_are_over_the_best_other_class() -> None:
    scores = np.array([[0.5, 0.2, 0.3], [0.1, 0.1, 0.8]])
    np.testing.assert_allclose(_leads(scores), [[0.2, -0.3, -0.2], [-0.7, -0.7, 0.7]])
    np.testing.assert_allclose(_leads(scores[:, :2]), [[-0.3], [0.0]])


def test_texts_of_two_words_are_drawn() -> None:
    texts = [f"{'petal ' * int(5 * a)} {'sepal ' * int(5 * b)}" for a, b in X[:, 2:]]
    chart = chart_of(mm.select(texts[::5], y[::5], texts, 3, learner="text", **SETTINGS))
    assert chart is not None
    assert chart.how == "The first two principal components, which show 100% of the variance."

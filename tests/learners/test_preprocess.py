"""preprocess="auto": an ordinary table becomes comparable numbers, learned from the labeled set alone."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler

import minmargin as mm
from minmargin.data.schema import schema_of
from minmargin.learners.preprocess import TablePreprocessor

X, y = load_iris(return_X_y=True)
LABELED, LABELS = X[::5], y[::5]
COLORS = np.array(["red", "green", "blue"] * 50)


def prepare(labeled: Any, pool: Any, *, sparse_output: bool = False) -> Any:
    """Return the pool as the preprocessor that was fitted to the labeled frame hands it on."""
    frame, other = (nw.from_native(each, eager_only=True) for each in (labeled, pool))
    columns = schema_of(frame).columns
    return TablePreprocessor.of(frame, columns, sparse_output=sparse_output).transform(other)


def pick(labeled: Any, pool: Any, labels: Any = LABELS, **settings: Any) -> mm.Batch:
    defaults = {"n_models": 3, "random_state": 0, "n_jobs": 1, "preprocess": "auto"}
    return mm.select(labeled, labels, pool, 10, **{**defaults, **settings})


# What the numbers are


def test_numbers_are_standardised_by_the_labeled_set() -> None:
    out = prepare(pd.DataFrame({"n": [1.0, 3.0]}), pd.DataFrame({"n": [1.0, 2.0, 5.0]}))
    assert out.tolist() == [[-1.0], [0.0], [3.0]]


def test_missing_numbers_become_the_labeled_mean() -> None:
    labeled = pl.DataFrame({"n": [1.0, None, 3.0]})
    out = prepare(labeled, pl.DataFrame({"n": [None, 2.0, float("nan")]}))
    assert out.tolist() == [[0.0], [0.0], [0.0]]


def test_a_constant_column_becomes_zeros() -> None:
    assert prepare(pd.DataFrame({"n": [4, 4]}), pd.DataFrame({"n": [4, 4]})).tolist() == [[0.0], [0.0]]


def test_a_column_that_is_never_known_does_no_harm() -> None:
    out = prepare(pd.DataFrame({"n": [np.nan, np.nan]}), pd.DataFrame({"n": [np.nan, 1.0]}))
    assert np.isfinite(out).all()


def test_truth_values_count_as_0_and_1() -> None:
    out = prepare(pa.table({"t": [True, False]}), pa.table({"t": [True, False, None]}))
    assert out.tolist() == [[1.0], [-1.0], [0.0]]


def test_texts_are_one_hot_encoded_in_sorted_order_with_missing_as_a_category() -> None:
    labeled = pl.DataFrame({"t": ["red", "blue", None]})
    out = prepare(labeled, pl.DataFrame({"t": ["blue", None, "red"]}))
    assert out.tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 1]]


def test_a_text_that_the_labeled_set_does_not_have_is_all_zeros() -> None:
    out = prepare(pd.DataFrame({"t": ["red", "blue"]}), pd.DataFrame({"t": ["green", None]}))
    assert out.tolist() == [[0, 0], [0, 0]]


def test_numbers_come_before_texts_and_an_embedding_is_its_numbers() -> None:
    table = pa.table({"t": ["u", "v"], "e": [[1.0, 10.0], [3.0, 30.0]], "n": [1, 2]})
    assert prepare(table, table).tolist() == [[-1, -1, -1, 1, 0], [1, 1, 1, 0, 1]]


@pytest.mark.parametrize("sparse_output", [True, False])
def test_many_categories_are_kept_sparse_for_a_learner_that_takes_that(sparse_output: bool) -> None:
    frame = pd.DataFrame({"t": [f"category {i % 600}" for i in range(1200)], "n": range(1200)})
    out = prepare(frame, frame, sparse_output=sparse_output)
    assert out.shape == (1200, 601)
    assert isinstance(out, sparse.csr_array if sparse_output else np.ndarray)
    dense = out.toarray() if sparse_output else out
    assert dense[:, 1:].sum() == 1200


# In a selection


def test_an_array_is_standardised_like_by_hand() -> None:
    scaler = StandardScaler().fit(LABELED)
    by_hand = pick(scaler.transform(LABELED), scaler.transform(X), preprocess="none")
    batch = pick(LABELED, X)
    assert batch.rows.tolist() == by_hand.rows.tolist()
    assert batch.scores.tolist() == by_hand.scores.tolist()
    assert batch.manifest["settings"]["preprocess"] == "auto"


def test_a_sparse_array_gives_the_batch_of_the_dense_one() -> None:
    expected = pick(LABELED, X)
    batch = pick(sparse.csr_array(LABELED), sparse.csr_array(X))
    assert batch.scores.tolist() == expected.scores.tolist()


def test_the_scale_of_a_column_does_not_matter() -> None:
    scale = np.array([1.0, 1024.0, 1.0, 2.0**-12])
    assert pick(LABELED * scale, X * scale).rows.tolist() == pick(LABELED, X).rows.tolist()


def mixed(rows: np.ndarray, colors: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame({"length": rows[:, 0], "wide": rows[:, 1] > 3, "color": colors})


FORMS = {
    "pandas": lambda frame: frame,
    "pandas objects": lambda frame: frame.astype({"color": object}),
    "pandas categories": lambda frame: frame.astype({"color": "category"}),
    "polars": pl.from_pandas,
    "polars categories": lambda frame: pl.from_pandas(frame).with_columns(
        pl.col("color").cast(pl.Categorical)
    ),
    "pyarrow": pa.Table.from_pandas,
}


@pytest.mark.parametrize("pool_form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("labeled_form", FORMS.values(), ids=FORMS)
def test_a_mixed_table_gives_one_batch_in_any_frame(labeled_form: Any, pool_form: Any) -> None:
    labeled, pool = mixed(LABELED, COLORS[:30]), mixed(X, COLORS)
    batch = pick(labeled_form(labeled), pool_form(pool))
    assert batch.scores.tolist() == pick(labeled, pool).scores.tolist()


def test_the_order_of_the_pool_columns_does_not_matter() -> None:
    labeled, pool = mixed(LABELED, COLORS[:30]), mixed(X, COLORS)
    batch = pick(labeled, pool[["color", "length", "wide"]])
    assert batch.scores.tolist() == pick(labeled, pool).scores.tolist()


def test_missing_values_and_new_categories_in_the_pool_can_be_scored() -> None:
    pool = mixed(X, np.where(np.arange(150) % 3, COLORS, "violet"))
    pool.loc[::7, "length"] = np.nan
    pool.loc[::11, "color"] = None
    batch = pick(mixed(LABELED, COLORS[:30]), pool)
    assert np.isfinite(batch.scores).all()


@pytest.mark.parametrize("learner", [RandomForestClassifier(5), GaussianNB()])
def test_any_learner_can_take_a_mixed_table(learner: Any) -> None:
    batch = pick(mixed(LABELED, COLORS[:30]), mixed(X, COLORS), learner=learner)
    assert len(batch) == 10


def test_a_learner_that_takes_only_dense_rows_is_given_wide_tables_dense() -> None:
    rng = np.random.default_rng(0)
    codes = np.array([f"c{i % 600}" for i in range(1200)])
    labeled = pd.DataFrame({"code": codes, "n": rng.normal(size=1200)})
    labels = (labeled["n"] > 0).to_numpy()
    assert len(pick(labeled, labeled, labels, learner=GaussianNB())) == 10


def test_a_wide_table_gives_the_same_batch_sparse_and_dense(monkeypatch: pytest.MonkeyPatch) -> None:
    labeled, pool = mixed(LABELED, COLORS[:30]), mixed(X, COLORS)
    dense = pick(labeled, pool)
    monkeypatch.setattr("minmargin.learners.preprocess._DENSE_WIDTH", 1)
    wide = pick(labeled, pool)
    assert wide.rows.tolist() == dense.rows.tolist()
    np.testing.assert_allclose(wide.scores, dense.scores, rtol=1e-6)


def test_a_text_column_that_looks_like_an_id_warns() -> None:
    labeled = mixed(LABELED, np.array([f"row {i}" for i in range(30)]))
    with pytest.warns(mm.DataWarning) as caught:
        pick(labeled, mixed(X, COLORS))
    assert [str(each.message) for each in caught] == [
        (
            "Text column 'color' has a different value in nearly every labeled row, so as a category it tells nothing "
            "of other rows. If it identifies rows, name it as id_column. If it is free text, leave it out with "
            "features=[...], or let learner='text' read it alone."
        )
    ]


def test_an_array_of_texts_needs_column_names() -> None:
    with pytest.raises(mm.InputError) as caught:
        pick(np.array([["u", "v"]] * 30, dtype=object), X)
    assert str(caught.value) == (
        "preprocess='auto' needs column names to tell numbers from texts, and the labeled set is an array "
        "that is not numeric. Pass a data frame."
    )


def test_a_list_of_texts_is_no_table() -> None:
    with pytest.raises(mm.InputError) as caught:
        pick([f"text {i}" for i in range(30)], X)
    assert str(caught.value) == (
        "preprocess='auto' is for tables, and the labeled set is a list of texts. Use learner='text'."
    )


@pytest.mark.parametrize("n_alike", [1, 3])
def test_free_text_alone_is_refused_before_training(n_alike: int) -> None:
    """Two rows in thirty that are the same do not make it a column of categories."""
    texts = ["the same"] * n_alike + [f"words of row {i}" for i in range(30 - n_alike)]
    with pytest.raises(mm.InputError) as caught:
        pick(pl.DataFrame({"text": texts}), pl.DataFrame({"text": texts}))
    assert str(caught.value) == (
        "Text column 'text' has a different value in nearly each of the 30 labeled rows, and there is no other "
        "feature, so there is nothing to learn from categories. This looks like free text: use learner='text'."
    )


def test_several_columns_of_free_text_are_refused_together() -> None:
    frame = pl.DataFrame({"title": [f"t{i}" for i in range(30)], "body": [f"b{i}" for i in range(30)]})
    with pytest.raises(
        mm.InputError, match=r"^Text columns 'title', 'body' have a different value in nearly"
    ):
        pick(frame, frame)


def test_categories_that_rows_share_are_taken() -> None:
    frame = pl.DataFrame({"text": [f"t{i % 25}" for i in range(30)]})
    assert len(pick(frame, frame)) == 10

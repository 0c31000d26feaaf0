"""Lists of dicts and dicts of columns, as labeled sets and pools."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import minmargin as mm

LABELED = [
    {"size": 1.0, "color": "red", "label": "small"},
    {"size": 2, "color": "blue", "label": "small"},
    {"size": 8.5, "color": "red", "label": "large"},
    {"size": 9, "color": "blue", "label": "large"},
]
POOL = [{"id": f"r{i}", "color": ["red", "blue"][i % 2], "size": i * 0.5} for i in range(20)]


def test_a_list_of_dicts_is_read_as_a_table():
    batch = mm.select(
        LABELED, "label", POOL, 3, features=["size"], id_column="id", keep=["color"], random_state=0
    )
    frames = mm.select(
        pd.DataFrame(LABELED),
        "label",
        pd.DataFrame(POOL),
        3,
        features=["size"],
        id_column="id",
        keep=["color"],
        random_state=0,
    )
    assert batch == frames
    assert batch.ids.tolist() == [POOL[row]["id"] for row in batch.rows]


def test_a_pipeline_is_given_a_pandas_frame_of_dicts():
    learner = make_pipeline(
        make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["color"]), remainder="passthrough"),
        LogisticRegression(),
    )
    batch = mm.select(LABELED, "label", POOL, 3, learner=learner, random_state=0)
    assert batch == mm.select(
        pd.DataFrame(LABELED), "label", pd.DataFrame(POOL), 3, learner=learner, random_state=0
    )


def test_chunks_may_be_lists_of_dicts():
    chunks = (POOL[start : start + 7] for start in range(0, 20, 7))
    batch = mm.select(LABELED, "label", chunks, 3, features=["size"], random_state=0)
    assert batch.rows.tolist() == (
        mm.select(LABELED, "label", POOL, 3, features=["size"], random_state=0).rows.tolist()
    )


def test_vectors_in_dicts_are_embeddings():
    rng = np.random.default_rng(0)
    X, pool = rng.normal(size=(8, 3)), rng.normal(size=(30, 3))
    y = ["a", "b"] * 4
    batch = mm.select(
        [{"v": x, "y": label} for x, label in zip(X, y, strict=True)],
        "y",
        [{"v": x.tolist()} for x in pool],
        5,
        random_state=0,
    )
    assert batch.rows.tolist() == mm.select(X, y, pool, 5, random_state=0).rows.tolist()


def test_what_a_dict_does_not_have_is_missing():
    pool = [*POOL[:5], {"id": "odd"}, *POOL[5:]]
    with pytest.raises(mm.InputError) as caught:
        mm.select(LABELED, "label", pool, 3, features=["size"], random_state=0)
    assert str(caught.value) == (
        "Pool row 5, column 'size' is missing (NaN). Fill it, drop the row, or use preprocess='auto'."
    )
    # The first dict does not tell all columns.
    assert len(mm.select(LABELED, "label", pool[5:], 3, preprocess="auto", random_state=0)) == 3


@pytest.mark.parametrize(
    ("pool", "message"),
    [
        (
            [{"size": 1.0}, [2.0]],
            "The pool is a list whose first row is a dict and whose row 1 is a list. Give every row as a dict.",
        ),
        (
            [{"size": 1.0}, {"size": "two"}],
            "The pool has dicts whose values for 'size' go into no column (float, str). Give values of one type.",
        ),
        ([{"size": 1.0, 3: 2.0}], "The pool has dicts with keys that are not strings (3). Use strings."),
    ],
    ids=["rows of two kinds", "values of two types", "keys that are numbers"],
)
def test_dicts_that_make_no_table(pool, message):
    with pytest.raises(mm.InputError) as caught:
        mm.select(LABELED, "label", pool, 1, features=["size"])
    assert str(caught.value) == message


# --- dicts of columns --------------------------------------------------------------------------------------


def test_a_dict_of_columns_is_a_table():
    rng = np.random.default_rng(0)
    X, pool = rng.normal(size=(8, 3)), rng.normal(size=(30, 3))
    y = ["a", "b"] * 4
    labeled = {"v": X, "size": X[:, 0].tolist(), "y": y}
    batch = mm.select(labeled, "y", {"size": pool[:, 0], "v": pool}, 5, random_state=0)
    both, others = np.column_stack([X, X[:, 0]]), np.column_stack([pool, pool[:, 0]])
    assert batch.rows.tolist() == mm.select(both, y, others, 5, random_state=0).rows.tolist()


def test_a_dict_of_texts_is_read_by_the_learner_of_texts():
    texts, y = ["red apple", "green apple", "red car", "blue car"] * 3, ["fruit", "fruit", "car", "car"] * 3
    pool = ["green car", "plum", "apple"]
    batch = mm.select({"text": texts}, y, {"text": pool}, 2, learner="text", random_state=0)
    assert batch.rows.tolist() == mm.select(texts, y, pool, 2, learner="text", random_state=0).rows.tolist()


DICTS = {
    "keys": (
        {1: [0.0]},
        (
            "is a dict with keys that are not strings (1). Use the names of columns as keys, and their values as "
            "arrays."
        ),
    ),
    "empty": ({}, "is a dict with no columns. Use the names of columns as keys, and their values as arrays."),
    "lengths": (
        {"a": [1.0], "b": [1.0, 2.0]},
        "is a dict whose 'a' has 1 rows and whose 'b' has 2. Give all columns the same rows.",
    ),
    "images": (
        {"a": np.zeros((2, 3, 3))},
        "is a dict whose 'a' has shape (2, 3, 3) and type float64. A column has one value a row, or a row of numbers.",
    ),
}


@pytest.mark.parametrize(("columns", "message"), DICTS.values(), ids=DICTS)
def test_dicts_of_columns_that_make_no_table(columns, message):
    with pytest.raises(mm.InputError) as caught:
        mm.select(columns, ["a", "b"], columns, 1)
    assert str(caught.value) == f"The labeled set {message}"
    with pytest.raises(mm.InputError) as caught:
        mm.select([[0.0], [1.0]], ["a", "b"], columns, 1)
    assert str(caught.value) == f"The pool {message}"

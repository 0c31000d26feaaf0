"""Bad labels, values, columns and pools: one sentence with the values, the place and the fix."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from complaints import (
    EMPTY,
    LABELED,
    LABELED_FRAME,
    LABELS,
    NAMES,
    POOL_FRAME,
    POOL_TABLE,
    X,
    complaint,
    pick,
    with_cell,
)

# The labels


def test_a_single_class_is_refused() -> None:
    assert complaint(labels=["cat"] * 30) == (
        "All 30 labeled rows are of class 'cat'. Label at least one row of another class."
    )


def test_an_empty_labeled_set_is_refused() -> None:
    assert complaint(LABELED[:0], []) == (
        "The labeled set is empty. Label at least one row of each of two classes."
    )


def test_a_class_lost_to_a_small_bootstrap_fraction_is_named_with_the_smallest_that_works() -> None:
    labels = ["rare"] * 3 + ["common"] * 27
    assert complaint(labels=labels, bootstrap_fraction=0.3) == (
        "bootstrap_fraction=0.3 draws no row of class 'rare', which has 3 labeled rows. "
        "Use bootstrap_fraction>=0.3334."
    )
    assert len(pick(labels=labels, bootstrap_fraction=0.3334)) == 3


@pytest.mark.parametrize("fraction", [0, -1.0, float("nan"), float("inf")])
def test_a_bootstrap_fraction_that_is_no_positive_number_is_refused(fraction: float) -> None:
    assert complaint(bootstrap_fraction=fraction) == (
        f"bootstrap_fraction={fraction!r} must be a number above 0; 1.0 is usual."
    )


@pytest.mark.parametrize(
    "labels",
    [
        ["u", "v", None] * 10,
        np.array(["u", "v", None] * 10, dtype=object),
        np.array(["u", "v", np.nan] * 10, dtype=object),
        np.array([0.0, 1.0, np.nan] * 10),
        pd.Series([0.0, 1.0, None] * 10),
        pl.Series([0, 1, None] * 10),
    ],
    ids=["list", "object array", "object array with NaN", "float array", "pandas", "polars"],
)
def test_missing_labels_are_counted_and_the_first_is_named(labels: Any) -> None:
    assert complaint(labels=labels) == (
        "Labeled row 2 has no label (and 9 others). Drop such rows, or use select(..., pool=None), "
        "which picks from them."
    )


def test_labels_of_mixed_types_are_refused() -> None:
    assert complaint(labels=np.array([1, "u"] * 15, dtype=object)) == (
        "The labels mix types (number, str). Make them all strings or all numbers."
    )


def test_fractional_labels_are_refused() -> None:
    assert complaint(labels=np.arange(30) / 4) == (
        "The labels are numbers such as 0.25, not classes. "
        "Minimum-margin picks rows for classifiers: give class labels."
    )


def test_a_wrong_number_of_labels_is_refused() -> None:
    assert complaint(labels=LABELS[:-1]) == (
        "There are 30 labeled rows and labels of shape (29,). Give one label a row."
    )


def test_an_absent_label_column_is_named_with_the_nearest() -> None:
    labeled = LABELED_FRAME.assign(label=LABELS)
    assert complaint(labeled, "lable", POOL_FRAME) == (
        "Column 'lable' is not in the labeled set (columns: 'a', 'b', 'c', 'd', 'label'). Did you mean 'label'?"
    )


def test_a_label_column_of_an_array_is_refused() -> None:
    assert complaint(labels="label") == (
        "y='label' names a label column, but the labeled set is an array without column names. "
        "Pass the labels themselves as y."
    )


# Missing and infinite values


PROBLEMS = [
    (np.nan, "is missing (NaN). Fill it, drop the row, or use preprocess='auto'."),
    (np.inf, "is infinite. Replace it."),
    (-np.inf, "is infinite. Replace it."),
]


@pytest.mark.parametrize(("value", "problem"), PROBLEMS)
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_a_bad_value_in_an_array_is_named_by_row_and_column_number(
    make: Any, value: float, problem: str
) -> None:
    assert complaint(make(with_cell(LABELED, value))) == f"Labeled row 7, column 2 {problem}"
    assert complaint(pool=make(with_cell(X, value))) == f"Pool row 7, column 2 {problem}"


@pytest.mark.parametrize(("value", "problem"), PROBLEMS)
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_bad_value_in_a_frame_is_named_by_row_and_column(make: Any, value: float, problem: str) -> None:
    def frame(rows: np.ndarray) -> Any:
        return make({name: rows[:, i] for i, name in enumerate(NAMES)})

    assert (
        complaint(frame(with_cell(LABELED, value)), pool=POOL_FRAME) == f"Labeled row 7, column 'c' {problem}"
    )
    assert complaint(LABELED_FRAME, pool=frame(with_cell(X, value))) == f"Pool row 7, column 'c' {problem}"


@pytest.mark.parametrize(("value", "problem"), PROBLEMS)
def test_a_bad_value_in_parquet_is_named_by_its_row_over_all_files(
    tmp_path: Path, value: float, problem: str
) -> None:
    pq.write_table(POOL_TABLE, tmp_path / "0.parquet")
    bad = with_cell(X, value)
    pq.write_table(pa.table({name: bad[:, i] for i, name in enumerate(NAMES)}), tmp_path / "1.parquet")
    assert complaint(LABELED_FRAME, pool=tmp_path) == f"Pool row 157, column 'c' {problem}"


def test_a_null_in_parquet_is_a_missing_value(tmp_path: Path) -> None:
    nulls = pa.array([None if i == 7 else 1.0 + i % 5 for i in range(150)])
    pq.write_table(POOL_TABLE.set_column(2, "c", nulls), tmp_path / "pool.parquet")
    assert complaint(LABELED_FRAME, pool=tmp_path / "pool.parquet") == (
        "Pool row 7, column 'c' is missing (NaN). Fill it, drop the row, or use preprocess='auto'."
    )


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_bad_value_is_named_for_a_scikit_learn_learner_too(value: float) -> None:
    problem = dict(PROBLEMS)[np.inf] if np.isinf(value) else PROBLEMS[0][1]
    pool = pd.DataFrame(with_cell(X, value), columns=NAMES)
    assert complaint(LABELED_FRAME, pool=pool, learner=LogisticRegression(max_iter=1000)) == (
        f"Pool row 7, column 'c' {problem}"
    )


def test_infinity_is_refused_even_where_missing_values_are_imputed() -> None:
    pool = pd.DataFrame(with_cell(X, np.inf), columns=NAMES)
    assert complaint(LABELED_FRAME, pool=pool, preprocess="auto") == (
        "Pool row 7, column 'c' is infinite. Replace it."
    )


def test_text_inside_an_array_of_objects_is_named() -> None:
    pool = X.astype(object)
    pool[7, 2] = "n/a"
    assert complaint(pool=pool) == (
        "Pool row 7, column 2 is 'n/a', which is not a number. "
        "Use a learner that encodes it, or preprocess='auto' with a data frame."
    )


# Columns


def test_a_missing_column_is_named() -> None:
    assert complaint(LABELED_FRAME, pool=POOL_FRAME[["a", "b", "d"]].rename(columns={"d": "width"})) == (
        "Column 'c' of the labeled set is not in the pool (columns: 'a', 'b', 'width'). "
        "Rename it, or leave it out with features=[...]."
    )


def test_the_nearest_name_is_suggested_for_a_renamed_column() -> None:
    labeled, pool = (f.rename(columns={"c": "petal_length"}) for f in (LABELED_FRAME, POOL_FRAME))
    assert complaint(labeled, pool=pool.rename(columns={"petal_length": "PetalLength"})) == (
        "Column 'petal_length' of the labeled set is not in the pool (columns: 'a', 'b', 'PetalLength', 'd'). "
        "Did you mean 'PetalLength'? Rename it, or leave it out with features=[...]."
    )


def test_a_column_of_texts_where_numbers_were_is_named_with_both_types() -> None:
    assert complaint(LABELED_FRAME, pool=POOL_FRAME.assign(c="long")) == (
        "Column 'c' is Float64 in the labeled set but String in the pool. Cast it to the same type in both."
    )


def test_a_feature_that_is_not_in_the_labeled_set_is_named() -> None:
    assert complaint(LABELED_FRAME, pool=POOL_FRAME, features=["a", "B"]) == (
        "Column 'B' is not in the labeled set (columns: 'a', 'b', 'c', 'd'). Did you mean 'b'?"
    )


def test_no_features_at_all_are_refused() -> None:
    assert complaint(LABELED_FRAME, pool=POOL_FRAME, features=[]) == (
        "The labeled set has no feature column left. Name some with features=[...]."
    )


@pytest.mark.parametrize("settings", [{"id_column": "row_id"}, {"keep": ["row_id"]}])
def test_an_absent_id_or_kept_column_is_named(settings: dict[str, Any]) -> None:
    assert complaint(LABELED_FRAME, pool=POOL_FRAME.assign(rowid=0), **settings) == (
        "Column 'row_id' is not in the pool (columns: 'a', 'b', 'c', 'd', 'rowid'). Did you mean 'rowid'?"
    )


def test_an_id_column_of_an_array_is_refused() -> None:
    assert complaint(id_column="id") == (
        "Column 'id' was asked for, but the pool is an array without column names."
    )


def test_a_column_that_is_not_numeric_is_refused_without_preprocessing() -> None:
    assert complaint(LABELED_FRAME.assign(color="red"), pool=POOL_FRAME.assign(color="red")) == (
        "Column 'color' is String, which is not a number. Use preprocess='auto' for categories or "
        "learner='text' for free text, leave it out with features=[...], or use a scikit-learn pipeline that encodes "
        "it."
    )


def test_a_column_of_durations_is_refused_by_preprocessing() -> None:
    time = pd.Timedelta("1D").as_unit("us")  # which is what pandas 3 takes by itself
    assert complaint(LABELED_FRAME.assign(t=time), pool=POOL_FRAME.assign(t=time), preprocess="auto") == (
        "Column 't' is Duration(time_unit='us'), which preprocess='auto' cannot turn into "
        "numbers. Leave it out with features=[...], or use .dt.total_seconds()."
    )


def test_preprocessing_of_another_name_is_refused() -> None:
    assert complaint(preprocess="full") == "preprocess='full' must be 'none' or 'auto'."


def test_column_names_that_are_numbers_are_refused() -> None:
    assert complaint(pd.DataFrame(LABELED)) == (
        "The labeled set has column names that are not strings (0, 1, 2 and 1 more). "
        "Use X.columns = X.columns.astype(str)."
    )


def test_a_labeled_frame_and_a_pool_without_names_do_not_match() -> None:
    assert complaint(LABELED_FRAME) == (
        "The labeled set has column names ('a', 'b', 'c', 'd') and the pool has none. "
        "Give both as frames or files, or both as arrays."
    )


def test_a_labeled_array_and_a_frame_of_another_width_do_not_match() -> None:
    assert complaint(pool=POOL_FRAME.assign(e=0.0)) == (
        "The labeled set is an array without column names, so the pool must have 4 numeric columns or one "
        "embedding, but it has 'a', 'b', 'c', 'd', 'e'. Name the pool's columns with features=[...], or give "
        "the labeled set as a frame."
    )


def test_arrays_of_different_width_do_not_match() -> None:
    assert complaint(pool=X[:, :3]) == (
        "The pool has 3 features and the labeled set has 4. Give both the same columns in the same order."
    )


def test_embeddings_of_different_width_do_not_match() -> None:
    labeled = pd.DataFrame({"vector": list(LABELED)})
    assert complaint(labeled, pool=pd.DataFrame({"vector": list(X[:, :3])})) == (
        "Embedding column 'vector' holds 4 numbers in the labeled set but 3 in the pool. "
        "Use the same embedding for both."
    )


def test_an_embedding_of_varying_width_names_the_row() -> None:
    vectors = [list(row) for row in X]
    vectors[7].pop()
    assert complaint(pd.DataFrame({"vector": list(LABELED)}), pool=pa.table({"vector": vectors})) == (
        "Pool row 7, column 'vector' holds 3 numbers and the rows before it hold 4. "
        "An embedding needs the same width in every row."
    )


def test_a_missing_embedding_names_the_row() -> None:
    vectors = [None if i == 7 else list(row) for i, row in enumerate(X)]
    assert complaint(pd.DataFrame({"vector": list(LABELED)}), pool=pa.table({"vector": vectors})) == (
        "Pool row 7, column 'vector' is missing. Fill it or drop the row."
    )


# The pool


def test_an_empty_array_is_refused() -> None:
    assert complaint(pool=X[:0]) == EMPTY.format("")


def test_an_empty_parquet_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "pool.parquet"
    pq.write_table(POOL_TABLE.slice(0, 0), path)
    assert complaint(LABELED_FRAME, pool=path) == EMPTY.format(f" ({path})")


def test_a_generator_without_chunks_is_refused() -> None:
    assert complaint(pool=iter([])) == (
        "The pool is empty: its iterable gave no chunk (a generator can be read once)."
    )


def test_a_generator_of_empty_chunks_is_refused_at_its_end() -> None:
    assert complaint(pool=iter([X[:0], X[:0]])) == EMPTY.format("")


def test_a_pool_without_rows_and_features_is_refused() -> None:
    assert complaint(pool=X[:, 0]) == (
        "The pool has shape (150,), but rows and features need two dimensions. Use X.reshape(len(X), -1)."
    )


@pytest.mark.parametrize(
    "settings",
    [{}, {"preprocess": "auto"}, {"learner": "random-forest"}, {"learner": LogisticRegression()}],
    ids=str,
)
def test_images_are_refused_by_what_takes_tables(settings: dict[str, Any]) -> None:
    fix = "but rows and features need two dimensions. Use X.reshape(len(X), -1)."
    images = X.reshape(-1, 2, 2)
    assert complaint(images[::5], **settings) == f"The labeled set has shape (30, 2, 2), {fix}"
    assert complaint(pool=images, **settings) == f"The pool has shape (150, 2, 2), {fix}"
    in_chunks = complaint(pool=iter([images]), **settings)
    assert in_chunks == f"A chunk of the pool has shape (150, 2, 2), {fix}"


@pytest.mark.parametrize(("pool", "kind"), [(object(), "object"), (5, "int")])
def test_a_pool_of_another_kind_is_refused(pool: Any, kind: str) -> None:
    assert complaint(pool=pool) == (
        f"The pool is a {kind}, which cannot be read as rows. Use a numpy array, a scipy sparse matrix, a "
        "pandas, polars or pyarrow frame, or a path to Parquet, CSV or Feather files."
    )


def test_a_lazy_frame_is_refused() -> None:
    assert complaint(LABELED_FRAME, pool=pl.from_pandas(POOL_FRAME).lazy()) == (
        "The pool is a lazy frame. Use .collect(), or pass its files."
    )


def test_chunks_of_different_width_are_refused() -> None:
    assert complaint(pool=iter([X, X[:, :3]])) == (
        "Chunk 1 of the pool has 3 features and the first has 4 features. Give every chunk the same columns."
    )


def test_chunks_with_different_columns_are_refused() -> None:
    assert complaint(LABELED_FRAME, pool=iter([POOL_FRAME, POOL_FRAME[["a", "b", "c"]]])) == (
        "Chunk 1 of the pool has the columns 'a', 'b', 'c' and the first has the columns 'a', 'b', 'c', 'd'. "
        "Give every chunk the same columns."
    )

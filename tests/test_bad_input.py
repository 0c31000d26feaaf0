"""Every bad input gets one sentence with the values, the place and the fix, before any training is wasted."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import minmargin as mm

NAMES = ["a", "b", "c", "d"]
EMPTY = "The pool{} has no rows. Give one with at least as many as are to be picked."
X, y = load_iris(return_X_y=True)
LABELED, LABELS = X[::5], y[::5]
LABELED_FRAME = pd.DataFrame(LABELED, columns=NAMES)
POOL_FRAME = pd.DataFrame(X, columns=NAMES)
POOL_TABLE = pa.table({name: X[:, i] for i, name in enumerate(NAMES)})
STRATEGIES = (
    "'min-margin', 'margin', 'mean-margin', 'margin-of-mean', 'committee', 'var-softmax', 'random', "
    "'random-margin-mix', 'balanced-margin', 'k-centers', 'true-margin'"
)


def pick(
    labeled: Any = LABELED, labels: Any = LABELS, pool: Any = X, batch_size: Any = 3, **settings: Any
) -> Any:
    return mm.select(
        labeled, labels, pool, batch_size, **{"n_models": 3, "random_state": 0, "n_jobs": 1, **settings}
    )


def complaint(*args: Any, error: type[Exception] = mm.InputError, **settings: Any) -> str:
    """Return the message of the one error that `pick` of these arguments raises."""
    with pytest.raises(error) as caught:
        pick(*args, **settings)
    assert type(caught.value) is error
    return str(caught.value)


def with_cell(rows: np.ndarray, value: float) -> np.ndarray:
    """Return a copy with `value` at row 7, column 2, which is called 'c'."""
    changed = rows.copy()
    changed[7, 2] = value
    return changed


class Recorder(ClassifierMixin, BaseEstimator):
    """A classifier that counts how often any of its clones was trained."""

    n_fits: ClassVar[int] = 0

    def fit(self, X: Any, y: Any) -> Recorder:
        type(self).n_fits += 1
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        return np.full((len(X), len(self.classes_)), 1 / len(self.classes_))


@pytest.fixture
def recorder() -> Recorder:
    Recorder.n_fits = 0
    return Recorder()


@pytest.fixture
def parquet(tmp_path: Path) -> Path:
    pq.write_table(POOL_TABLE, tmp_path / "pool.parquet", row_group_size=50)
    return tmp_path / "pool.parquet"


# The batch


@pytest.mark.parametrize("size", [0, -1, 2.5, True, "3", None])
def test_a_batch_size_that_is_no_positive_whole_number_is_refused(size: Any) -> None:
    assert complaint(batch_size=size) == f"batch_size={size!r} must be a whole number >= 1."


def test_a_batch_larger_than_an_array_is_refused() -> None:
    assert complaint(batch_size=151) == (
        "batch_size=151 is larger than the pool (150 rows in the pool). Use batch_size<=150."
    )


def test_a_batch_larger_than_a_glob_of_parquet_names_the_glob(parquet: Path) -> None:
    glob = parquet.parent / "*.parquet"
    assert complaint(LABELED_FRAME, pool=glob, batch_size=5000) == (
        f"batch_size=5000 is larger than the pool (150 rows in {glob}). Use batch_size<=150."
    )


def test_a_batch_larger_than_a_generator_is_found_at_its_end() -> None:
    assert complaint(pool=(X[i : i + 50] for i in (0, 50)), batch_size=101) == (
        "batch_size=101 is larger than the pool (100 rows in the pool). Use batch_size<=100."
    )


def test_repeated_ids_among_the_picks_warn_with_their_number() -> None:
    pool = POOL_FRAME.assign(id=[0, 1] * 75)
    with pytest.warns(mm.DataWarning) as caught:
        batch = pick(LABELED_FRAME, pool=pool, batch_size=5, id_column="id")
    assert len(batch) == 5
    assert [str(each.message) for each in caught] == [
        (
            "3 of the 5 picked rows repeat an id of column 'id'. "
            "Use a column whose values are unique, or rows to tell them apart."
        )
    ]


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
        "Labeled row 2 has no label (and 9 others). Drop such rows or move them to the pool."
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
    nulls = pa.array([None if i == 7 else 1.0 for i in range(150)])
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
        "Column 'color' is String, which is not a number. Use preprocess='auto', leave it out with "
        "features=[...], or use a scikit-learn pipeline that encodes it."
    )


def test_a_column_of_times_is_refused_by_preprocessing() -> None:
    time = pd.Timestamp("2020-01-01")
    assert complaint(LABELED_FRAME.assign(t=time), pool=POOL_FRAME.assign(t=time), preprocess="auto") == (
        "Column 't' is Datetime(time_unit='us', time_zone=None), which preprocess='auto' cannot turn into "
        "numbers. Leave it out with features=[...], or derive numbers from it."
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


@pytest.mark.parametrize(("pool", "kind"), [(None, "NoneType"), (5, "int")])
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


# Files


def test_a_glob_that_matches_nothing_is_named(tmp_path: Path) -> None:
    assert complaint(pool=str(tmp_path / "*.parquet")) == f"No file matches '{tmp_path}/*.parquet'."


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert complaint(pool=tmp_path / "pool.csv") == f"There is no file '{tmp_path}/pool.csv'."


def test_a_folder_without_files_is_named(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing here")
    assert complaint(pool=tmp_path) == f"Folder '{tmp_path}' holds no file in a format that can be read."


def test_a_format_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "pool.xlsx").touch()
    assert complaint(pool=tmp_path / "pool.xlsx") == (
        f"'{tmp_path}/pool.xlsx' is not in a format that can be read. "
        "Use one of '.arrow', '.csv', '.feather', '.ipc', '.npy', '.parquet', '.pq', '.tsv'."
    )


def test_a_folder_of_mixed_formats_is_named(parquet: Path) -> None:
    POOL_FRAME.to_csv(parquet.with_suffix(".csv"), index=False)
    assert complaint(LABELED_FRAME, pool=parquet.parent) == (
        "The files are of several formats ('.csv', '.parquet'). Give files of one format."
    )


@pytest.mark.parametrize("cut", [slice(0, 0), slice(0, 5), slice(0, -20)])
def test_a_damaged_parquet_file_is_named_before_training(
    parquet: Path, recorder: Recorder, cut: slice
) -> None:
    sound = parquet.with_name("a.parquet")
    sound.write_bytes(parquet.read_bytes())
    parquet.write_bytes(parquet.read_bytes()[cut])
    with pytest.raises(mm.InputError) as caught:
        pick(LABELED_FRAME, pool=parquet.parent, learner=recorder)
    reason = str(caught.value.__cause__).splitlines()[0].rstrip(".")
    assert str(caught.value) == (
        f"'{parquet}' cannot be read as Parquet ({reason}). Mend or remove the file; nothing was written."
    )
    assert Recorder.n_fits == 0


def test_a_parquet_file_damaged_inside_is_named_while_it_is_read(parquet: Path) -> None:
    column = pq.read_metadata(parquet).row_group(1).column(2)
    start = column.dictionary_page_offset or column.data_page_offset
    content = bytearray(parquet.read_bytes())
    content[start : start + column.total_compressed_size] = b"\xff" * column.total_compressed_size
    parquet.write_bytes(content)
    with pytest.raises(mm.InputError) as caught:
        pick(LABELED_FRAME, pool=parquet)
    reason = str(caught.value.__cause__).splitlines()[0].rstrip(".")
    assert str(caught.value) == (
        f"'{parquet}' cannot be read as Parquet ({reason}). Mend or remove the file; nothing was written."
    )


def test_a_text_among_the_numbers_of_a_csv_file_is_found(tmp_path: Path) -> None:
    path = tmp_path / "pool.csv"
    path.write_text("a,b,c,d\n1,2,3,4\n1,2,n/k,4\n")
    assert complaint(LABELED_FRAME, pool=path, batch_size=1) == (
        "Column 'c' is Float64 in the labeled set but String in the pool. Cast it to the same type in both."
    )


def test_a_csv_line_of_another_length_is_named(tmp_path: Path) -> None:
    path = tmp_path / "pool.csv"
    path.write_text("a,b,c,d\n1,2,3,4\n1,2,3\n")
    with pytest.raises(mm.InputError) as caught:
        pick(LABELED_FRAME, pool=path, batch_size=1)
    reason = str(caught.value.__cause__)
    assert (
        "Expected 4 columns, got 3: 1,2,3" in reason
    )  # Arrow tells the line too, if it reads with one thread
    assert str(caught.value) == (
        f"'{path}' cannot be read as CSV ({reason}). Mend or remove the file; nothing was written."
    )


def test_files_with_different_columns_are_named(parquet: Path) -> None:
    other = parquet.with_name("q.parquet")
    pq.write_table(POOL_TABLE.drop_columns("c"), other)
    assert complaint(LABELED_FRAME, pool=parquet.parent) == (
        f"Column 'c' of '{parquet}' is not in '{other}'. Give all files of the pool the same columns."
    )


def test_files_with_different_types_are_named(parquet: Path) -> None:
    other = parquet.with_name("q.parquet")
    pq.write_table(POOL_TABLE.set_column(2, "c", pa.array(["long"] * 150)), other)
    assert complaint(LABELED_FRAME, pool=parquet.parent) == (
        f"Column 'c' is Float64 in '{parquet}' but String in '{other}'. Cast it to the same type in all files."
    )


# Strategies


def test_the_nearest_name_is_suggested_for_an_unknown_strategy() -> None:
    assert complaint(strategy="minmargin") == (
        f"There is no strategy 'minmargin' (names: {STRATEGIES}). Did you mean 'min-margin'?"
    )


def test_a_strategy_that_is_neither_name_nor_function_is_refused() -> None:
    assert complaint(strategy=5) == (
        "strategy=5 is neither a name, a score function nor an object with score(candidates). "
        "mm.strategies() lists the names."
    )


def test_a_strategy_given_as_a_class_is_refused() -> None:
    assert complaint(strategy=mm.KCenters) == "strategy is the class KCenters. Pass an instance: KCenters()."


def test_true_margin_without_its_function_is_refused() -> None:
    assert complaint(strategy="true-margin") == (
        "Strategy 'true-margin' needs the function that gives the true margin. "
        "Use strategy=mm.TrueMargin(function)."
    )


def test_a_strategy_that_does_not_fit_in_memory_says_which_prefilter_does() -> None:
    pool = np.random.default_rng(0).normal(size=(20_000, 4))
    assert complaint(pool=pool, strategy=mm.KCenters(memory_limit=1_000_000)) == (
        "Strategy 'k-centers' compares all candidates in memory: 20,000 rows need about 1.3 MB and 1.0 MB may "
        "be used. Use prefilter=15625 to keep only the rows with the lowest margin."
    )
    assert len(pick(pool=pool, strategy=mm.KCenters(memory_limit=1_000_000, prefilter=15_625))) == 3


def test_a_prefilter_smaller_than_the_batch_is_refused() -> None:
    assert complaint(batch_size=20, strategy=mm.BalancedMargin(prefilter=10)) == (
        "prefilter=10 keeps fewer rows than batch_size=20 asks for. Use prefilter>=20."
    )


def test_a_prefilter_of_no_rows_is_refused() -> None:
    with pytest.raises(mm.InputError) as caught:
        mm.KCenters(prefilter=0)
    assert str(caught.value) == "prefilter=0 must be a whole number >= 1."


def test_a_balance_outside_0_to_1_is_refused() -> None:
    with pytest.raises(mm.InputError) as caught:
        mm.BalancedMargin(balance=1.5)
    assert str(caught.value) == "balance=1.5 must lie between 0 (only diversity) and 1 (only margin)."


def test_variance_of_probabilities_needs_probabilities() -> None:
    assert complaint(strategy="var-softmax", learner=SVC()) == (
        "Strategy 'var-softmax' needs class probabilities, and SVC() has only decision_function. "
        "Wrap it in CalibratedClassifierCV(..., ensemble=False)."
    )


def test_min_margin_needs_members() -> None:
    assert complaint(n_models=0) == (
        "Strategy 'min-margin' needs members, and n_models=0. Use n_models>=1; 25 is usual."
    )


@pytest.mark.parametrize("n_models", [-1, 2.5, True, "25"])
def test_a_number_of_models_that_is_no_whole_number_is_refused(n_models: Any) -> None:
    assert complaint(n_models=n_models) == f"n_models={n_models!r} must be a whole number >= 0; 25 is usual."


def test_scores_of_the_wrong_shape_are_refused() -> None:
    assert complaint(strategy=lambda candidates: candidates.base_scores) == (
        "The strategy gave scores of shape (150, 3) for 150 rows. Give one float a row."
    )


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_score_that_is_not_finite_names_the_row(value: float) -> None:
    assert complaint(strategy=lambda candidates: np.where(candidates.rows == 7, value, 0.0)) == (
        f"The score of pool row 7 is {value}. Scores must be finite numbers."
    )


def test_a_strategy_without_row_scores_cannot_score() -> None:
    committee = mm.fit_committee(LABELED, LABELS, n_models=3, random_state=0)
    with pytest.raises(mm.InputError) as caught:
        committee.score(X, strategy="k-centers")
    assert str(caught.value) == (
        "Strategy 'k-centers' has no score of a row by itself: each pick depends on the others. "
        "Use select, or a strategy that is a row score."
    )


# Learners


class NoScores(Recorder):
    """A classifier that can only predict."""

    predict_proba = property()  # type: ignore[assignment]

    def predict(self, X: Any) -> np.ndarray:
        return np.full(len(X), self.classes_[0])


class NoRepeats(Recorder):
    """A classifier that cannot be trained on a bootstrap draw."""

    def fit(self, X: Any, y: Any) -> NoRepeats:
        if len(np.unique(X, axis=0)) < len(X):
            raise ValueError("rows repeat")
        super().fit(X, y)
        return self


class NoPool(Recorder):
    """A classifier that can be trained but not asked."""

    def predict_proba(self, X: Any) -> np.ndarray:
        raise ValueError("out of order")


def test_the_nearest_name_is_suggested_for_an_unknown_learner() -> None:
    assert complaint(learner="randomforest") == (
        "There is no learner 'randomforest' (names: 'logistic', 'random-forest', 'gradient-boosting'). "
        "Did you mean 'random-forest'? Any scikit-learn classifier can be passed as an object."
    )


def test_a_learner_given_as_a_class_is_refused() -> None:
    assert complaint(learner=LogisticRegression) == (
        "learner is the class LogisticRegression. Pass an instance: LogisticRegression()."
    )


def test_a_regressor_is_refused() -> None:
    assert complaint(learner=Ridge()) == (
        "learner=Ridge() is not a classifier. Margins need class scores: use a classifier."
    )


def test_a_learner_of_another_kind_is_refused() -> None:
    assert complaint(learner={"C": 1.0}) == (
        "learner is a dict, which is not a scikit-learn classifier. "
        "Use one, or one of the names 'logistic', 'random-forest', 'gradient-boosting'."
    )


def test_a_classifier_without_class_scores_is_refused() -> None:
    assert complaint(learner=NoScores()) == (
        "NoScores has neither predict_proba nor decision_function, so it has no margin. "
        "Wrap it in CalibratedClassifierCV, or use another classifier."
    )


def test_texts_need_a_learner_that_reads_them() -> None:
    texts = ["good", "bad", "fine"] * 10
    assert complaint(texts, pool=texts) == (
        "The labeled set is a list of texts, and this learner takes numbers only. Use a scikit-learn "
        "pipeline, such as make_pipeline(TfidfVectorizer(), LogisticRegression())."
    )


def test_a_text_learner_needs_to_know_the_text_column() -> None:
    frame = pd.DataFrame({"title": ["good", "bad", "fine"] * 10, "body": "words"})
    learner = make_pipeline(TfidfVectorizer(), LogisticRegression())
    assert complaint(frame, pool=frame, learner=learner) == (
        "TfidfVectorizer() reads one text column, but the features are 'title', 'body'. "
        "Name the text column with features='...'."
    )


def test_a_member_that_cannot_be_trained_is_named_with_its_draw_and_the_reason() -> None:
    assert complaint(learner=NoRepeats(), bootstrap_fraction=0.7, error=mm.MemberFitError) == (
        "Member 0 of 3 failed to fit on 21 rows (classes 0: 7, 1: 7, 2: 7): ValueError: rows repeat"
    )


def test_a_base_that_cannot_be_trained_is_named_with_the_classes_and_the_reason() -> None:
    twice = np.vstack([LABELED, LABELED])
    assert complaint(twice, np.tile(LABELS, 2), learner=NoRepeats(), error=mm.MemberFitError) == (
        "The base model failed to fit on 60 rows (classes 0: 20, 1: 20, 2: 20): ValueError: rows repeat"
    )


def test_a_model_that_cannot_score_is_reported_with_the_rows_and_the_reason() -> None:
    assert complaint(learner=NoPool(), error=mm.ScoringError) == (
        "The learner failed on pool rows 0 to 149: ValueError: out of order"
    )


# Other settings


@pytest.mark.parametrize("seed", [-1, 1.5, "seed", [1, 2]])
def test_a_random_state_that_cannot_seed_is_refused(seed: Any) -> None:
    assert complaint(random_state=seed) == (
        f"random_state={seed!r} cannot seed a run. Use None, a whole number >= 0, or a numpy random generator."
    )


@pytest.mark.parametrize("size", [0, -5, 2.5, True, "8"])
def test_a_chunk_size_that_is_no_positive_whole_number_is_refused(size: Any) -> None:
    assert complaint(chunk_size=size) == f"chunk_size={size!r} must be a whole number >= 1."


@pytest.mark.parametrize("n_jobs", [0, 1.5, True, "all"])
def test_a_number_of_jobs_that_is_no_whole_number_is_refused(n_jobs: Any) -> None:
    assert complaint(n_jobs=n_jobs) == (
        f"n_jobs={n_jobs!r} must be a whole number >= 1, or -1 for all cores."
    )


# Before training


UNUSABLE: dict[str, dict[str, Any]] = {
    "batch size": {"batch_size": 0},
    "batch larger than the pool": {"batch_size": 151},
    "strategy": {"strategy": "minmargin"},
    "number of models": {"n_models": -1},
    "number of jobs": {"n_jobs": 0},
    "chunk size": {"chunk_size": 0},
    "strategy given as a class": {"strategy": mm.KCenters},
    "bootstrap fraction": {"bootstrap_fraction": 0.01},
    "random state": {"random_state": -1},
    "preprocessing": {"preprocess": "full"},
    "labels": {"labels": [0] * 30},
    "infinite value in the labeled set": {"labeled": with_cell(LABELED, np.inf), "pool": X},
    "kind of pool": {"pool": None},
    "empty pool": {"pool": POOL_FRAME[:0]},
    "pool without a column": {"pool": POOL_FRAME[["a", "b"]]},
    "pool with a column of another type": {"pool": POOL_FRAME.assign(a="text")},
    "file": {"pool": "no/such/pool.parquet"},
    "id column": {"id_column": "id"},
    "kept column": {"keep": ["title"]},
}


@pytest.mark.parametrize("settings", UNUSABLE.values(), ids=UNUSABLE)
def test_nothing_is_trained_for_an_unusable(recorder: Recorder, settings: dict[str, Any]) -> None:
    with pytest.raises(mm.InputError):
        pick(**{"labeled": LABELED_FRAME, "pool": POOL_FRAME, "learner": recorder, **settings})
    assert Recorder.n_fits == 0


def test_a_usable_run_trains_the_base_and_every_member(recorder: Recorder) -> None:
    pick(LABELED_FRAME, pool=POOL_FRAME, learner=recorder)
    assert Recorder.n_fits == 4

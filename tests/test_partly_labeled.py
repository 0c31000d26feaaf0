"""One table with labels for some rows: pool=None picks from the others, by their numbers in the table."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.datasets import load_iris

import minmargin as mm
from minmargin.report.words import python_call

X, CLASSES = load_iris(return_X_y=True)
NAMES = ["a", "b", "c", "d"]
LABELED = np.arange(0, 150, 7)
REST = np.setdiff1d(np.arange(150), LABELED)
FRAME = pd.DataFrame(X, columns=NAMES).assign(id=[f"r{i}" for i in range(150)])


def labels(names, mark):
    """Return a label for each row: of the labeled ones their class's, of the others the mark."""
    known = set(LABELED.tolist())
    return [names[code] if row in known else mark for row, code in enumerate(CLASSES.tolist())]


def pick(X=X, y=None, pool=None, **more):
    return mm.select(X, y, pool, 5, n_models=3, random_state=0, **more)


def complaint(**given):
    with pytest.raises(mm.InputError) as caught:
        pick(**given)
    return str(caught.value)


def expected(names=("no", "so", "yes"), **more):
    """Return the batch of the two parts given each by itself: the whole table, without its labeled rows."""
    y = [names[code] for code in CLASSES[LABELED].tolist()]
    return pick(X[LABELED], y, X, exclude=LABELED, **more)


@pytest.mark.parametrize(
    "y",
    [
        labels(["no", "so", "yes"], None),
        labels(["no", "so", "yes"], float("nan")),
        labels(["no", "so", "yes"], ""),
        np.array(labels(["no", "so", "yes"], None), dtype=object),
        pd.Series(labels(["no", "so", "yes"], None)),
        pd.Series(labels(["no", "so", "yes"], None), dtype="category"),
        pl.Series(labels(["no", "so", "yes"], None)),
        pa.array(labels(["no", "so", "yes"], None)),
    ],
    ids=["None", "NaN", "empty", "objects", "pandas", "category", "polars", "pyarrow"],
)
def test_the_batch_is_that_of_the_two_parts(y):
    batch = pick(y=y)
    assert batch == expected()
    assert not np.isin(batch.rows, LABELED).any()


@pytest.mark.parametrize(
    "y",
    [
        np.array(labels([0, 1, 2], -1)),
        np.array(labels([0, 1, 2], np.nan)),
        np.array(labels([0, 1, 2], -1))[:, np.newaxis],
        pd.Series(labels([0, 1, 2], np.nan)),
        pd.Series(labels([0, 1, 2], None), dtype="Int64"),
        labels([0, 1, 2], None),
    ],
    ids=["-1", "NaN", "a column", "pandas", "pandas integers", "None"],
)
def test_numbers_stay_whole_numbers(y):
    batch = pick(y=y)
    assert batch == expected((0, 1, 2))
    assert {type(label) for label in batch.predicted.tolist()} == {int}


def test_minus_one_is_a_class_where_none_or_nan_stand_for_no_label():
    y = labels([-1, 1, 1], None)
    batch = pick(y=y)
    assert set(batch.predicted.tolist()) <= {-1, 1}
    assert batch.manifest["excluded"]["unlabeled_mark"] == "None or NaN"


def test_the_manifest_says_what_stood_for_no_label_and_the_call_repeats_it():
    batch = pick(y=np.array(labels([0, 1, 2], -1)))
    n = len(LABELED)
    assert batch.manifest["excluded"] == {"asked": 0, "rows": n, "labeled": n, "unlabeled_mark": "-1"}
    assert batch.manifest["labeled"]["rows"] == n
    assert batch.manifest["pool"]["rows"] == 150
    call = python_call(batch.manifest)
    assert "\n    pool=None,\n" in call
    assert "exclude" not in call


@pytest.mark.parametrize(
    "container", ["pandas", "polars", "pyarrow", "dicts", "csv", "parquet", "sparse", "hub"]
)
def test_in_any_container(container, tmp_path):
    table = FRAME.assign(y=labels(["no", "so", "yes"], None))
    arrow = pa.Table.from_pandas(table, preserve_index=False)
    if container == "sparse":
        assert pick(sparse.csr_array(X), table["y"]).rows.tolist() == expected().rows.tolist()
        return
    if container == "csv":
        table.to_csv(tmp_path / "rows.csv", index=False)
    if container == "parquet":
        table.to_parquet(tmp_path / "rows.parquet")
    made = {
        "pandas": lambda: table,
        "polars": lambda: pl.from_arrow(arrow),
        "pyarrow": lambda: arrow,
        "dicts": arrow.to_pylist,
        "csv": lambda: str(tmp_path / "rows.csv"),
        "parquet": lambda: tmp_path / "rows.parquet",
        "hub": lambda: __import__("datasets").Dataset(arrow),
    }[container]()
    batch = pick(made, "y", id_column="id")
    assert batch.rows.tolist() == expected().rows.tolist()
    assert batch.ids.tolist() == [f"r{row}" for row in batch.rows]
    assert batch.manifest["labeled"]["features"] == NAMES


def test_a_hub_dataset_with_classes_of_minus_one():
    datasets = pytest.importorskip("datasets")
    codes = labels([0, 1, 2], -1)
    features = datasets.Features(
        {
            **{name: datasets.Value("float64") for name in NAMES},
            "y": datasets.ClassLabel(names=["no", "so", "yes"]),
        }
    )
    rows = datasets.Dataset.from_dict({**FRAME[NAMES].to_dict("list"), "y": codes}, features=features)
    assert pick(rows, "y") == expected()


def test_labels_that_come_apart_from_a_frame_are_held_to_its_index():
    y = pd.Series(labels([0, 1, 2], np.nan))
    assert pick(FRAME[NAMES], y) == expected((0, 1, 2))
    assert complaint(X=FRAME[NAMES], y=y.iloc[::-1]) == (
        "The index of y has the rows of X in another order. Use y.loc[X.index], or y.to_numpy() if the labels stand in "
        "the order of X."
    )


def test_more_rows_can_be_excluded_by_number_or_by_id():
    y = labels([0, 1, 2], None)
    first = pick(y=y)
    by_row = pick(y=y, exclude=first.rows[:2])
    assert not np.isin(first.rows[:2], by_row.rows).any()
    by_id = pick(FRAME, y, id_column="id", exclude=[f"r{row}" for row in first.rows[:2]])
    assert by_id.rows.tolist() == by_row.rows.tolist()
    n = len(LABELED)
    assert by_id.manifest["excluded"] == {
        "asked": 2,
        "rows": n + 2,
        "labeled": n,
        "unlabeled_mark": "None or NaN",
    }
    assert "    exclude=...,  # the same 2 values" in python_call(by_id.manifest)


def test_the_strategies_that_compare_rows_know_the_labeled_ones():
    y = labels(["no", "so", "yes"], None)
    for strategy in ("k-centers", "spread", "random"):
        assert pick(y=y, strategy=strategy) == expected(strategy=strategy)


def test_a_report_is_of_the_rows_without_labels(tmp_path):
    pytest.importorskip("jinja2")
    batch = pick(y=labels(["no", "so", "yes"], None))
    page = batch.report(tmp_path / "report.html").read_text()
    assert f"All {len(REST)} rows." in page


ALL_LABELED = (
    "All 150 rows have labels. With pool=None, those are picked from whose label is None, NaN, -1 or empty. "
)


def test_a_table_without_gaps_has_no_pool():
    assert complaint(y=CLASSES) == ALL_LABELED + "Give the rows to pick from as pool."
    # Among texts, numpy makes a text of NaN.
    y = np.array(labels(["no", "so", "yes"], np.nan))
    assert complaint(y=y) == ALL_LABELED + "'nan' is a text here, as numpy makes it: use dtype=object."


def test_a_table_without_labels_has_no_labeled_set():
    assert complaint(y=[None] * 150) == (
        "Not one of 150 rows has a label. Label at least one row of each of two classes."
    )


def test_minus_one_beside_one_other_class_is_asked_about():
    assert complaint(y=labels([1, 1, 1], -1)) == (
        "With pool=None, -1 stands for no label, and all 22 other rows are of class 1. If -1 is a class, use None or "
        "NaN for rows without a label."
    )


def test_there_is_a_label_or_a_mark_for_each_row():
    assert complaint(y=labels([0, 1, 2], None)[:100]) == (
        "X has 150 rows and y has 100 labels. With pool=None, give one a row, and None or NaN for rows without a label."
    )


def test_a_batch_that_the_rest_cannot_fill():
    y = labels([0, 1, 2], None)
    with pytest.raises(mm.InputError) as caught:
        mm.select(X, y, None, 150)
    assert str(caught.value) == (
        "batch_size=150 is larger than the number of rows without a label that may be picked (128 of 150 rows). Use "
        "batch_size<=128."
    )
    with pytest.raises(mm.InputError) as caught:
        mm.select(X, y, None, 1, exclude=REST)
    assert str(caught.value) == (
        "batch_size=1 is larger than the number of rows without a label that may be picked (0 of 150 rows). There is "
        "nothing left to pick."
    )
    with pytest.raises(mm.InputError) as caught:
        mm.select(X, y, None, "5")
    assert str(caught.value) == (
        "batch_size='5' must be a whole number >= 1, or a share of the pool such as '5%'."
    )


ASKED = (
    "If this stands for no label, drop such rows, or give None, in a file an empty cell, in its place and pick from "
    "them with pool=None; if it is a class, name all classes with classes=[...]"
)


@pytest.mark.parametrize(
    ("y", "what", "also"),
    [
        ([0, 1, -1, 2] * 5, "the label -1, beside labels from 0 to 2", ", or write labels as texts."),
        (
            [0.0, 1.0, -1.0, 2.0] * 5,
            "the label -1, beside labels from 0.0 to 2.0",
            ", or write labels as texts.",
        ),
        (["no", "yes", "", "no"] * 5, "an empty label", "."),
        (["no", "yes", " ", "no"] * 5, "an empty label", "."),
        (["no", "yes", "?", "no"] * 5, "the label '?'", "."),
        (["no", "yes", "NA", "no"] * 5, "the label 'NA'", "."),
    ],
)
def test_labels_that_may_stand_for_no_label_are_asked_about(y, what, also):
    assert complaint(X=X[:20], y=y, pool=X) == f"Labeled row 2 and 4 others have {what}. {ASKED}{also}"


LEFT_OUT = (
    "5 of 20 labeled rows have no label in column 'y', such as row 2, so they are left out. Label "
    "such rows, or move them to the pool if they may be picked."
)


@pytest.mark.parametrize("empty", [None, "", " "])
def test_rows_of_a_label_column_without_a_label_are_left_out_where_there_is_a_pool(empty, tmp_path):
    y = ["no", "yes", empty, "no"] * 5
    table = FRAME[:20].assign(y=y)
    pool = FRAME.assign(other=1)
    table.to_csv(tmp_path / "labeled.csv", index=False)
    known = [row for row in range(20) if row % 4 != 2]
    same = pick(table.iloc[known].reset_index(drop=True), "y", pool, id_column="id")
    for given in (table, tmp_path / "labeled.csv"):
        with pytest.warns(mm.DataWarning) as said:
            batch = pick(given, "y", pool, id_column="id")
        assert [str(each.message) for each in said] == [LEFT_OUT]
        # These five may be picked: nobody has labeled them.
        assert batch.rows.tolist() == same.rows.tolist()
        assert batch.manifest["excluded"]["rows"] == same.manifest["excluded"]["rows"] == 15


def test_marks_that_are_declared_are_no_labels(tmp_path):
    y = ["no", "yes", "?", "no"] * 5
    table = FRAME[:20].assign(y=y)
    table.to_csv(tmp_path / "labeled.csv", index=False)
    reading = mm.Reading(missing="?")
    for given in (table, tmp_path / "labeled.csv"):
        assert complaint(X=given, y="y", pool=FRAME, id_column="id") == (
            "Labeled row 2 and 4 others have the label '?'. If this stands for no label, use missing=['?']; if it is a "
            "class, name all classes with classes=[...]."
        )
        with pytest.warns(mm.DataWarning, match=f"^{re.escape(LEFT_OUT)}$"):
            pick(given, "y", FRAME, id_column="id", reading=reading)
        assert complaint(X=given, y="y", id_column="id") == (
            "All 20 rows have labels. With pool=None, those are picked from whose label is None, NaN, -1 or empty. If "
            "'?' stands for none, use missing=['?']."
        )
        batch = pick(given, "y", id_column="id", reading=reading)
        assert sorted(batch.rows.tolist()) == [2, 6, 10, 14, 18]


def test_blanks_are_no_labels_beside_none_and_declared_marks(tmp_path):
    y = ["no", "yes", " ", "", "?"] * 4
    FRAME[:20].assign(y=y).to_csv(tmp_path / "labeled.csv", index=False)
    reading = mm.Reading(missing="?")
    found = mm.inspect(tmp_path / "labeled.csv", "y", id_column="id", reading=reading)
    assert found.title == "8 labeled rows (no 4, yes 4) and 12 pool rows."
    assert (
        pick(tmp_path / "labeled.csv", "y", id_column="id", reading=reading).manifest["labeled"]["rows"] == 8
    )


def test_plus_and_minus_are_two_classes():
    assert len(pick(X[:20], ["+", "-"] * 10, X)) == 5


def test_classes_that_are_named_are_no_marks():
    """People whose classes are -1, 0 and 1, such as opinions, say so."""
    y = [-1, 0, 1, 0] * 5
    assert set(pick(X[:20], y, X, classes=[-1, 0, 1]).predicted.tolist()) <= {-1, 0, 1}
    assert len(pick(X[:20], ["", "no"] * 10, X, classes=["", "no"])) == 5
    # In one table, too: then None alone stands for no label.
    table = pick(y=labels([-1, 0, 1], None), classes=iter([-1, 0, 1]))
    assert table == expected((-1, 0, 1), classes=[-1, 0, 1])
    assert complaint(y=labels([0, 1, 2], -1), classes=[-1, 0, 1, 2]) == (
        ALL_LABELED + "Give the rows to pick from as pool."
    )


def test_classes_without_labels_go_with_one_table():
    batch = pick(y=labels(["no", "so", "yes"], None), classes=["no", "so", "yes", "never"])
    assert batch.rows.tolist() == expected().rows.tolist()
    assert batch.manifest["labeled"]["class_counts"]["never"] == 0


@pytest.mark.parametrize("y", [[-1, 1] * 10, [-1, 0] * 10, [-2, -1, 0, 1] * 5, ["-1", "0", "1", "2"] * 5])
def test_other_labels_below_zero_are_classes(y):
    assert len(pick(X[:20], y, X)) == 5


def test_inspect_takes_rows_without_a_label_for_the_pool(tmp_path):
    table = pd.DataFrame({"x": np.arange(60.0), "y": ["no", "yes", None] * 20})
    table.to_csv(tmp_path / "table.csv", index=False)
    for given in (table, tmp_path / "table.csv"):
        found = mm.inspect(given, "y")
        assert found.title == "40 labeled rows (no 20, yes 20) and 20 pool rows."


def test_compare_leaves_out_rows_without_a_label():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=90), "y": ["no", "yes", None] * 30})
    settings = {
        "strategies": ["margin", "random"],
        "batch_sizes": [5],
        "n_labeled": 10,
        "n_draws": 2,
        "random_state": 0,
    }
    with pytest.warns(mm.DataWarning) as said:
        found = mm.compare(table, "y", **settings)
    assert [str(each.message) for each in said] == [
        "30 of 90 rows have no label in column 'y', such as row 2, so they are left out: picks are judged by labels."
    ]
    whole = table.dropna().reset_index(drop=True)
    assert found.curves.to_pylist() == mm.compare(whole, "y", **settings).curves.to_pylist()

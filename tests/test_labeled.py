"""The labeled set: labels of any type, classes in sorted order, features by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

import minmargin as mm
from minmargin.labeled import LabeledSet

ROWS = np.arange(8.0).reshape(4, 2)
FRAME = pd.DataFrame(
    {"a": [1, 2, 3, 4], "b": [0.5, 1.5, 2.5, 3.5], "id": list("wxyz"), "label": list("vuuv")}
)


LABELS: dict[str, tuple[Any, list[Any], list[int]]] = {
    "strings": (["v", "u", "u", "v"], ["u", "v"], [1, 0, 0, 1]),
    "integers with gaps": ([30, -5, 7, 30], [-5, 7, 30], [2, 0, 1, 2]),
    "truth values": ([True, False, False, True], [False, True], [1, 0, 0, 1]),
    "whole floats": ([2.0, 1.0, 1.0, 2.0], [1.0, 2.0], [1, 0, 0, 1]),
    "array": (np.array(["v", "u", "u", "v"]), ["u", "v"], [1, 0, 0, 1]),
    "array of objects": (np.array(["v", "u", "u", "v"], dtype=object), ["u", "v"], [1, 0, 0, 1]),
    "one column": (np.array([[3], [1], [1], [3]]), [1, 3], [1, 0, 0, 1]),
    "pandas": (pd.Series(["v", "u", "u", "v"], index=[9, 8, 7, 6]), ["u", "v"], [1, 0, 0, 1]),
    "pandas categories": (
        pd.Series(["v", "u", "u", "v"], dtype=pd.CategoricalDtype(["v", "u", "never"])),
        ["u", "v"],
        [1, 0, 0, 1],
    ),
    "polars": (pl.Series(["v", "u", "u", "v"]), ["u", "v"], [1, 0, 0, 1]),
    "pyarrow": (pa.chunked_array([["v", "u"], ["u", "v"]]), ["u", "v"], [1, 0, 0, 1]),
    "iterator": (iter("vuuv"), ["u", "v"], [1, 0, 0, 1]),
}


@pytest.mark.parametrize(("y", "classes", "codes"), LABELS.values(), ids=LABELS)
def test_labels_of_any_type_give_sorted_classes(y: Any, classes: list[Any], codes: list[int]) -> None:
    labeled = LabeledSet.of(ROWS, y)
    assert labeled.classes.tolist() == classes
    assert labeled.codes.tolist() == codes
    assert labeled.counts.tolist() == np.bincount(codes).tolist()


@pytest.mark.parametrize("frame", [FRAME, pl.from_pandas(FRAME), pa.Table.from_pandas(FRAME)])
def test_a_label_column_is_not_a_feature(frame: Any) -> None:
    labeled = LabeledSet.of(frame, "label", not_features=["id"])
    assert labeled.classes.tolist() == ["u", "v"]
    assert labeled.names == ("a", "b")


def test_features_are_used_in_the_order_they_are_named() -> None:
    assert LabeledSet.of(FRAME, "label", features=["b", "a"]).names == ("b", "a")


def test_a_named_feature_is_used_even_if_it_is_the_id() -> None:
    assert LabeledSet.of(FRAME, "label", features=["id"], not_features=["id"]).names == ("id",)


def test_a_single_name_is_handed_over_as_one_column() -> None:
    assert LabeledSet.of(FRAME, "label", features="id").one_column
    assert not LabeledSet.of(FRAME, "label", features=["id"]).one_column


@pytest.mark.parametrize("rows", [ROWS, sparse.csr_array(ROWS), ROWS.tolist(), ["w", "x", "y", "z"]])
def test_arrays_and_texts_have_no_column_names(rows: Any) -> None:
    labeled = LabeledSet.of(rows, list("vuuv"))
    assert labeled.names is None
    assert labeled.describe()["features"] is None


def test_the_labeled_set_can_be_a_file(tmp_path: Path) -> None:
    FRAME.to_csv(tmp_path / "labeled.csv", index=False)
    labeled = LabeledSet.of(tmp_path / "labeled.csv", "label", not_features=["id"])
    assert labeled.from_files
    assert labeled.names == ("a", "b")
    assert labeled.classes.tolist() == ["u", "v"]


def test_a_file_can_go_with_labels_from_elsewhere(tmp_path: Path) -> None:
    FRAME.to_parquet(tmp_path / "labeled.parquet")
    labeled = LabeledSet.of(tmp_path / "labeled.parquet", [1, 0, 0, 1], features=["a", "b"])
    assert labeled.classes.tolist() == [0, 1]


def test_a_list_of_texts_that_end_like_files_names_files() -> None:
    with pytest.raises(mm.InputError) as caught:
        LabeledSet.of(["no-such.csv", "none.csv"], [0, 1])
    assert str(caught.value) == "There is no file 'no-such.csv'."


def test_a_file_without_rows_is_named(tmp_path: Path) -> None:
    path = tmp_path / "labeled.parquet"
    FRAME[:0].to_parquet(path)
    with pytest.raises(mm.InputError) as caught:
        LabeledSet.of(path, "label")
    assert str(caught.value) == f"{path} has no rows."


def test_the_id_column_is_not_a_feature_of_a_selection() -> None:
    pool = FRAME.assign(id=range(4))
    labeled = FRAME.assign(id=[9, 8, 7, 6])
    batch = mm.select(labeled, "label", pool, 2, id_column="id", n_models=3, random_state=0)
    assert batch.manifest["labeled"]["features"] == ["a", "b"]
    assert batch.manifest["labeled"]["class_counts"] == {"u": 2, "v": 2}


def test_the_order_of_labeled_classes_does_not_depend_on_their_first_appearance() -> None:
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(40, 2)), np.repeat(["u", "v"], 20)
    rows[20:] += 1
    pool = rng.normal(size=(50, 2))
    order = rng.permutation(40)
    first = mm.select(rows, labels, pool, 5, strategy="margin", random_state=0)
    second = mm.select(rows[order], labels[order], pool, 5, strategy="margin", random_state=0)
    assert first.rows.tolist() == second.rows.tolist()
    assert first.top_classes.tolist() == second.top_classes.tolist()

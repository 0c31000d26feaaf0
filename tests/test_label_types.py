"""Labels of any type; what is missing or mixed is never turned into a class."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import minmargin as mm
from minmargin.labels import as_labels, encode_labels


@pytest.mark.parametrize(
    "labels",
    [
        ["b", "a", "b"],
        ("b", "a", "b"),
        np.array(["b", "a", "b"]),
        np.array(["b", "a", "b"], dtype=object),
        pd.Series(["b", "a", "b"]),
        pd.Series(["b", "a", "b"], dtype="category"),
        pd.DataFrame({"y": ["b", "a", "b"]}),
        pl.Series(["b", "a", "b"]),
        pa.array(["b", "a", "b"]),
        pa.chunked_array([["b"], ["a", "b"]]),
    ],
    ids=lambda labels: type(labels).__name__,
)
def test_every_container_gives_the_same_classes(labels):
    classes, codes = encode_labels(as_labels(labels), 3)
    assert classes.tolist() == ["a", "b"]
    assert codes.tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    "labels", [[True, False], [10, -3], [1.0, 2.0], np.array([7, 3], dtype=object), [2, 1.0]]
)
def test_flags_and_numbers_with_gaps_stay_what_they_are(labels):
    classes, codes = encode_labels(as_labels(labels), 2)
    assert classes[codes].tolist() == list(labels)


@pytest.mark.parametrize(
    "labels",
    [
        ["a", None, "b"],
        ["a", float("nan"), "b"],
        pd.Series(["a", None, "b"]),
        pd.Series([1, pd.NA, 2], dtype="Int64"),
        np.array([1.0, np.nan, 2.0]),
        pl.Series([1, None, 2]),
        pa.array([1, None, 2]),
    ],
    ids=str,
)
def test_a_missing_label_is_no_class(labels):
    with pytest.raises(mm.InputError) as error:
        as_labels(labels)
    assert (
        str(error.value)
        == "Labeled row 1 has no label. Drop such rows, or use select(..., pool=None), which picks from them."
    )


@pytest.mark.parametrize(
    ("labels", "kinds"), [([1, "a"], "number, str"), ([True, 2], "bool, number"), (["a", b"a"], "bytes, str")]
)
def test_types_are_not_mixed(labels, kinds):
    with pytest.raises(mm.InputError) as error:
        as_labels(labels)
    assert str(error.value) == f"The labels mix types ({kinds}). Make them all strings or all numbers."


@pytest.mark.parametrize("labels", [None, 5, pd.DataFrame({"a": [1], "b": [2]})])
def test_what_holds_no_labels_is_refused(labels):
    with pytest.raises(mm.InputError) as error:
        as_labels(labels)
    name = type(labels).__name__
    assert str(error.value) == f"y is a {name}. Pass one label a row, or the name of the label column."


def test_infinite_labels_are_no_classes():
    with pytest.raises(mm.InputError, match="not classes"):
        encode_labels(np.array([1.0, np.inf]), 2)

"""Labels of any type; what is missing or mixed is never turned into a class."""

import enum
import fractions
import uuid

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import minmargin as mm
from minmargin.labels import as_labels, encode_labels

LABELED = np.random.default_rng(0).normal(size=(40, 3))
LABELS = (LABELED[:, 0] > 0).astype(int)
POOL = np.random.default_rng(1).normal(size=(100, 3))


class Color(enum.Enum):
    RED = 1


class Size(enum.StrEnum):
    SMALL = "s"


@pytest.mark.parametrize(
    "labels",
    [
        ["b", "a", "b"],
        ("b", "a", "b"),
        np.array(["b", "a", "b"]),
        np.array(["b", "a", "b"], dtype=object),
        np.array(["b", "a", "b"], dtype=np.dtypes.StringDType()),
        np.array([["b"], ["a"], ["b"]]),
        np.ma.masked_array(["b", "a", "b"], mask=False),
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
        np.ma.masked_array([1, 5, 2], mask=[0, 1, 0]),
        np.ma.masked_array([["a"], ["b"], ["a"]], mask=[[0], [1], [0]]),
        np.array(["a", np.nan, "b"], dtype=np.dtypes.StringDType(na_object=np.nan)),
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


@pytest.mark.parametrize(
    "labels", [None, 5, pd.DataFrame({"a": [1], "b": [2]}), {0: "a", 1: "b"}, {"a", "b"}]
)
def test_what_holds_no_labels_is_refused(labels):
    with pytest.raises(mm.InputError) as error:
        as_labels(labels)
    name = type(labels).__name__
    assert str(error.value) == f"y is a {name}. Pass one label a row, or the name of the label column."


def test_infinite_labels_are_no_classes():
    with pytest.raises(mm.InputError, match="not classes"):
        encode_labels(np.array([1.0, np.inf]), 2)


def test_masked_labels_are_rows_to_pick_from():
    masked = np.ma.masked_array(LABELS, mask=np.arange(40) >= 20)
    batch = mm.select(LABELED, masked, None, 3, n_models=2, random_state=0)
    assert batch.manifest["labeled"]["class_counts"] == {
        "0": int((LABELS[:20] == 0).sum()),
        "1": int(LABELS[:20].sum()),
    }
    assert (batch.rows >= 20).all()


@pytest.mark.parametrize(
    ("label", "shown", "kind", "fix"),
    [
        (1j, "1j", "complex", "Make labels strings"),
        (fractions.Fraction(1, 2), "Fraction(1, 2)", "Fraction", "Make labels strings"),
        (uuid.UUID(int=1), "UUID('00000000-0000-0000-0000-000000000001')", "UUID", "Make labels strings"),
        (pd.Period("2020", "Y"), "Period('2020', 'Y-DEC')", "Period", "Make labels strings"),
        (pd.Interval(0, 1), "Interval(0, 1, closed='right')", "Interval", "Make labels strings"),
        (Color.RED, "<Color.RED: 1>", "Color", "Use label.name"),
        (Size.SMALL, "<Size.SMALL: 's'>", "Size", "Use label.name"),
    ],
)
@pytest.mark.parametrize("dtype", [None, object])
def test_labels_that_no_file_holds_are_refused(label, shown, kind, fix, dtype):
    with pytest.raises(mm.InputError) as error:
        as_labels([label, label] if dtype is None else pd.Series([label, label], dtype=dtype))
    assert (
        str(error.value)
        == f"Labeled row 0 has the label {shown} of type {kind}, which no file can hold. {fix}."
    )


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".jsonl", ".feather"])
def test_the_largest_whole_numbers_are_shown_and_written(tmp_path, suffix):
    labels = LABELS.astype(np.uint64) + np.uint64(2**63)
    batch = mm.select(LABELED, labels, POOL, 3, n_models=2, random_state=0)
    batch.write(tmp_path / f"batch{suffix}")
    assert batch.to_arrow()["predicted"].to_pylist() == batch.predicted.tolist()
    assert str(2**63) in repr(batch)


@pytest.mark.parametrize("container", [np.array, list, pd.Series])
def test_labels_stand_beside_a_csv_file(tmp_path, container):
    path = str(tmp_path / "labeled.csv")
    pd.DataFrame(LABELED, columns=list("abc")).to_csv(path, index=False)
    labels, some = container(LABELS), container(np.where(np.arange(40) < 20, LABELS, -1))
    assert mm.select(path, labels, path, 3, n_models=2, random_state=0).rows.shape == (3,)
    assert (mm.select(path, some, None, 3, n_models=2, random_state=0).rows >= 20).all()
    committee = mm.fit_committee(path, labels, n_models=2, random_state=0)
    assert committee.select(path, 3) == mm.select(path, labels, path, 3, n_models=2, random_state=0)
    assert mm.inspect(path, labels, path) is not None
    assert mm.compare(path, labels, strategies=["margin"], batch_sizes=[4], n_labeled=8, n_draws=2)


def test_a_masked_column_of_a_dict_is_refused():
    columns = {"a": np.ma.masked_array(LABELED[:, 0], mask=LABELS == 0), "b": LABELED[:, 1]}
    with pytest.raises(mm.InputError) as error:
        mm.select(columns, LABELS, columns, 3)
    assert str(error.value) == (
        "The labeled set is a dict whose 'a' is a masked array. Use .filled(np.nan), so that missing cells are NaN."
    )

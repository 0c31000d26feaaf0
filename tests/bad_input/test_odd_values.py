"""Values at the edge of their types: texts that are no Unicode, numbers too large, rows of several lengths."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import minmargin as mm
from complaints import LABELED, LABELED_FRAME, LABELS, NAMES, POOL_FRAME, POOL_TABLE, X, complaint, pick

HALF = "\ud800"  # of a pair of surrogates: Python can hold it, and no file
NOT_UNICODE = (
    "{}, which is not valid Unicode. Read it with the encoding that it was written in, or mend it with "
    "text.encode('utf-8', 'replace').decode()."
)


def as_objects(values: list[Any]) -> pd.Series[Any]:
    return pd.Series(values, dtype=object)


@pytest.mark.parametrize("where", ["ids", "kept", "exclude"])
def test_a_text_that_is_no_unicode_is_named_with_its_column(where: str) -> None:
    odd = POOL_FRAME.assign(name=as_objects([f"{HALF}{row}" for row in range(len(X))]))
    plain = POOL_FRAME.assign(name=[str(row) for row in range(len(X))])
    ways: dict[str, dict[str, Any]] = {
        "ids": {"pool": odd, "id_column": "name"},
        "kept": {"pool": odd, "keep": ["name"]},
        "exclude": {"pool": plain, "id_column": "name", "exclude": ["7", HALF]},
    }
    said = complaint(LABELED_FRAME, batch_size=len(X) - 1, distinct=False, **ways[where])
    beginning = "exclude holds '\\ud800'" if where == "exclude" else "Column 'name' holds the text '\\ud800"
    assert said.startswith(beginning)
    assert said.endswith(NOT_UNICODE.format(""))


def test_a_category_that_is_no_unicode_is_named_with_its_column() -> None:
    labeled = LABELED_FRAME.assign(kind=as_objects(["x", HALF] * 15))
    assert complaint(labeled, pool=POOL_FRAME.assign(kind="x"), preprocess="auto") == NOT_UNICODE.format(
        "Column 'kind' holds the text '\\ud800'"
    )


def test_a_class_that_is_no_unicode_is_named_before_anything_is_trained() -> None:
    labels = ["a", "b" + HALF * 50] * 15
    assert complaint(labels=labels) == NOT_UNICODE.format(
        f"Labeled row 1 has the label {('b' + HALF * 39 + '…')!r}"
    )
    assert complaint(labels=["a", "b"] * 15, classes=["a", "b", HALF]) == NOT_UNICODE.format(
        "classes has '\\ud800'"
    )


@pytest.mark.parametrize("labeled", [{"a": LABELED[:, 0], HALF: LABELED[:, 1]}, [{"a": 1.0, HALF: 2.0}] * 30])
def test_a_column_name_that_is_no_unicode_is_named(labeled: Any) -> None:
    assert complaint(labeled) == NOT_UNICODE.format("The labeled set has a column called '\\ud800'")


def test_labels_that_differ_in_a_nul_are_not_one_class() -> None:
    """An array of texts drops what follows the last character that is no NUL."""
    for labels in (["a", "a\0"] * 15, np.array(["a", "a\0"] * 15, dtype=object)):
        assert complaint(labels=labels) == (
            "Labeled row 1 has the label 'a\\x00', which ends with NUL. Remove it."
        )
    assert sorted(set(pick(labels=["a", "a\0b"] * 15).top_classes.ravel().tolist())) == ["a", "a\0b"]


def test_whole_numbers_are_kept_as_they_are_or_refused() -> None:
    large = [3, 2**63 + 5] * 15  # of which numpy makes floats
    assert sorted(set(pick(labels=large).top_classes.ravel().tolist())) == [3, 2**63 + 5]
    for labels, named in ([-3, 2**63 + 5], 2**63 + 5), ([3, 2**70], 2**70), ([3.0, 2**53 + 1], 2**53 + 1):
        assert complaint(labels=labels * 15) == (
            f"There is a label {named}, a number with more digits than are kept. Make labels strings."
        )


@pytest.mark.parametrize("fraction", [1001, 1e10, 1e308])
def test_a_draw_that_no_memory_holds_is_refused(fraction: float) -> None:
    assert complaint(bootstrap_fraction=fraction) == (
        f"bootstrap_fraction={fraction!r} must be 1,000 at most: models of larger draws hardly differ. 1.0 is usual."
    )


def test_rows_of_several_lengths_are_refused() -> None:
    rows = [[1.0, 2.0]] * 7 + [[3.0]] + [[1.0, 2.0]] * 22
    fix = "has 1 values and the rows before it have 2. Give every row the same features."
    assert complaint(rows) == f"Row 7 of the labeled set {fix}"
    assert complaint(LABELED[:, :2], pool=rows) == f"Row 7 of the pool {fix}"


def test_labels_that_are_lists_are_refused() -> None:
    assert complaint(labels=[[1], [2, 3]] * 15) == (
        "Labeled row 0 has the label [1], which is a list. Give one label a row."
    )
    shape = "There are 30 labeled rows and labels of shape (30, 2). Give one label a row."
    assert complaint(labels=[[1, 2]] * 30) == shape
    assert complaint(labels=[np.array([1, 2])] * 30) == shape


@pytest.mark.parametrize("end", ["\r", "\r\n", "\n"])
def test_csv_files_end_their_lines_in_any_way(tmp_path: Path, end: str) -> None:
    path = tmp_path / "pool.csv"
    lines = [",".join(NAMES), *(",".join(map(repr, row)) for row in X.tolist())]
    path.write_bytes(end.join(lines).encode())
    assert pick(LABELED_FRAME, pool=path).rows.tolist() == pick(LABELED_FRAME, pool=POOL_TABLE).rows.tolist()


def test_tensors_that_are_no_plain_arrays_are_refused() -> None:
    torch = pytest.importorskip("torch")
    rows = torch.tensor(X)
    said = "The pool is a tensor that is no plain array ({}). Use tensor.to_dense(), or give an array."
    assert complaint(pool=rows.to_sparse()) == said.format("can't convert Sparse layout tensor to numpy")
    assert complaint(pool=rows.to("meta")) == said.format("Cannot copy out of meta tensor")
    assert complaint(labeled=[row.requires_grad_() for row in torch.tensor(LABELED)]) == (
        "The labeled set is a list that goes into no array (Can't call numpy() on Tensor that requires grad). "
        "Give an array."
    )
    assert complaint(labels=[torch.tensor([1, 2])] * 30) == (
        "There are 30 labeled rows and labels of shape (30, 2). Give one label a row."
    )


def test_tensors_in_half_precision_are_numbers() -> None:
    torch = pytest.importorskip("torch")
    rows = torch.tensor(X).bfloat16()
    expected = mm.select(LABELED, LABELS, rows.float().numpy(), 3, n_models=3, random_state=0, n_jobs=1)
    assert pick(pool=rows).rows.tolist() == expected.rows.tolist()


@pytest.mark.parametrize("size", [1e160, 1e300])
def test_features_whose_squares_are_no_numbers_are_refused(size: float) -> None:
    assert complaint(LABELED * size, pool=X * size) == (
        "4 of 4 logistic models could not be trained: numbers grew beyond all bounds. "
        f"Features are as large as {LABELED.max() * size:.0e}. Divide them."
    )


@pytest.mark.parametrize("ending", ["csv", "parquet", "feather"])
def test_columns_of_one_name_are_named(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"pool.{ending}"
    table = pa.table([pa.array([1.0, 2.0])] * 5, names=["a", "b", "c", "a", "c"])
    if ending == "csv":
        path.write_text("a,b,c,a,c\n1,1,1,1,1\n")
    elif ending == "parquet":
        pq.write_table(table, path)
    else:
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
    said = "has several columns called 'a', 'c'. Rename them."
    assert complaint(LABELED_FRAME, pool=path) == f"{str(path)!r} {said}"
    assert complaint(LABELED_FRAME, pool=table) == f"The pool {said}"
    assert complaint(LABELED_FRAME, pool=ds.dataset(table)) == f"The pool {said}"


def test_file_names_may_be_any_bytes(tmp_path: Path) -> None:
    """Such as those of Latin-1, which are no UTF-8."""
    path = tmp_path / os.fsdecode(b"caf\xe9.parquet")
    with path.open("wb") as file:
        pq.write_table(POOL_TABLE, file)
    for pool in (path, tmp_path, f"{tmp_path}/*.parquet"):
        batch = pick(LABELED_FRAME, pool=pool)
        assert batch.rows.tolist() == pick(LABELED_FRAME, pool=POOL_TABLE).rows.tolist()
    assert pick(LABELED_FRAME, pool=path).manifest["pool"]["source"] == f"{tmp_path}/caf\\xe9.parquet"
    path.write_bytes(b"PAR1")
    shown = repr(f"{tmp_path}/caf\\xe9.parquet")
    assert complaint(LABELED_FRAME, pool=path).startswith(f"{shown} cannot be read as Parquet (")

"""Probabilities in every form that people have them in: the batch is the same, and so are the classes."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import dataset, feather, parquet

import minmargin as mm
from minmargin.integrations.batch_files import read_batch

CLASSES = ("cat", "dog", "owl")
N_ROWS = 500


@pytest.fixture(scope="module")
def members():
    return np.random.default_rng(0).dirichlet(np.ones(3), size=(2, N_ROWS))


@pytest.fixture(scope="module")
def expected(members):
    return mm.select_from_probabilities(members, 20, random_state=1).rows.tolist()


def frame_of(members, prefixes=("a_", "b_")):
    columns = {"id": [f"r{row}" for row in range(N_ROWS)], "text": [f"text {row}" for row in range(N_ROWS)]}
    for prefix, member in zip(prefixes, members, strict=True):
        columns |= {prefix + name: member[:, c] for c, name in enumerate(CLASSES)}
    return pd.DataFrame(columns)


def list_table(members, *, fixed=True):
    table = pa.table({"id": np.arange(N_ROWS) + 1000})
    for k, member in enumerate(members):
        flat = pa.array(member.ravel())
        values = pa.FixedSizeListArray.from_arrays(flat, 3) if fixed else pa.array(member.tolist())
        table = table.append_column(f"m{k}", values)
    return table


def pick(probabilities, **options):
    return mm.select_from_probabilities(probabilities, 20, random_state=1, **options)


def test_arrays(members, expected, tmp_path):
    assert pick(list(members)).rows.tolist() == expected
    assert pick(members.tolist()).rows.tolist() == expected
    paths = [tmp_path / f"{k}.npy" for k in range(2)]
    for path, member in zip(paths, members, strict=True):
        np.save(path, member)
    assert pick(paths).rows.tolist() == expected
    assert pick([np.load(path, mmap_mode="r") for path in paths]).rows.tolist() == expected
    np.save(tmp_path / "all.npy", members)
    assert pick(str(tmp_path / "all.npy")).rows.tolist() == expected


@pytest.mark.parametrize("convert", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas])
def test_a_column_for_each_class(members, expected, convert):
    batch = pick(convert(frame_of(members)), columns=["a_*", "b_*"], id_column="id", keep=["text"])
    assert batch.rows.tolist() == expected
    assert batch.ids.tolist() == [f"r{row}" for row in expected]
    assert batch.kept["text"].to_pylist() == [f"text {row}" for row in expected]
    assert set(batch.top_classes.ravel()) <= set(CLASSES)


def test_columns_are_put_into_the_same_order_of_classes(members, expected):
    frame = frame_of(members)
    shuffled = frame[["b_owl", "a_cat", "b_cat", "a_dog", "b_dog", "a_owl"]]
    assert pick(shuffled, columns=["a_*", "b_*"]).rows.tolist() == expected
    named = [["a_cat", "a_dog", "a_owl"], ["b_cat", "b_dog", "b_owl"]]
    batch = pick(shuffled, columns=named, classes=CLASSES)
    assert batch.rows.tolist() == expected
    assert batch.top_classes.tolist() == pick(members, classes=CLASSES).top_classes.tolist()


def test_all_columns_without_another_use_are_probabilities(members):
    frame = frame_of(members[:1], [""]).drop(columns="text")
    batch = pick(frame, id_column="id")
    assert batch.rows.tolist() == pick(members[0]).rows.tolist()
    assert set(batch.top_classes.ravel()) <= set(CLASSES)


@pytest.mark.parametrize("fixed", [True, False])
def test_a_list_column_for_each_model(members, expected, tmp_path, fixed):
    table = list_table(members, fixed=fixed)
    assert pick(table, id_column="id").rows.tolist() == expected
    path = tmp_path / "p.parquet"
    parquet.write_table(table, path, row_group_size=70)
    batch = pick(path, columns=["m0", "m1"], id_column="id", exclude=[1000 + expected[0]])
    assert batch.rows.tolist()[:19] == expected[1:]
    assert pick(path, columns="m*").rows.tolist() == expected
    assert pick(dataset.dataset(path), columns="m*").rows.tolist() == expected


@pytest.mark.parametrize("suffix", ["csv", "parquet", "feather"])
def test_files(members, expected, tmp_path, suffix):
    frame = frame_of(members)
    for part, rows in enumerate(np.array_split(np.arange(N_ROWS), 3)):
        piece, path = frame.iloc[rows], tmp_path / f"part{part}.{suffix}"
        if suffix == "csv":
            piece.to_csv(path, index=False)
        else:
            write = parquet.write_table if suffix == "parquet" else feather.write_feather
            write(pa.Table.from_pandas(piece, preserve_index=False), path)
    batch = pick(f"{tmp_path}/*.{suffix}", columns=["a_*", "b_*"], id_column="id")
    assert batch.rows.tolist() == expected
    assert batch.ids.tolist() == [f"r{row}" for row in expected]


def test_a_checkpoint_goes_on(members, expected, tmp_path):
    parquet.write_table(list_table(members), tmp_path / "p.parquet", row_group_size=50)
    options = {"columns": "m*", "checkpoint": tmp_path / "found"}
    assert pick(tmp_path / "p.parquet", **options).rows.tolist() == expected
    assert pick(tmp_path / "p.parquet", **options).rows.tolist() == expected
    assert pick(members, checkpoint=tmp_path / "of arrays").rows.tolist() == expected


def test_chunks(members, expected):
    parts = np.array_split(np.arange(N_ROWS), 4)
    assert pick(members[:, part] for part in parts).rows.tolist() == expected
    frame = frame_of(members)
    chunks = (frame.iloc[part] for part in parts)
    assert pick(chunks, columns=["a_*", "b_*"], id_column="id").ids.tolist() == [
        f"r{row}" for row in expected
    ]


def test_a_frame_beside_arrays_has_ids_and_features(members):
    features = np.random.default_rng(1).normal(size=(N_ROWS, 4))
    plain = pick(members, strategy="spread", features=features)
    frame = frame_of(members)[["id", "text"]].assign(vector=list(features))
    batch = pick(members, strategy="spread", features="vector", pool=frame, id_column="id", keep="text")
    assert batch.rows.tolist() == plain.rows.tolist()
    assert batch.ids.tolist() == [f"r{row}" for row in plain.rows]
    table = list_table(members).append_column("vector", pa.array(features.tolist()))
    assert (
        pick(table, columns="m*", features="vector", strategy="spread").rows.tolist() == plain.rows.tolist()
    )
    again = pick(members, strategy="spread", features=features, exclude=plain.rows[:5])
    assert not set(again.rows) & set(plain.rows[:5])


def test_the_base_of_a_table(members):
    table = list_table(members)
    batch = pick(table, columns="m0", base="m1", strategy="margin", id_column="id")
    assert batch.rows.tolist() == pick(members[1], strategy="margin").rows.tolist()


@pytest.mark.parametrize(
    ("message", "options"),
    [
        (
            (
                "Column 'q_*' is not in the pool (columns: 'id', 'text', 'a_cat', 'a_dog', 'a_owl', 'b_cat', 'b_dog', "
                "'b_owl')."
            ),
            {"columns": "q_*"},
        ),
        (
            (
                "Column 'text' holds no numbers (String), and others hold numbers ('a_cat', 'a_dog', 'a_owl', 'b_cat', "
                "'b_dog', 'b_owl'). Name those that hold the probabilities with columns=[...]."
            ),
            {},
        ),
        (
            (
                "Column 'text' holds no numbers (String). Name those that hold the probabilities with columns=[...]."
            ),
            {"columns": "text"},
        ),
        (
            (
                "One model has columns for 'cat', 'dog', 'owl', and another for 'wl'. Models must tell of the "
                "same classes."
            ),
            {"columns": ["a_*", "b_o*"]},
        ),
        (
            "What was given has different numbers of classes (a_cat, a_dog: 2; b_cat: 1). Give the same ones in all.",
            {"columns": [["a_cat", "a_dog"], ["b_cat"]]},
        ),
        (
            (
                "The pool is for arrays of probabilities. Frames and files have their other columns themselves: leave "
                "it out."
            ),
            {"columns": "a_*", "pool": pd.DataFrame({"id": [1]})},
        ),
    ],
)
def test_columns_that_cannot_be_meant(members, message, options):
    with pytest.raises(mm.InputError, match=f"^{re.escape(message)}$"):
        pick(frame_of(members), id_column="id", **options)


def test_a_list_column_among_numbers_is_named(members):
    frame = frame_of(members).assign(vector=[[0.5, 0.5]] * len(members[0]))
    message = (
        "Column 'vector' holds lists of numbers, and others hold numbers ('a_cat', 'a_dog', 'a_owl', 'b_cat', 'b_dog', "
        "'b_owl'). Name those that hold the probabilities with columns=[...]."
    )
    with pytest.raises(mm.InputError, match=f"^{re.escape(message)}$"):
        pick(frame, id_column="id", keep="text")


def test_a_table_of_ids_alone_has_no_probabilities(members):
    message = (
        "No column is left that may hold probabilities. "
        "Name those that hold the probabilities with columns=[...]."
    )
    with pytest.raises(mm.InputError, match=f"^{re.escape(message)}$"):
        pick(frame_of(members)[["id"]], id_column="id")


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_files_beside_arrays_have_ids_and_features(members, suffix, tmp_path):
    frame = frame_of(members).assign(size=np.arange(N_ROWS) / 2)
    path = tmp_path / f"rows{suffix}"
    frame.to_csv(path, index=False) if suffix == ".csv" else frame.to_parquet(path)
    asked = {"id_column": "id", "keep": "text", "features": ["size"], "strategy": "spread"}
    assert pick(members, pool=path, **asked) == pick(members, pool=frame, **asked)
    assert pick(members, pool=path).rows.tolist() == pick(members).rows.tolist()


@pytest.mark.parametrize(
    ("message", "options"),
    [
        ("Column 'name' is not in the pool (columns: 'id').", {"id_column": "name"}),
        (
            (
                "What was given has different numbers of rows (model 0: 500; model 1: 500; pool: 3). All must tell of "
                "the same rows."
            ),
            {"id_column": "id"},
        ),
    ],
)
def test_files_beside_arrays_that_do_not_fit(members, message, options, tmp_path):
    pd.DataFrame({"id": ["a", "b", "c"]}).to_csv(tmp_path / "rows.csv", index=False)
    with pytest.raises(mm.InputError, match=f"^{re.escape(message)}$"):
        pick(members, pool=tmp_path / "rows.csv", **options)


def test_files_beside_arrays_need_columns_and_rows(members, tmp_path):
    np.save(tmp_path / "ids.npy", np.arange(N_ROWS)[:, np.newaxis])
    message = f"{tmp_path}/ids.npy has no column names, which id_column and keep need. Give a table."
    with pytest.raises(mm.InputError, match=f"^{re.escape(message)}$"):
        pick(members, pool=tmp_path / "ids.npy", id_column="id")
    pd.DataFrame({"id": []}).to_parquet(tmp_path / "none.parquet")
    message = f"{tmp_path}/none.parquet has no rows. Give one for each row of the arrays."
    with pytest.raises(mm.InputError, match=f"^{re.escape(message)}$"):
        pick(members, pool=tmp_path / "none.parquet", id_column="id")


def test_models_have_names(members, expected, tmp_path):
    named = {"forest": members[0], "api": members[1]}
    batch = pick(named)
    assert batch.rows.tolist() == expected
    assert batch.manifest["settings"]["member_names"] == ["forest", "api"]
    assert batch.member_names == ["forest", "api"]
    table = batch.to_pandas()
    assert table["member_name"].tolist() == [["forest", "api"][member] for member in batch.member]
    assert list(table.columns[3:6]) == ["member", "member_name", "first_class"]
    assert batch[:3].to_pandas()["member_name"].tolist() == table["member_name"].tolist()[:3]
    again = read_batch(batch.to_parquet(tmp_path / "batch.parquet"))
    assert again.to_pandas().equals(table)
    page = batch.report(tmp_path / "page.html").read_text()
    assert f"{table['member_name'][0]} gives 0." in page
    assert f"forest {(batch.member == 0).sum()}, api {(batch.member == 1).sum()} picks." in page
    by_mean = pick(named, strategy="margin-of-mean").to_pandas()
    assert by_mean["member_name"].isna().all()


def test_models_without_names_have_no_column_for_them(members):
    assert "member_name" not in pick(members).to_arrow().column_names
    assert pick(members).member_names is None


def test_names_in_any_form(members, expected, tmp_path):
    for name, member in zip("ab", members, strict=True):
        np.save(tmp_path / f"{name}.npy", member)
    for probabilities, columns in (
        ({"a": tmp_path / "a.npy", "b": tmp_path / "b.npy"}, None),
        (dict(zip("ab", members.tolist(), strict=True)), None),
        (frame_of(members), {"a": "a_*", "b": "b_*"}),
        (frame_of(members), {"a": [f"a_{name}" for name in CLASSES], "b": [f"b_{name}" for name in CLASSES]}),
        (list_table(members), {"a": "m0", "b": ["m1"]}),
    ):
        batch = pick(probabilities, columns=columns, classes=CLASSES)
        assert batch.rows.tolist() == expected
        assert batch.member_names == ["a", "b"]


@pytest.mark.parametrize(
    ("message", "make"),
    [
        (
            (
                "The probabilities are a dict, in which 'cat' is no array with a row for each row and a column for "
                "each class. Give such an array for each model; give columns as a data frame."
            ),
            lambda members: {"probabilities": {"cat": members[0][:, 0], "dog": members[0][:, 1]}},
        ),
        (
            "Two models have the same name ('1', '1'). Give each its own.",
            lambda members: {"probabilities": {1: members[0], "1": members[1]}},
        ),
        (
            "columns has names for 1 models ('both'), and holds the columns of 2. Name each model once.",
            lambda members: {"probabilities": list_table(members), "columns": {"both": "m*"}},
        ),
        (
            (
                "What was given has different numbers of classes (model a: 3; model b: 2). Give the same ones in all."
            ),
            lambda members: {"probabilities": {"a": members[0], "b": members[1][:, :2]}},
        ),
        (
            (
                "Pool row 0: the probabilities of model 'b' sum up to 2, not to 1. Divide each row by its sum. If they "
                "are logits, pass values='logits'; if logarithms, values='log-probabilities'."
            ),
            lambda members: {"probabilities": {"a": members[0], "b": 2 * members[1]}},
        ),
        (
            "A chunk of probabilities is a dict. Give chunks that are arrays, or frames.",
            lambda members: {"probabilities": iter([{"a": members[0]}])},
        ),
        (
            "The probabilities are a dict. Give arrays, a data frame, or a path to files.",
            lambda _: {"probabilities": {}},
        ),
    ],
)
def test_names_that_cannot_be_meant(members, message, make):
    with pytest.raises(mm.InputError, match=f"^{re.escape(message)}$"):
        pick(**make(members))

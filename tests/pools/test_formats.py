"""Pools in files: every format, type and layout gives the batch of the plain array."""

from __future__ import annotations

import decimal
import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

import minmargin as mm
from complaints import LABELED, LABELED_FRAME, NAMES, X
from iris_files import WHOLE, assert_same, pick, table, write_csv, write_parquet

# Parquet


@pytest.mark.parametrize("chunk_size", [7, 50, 65_536])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"row_group_size": 13},
        {"compression": "zstd", "use_dictionary": False},
        {"compression": "none", "data_page_size": 64},
    ],
    ids=["plain", "row groups", "zstd", "small pages"],
)
def test_parquet_of_any_layout_gives_the_array_batch(
    tmp_path: Path, reference: mm.Batch, options: dict[str, Any], chunk_size: int
) -> None:
    path = write_parquet(tmp_path / "pool.parquet", table(), **options)
    assert_same(pick(LABELED_FRAME, path, chunk_size=chunk_size), reference)


def test_columns_are_matched_by_name_not_by_place(tmp_path: Path, reference: mm.Batch) -> None:
    path = write_parquet(tmp_path / "pool.parquet", table().select(["d", "b", "a", "c"]))
    assert_same(pick(LABELED_FRAME, path), reference)


def test_an_array_and_a_file_of_as_many_numbers_are_matched_by_place(
    tmp_path: Path, reference: mm.Batch
) -> None:
    assert_same(pick(LABELED, write_parquet(tmp_path / "pool.parquet", table())), reference)


def test_features_name_the_columns_for_a_labeled_array(tmp_path: Path, reference: mm.Batch) -> None:
    path = write_parquet(tmp_path / "pool.parquet", table(e=X[:, 0]).select(["e", "d", "c", "b", "a"]))
    assert_same(pick(LABELED, path, features=NAMES), reference)


ODD_COLUMNS = {
    "struct": pa.array([{"x": 1}] * 150),
    "map": pa.array([[("k", 1)]] * 150, pa.map_(pa.string(), pa.int64())),
    "lists of lists": pa.array([[["x"]]] * 150),
    "duration": pa.array([1] * 150, pa.duration("s")),
    "time": pa.array([1] * 150, pa.time64("us")),
    "binary": pa.array([b"\xff"] * 150),
    "null": pa.nulls(150),
}


@pytest.mark.parametrize("column", ODD_COLUMNS.values(), ids=ODD_COLUMNS)
def test_columns_that_are_not_needed_may_be_of_any_type(
    tmp_path: Path, reference: mm.Batch, column: pa.Array
) -> None:
    assert_same(pick(LABELED_FRAME, write_parquet(tmp_path / "pool.parquet", table(odd=column))), reference)


def test_columns_that_are_not_needed_are_not_read(tmp_path: Path, reference: mm.Batch) -> None:
    path = write_parquet(tmp_path / "pool.parquet", table(extra=np.arange(150.0)))
    chunk = pq.read_metadata(path).row_group(0).column(4)
    start, size = chunk.dictionary_page_offset or chunk.data_page_offset, chunk.total_compressed_size
    content = bytearray(path.read_bytes())
    content[start : start + size] = b"\xff" * size
    path.write_bytes(content)
    assert_same(pick(LABELED_FRAME, path), reference)
    with pytest.raises(mm.InputError, match="cannot be read as Parquet"):
        pick(LABELED_FRAME, path, keep=["extra"])


# Types


@pytest.mark.parametrize(
    "cast",
    [
        lambda column: pa.array(column, pa.int64()),
        lambda column: pa.array(column.astype(np.int16)),
        lambda column: pa.array(column.astype(np.uint8)),
        lambda column: pa.array(column.astype(np.float32)),
        lambda column: pa.array([decimal.Decimal(int(value)) for value in column]),
        lambda column: pa.array(column).dictionary_encode().dictionary_decode(),
    ],
    ids=["int64", "int16", "uint8", "float32", "decimal", "decoded"],
)
def test_numbers_of_any_type_give_the_batch_of_their_values(
    tmp_path: Path, cast: Callable[[np.ndarray], pa.Array]
) -> None:
    whole = pa.table({name: cast(WHOLE[:, i]) for i, name in enumerate(NAMES)})
    path = write_parquet(tmp_path / "pool.parquet", whole)
    labeled = pd.DataFrame(WHOLE[::5], columns=NAMES)
    assert_same(pick(labeled, path), pick(WHOLE[::5], WHOLE))


def test_columns_of_different_numeric_types_can_stand_side_by_side(tmp_path: Path) -> None:
    types = [pa.int32(), pa.float32(), pa.float64(), pa.uint16()]
    mixed = pa.table(
        {name: pa.array(WHOLE[:, i]).cast(to) for i, (name, to) in enumerate(zip(NAMES, types, strict=True))}
    )
    path = write_parquet(tmp_path / "pool.parquet", mixed)
    assert_same(pick(pd.DataFrame(WHOLE[::5], columns=NAMES), path), pick(WHOLE[::5], WHOLE))


def test_truth_values_count_as_0_and_1(tmp_path: Path) -> None:
    large = np.median(X, axis=0) < X
    path = write_parquet(tmp_path / "pool.parquet", table(large))
    assert_same(
        pick(pd.DataFrame(large[::5], columns=NAMES), path, distinct=False),
        pick(large[::5].astype(float), large, distinct=False),
    )


@pytest.mark.parametrize("encode", [pa.array, lambda texts: pa.array(texts).dictionary_encode()])
def test_dictionary_encoded_texts_are_texts(tmp_path: Path, encode: Any) -> None:
    colors = ["red", "green", "blue"] * 50
    labeled = LABELED_FRAME.assign(color=colors[:30])
    path = write_parquet(tmp_path / "pool.parquet", table(color=encode(colors)), row_group_size=40)
    plain = pd.DataFrame(X, columns=NAMES).assign(color=colors)
    assert_same(pick(labeled, path, preprocess="auto"), pick(labeled, plain, preprocess="auto"))


def test_nulls_are_imputed_like_nan(tmp_path: Path) -> None:
    holes = np.where(np.arange(150)[:, np.newaxis] % 9 == np.arange(4), np.nan, X)
    nulls = pa.table({name: pa.array(holes[:, i], from_pandas=True) for i, name in enumerate(NAMES)})
    assert nulls["a"].null_count
    path = write_parquet(tmp_path / "pool.parquet", nulls)
    assert_same(pick(LABELED_FRAME, path, preprocess="auto"), pick(LABELED, holes, preprocess="auto"))


def fixed_lists(rows: np.ndarray, to: pa.DataType) -> pa.Array:
    return pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()).cast(to), rows.shape[1])


EMBEDDINGS: dict[str, Callable[[np.ndarray], pa.Array]] = {
    "fixed-size": lambda rows: fixed_lists(rows, pa.float64()),
    "fixed-size float32": lambda rows: fixed_lists(rows, pa.float32()),
    "variable": lambda rows: pa.array(rows.tolist(), pa.list_(pa.float64())),
    "large": lambda rows: pa.array(rows.tolist(), pa.large_list(pa.float64())),
    "integers": lambda rows: pa.array(rows.astype(int).tolist(), pa.list_(pa.int32())),
}


@pytest.mark.parametrize("embed", EMBEDDINGS.values(), ids=EMBEDDINGS)
def test_an_embedding_column_is_an_array_of_its_numbers(
    tmp_path: Path, embed: Callable[[np.ndarray], pa.Array]
) -> None:
    path = write_parquet(tmp_path / "pool.parquet", pa.table({"vector": embed(WHOLE)}), row_group_size=40)
    expected = pick(WHOLE[::5], WHOLE)
    assert_same(pick(pa.table({"vector": embed(WHOLE[::5])}), path, chunk_size=33), expected)
    assert_same(pick(WHOLE[::5], path), expected)


def test_an_embedding_can_stand_beside_numbers(tmp_path: Path) -> None:
    def split(rows: np.ndarray) -> pa.Table:
        return pa.table({"a": rows[:, 0], "vector": fixed_lists(rows[:, 1:3], pa.float64()), "d": rows[:, 3]})

    path = write_parquet(tmp_path / "pool.parquet", split(X))
    assert_same(pick(split(LABELED), path), pick(LABELED, X))


# CSV


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
@pytest.mark.parametrize("name", ["pool.csv", "pool.tsv", "pool.csv.gz"])
def test_the_delimiter_and_the_compression_of_csv_are_found(
    tmp_path: Path, reference: mm.Batch, mark: str, name: str
) -> None:
    assert_same(pick(LABELED_FRAME, write_csv(tmp_path / name, table(), mark)), reference)


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_delimiters_inside_a_quoted_header_do_not_count(
    tmp_path: Path, reference: mm.Batch, mark: str
) -> None:
    names = ["a,x,y,z", "b;x", "c\tx", 'd "quoted"']
    path = write_csv(tmp_path / "pool.csv", table().rename_columns(names), mark)
    assert_same(pick(LABELED_FRAME.set_axis(names, axis=1), path), reference)


def test_a_byte_order_mark_and_windows_line_ends_do_no_harm(tmp_path: Path, reference: mm.Batch) -> None:
    path = write_csv(tmp_path / "pool.csv", table())
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    assert_same(pick(LABELED_FRAME, path), reference)


def test_a_text_may_hold_lines_and_delimiters(tmp_path: Path, reference: mm.Batch) -> None:
    notes = [f'row {i}, "said"\nso; twice' for i in range(150)]
    path = write_csv(tmp_path / "pool.csv", table(note=notes))
    batch = pick(LABELED_FRAME, path, keep=["note"])
    assert_same(batch, reference)
    assert batch.kept["note"].to_pylist() == [notes[row] for row in reference.rows]


def test_whole_numbers_in_a_csv_pool_match_fractions_in_the_labeled_set(tmp_path: Path) -> None:
    path = tmp_path / "pool.csv"
    pd.DataFrame(WHOLE.astype(int), columns=NAMES).to_csv(path, index=False)
    assert_same(pick(pd.DataFrame(WHOLE[::5], columns=NAMES), path), pick(WHOLE[::5], WHOLE))


def test_csv_codes_that_look_like_numbers_are_texts_where_the_labeled_set_has_texts(tmp_path: Path) -> None:
    codes = ["01", "02", "3"] * 50
    path = write_csv(tmp_path / "pool.csv", table(code=codes))
    labeled = LABELED_FRAME.assign(code=codes[:30])
    frame = pd.DataFrame(X, columns=NAMES).assign(code=codes)
    assert_same(pick(labeled, path, preprocess="auto"), pick(labeled, frame, preprocess="auto"))


def test_empty_csv_cells_are_missing_numbers(tmp_path: Path) -> None:
    holes = np.where(np.arange(150)[:, np.newaxis] % 9 == np.arange(4), np.nan, X)
    path = write_csv(tmp_path / "pool.csv", table(holes))
    assert_same(pick(LABELED_FRAME, path, preprocess="auto"), pick(LABELED, holes, preprocess="auto"))


def test_a_csv_of_several_blocks_is_numbered_through(
    tmp_path: Path, reference: mm.Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("minmargin.pools.formats._CSV_BLOCK_BYTES", 512)
    assert_same(pick(LABELED_FRAME, write_csv(tmp_path / "pool.csv", table())), reference)


def test_gzip_is_read_as_text_and_not_only_by_name(tmp_path: Path) -> None:
    path = tmp_path / "pool.csv.gz"
    path.write_bytes(b"a,b,c,d\n1,2,3,4\n")
    with pytest.raises(mm.InputError) as caught:
        pick(LABELED_FRAME, path)
    assert str(caught.value).startswith(f"'{path}' cannot be read as CSV (")
    with gzip.open(path, "wt") as file:
        file.write("a,b,c,d\n" + "".join(f"{each},2.{each},3.{each},0.{each}\n" for each in range(20)))
    assert len(pick(LABELED_FRAME, path)) == 20


# Feather and .npy


@pytest.mark.parametrize("name", ["pool.feather", "pool.arrow", "pool.ipc"])
@pytest.mark.parametrize(
    "options", [{}, {"compression": "zstd"}, {"compression": "uncompressed", "chunksize": 13}]
)
def test_feather_gives_the_array_batch(
    tmp_path: Path, reference: mm.Batch, name: str, options: dict[str, Any]
) -> None:
    feather.write_feather(table(odd=ODD_COLUMNS["map"]), str(tmp_path / name), **options)
    assert_same(pick(LABELED_FRAME, tmp_path / name, chunk_size=10), reference)


@pytest.mark.parametrize("order", ["C", "F"])
def test_npy_gives_the_array_batch(tmp_path: Path, reference: mm.Batch, order: Any) -> None:
    np.save(tmp_path / "pool.npy", np.asarray(X, order=order))
    assert_same(pick(LABELED, tmp_path / "pool.npy", chunk_size=40), reference)


def test_npy_files_are_numbered_in_path_order(tmp_path: Path, reference: mm.Batch) -> None:
    for name, part in (("2", X[100:]), ("0", X[:30]), ("1", X[30:100])):
        np.save(tmp_path / f"{name}.npy", part)
    assert_same(pick(LABELED, tmp_path), reference)

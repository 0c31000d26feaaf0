"""Bad files: named, and nothing is written."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import minmargin as mm
from complaints import (
    LABELED_FRAME,
    POOL_FRAME,
    POOL_TABLE,
    Recorder,
    complaint,
    pick,
)
from minmargin.pools import csv_faults


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
        "Column 'c' is Float64 in the labeled set, and row 1 of the pool has 'n/k' there. If it stands for a missing "
        "value, use missing=['n/k']; if the column is one of names, category=['c']."
    )


def test_blanks_among_the_numbers_of_csv_files_are_missing_values(tmp_path: Path) -> None:
    rows = [f"{i % 11},{'   ' if i % 9 == 0 else i % 7}" for i in range(30)]
    (tmp_path / "pool.csv").write_text("\n".join(["a,b", *rows]))
    (tmp_path / "labeled.csv").write_text(
        "\n".join(["a,b,y", *(f"{row},{'ny'[i % 2]}" for i, row in enumerate(rows))])
    )
    found = mm.inspect(tmp_path / "labeled.csv", "y", tmp_path / "pool.csv", features=["b"])
    assert [(row[0], row[1], row[2], row[4]) for row in found.rows()[:1]] == [
        ("b", "number", "13.3%", "0 to 6; 13.3% missing")
    ]
    batch = mm.select(
        tmp_path / "labeled.csv", "y", tmp_path / "pool.csv", 3, preprocess="auto", n_models=2, random_state=0
    )
    assert len(batch) == 3


def test_a_csv_line_of_another_length_is_named(tmp_path: Path) -> None:
    path = tmp_path / "pool.csv"
    path.write_text("a,b,c,d\n1,2,3,4\n1,2,3\n")
    assert complaint(LABELED_FRAME, pool=path, batch_size=1) == (
        f"'{path}' cannot be read as CSV (line 3 has 3 values ('1,2,3'), and its first line has 4 columns; a value "
        "with a delimiter, a quote or a line break in it needs quotes around it). Mend or remove the file; nothing was "
        "written."
    )


QUOTES = "a value with a delimiter, a quote or a line break in it needs quotes around it"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (
            'a,b\n1,2\n\n"x\ny",3\n4\n',
            f"line 6 has 1 value ('4'), and its first line has 2 columns; {QUOTES}",
        ),
        (
            "Sales of May\n\na,b\n1,2\n",
            "line 3 has 2 values ('a,b'), and its first line has 1 column; if the first line is a title, remove it",
        ),
        (
            "a;b\n" + "1;2\n" * 9 + f"3;{'x' * 50};5\n",
            f"line 11 has 3 values ('3;{'x' * 38}…'), and its first line has 2 columns; {QUOTES}",
        ),
    ],
    ids=["below a blank line and a value of two", "a title", "a long one"],
)
@pytest.mark.parametrize("packed", [False, True])
def test_a_csv_line_of_another_length_is_found(tmp_path: Path, text: str, what: str, packed: bool) -> None:
    path = tmp_path / ("labeled.csv.gz" if packed else "labeled.csv")
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    with pytest.raises(mm.InputError) as caught:
        mm.inspect(path)
    assert str(caught.value) == (
        f"'{path}' cannot be read as CSV ({what}). Mend or remove the file; nothing was written."
    )


def test_a_csv_line_that_lies_too_far_into_the_file_is_not_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_faults, "_MOST_READ", 10)
    path = tmp_path / "labeled.csv"
    path.write_text("a,b\n" + "1,2\n" * 9 + "3\n")
    with pytest.raises(mm.InputError) as caught:
        mm.inspect(path)
    assert str(caught.value) == (
        f"'{path}' cannot be read as CSV (a line has 1 value ('3'), and its first line has 2 columns; {QUOTES}). "
        "Mend or remove the file; nothing was written."
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


@pytest.mark.parametrize(
    ("encoding", "first", "reason"),
    [
        ("cp1252", "größe;y\n", "its texts are not in UTF-8; save it in UTF-8, which Excel calls CSV UTF-8"),
        ("cp1252", "size;y\n", "its texts are not in UTF-8; save it in UTF-8, which Excel calls CSV UTF-8"),
        ("utf-16", "size;y\n", "its texts are not in UTF-8; save it in UTF-8, which Excel calls CSV UTF-8"),
        (
            "utf-8",
            "sep=;\nsize;y\n",
            "its first line is 'sep=;', which only Excel understands; remove that line",
        ),
    ],
)
def test_a_csv_file_as_excel_writes_it_is_refused_with_the_fix(
    tmp_path: Path, encoding: str, first: str, reason: str
) -> None:
    path = tmp_path / "labeled.csv"
    path.write_text(f"{first}fünf;ja\nzwölf;nein\n", encoding=encoding)
    with pytest.raises(mm.InputError) as caught:
        mm.inspect(path, "y")
    assert str(caught.value) == (
        f"'{path}' cannot be read as CSV ({reason}). Mend or remove the file; nothing was written."
    )

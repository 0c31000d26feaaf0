"""Batch files that somebody has changed are refused by name and with the reason, in all formats and uses."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import minmargin as mm
from made_up_batch import made_up_batch
from minmargin.campaign.labels import read_labels
from minmargin.integrations.batch_files import read_batch


def complaint(call, *args, **more):
    with pytest.raises(mm.InputError) as caught:
        call(*args, **more)
    return str(caught.value)


def replaced(name, values):
    return lambda table: table.set_column(table.column_names.index(name), name, pa.array(values))


def with_manifest(content):
    return lambda table: table.replace_schema_metadata({b"minmargin": content})


CHANGES = {
    "it has a row twice, or one with a negative number": lambda table: pa.concat_tables([table, table]),
    "its column 'row' is string, and must be numbers": replaced("row", list("abcde")),
    "its column 'row' is double, and must be numbers": replaced("row", [0.5, 1, 2, 3, 4]),
    "its column 'score' is empty in 5 rows": replaced("score", pa.nulls(5)),
    "a score is not finite": replaced("score", [np.inf, 1, 2, 3, 4]),
    "its column 'id' holds lists or objects": replaced("id", [{"id": 1}] * 5),
    "the number of a member has more than nine digits": replaced("member", [10**12, 1, 2, 3, 4]),
    "it has column 'rank' 2 times": lambda table: table.append_column("rank", table["rank"]),
    "of its manifest, it holds NoneType where an object was expected": with_manifest(b"null"),
    "its manifest cannot be read (it is nested too deeply)": with_manifest(b"[" * 200_000),
    "of its manifest, 'settings' is 7 and must be an object": with_manifest(b'{"settings": 7}'),
    "of its manifest, 'classes' holds 1, where each must be a string": with_manifest(b'{"classes": [1]}'),
    "of its manifest, 'a' is -1": with_manifest(b'{"labeled": {"class_counts": {"a": -1}}}'),
}


@pytest.mark.parametrize("reason", CHANGES)
def test_what_no_batch_says(reason, tmp_path):
    path = made_up_batch().write(tmp_path / "batch.parquet")
    pq.write_table(CHANGES[reason](pq.read_table(path)), path)
    assert complaint(read_batch, path) == (
        f"'{path}' is no batch: {reason}. Give the file that minmargin select wrote."
    )


@pytest.mark.parametrize(
    ("line", "reason"), [("null", "a line is no JSON object"), ("[" * 200_000, "it is nested too deeply")]
)
def test_lines_that_are_no_objects(line, reason, tmp_path):
    path = tmp_path / "batch.jsonl"
    path.write_text(line)
    assert complaint(read_batch, path) == f"'{path}' cannot be read as a batch ({reason})."
    X, y = np.arange(8.0)[:, np.newaxis], [0, 1] * 4
    assert complaint(mm.select, X, y, X, 2, exclude=path) == (
        f"'{path}' cannot be read as JSON lines ({reason}). Mend or leave out the file."
    )
    told = complaint(read_labels, path, id_columns=("id",), label_columns=("label",))
    assert told.startswith(f"Line 1 of '{path}' is not")


def test_ids_to_leave_out_that_are_objects(tmp_path):
    path = tmp_path / "batch.jsonl"
    path.write_text(json.dumps({"row": {"id": 1}}))
    X, y = np.arange(8.0)[:, np.newaxis], [0, 1] * 4
    assert complaint(mm.select, X, y, X, 2, exclude=path) == (
        f"'{path}' of exclude has struct<id: int64> as ids. Give texts or numbers."
    )

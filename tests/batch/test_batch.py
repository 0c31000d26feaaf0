"""A batch: its columns and their order, the files it is written to, and what its manifest records."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather
from sklearn.datasets import load_iris

import minmargin as mm

NAMES = ["a", "b", "c", "d"]
X, y = load_iris(return_X_y=True)
LABELED = pd.DataFrame(X[::5], columns=NAMES)
LABELS = np.array(["setosa", "versicolor", "virginica"])[y[::5]]
OWN_COLUMNS = ["rank", "row", "score", "member", "first_class", "second_class", "predicted"]


def pool(**more: Any) -> pa.Table:
    """Return the pool as an Arrow table, with more columns."""
    return pa.table({**{name: X[:, i] for i, name in enumerate(NAMES)}, **more})


def pick(rows: Any, batch_size: int = 5, **settings: Any) -> mm.Batch:
    defaults = {"n_models": 3, "random_state": 0, "n_jobs": 1}
    return mm.select(LABELED, LABELS, rows, batch_size, **{**defaults, **settings})


@pytest.fixture(scope="module")
def batch() -> mm.Batch:
    """Five rows with an id and two kept columns, one of them a list."""
    rows = pool(
        key=[f"k{i}" for i in range(150)],
        title=[f'"{i}", <b>bold</b> & ünï\ncode' for i in range(150)],
        tags=[["x", str(i)] for i in range(150)],
    )
    return pick(rows, id_column="key", keep=["title", "tags"])


# Columns


def test_the_columns_come_in_the_documented_order(batch: mm.Batch) -> None:
    assert batch.to_arrow().column_names == ["rank", "row", "id", *OWN_COLUMNS[2:], "title", "tags"]


def test_there_is_no_id_column_without_ids() -> None:
    batch = pick(pool())
    assert batch.ids is None
    assert batch.kept is None
    assert batch.to_arrow().column_names == OWN_COLUMNS


def test_the_table_holds_what_the_attributes_hold(batch: mm.Batch) -> None:
    table = batch.to_arrow().to_pydict()
    assert len(batch) == 5
    assert table["rank"] == [1, 2, 3, 4, 5]
    assert table["row"] == batch.rows.tolist()
    assert table["id"] == batch.ids.tolist() == [f"k{row}" for row in batch.rows]
    assert table["score"] == batch.scores.tolist() == sorted(batch.scores)
    assert table["member"] == batch.member.tolist()
    assert list(zip(table["first_class"], table["second_class"], strict=True)) == [
        tuple(pair) for pair in batch.top_classes.tolist()
    ]
    assert table["predicted"] == batch.predicted.tolist()
    assert table["tags"] == [["x", str(row)] for row in batch.rows]
    assert (batch.rows.dtype, batch.scores.dtype, batch.top_classes.shape) == (np.int64, np.float64, (5, 2))


def test_rows_without_a_deciding_member_have_none(tmp_path: Path) -> None:
    batch = pick(pool(), strategy="margin")
    assert batch.member.tolist() == [-1] * 5
    assert batch.to_arrow()["member"].to_pylist() == [None] * 5
    with batch.to_csv(tmp_path / "batch.csv").open() as file:
        assert [record["member"] for record in csv.DictReader(file)] == [""] * 5


def test_kept_columns_called_like_ours_get_another_name() -> None:
    batch = pick(pool(score=["theirs"] * 150, rank=np.arange(150)), keep=["score", "rank"])
    table = batch.to_arrow()
    assert table.column_names == [*OWN_COLUMNS, "pool_score", "pool_rank"]
    assert table["pool_score"].to_pylist() == ["theirs"] * 5
    assert table["pool_rank"].to_pylist() == batch.rows.tolist()
    assert table["score"].to_pylist() == batch.scores.tolist()


def test_a_feature_column_can_be_kept() -> None:
    batch = pick(pool(), keep=["c"])
    assert batch.kept.to_pydict() == {"c": X[batch.rows, 2].tolist()}


def test_a_column_that_is_id_and_kept_appears_once() -> None:
    batch = pick(pool(key=np.arange(150)), id_column="key", keep=["key"])
    assert batch.to_arrow().column_names == ["rank", "row", "id", *OWN_COLUMNS[2:]]


@pytest.mark.parametrize(
    "ids",
    [
        2**53 + 1 + 2 * np.arange(150),
        [f"id-{i:05}" for i in range(150)],
        [f"{i:03}" for i in range(150)],
        pa.array([f"id-{i}" for i in range(150)]).dictionary_encode(),
        np.arange(150).astype("datetime64[D]"),
    ],
    ids=["large integers", "strings", "strings of digits", "dictionary", "dates"],
)
def test_ids_survive_exactly(tmp_path: Path, ids: Any) -> None:
    rows = pool(key=ids)
    batch = pick(rows, id_column="key")
    expected = rows["key"].take(batch.rows).to_pylist()
    assert batch.to_arrow()["id"].to_pylist() == expected
    assert pq.read_table(batch.to_parquet(tmp_path / "batch.parquet"))["id"].to_pylist() == expected
    with batch.to_csv(tmp_path / "batch.csv").open(newline="") as file:
        assert [record["id"] for record in csv.DictReader(file)] == list(map(str, expected))
    lines = batch.to_jsonl(tmp_path / "batch.jsonl").read_text().splitlines()
    assert [str(json.loads(line)["id"]) for line in lines] == list(map(str, expected))


# Files


def read_csv(path: Path) -> list[dict[str, Any]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_pandas_has_the_same_columns_and_values(batch: mm.Batch) -> None:
    frame = batch.to_pandas()
    assert list(frame.columns) == batch.to_arrow().column_names
    assert frame["row"].tolist() == batch.rows.tolist()
    assert frame["title"].tolist() == batch.kept["title"].to_pylist()


def test_parquet_holds_the_table_and_the_manifest(tmp_path: Path, batch: mm.Batch) -> None:
    path = batch.to_parquet(tmp_path / "batch.parquet")
    table = pq.read_table(path)
    assert path == tmp_path / "batch.parquet"
    assert table.equals(batch.to_arrow())
    assert json.loads(table.schema.metadata[b"minmargin"]) == batch.manifest


def test_feather_holds_the_table(tmp_path: Path, batch: mm.Batch) -> None:
    assert feather.read_table(batch.to_feather(tmp_path / "batch.feather")).equals(batch.to_arrow())


def test_jsonl_holds_one_record_a_line(tmp_path: Path, batch: mm.Batch) -> None:
    text = batch.to_jsonl(tmp_path / "batch.jsonl").read_text(encoding="utf-8")
    assert text.endswith("}\n")
    assert [json.loads(line) for line in text.splitlines()] == batch.to_arrow().to_pylist()
    assert "ünï" in text


def test_csv_holds_one_record_a_row_with_nested_values_as_json(tmp_path: Path, batch: mm.Batch) -> None:
    records = read_csv(batch.to_csv(tmp_path / "batch.csv"))
    assert list(records[0]) == batch.to_arrow().column_names
    for record, row in zip(records, batch.to_arrow().to_pylist(), strict=True):
        assert json.loads(record.pop("tags")) == row.pop("tags")
        assert float(record.pop("score")) == row.pop("score")
        assert record == {name: str(value) for name, value in row.items()}


def test_csv_holds_nested_values_of_every_kind(tmp_path: Path) -> None:
    when = datetime(2020, 1, 2)
    nested = [{"when": when, "counts": [i]} for i in range(150)]
    batch = pick(pool(meta=nested), keep=["meta"])
    records = read_csv(batch.to_csv(tmp_path / "batch.csv"))
    assert [json.loads(record["meta"]) for record in records] == [
        {"when": "2020-01-02 00:00:00", "counts": [row]} for row in batch.rows.tolist()
    ]


@pytest.mark.parametrize(
    ("suffix", "read"),
    [
        (".parquet", lambda path: pq.read_table(path).to_pylist()),
        (".feather", lambda path: feather.read_table(path).to_pylist()),
        (".jsonl", lambda path: [json.loads(line) for line in path.read_text().splitlines()]),
        (".csv", lambda path: pd.read_csv(path).to_dict("records")),
        (".CSV", lambda path: pd.read_csv(path).to_dict("records")),
    ],
)
def test_the_suffix_tells_the_format(tmp_path: Path, suffix: str, read: Callable[[Path], Any]) -> None:
    batch = pick(pool())
    records = read(batch.write(str(tmp_path / f"batch{suffix}")))
    assert [record["row"] for record in records] == batch.rows.tolist()
    assert [record["first_class"] for record in records] == batch.top_classes[:, 0].tolist()


@pytest.mark.parametrize("name", ["batch.txt", "batch", "batch.csv.gz"])
def test_a_suffix_without_a_writer_is_refused(batch: mm.Batch, name: str) -> None:
    with pytest.raises(mm.InputError) as caught:
        batch.write(name)
    assert str(caught.value) == (
        f"'{name}' ends in no format a batch can be written in. "
        "Use one of '.parquet', '.csv', '.jsonl', '.feather'."
    )


def test_a_written_batch_can_be_read_as_a_labeled_set(tmp_path: Path) -> None:
    first = pick(pool(), batch_size=30, keep=NAMES)
    path = first.to_parquet(tmp_path / "batch.parquet")
    second = mm.select(path, "predicted", pool(), 5, features=NAMES, n_models=3, random_state=0)
    assert second.manifest["labeled"]["features"] == NAMES


# Shown


def test_the_text_shows_the_first_five_rows() -> None:
    batch = pick(pool(), batch_size=12)
    lines = repr(batch).splitlines()
    assert lines[0] == "<Batch: 12 of 150 rows by min-margin>"
    assert lines[1].split() == OWN_COLUMNS
    assert [line.split()[1] for line in lines[2:]] == list(map(str, batch.rows[:5]))
    assert len({len(line) for line in lines[1:]}) == 1


def test_a_long_or_broken_text_is_shown_short_and_on_one_line() -> None:
    batch = pick(pool(note=["two\n lines " + "x" * 50] * 150), batch_size=1, keep=["note"])
    assert repr(batch).splitlines()[-1].endswith("  two lines " + "x" * 29 + "…")


def test_the_html_escapes_what_it_shows(batch: mm.Batch) -> None:
    html = batch._repr_html_()
    assert "<b>Batch</b>: 5 of 150 rows by min-margin" in html
    assert "<b>bold</b>" not in html
    assert f"<td>&quot;{batch.rows[0]}&quot;, &lt;b&gt;bold&lt;/b&gt; &amp; ünï code</td>" in html
    assert html.count("<tr>") == 1 + 5


def test_the_html_escapes_column_names() -> None:
    html = pick(pool(**{"<script>": np.arange(150)}), keep=["<script>"])._repr_html_()
    assert "<script>" not in html
    assert "<th>&lt;script&gt;</th>" in html


def test_the_html_says_how_many_rows_it_leaves_out(batch: mm.Batch) -> None:
    assert pick(pool(), batch_size=12)._repr_html_().endswith("<p>and 2 more</p>")
    assert "more</p>" not in batch._repr_html_()


# The manifest


def test_the_manifest_has_settings_seed_counts_versions_and_seconds(batch: mm.Batch) -> None:
    manifest = json.loads(json.dumps(batch.manifest))
    assert manifest["settings"] == {
        "strategy": "min-margin",
        "strategy_options": {},
        "batch_size": 5,
        "distinct": True,
        "learner": "logistic",
        "n_models": 3,
        "bootstrap_fraction": 1.0,
        "seed": 0,
        "preprocess": "none",
        "scoring_path": "linear models, trained together; float32 screen, canonical float64 decision",
        "device": "cpu",
        "precision": "float32",
        "n_jobs": 1,
        "chunk_size": 131_072,
        "engine": "local",
    }
    assert manifest["pool"]["rows"] == 150
    assert manifest["labeled"]["rows"] == 30
    assert manifest["labeled"]["class_counts"] == {"setosa": 10, "versicolor": 10, "virginica": 10}
    assert manifest["labeled"]["features"] == NAMES
    assert manifest["versions"]["minmargin"] == mm.__version__
    assert manifest["versions"]["numpy"] == version("numpy")
    assert set(manifest["seconds"]) == {"training", "scanning", "finishing"}
    assert min(manifest["seconds"].values()) >= 0
    assert datetime.fromisoformat(manifest["created"]).tzinfo is not None


def test_the_manifest_has_the_options_of_the_strategy() -> None:
    settings = pick(pool(), strategy=mm.BalancedMargin(balance=0.25, prefilter=20)).manifest["settings"]
    assert settings["strategy"] == "balanced-margin"
    assert settings["strategy_options"] == {"prefilter": 20, "balance": 0.25}


def test_the_index_of_a_pandas_pool_stays_out_of_the_batch() -> None:
    rows = pool(key=np.arange(150), title=["text"] * 150).to_pandas().set_index(np.arange(150) * 2)
    batch = pick(rows, id_column="key", keep=["title"])
    assert batch.to_arrow().column_names == ["rank", "row", "id", *OWN_COLUMNS[2:], "title"]


def test_a_fresh_seed_is_recorded_and_repeats_the_run() -> None:
    first = pick(pool(), random_state=None)
    again = pick(pool(), random_state=first.manifest["settings"]["seed"])
    assert first.rows.tolist() == again.rows.tolist()
    assert first.scores.tolist() == again.scores.tolist()
    assert pick(pool(), random_state=None).manifest["settings"]["seed"] != first.manifest["settings"]["seed"]


def test_fingerprints_tell_changed_data_from_the_same_data() -> None:
    def prints(rows: Any) -> tuple[str, str, str]:
        manifest = pick(rows).manifest
        labeled = manifest["labeled"]
        return manifest["pool"]["fingerprint"], labeled["fingerprint"], labeled["label_fingerprint"]

    changed = pool().set_column(0, "a", pa.array(X[:, 0] + 1e-9))
    assert prints(pool()) == prints(pool())
    assert prints(changed)[0] != prints(pool())[0]
    assert prints(changed)[1:] == prints(pool())[1:]


def test_a_strategy_without_members_trains_and_records_none() -> None:
    assert pick(pool(), strategy="margin").manifest["settings"]["n_models"] == 0

"""Content that is odd, or means harm: it comes out as it went in, or is refused with a clear error."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

import minmargin as mm
from faults.situation import Row, expect

_RNG = np.random.default_rng(2)
_FORMULAS = [
    "=1+1",
    "+cmd",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    "\r=2",
    '=HYPERLINK("http://x","y")',
    "=cmd|' /C calc'!A0",
]
_ODD_TEXTS = [
    "",
    "\u200b",
    "\u200d\ufeff",
    "\u202eright to left",
    "e\u0301",
    "é",
    "\U0001d4b3",
    "a\nb",
    'a"b,c',
    "a\x00b",
    "<script>alert(1)</script>",
    "'; DROP TABLE rows; --",
    "../../etc/passwd",
    "\U0010ffff",
    " leading and trailing ",
    "NaN",
]


def tried(folder: Path, *, quick: bool) -> list[Row]:
    """Try each kind of content."""
    folder.mkdir()
    n_classes, n_columns = (200, 1_000) if quick else (10_000, 100_000)
    attempts: list[tuple[str, Callable[[Path], tuple[int, str]]]] = [
        ("formulas in ids, classes and names of columns, to CSV", _formulas),
        (
            "zero-width and odd Unicode in ids, classes and names of columns, to Parquet and JSON lines",
            _odd_texts,
        ),
        ("paths with `..` in pool, output and checkpoint", _paths),
        (f"{n_classes:,} classes", lambda here: _many_classes(here, n_classes)),
        ("1 row", _one_row),
        (f"{n_columns:,} columns", lambda here: _many_columns(here, n_columns)),
        ("missing labels (NaN, None)", _missing_labels),
        ("whole ids above 2^53, to CSV, Parquet and JSON lines", _large_ids),
    ]
    rows = []
    for number, (words, attempt) in enumerate(attempts):
        here = folder / str(number)
        here.mkdir()
        times, happened = attempt(here)
        rows.append(Row("Hostile content", words, times, happened))
    return rows


def _selected(pool: pa.Table, classes: list[Any], batch_size: int, **settings: Any) -> mm.Batch:
    """Return a batch from a pool with a feature, for a labeled set with these classes."""
    name = settings.pop("feature", "x")
    y = np.repeat(np.array(classes, dtype=object), 3)
    X = pd.DataFrame({name: np.arange(len(y)) + _RNG.normal(size=len(y))})
    # They are named, or the empty one would be asked about.
    return mm.select(
        X, y, pool, batch_size, classes=classes, n_models=3, random_state=0, n_jobs=1, **settings
    )


def _numbers(n_rows: int) -> Any:
    return _RNG.normal(size=n_rows) * n_rows


def _formulas(here: Path) -> tuple[int, str]:
    n = len(_FORMULAS)
    pool = pa.table({"x": _numbers(n), "key": _FORMULAS, "=note": _FORMULAS, "number": ["-5"] * n})
    batch = _selected(pool, _FORMULAS, n, id_column="key", keep=["=note", "number"])
    with batch.to_csv(here / "batch.csv").open(newline="") as file:
        records = list(csv.reader(file))
    cells = [cell for record in records for cell in record]
    wrong = [cell for cell in cells if cell[:1] in set("=+-@\t\r") and not _is_number(cell)]
    expect(not wrong, f"A spreadsheet would run {wrong}.")
    expect(all(record[-1] == "-5" for record in records[1:]), "A number that is a text was changed.")
    expect(sorted(batch.ids.tolist()) == sorted(_FORMULAS), "Ids were changed.")
    kept = pq.read_table(batch.to_parquet(here / "batch.parquet"))["=note"].to_pylist()
    expect(kept == batch.ids.tolist(), "Parquet must keep texts as they are.")
    return (
        n,
        "an apostrophe before each in CSV, so that no cell is run; numbers and the other formats as they are",
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _odd_texts(here: Path) -> tuple[int, str]:
    n = len(_ODD_TEXTS)
    for name in _ODD_TEXTS[1:]:
        pool = pa.table({name: _numbers(n), f"key {name}": _ODD_TEXTS})
        pq.write_table(pool, here / "pool.parquet")
        batch = _selected(
            here / "pool.parquet", _ODD_TEXTS, n, feature=name, id_column=f"key {name}", checkpoint=None
        )
        expect(sorted(batch.ids.tolist()) == sorted(_ODD_TEXTS), f"Ids were changed beside {name!r}.")
        expect(set(batch.predicted.tolist()) <= set(_ODD_TEXTS), "Classes were changed.")
        repr(batch), batch._repr_html_()
        expect("<script>" not in batch._repr_html_(), "A script came through.")
        parquet = pq.read_table(batch.to_parquet(here / "batch.parquet"))
        expect(parquet["id"].to_pylist() == batch.ids.tolist(), "Parquet changed ids.")
        lines = batch.to_jsonl(here / "batch.jsonl").read_text("utf-8").split("\n")[:-1]
        expect([json.loads(line)["id"] for line in lines] == batch.ids.tolist(), "JSON changed ids.")
        json.dumps(batch.manifest)
    return n - 1, "as they went in"


def _paths(here: Path) -> tuple[int, str]:
    (here / "inner").mkdir()
    pq.write_table(pa.table({"x": _numbers(20)}), here / "pool.parquet")
    dotted = here / "inner" / ".."
    batch = _selected(dotted / "pool.parquet", ["a", "b"], 3, checkpoint=dotted / "checkpoint")
    batch.write(dotted / "batch.parquet")
    expect((here / "batch.parquet").is_file() and (here / "checkpoint").is_dir(), "Written elsewhere.")
    # What a checkpoint names is looked for in its folder only.
    state = here / "checkpoint" / "checkpoint.json"
    content = json.loads(state.read_text())
    content["kept"][0]["file"] = "../../outside.arrow"
    state.write_text(json.dumps(content))
    try:
        _selected(here / "pool.parquet", ["a", "b"], 3, checkpoint=here / "checkpoint")
    except mm.InputError:
        return 4, "taken as the system takes them; one inside a checkpoint is refused"
    raise AssertionError("A checkpoint that names a file outside was believed.")


def _many_classes(_: Path, n_classes: int) -> tuple[int, str]:
    y = np.repeat(np.arange(n_classes), 2)
    X = np.stack([np.cos(y), np.sin(y)], axis=1) + _RNG.normal(size=(len(y), 2)) / 50
    from sklearn.naive_bayes import GaussianNB  # noqa: PLC0415

    batch = mm.select(X, y, X[::7], 5, learner=GaussianNB(), n_models=2, random_state=0, n_jobs=1)
    expect(len(set(batch.rows.tolist())) == 5, "A batch of 5 rows was asked for.")
    return 1, "a batch (naive Bayes, 2 members)"


def _one_row(here: Path) -> tuple[int, str]:
    pool = pa.table({"x": [0.5], "key": ["only"]})
    for suffix in (".parquet", ".csv", ".feather"):
        batch = _selected(pool, ["a", "b"], 1, id_column="key")
        path = batch.write(here / f"batch{suffix}")
        expect(batch.rows.tolist() == [0] and path.is_file(), "The only row was not picked.")
    try:
        _selected(pool, ["a", "b"], 2)
    except mm.InputError as error:
        return 4, f"picked; of 2: “{error}”"
    raise AssertionError("Two rows were picked from one.")


def _many_columns(here: Path, n_columns: int) -> tuple[int, str]:
    """Try an array of so many columns, and a file of a tenth: each named column takes some time of its own."""
    y = np.arange(20) % 2
    X = _RNG.normal(size=(20, n_columns)).astype(np.float32)
    X[:, 0] += y
    batch = mm.select(X, y, X, 3, n_models=2, random_state=0, n_jobs=1)
    expect(len(set(batch.rows.tolist())) == 3, "A batch of 3 rows was asked for.")
    few = X[:, : n_columns // 10]
    labeled = pa.table({**{f"x{place}": column for place, column in enumerate(few.T)}, "y": y})
    pq.write_table(labeled, here / "pool.parquet")
    batch = mm.select(labeled, "y", here / "pool.parquet", 3, n_models=2, random_state=0, n_jobs=1)
    same = mm.select(few, y, few, 3, n_models=2, random_state=0, n_jobs=1)
    expect(batch.rows.tolist() == same.rows.tolist(), "Named columns gave another batch.")
    return (
        2,
        f"a batch from an array; from a Parquet file of {n_columns // 10:,} columns the same as from its array",
    )


def _missing_labels(_: Path) -> tuple[int, str]:
    X = np.arange(8.0).reshape(4, 2)
    said = ""
    for y in ([0.0, 1.0, np.nan, 1.0], ["a", None, "b", "b"], ["a", np.nan, "b", "b"]):
        try:
            mm.select(X, np.array(y, dtype=object if isinstance(y[0], str) else float), X, 1, n_models=2)
        except mm.InputError as error:
            said = str(error)
        else:
            raise AssertionError(f"Labels {y} were taken.")
    return 3, f"refused: “{said}”"


def _large_ids(here: Path) -> tuple[int, str]:
    ids = [2**53 + 1, 2**53 + 3, 2**63 - 1, -(2**63), 2**60 + 7]
    n_times = 0
    pool = pa.table({"x": _numbers(len(ids)), "key": ids})
    pq.write_table(pool, here / "pool.parquet")
    pool.to_pandas().to_csv(here / "pool.csv", index=False)
    for source in (pool, pool.to_pandas(), here / "pool.parquet", here / "pool.csv"):
        batch = _selected(source, ["a", "b"], len(ids), id_column="key", keep=["key"])
        expect(sorted(map(int, batch.ids)) == sorted(ids), "Ids were changed.")
        order = list(map(int, batch.ids))
        with batch.to_csv(here / "batch.csv").open(newline="") as file:
            expect([int(record["id"]) for record in csv.DictReader(file)] == order, "CSV changed ids.")
        expect(
            list(map(int, pq.read_table(batch.to_parquet(here / "b.parquet"))["id"].to_pylist())) == order,
            "Parquet changed ids.",
        )
        lines = batch.to_jsonl(here / "batch.jsonl").read_text().splitlines()
        expect([int(json.loads(line)["id"]) for line in lines] == order, "JSON changed ids.")
        n_times += 1
    return n_times, "kept exactly"

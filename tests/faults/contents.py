"""What a folder holds, so that two can be compared: without moments and times, which differ from run to run."""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from faults.situation import expect

_TIMES = {"timings", "created", "created_at", "seconds", "versions", "started", "written"}


def contents_of(folder: Path) -> dict[str, Any]:
    """Return the content of each file below a folder, by its path. Nothing hidden may be among them."""
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        expect(not path.name.startswith("."), f"{name} was left behind.")
        if path.is_dir():
            found[name] = "folder"
        elif path.suffix == ".sqlite-journal":  # to look at the journal may end it
            found[name] = "an unfinished transaction"
        elif path.name == "checkpoint.json":
            found[name] = _state(path)
        elif path.name != "lock" and not path.name.startswith(
            "kept-"
        ):  # who had it last; a part of the state
            found[name] = _content(path)
    return found


def differences(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """Return the paths at which two folders differ."""
    return [name for name in sorted({*one, *other}) if one.get(name) != other.get(name)]


def left_behind(folder: Path) -> list[str]:
    """Return the hidden files and folders below a folder."""
    return [str(path.relative_to(folder)) for path in folder.rglob(".*")]


def _content(path: Path) -> Any:
    if path.suffix == ".parquet":
        table = pq.read_table(path).replace_schema_metadata(None)
        return table.drop_columns([name for name in table.column_names if name in _TIMES]).to_pydict()
    if path.suffix == ".sqlite":
        return _journal(path)
    if path.suffix == ".json":
        return _without_times(json.loads(path.read_text()))
    if path.suffix in {".html", ".md"}:
        return _without_moments(path.read_text())
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _state(path: Path) -> dict[str, Any]:
    """Return what a checkpoint knows. Rows are kept in any order, by which their files are named; none besides."""
    state = json.loads(path.read_text())
    files = [entry["file"] for entry in state.pop("kept")]
    there = sorted(each.name for each in path.parent.glob("kept-*"))
    expect(there == sorted(files), f"{there} are in the checkpoint, and {files} count.")
    state.pop("sha256")
    tables = [pa.ipc.open_file((path.parent / name).read_bytes()).read_all() for name in files]
    return {**state, "kept": [table.sort_by("row").to_pydict() for table in tables]}


def _journal(path: Path) -> dict[str, Any]:
    """Return the rows of a journal by table, after a look at whether batch files are those of its rounds."""
    with closing(sqlite3.connect(path)) as db:
        db.row_factory = sqlite3.Row
        expect(db.execute("PRAGMA integrity_check").fetchone()[0] == "ok", f"{path} is damaged.")
        expect(not db.execute("PRAGMA foreign_key_check").fetchall(), f"{path} is inconsistent.")
        for row in db.execute("SELECT file, sha256 FROM rounds"):
            digest = hashlib.sha256((path.parent / "batches" / row["file"]).read_bytes()).hexdigest()
            expect(digest == row["sha256"], f"{row['file']} is not that of its round.")
        tables = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {table: [_timeless(row) for row in db.execute(f"SELECT * FROM {table}")] for table in tables}  # noqa: S608 - our own names


def _timeless(row: sqlite3.Row) -> dict[str, Any]:
    return {name: row[name] for name in row.keys() if not name.endswith("_at") and name != "sha256"}  # noqa: SIM118 - a row has no names otherwise


def _without_times(content: Any) -> Any:
    if isinstance(content, dict):
        return {name: _without_times(value) for name, value in content.items() if name not in _TIMES}
    return [_without_times(each) for each in content] if isinstance(content, list) else content


def _without_moments(text: str) -> str:
    text = re.sub(r"\d{4}-\d\d-\d\d(T| at |, | )?(\d\d:\d\d(:\d\d)?)?( UTC|\+00:00|Z)?", "MOMENT", text)
    text = re.sub(r"\d+(\.\d+)?\s(s|ms|seconds)\b", "TIME", text)
    return re.sub(r"&#34;(training|scanning|finishing)&#34;: [\d.]+", "TIME", text)

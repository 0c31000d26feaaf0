"""Files of labels: an id and a label a row, as a campaign or a join with the pool takes them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from minmargin.batch import write_csv
from minmargin.errors import InputError, listing
from minmargin.files import write_whole


def check_labels_path(path: Path) -> None:
    """Raise an error if labels cannot be written to a path, before they are pulled."""
    if path.suffix.lower() not in _WRITERS:
        raise InputError(
            f"{str(path)!r} ends in no format labels can be written in. Use one of {listing(_WRITERS)}."
        )
    if not path.parent.is_dir():
        raise InputError(f"Folder {str(path.parent)!r} does not exist. Make it, or write elsewhere.")


def write_labels(labels: pa.Table, path: Path) -> Path:
    """Write a table of ids and labels in the format that the path's suffix names, and return the path."""
    return _WRITERS[path.suffix.lower()](labels, path)


def _write_parquet(labels: pa.Table, path: Path) -> Path:
    import pyarrow.parquet as pq  # noqa: PLC0415 - 50 ms that other formats need not pay

    return write_whole(path, lambda file: pq.write_table(labels, file))


def _write_jsonl(labels: pa.Table, path: Path) -> Path:
    lines = [json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in labels.to_pylist()]
    return write_whole(path, lambda file: file.writelines(lines))


_WRITERS: dict[str, Callable[[pa.Table, Path], Path]] = {
    ".csv": write_csv,
    ".parquet": _write_parquet,
    ".jsonl": _write_jsonl,
}

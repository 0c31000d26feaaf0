"""Exports: a batch as a file that a labeling tool imports, in the batch's order."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from minmargin.errors import InputError, listing, nearest
from minmargin.files import write_whole
from minmargin.integrations.items import QUESTION, Showing
from minmargin.integrations.label_studio.tasks import make_tasks


def export(showing: Showing, path: str | Path, *, to: str, predictions: bool = True) -> Path:
    """Write a batch in the form that a labeling tool imports, and return the path.

    Args:
        showing: the batch, and what is shown of its rows.
        path: the file to write.
        to: "label-studio" (a JSON list of tasks), "prodigy" or "doccano" (JSON lines), or "csv" (a table
            with an empty column "label").
        predictions: whether annotators see the model's guess.
    """
    write = FORMATS.get(to)
    if write is None:
        raise InputError(f"{to!r} is no labeling tool. Use one of {listing(FORMATS)}.{nearest(to, FORMATS)}")
    if to != "label-studio" and showing.question != QUESTION:
        raise InputError(
            f"A file for {to} has no place for a question. Ask it there, or export to label-studio."
        )
    return write(showing, path, predictions)


def _write_label_studio(showing: Showing, path: str | Path, predictions: bool) -> Path:
    def write(file: IO[bytes]) -> None:
        for place, task in enumerate(make_tasks(showing, predictions=predictions)):
            file.write((b",\n" if place else b"[\n") + _as_line(task))
        file.write(b"\n]\n")

    return write_whole(path, write)


def _write_prodigy(showing: Showing, path: str | Path, predictions: bool) -> Path:
    """Write tasks for Prodigy's interface "choice", with the guess chosen. Annotators see what is in "meta"."""
    options = [{"id": name, "text": name} for name in showing.classes]

    def tasks() -> Iterator[dict[str, Any]]:
        for item in showing.items(predictions=predictions):
            shown = {"image": item.image} if item.image is not None else {"text": item.as_text()}
            chosen = {"accept": [str(item.predicted)]} if predictions and not item.audit else {}
            facts = item.facts(predictions=predictions)
            meta = {name: facts.pop(name) for name in ("row_id", "reason")}
            yield {**shown, "options": options, **chosen, "meta": meta, **facts}

    return _write_lines(path, tasks())


def _write_doccano(showing: Showing, path: str | Path, predictions: bool) -> Path:
    """Write documents for doccano's text classification, with the guess as their label."""
    if showing.image_column is not None:
        raise InputError(
            "doccano imports images as files, not from a list. Upload them there, or export to another tool."
        )

    def documents() -> Iterator[dict[str, Any]]:
        for item in showing.items(predictions=predictions):
            label = [str(item.predicted)] if predictions and not item.audit else []
            yield {"text": item.as_text(), "label": label, **item.facts(predictions=predictions)}

    return _write_lines(path, documents())


def _write_csv(showing: Showing, path: str | Path, predictions: bool) -> Path:
    """Write the batch as a table: what is shown, the reason, and an empty column to write labels in."""
    if not predictions:
        raise InputError("A batch in CSV always has its column 'predicted'. Leave predictions on for it.")
    names = [
        name for name in (showing.text_column, showing.image_column, *showing.columns) if name is not None
    ]
    kept = showing.batch.to_arrow().select(names)
    for name, values in (
        ("reason", pa.array(showing.reasons())),
        ("label", pa.nulls(len(showing), pa.string())),
    ):
        if name in names:
            raise InputError(f"Column {name!r} of the batch has the name of one that is added. Rename it.")
        kept = kept.append_column(name, values)
    return replace(showing.batch, kept=kept).to_csv(path)


def _write_lines(path: str | Path, records: Iterator[dict[str, Any]]) -> Path:
    return write_whole(path, lambda file: file.writelines(_as_line(record) + b"\n" for record in records))


def _as_line(record: dict[str, Any]) -> bytes:
    return json.dumps(record, ensure_ascii=False).encode()


#: How the file for a labeling tool is written, by the tool's name.
FORMATS: dict[str, Callable[[Showing, str | Path, bool], Path]] = {
    "label-studio": _write_label_studio,
    "prodigy": _write_prodigy,
    "doccano": _write_doccano,
    "csv": _write_csv,
}

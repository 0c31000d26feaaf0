"""`minmargin export`: a batch as a file for a labeling tool."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from minmargin.cli.app import app
from minmargin.cli.options import AsJson, split
from minmargin.cli.show import make_console
from minmargin.cli.shown import BatchFile, Classes, Columns, ImageColumn, Predictions, Question, TextColumn
from minmargin.files import write_whole
from minmargin.integrations.batch_files import read_batch
from minmargin.integrations.exports import export
from minmargin.integrations.items import Showing
from minmargin.integrations.label_studio.interface import make_interface

_EXAMPLE = """\b
Example:
  minmargin export batch.parquet --to prodigy --text-column text --out tasks.jsonl
"""


class Tool(StrEnum):
    """What `--to` takes."""

    LABEL_STUDIO = "label-studio"
    PRODIGY = "prodigy"
    DOCCANO = "doccano"
    CSV = "csv"


@app.command("export", epilog=_EXAMPLE)
def export_command(
    batch: BatchFile,
    to: Annotated[Tool, typer.Option(help="The tool that imports the file.")],
    out: Annotated[Path, typer.Option(help="The file to write.")],
    text_column: TextColumn = None,
    image_column: ImageColumn = None,
    columns: Columns = None,
    classes: Classes = None,
    question: Question = None,
    predictions: Predictions = True,
    interface: Annotated[
        Path | None,
        typer.Option(help="For label-studio: where the labeling interface goes, to paste into a project."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write a batch in the form that a labeling tool imports."""
    showing = Showing.of(
        read_batch(batch),
        text_column=text_column,
        image_column=image_column,
        columns=split(columns),
        classes=split(classes),
        question=question,
    )
    export(showing, out, to=to.value, predictions=predictions)
    if interface is not None:
        write_whole(interface, lambda file: file.writelines([make_interface(showing).encode()]))
    if as_json:
        written = {"out": str(out), "to": to.value, "rows": len(showing), "classes": list(showing.classes)}
        typer.echo(json.dumps(written, indent=2))
    else:
        make_console().print(f"Written {len(showing):,} rows for {to.value} to {escape(str(out))}.")

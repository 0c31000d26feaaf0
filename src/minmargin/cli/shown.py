"""The options of commands that show a batch to annotators."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

BatchFile = Annotated[
    Path, typer.Argument(metavar="BATCH", help="The file that minmargin select wrote; Parquet knows most.")
]
TextColumn = Annotated[str | None, typer.Option(help="The batch's column with the text to show.")]
ImageColumn = Annotated[
    str | None,
    typer.Option(help="The batch's column with the image to show: addresses, paths of files, or bytes."),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAMES",
        help="Columns to show, comma-separated or repeated; default: all, if no text or image is shown.",
    ),
]
Classes = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAMES",
        help="What annotators choose from, comma-separated or repeated; default: the labeled set's classes.",
    ),
]
Question = Annotated[
    str | None, typer.Option(metavar="TEXT", help="What annotators are asked, above the classes.")
]
Predictions = Annotated[
    bool, typer.Option("--predictions/--no-predictions", help="Whether annotators see the model's guess.")
]

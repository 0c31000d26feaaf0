"""`minmargin inspect`: what is read of tables, how it is used, and what looks wrong, before anything is picked."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from minmargin.cli.app import app
from minmargin.cli.flags import with_flags
from minmargin.cli.options import AsJson, EveryClass, Features, MaybeLabelColumn, one_or_all, split
from minmargin.cli.reading import with_reading
from minmargin.cli.show import make_console
from minmargin.cli.tables import show_table
from minmargin.data.reading import Reading
from minmargin.inspection import Inspection, inspect
from minmargin.inspection.inspection import HEADINGS

_EXAMPLE = """\b
Example:
  minmargin inspect labeled.csv 'pool/*.parquet' --label-column y
"""


@app.command("inspect", epilog=_EXAMPLE)
@with_reading
def inspect_command(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE...", help="The labeled table, then files of the pool, if any."),
    ],
    *,
    reading: Reading,
    label_column: MaybeLabelColumn = None,
    id_column: Annotated[str | None, typer.Option(help="The column that identifies a row.")] = None,
    features: Features = None,
    classes: EveryClass = None,
    as_json: AsJson = False,
) -> None:
    """Show how tables would be read, column by column, and what looks wrong with them.

    It exits with 1 where select would refuse the labels.
    """
    found = inspect(
        files[0],
        label_column,
        one_or_all(files[1:]) if files[1:] else None,
        features=split(features),
        id_column=id_column,
        classes=split(classes),
        reading=reading,
    )
    if as_json:
        typer.echo(json.dumps(found.to_dict(), indent=2))
    else:
        _show(found, make_console(quiet=False))
    if found.refused:
        raise typer.Exit(1)


def _show(found: Inspection, console: Console) -> None:
    console.print(escape(found.title))
    show_table(console, HEADINGS, found.rows(), prose=("column", "values", "in the pool", "used"))
    for finding in found.findings:
        console.print(f"[bold]![/bold] {escape(with_flags(finding.message))}")
    if not found.findings:
        console.print("Nothing looks wrong.")

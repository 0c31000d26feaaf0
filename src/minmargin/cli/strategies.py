"""`minmargin strategies`: what can be asked for."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from minmargin.cli.app import app
from minmargin.strategies import strategies


@app.command("strategies", epilog="Example:\n\n  minmargin strategies --json")
def strategies_command(
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON, for machines.")] = False,
) -> None:
    """List the strategies: name, meaning and cost."""
    entries = strategies()
    if as_json:
        typer.echo(
            json.dumps([{"name": e.name, "summary": e.summary, "cost": e.cost} for e in entries], indent=2)
        )
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("strategy", "score (lower is picked first)", "cost"):
        table.add_column(heading)
    for entry in entries:
        table.add_row(entry.name, entry.summary, entry.cost)
    console = Console(highlight=False)
    console.print(table)
    console.print(
        "\nThe default is min-margin, the paper's. For a large batch try spread first. What pays on your data: "
        "minmargin compare."
    )

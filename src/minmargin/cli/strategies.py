"""`minmargin strategies`: what can be asked for."""

from __future__ import annotations

import json

import typer

from minmargin.cli.app import app
from minmargin.cli.options import AsJson
from minmargin.cli.show import make_console
from minmargin.cli.tables import show_table
from minmargin.strategies import strategies

_SCORE = "score (lower is picked first)"


@app.command("strategies", epilog="Example:\n\n  minmargin strategies --json")
def strategies_command(
    as_json: AsJson = False,
) -> None:
    """List the strategies: name, meaning and cost."""
    entries = strategies()
    if as_json:
        typer.echo(
            json.dumps([{"name": e.name, "summary": e.summary, "cost": e.cost} for e in entries], indent=2)
        )
        return
    console = make_console(quiet=False)
    rows = [(entry.name, entry.summary, entry.cost) for entry in entries]
    show_table(console, ("strategy", _SCORE, "cost"), rows, prose=(_SCORE, "cost"))
    console.print(
        "\nThe default is min-margin, the paper's. For a large batch try spread first. What pays on your data: "
        "minmargin compare."
    )

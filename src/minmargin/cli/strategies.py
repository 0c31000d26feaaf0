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
#: Which for what, as the study found; docs/howto/strategies.md has these rows, and more.
WHICH = (
    ("hundreds of rows to label at once", "spread"),
    ("a few rows at a time", "margin"),
    ("many classes, few labels of each", "spread or badge"),
    ("classes that nobody has labeled yet", "k-centers, until each has a few labels"),
    ("two classes, one of them rare", "min-margin or spread, and another threshold"),
    ("a network", "spread or cluster-margin"),
    ("rows to test on", "random"),
)


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
    console.print("\nWhich for what:")
    show_table(console, ("you have", "try"), WHICH, prose=("you have", "try"))
    console.print("\nThe default is min-margin, the paper's. What pays on your data: minmargin compare.")

"""`minmargin doctor`: what is found on this machine, and what is wrong with it."""

from __future__ import annotations

import json
from dataclasses import asdict

import typer
from rich.markup import escape

from minmargin.cli.app import app
from minmargin.cli.options import AsJson
from minmargin.cli.show import make_console

_WIDTH = 42  # of the column of names


@app.command("doctor", epilog="Example:\n\n  minmargin doctor --json")
def doctor_command(
    as_json: AsJson = False,
) -> None:
    """Show versions, cores, GPU, extras and folders, and try a selection. Leaves with 1 if something is wrong."""
    from minmargin.cli.findings import Finding, examine  # noqa: PLC0415 - loads the data sets' registry and more

    findings: list[Finding] = []
    console = make_console(quiet=as_json)
    for finding in examine():
        if not findings or findings[-1].topic != finding.topic:
            console.print(f"[bold]{finding.topic}[/bold]")
        mark = "" if finding.wrong is None else "[red]✗[/red] "
        console.print(f"  {escape(finding.name):{_WIDTH}}{mark}{escape(finding.found)}")
        findings.append(finding)
    complaints = [finding.wrong for finding in findings if finding.wrong is not None]
    for complaint in complaints:
        console.print(f"[red]✗[/red] {escape(complaint)}")
    if as_json:
        typer.echo(json.dumps({"ok": not complaints, "findings": list(map(asdict, findings))}, indent=2))
    if complaints:
        raise typer.Exit(1)
    console.print("[green]✓[/green] Nothing is wrong.")

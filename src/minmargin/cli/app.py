"""The typer application that the commands register with."""

from __future__ import annotations

import typer

from minmargin.version import __version__

app = typer.Typer(
    name="minmargin",
    help="Decide what to label next: exact minimum-margin active learning over pools of any size.",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"minmargin {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _options(
    context: typer.Context,
    version: bool = typer.Option(
        False, "--version", help="Show the version and leave.", callback=_show_version, is_eager=True
    ),
) -> None:
    """Decide what to label next: exact minimum-margin active learning over pools of any size."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())

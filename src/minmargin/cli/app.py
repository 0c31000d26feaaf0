"""The typer application that the commands register with, and the options that all of them share."""

from __future__ import annotations

import logging
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from minmargin.cli.manners import manners
from minmargin.version import __version__

_ANYWHERE = {"--quiet", "--debug"}


class _Commands(TyperGroup):
    """Takes --quiet and --debug after a command too: they are often added to a line that was typed before."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        end = args.index("--") if "--" in args else len(args)
        ours = [arg for arg in args[:end] if arg in _ANYWHERE]
        others = [arg for arg in args[:end] if arg not in _ANYWHERE]
        return super().parse_args(ctx, [*ours, *others, *args[end:]])


app = typer.Typer(
    name="minmargin",
    help="Decide what to label next: exact minimum-margin active learning over pools of any size.",
    cls=_Commands,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"minmargin {__version__}")
        raise typer.Exit


@app.callback(
    invoke_without_command=True,
    epilog="--quiet and --debug may also stand after the command. The variable NO_COLOR turns colors off.",
)
def _options(
    context: typer.Context,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="Say nothing but errors: no progress, warnings or summary.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the whole traceback of an error.")] = False,
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version and leave.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    """Decide what to label next: exact minimum-margin active learning over pools of any size."""
    manners.quiet, manners.debug = quiet, debug
    logging.getLogger("minmargin").setLevel(logging.ERROR if quiet else logging.NOTSET)
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())

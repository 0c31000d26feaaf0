"""Writes the program's own help into docs/command-line.md: `make docs`. A test sees that it is up to date.

A command that the page does not show yet gets a section before the closing ones, and one of a group a block after
those of its group. What is written around the blocks stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command
from typer.testing import CliRunner

from minmargin.cli import app

PAGE = Path(__file__).parent / "command-line.md"
_BLOCK = re.compile(r"```console\n\$ minmargin (?P<arguments>[a-z -]*--help)\n.*?```", re.DOTALL)
_LAST_SECTION = "## What all commands have in common"


def with_current_help(page: str) -> str:
    """Return the page with the output of each command in a block that shows one, and with all commands."""
    previous = ""
    for command in commands():
        if f"$ minmargin {command} --help\n" not in page:
            page = _with_block(page, command, after=previous)
        previous = command
    return _BLOCK.sub(_run, page)


def _with_block(page: str, command: str, *, after: str) -> str:
    """Return the page with an empty block for a command: in a new section, or after its group's last one."""
    block = f"```console\n$ minmargin {command} --help\n```\n\n"
    if " " not in command:
        return page.replace(_LAST_SECTION, f"## minmargin {command}\n\n{block}{_LAST_SECTION}")
    place = page.index("```\n\n", page.index(f"$ minmargin {after} --help\n")) + len("```\n\n")
    return page[:place] + block + page[place:]


def commands() -> Iterator[str]:
    """Return every command, those of groups as "group command"."""
    yield from _below(get_command(app), ())


def _below(group: Any, names: tuple[str, ...]) -> Iterator[str]:
    for name, command in group.commands.items():
        yield " ".join([*names, name])
        if hasattr(command, "commands"):
            yield from _below(command, (*names, name))


def _run(block: re.Match[str]) -> str:
    arguments = block["arguments"]
    environment = {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
    shown = CliRunner(env=environment).invoke(app, arguments.split(), prog_name="minmargin").stdout
    lines = [line.rstrip() for line in shown.splitlines()]
    return f"```console\n$ minmargin {arguments}\n" + "\n".join(lines).strip("\n") + "\n```"


if __name__ == "__main__":
    PAGE.write_text(with_current_help(PAGE.read_text()))

"""Writes the program's own help into docs/command-line.md: `make docs`. A test sees that it is up to date."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parent / "command-line.md"
_BLOCK = re.compile(
    r"```console\n\$ minmargin (?P<arguments>[a-z -]*(?:--help|strategies))\n.*?```", re.DOTALL
)


def with_current_help(page: str) -> str:
    """Return the page with the output of each command in a block that shows one."""
    return _BLOCK.sub(_run, page)


def _run(block: re.Match[str]) -> str:
    arguments = block["arguments"]
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
    command = [sys.executable, "-c", "from minmargin.cli import main; main()", *arguments.split()]
    shown = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    lines = [line.rstrip() for line in shown.replace("Usage: -c", "Usage: minmargin").splitlines()]
    return f"```console\n$ minmargin {arguments}\n" + "\n".join(lines).strip("\n") + "\n```"


if __name__ == "__main__":
    PAGE.write_text(with_current_help(PAGE.read_text()))

"""What `minmargin study` and `minmargin published` share: options, their values, and what is said of packed files."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from minmargin.cli.show import make_console
from minmargin.errors import InputError

TimeLimit = Annotated[str | None, typer.Option(metavar="TIME", help="When to end, such as 90s, 9m or 2h.")]
DataDir = Annotated[Path | None, typer.Option(help="The folder that has the sets, for --pack.")]
PlayedAsJson = Annotated[
    bool, typer.Option("--json", help="Print what was played and where it is as JSON, for machines.")
]

_UNITS = {"s": 1, "m": 60, "h": 3600}


def parse_draws(text: str) -> range:
    """Return the draws that FIRST:END or a number of draws stands for.

    >>> parse_draws("5"), parse_draws("2:4")
    (range(0, 5), range(2, 4))
    """
    found = re.fullmatch(r"(?:(\d+):)?(\d+)", text)
    if found is None or int(found[1] or 0) >= int(found[2]):
        raise InputError(
            f"--draws {text} must be a number of draws, or a first draw and an end, such as 0:50."
        )
    return range(int(found[1] or 0), int(found[2]))


def parse_seconds(text: str | None) -> float | None:
    """Return the seconds of a time such as 90s, 9m or 2h; None if there is none.

    >>> parse_seconds("90s"), parse_seconds("1.5m")
    (90.0, 90.0)
    """
    if text is None:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", text)
    if found is None:
        raise InputError(f"--time-limit {text} must be a number with s, m or h, such as 90s, 9m or 2h.")
    return float(found[1]) * _UNITS[found[2]]


def show_packed(what: str, paths: Sequence[Path], folder: Path, *, as_json: bool) -> None:
    """Print which files were packed into a folder, and how large they are together."""
    n_bytes = sum(path.stat().st_size for path in paths)
    if as_json:
        typer.echo(json.dumps({what: [str(path) for path in paths], "bytes": n_bytes}, indent=2))
    else:
        make_console().print(
            f"{what.capitalize()} packed: {len(paths)} ({n_bytes / 2**20:.1f} MiB), in {folder}"
        )

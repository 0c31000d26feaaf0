"""The command line. Each command is one library call, and a few lines that show what came back."""

from __future__ import annotations

import re
import sys
import traceback

from minmargin.cli import demo, select, strategies  # noqa: F401 - importing a command registers it
from minmargin.cli.app import app
from minmargin.errors import MinMarginError

OK, USER_ERROR, FAULT = 0, 1, 2

__all__ = ["app", "main", "run"]

_ARGUMENT = re.compile(
    r"\b(batch_size|bootstrap_fraction|n_models|n_jobs|preprocess|prefilter|features|id_column|keep)"
    r"(?:(<=|>=)|=)('?)(\[\.\.\.\]|[^\s.,']*)\3"
)


def main() -> None:
    """Run the command line and leave with 0 (ok), 1 (the caller's error) or 2 (ours)."""
    sys.exit(run())


def run() -> int:
    """Return the exit code of the command that sys.argv asks for."""
    try:
        app()
    except SystemExit as stop:
        # The argument parser leaves with 2 when a flag is wrong; that is the caller's error.
        return USER_ERROR if stop.code == 2 else int(stop.code or OK)
    except MinMarginError as error:
        print(f"minmargin: {with_flags(str(error))}", file=sys.stderr)  # noqa: T201 - where errors go
        return USER_ERROR
    except Exception:  # noqa: BLE001 - the last resort: show the fault, leave with its code
        traceback.print_exc()
        print("minmargin: this is a fault of minmargin; please report it.", file=sys.stderr)  # noqa: T201
        return FAULT
    return OK


def with_flags(message: str) -> str:
    """Return a message of the library with its arguments spelled as flags.

    >>> with_flags("Use preprocess='auto', or leave it out with features=[...].")
    'Use --preprocess auto, or leave it out with --features NAMES.'
    """

    def spell(found: re.Match[str]) -> str:
        name, comparison, _, value = found.groups()
        flag = "--" + name.replace("_", "-")
        return " ".join(filter(None, [flag, comparison, value.replace("[...]", "NAMES")]))

    return _ARGUMENT.sub(spell, message)

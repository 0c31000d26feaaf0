"""The command line. Each command is one library call, and a few lines that show what came back."""

from __future__ import annotations

import functools
import re
import sys
import traceback
import warnings
from collections.abc import Callable
from typing import Any

from minmargin.cli.app import app
from minmargin.errors import DataWarning, MinMarginError

# Importing a command registers it, and this is the order in which the help lists them.
# isort: off
from minmargin.cli import select  # noqa: F401
from minmargin.cli import demo  # noqa: F401
from minmargin.cli import strategies  # noqa: F401
from minmargin.cli import reproduce  # noqa: F401
from minmargin.cli import data  # noqa: F401
# isort: on

OK, USER_ERROR, FAULT = 0, 1, 2

__all__ = ["app", "main", "run"]

# An argument with its value, or alone where its name cannot be an ordinary word.
_ARGUMENT = re.compile(
    r"\b(?:(batch_size|bootstrap_fraction|n_models|n_jobs|preprocess|prefilter|features|id_column|keep|device|precision)"
    r"(<=|>=|=)('?)(\[\.\.\.\]|[^\s.,']*)\3|(batch_size|bootstrap_fraction|n_models|n_jobs|id_column)\b)"
)


def main() -> None:
    """Run the command line and leave with 0 (ok), 1 (the caller's error) or 2 (ours)."""
    sys.exit(run())


def run() -> int:
    """Return the exit code of the command that sys.argv asks for."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = functools.partial(_show_warning, warnings.showwarning)
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


def _show_warning(
    usual: Callable[..., None], message: Warning | str, category: type[Warning], *details: Any, **more: Any
) -> None:
    """Print a warning about the caller's data as one line, and any other as usual."""
    if issubclass(category, DataWarning):
        print(f"minmargin: warning: {with_flags(str(message))}", file=sys.stderr)  # noqa: T201 - where warnings go
    else:
        usual(message, category, *details, **more)


def with_flags(message: str) -> str:
    """Return a message of the library with its arguments spelled as flags.

    >>> with_flags("Use preprocess='auto', or leave it out with features=[...].")
    'Use --preprocess auto, or leave it out with --features NAMES.'
    >>> with_flags("Name it as id_column. The pool has 3 features. Use batch_size<=3.")
    'Name it as --id-column. The pool has 3 features. Use --batch-size <= 3.'
    """

    def spell(found: re.Match[str]) -> str:
        name, relation, _, value, alone = found.groups(default="")
        flag = "--" + (name or alone).replace("_", "-")
        return " ".join(
            filter(None, [flag, relation.rstrip("=") and relation, value.replace("[...]", "NAMES")])
        )

    return _ARGUMENT.sub(spell, message)

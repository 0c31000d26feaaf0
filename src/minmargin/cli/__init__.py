"""The command line. Each command is one library call, and a few lines that show what came back."""

from __future__ import annotations

import functools
import sys
import traceback
import warnings
from collections.abc import Callable
from typing import Any

from minmargin.cli.app import app
from minmargin.cli.flags import SpelledError, with_flags
from minmargin.cli.interruption import INTERRUPTED, interruption
from minmargin.cli.manners import manners
from minmargin.errors import DataWarning, MinMarginError

# Importing a command registers it, and this is the order in which the help lists them.
# isort: off
from minmargin.cli import select  # noqa: F401
from minmargin.cli import inspect  # noqa: F401
from minmargin.cli import campaign  # noqa: F401
from minmargin.cli import campaign_set  # noqa: F401
from minmargin.cli import compare  # noqa: F401
from minmargin.cli import demo  # noqa: F401
from minmargin.cli import export  # noqa: F401
from minmargin.cli import label_studio  # noqa: F401
from minmargin.cli import campaign_label_studio  # noqa: F401
from minmargin.cli import strategies  # noqa: F401
from minmargin.cli import reproduce  # noqa: F401
from minmargin.cli import study  # noqa: F401
from minmargin.cli import published  # noqa: F401
from minmargin.cli import data  # noqa: F401
from minmargin.cli import doctor  # noqa: F401
# isort: on

OK, USER_ERROR, FAULT = 0, 1, 2

__all__ = ["app", "main", "run"]

_HOW_TO_REPORT = (
    "Add --debug to the command to see where it happened. Please report it as an issue of the project, "
    "with what --debug and minmargin doctor show."
)


def main() -> None:
    """Run the command line and leave with 0 (ok), 1 (the caller's error), 2 (ours) or 130 (interrupted)."""
    sys.exit(run())


def run() -> int:
    """Return the exit code of the command that sys.argv asks for."""
    with interruption.listened_to():
        try:
            code = _run()
        except KeyboardInterrupt:
            code = INTERRUPTED
        if interruption.asked and code != OK:  # whatever a library made of it
            interruption.tell()
            return INTERRUPTED
        return code


def _run() -> int:
    try:
        with warnings.catch_warnings():
            warnings.showwarning = functools.partial(_show_warning, warnings.showwarning)
            app()
    except SystemExit as stop:
        # The argument parser leaves with 2 when a flag is wrong; that is the caller's error.
        return USER_ERROR if stop.code == 2 else int(stop.code or OK)
    except SpelledError as error:
        _show_error(str(error))
        return USER_ERROR
    except MinMarginError as error:
        _show_error(with_flags(str(error)))
        return USER_ERROR
    except Exception as error:  # noqa: BLE001 - the last resort: show the fault, leave with its code
        _show_error(f"a fault of minmargin: {type(error).__name__}: {error}\n{_HOW_TO_REPORT}")
        return FAULT
    return OK


def _show_error(message: str) -> None:
    """Print an error; with --debug, after the traceback of what is being handled.

    After Ctrl-C an error is most likely what a library made of the interruption, and nothing that anybody has to know.
    """
    if interruption.asked and not manners.debug:
        return
    if manners.debug:
        traceback.print_exc()
    print(f"minmargin: {message}", file=sys.stderr)  # noqa: T201 - where errors go


def _show_warning(
    usual: Callable[..., None], message: Warning | str, category: type[Warning], *details: Any, **more: Any
) -> None:
    """Print a warning about the caller's data as one line, and any other as usual; nothing with --quiet."""
    if manners.quiet:
        return
    if issubclass(category, DataWarning):
        print(f"minmargin: warning: {with_flags(str(message))}", file=sys.stderr)  # noqa: T201 - where warnings go
    else:
        usual(message, category, *details, **more)

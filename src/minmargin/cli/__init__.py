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
from minmargin.cli.manners import manners
from minmargin.errors import DataWarning, MinMarginError

# Importing a command registers it, and this is the order in which the help lists them.
# isort: off
from minmargin.cli import select  # noqa: F401
from minmargin.cli import campaign  # noqa: F401
from minmargin.cli import compare  # noqa: F401
from minmargin.cli import demo  # noqa: F401
from minmargin.cli import export  # noqa: F401
from minmargin.cli import label_studio  # noqa: F401
from minmargin.cli import campaign_label_studio  # noqa: F401
from minmargin.cli import strategies  # noqa: F401
from minmargin.cli import reproduce  # noqa: F401
from minmargin.cli import study  # noqa: F401
from minmargin.cli import data  # noqa: F401
from minmargin.cli import doctor  # noqa: F401
# isort: on

OK, USER_ERROR, FAULT = 0, 1, 2

__all__ = ["app", "main", "run"]

_HOW_TO_REPORT = (
    "Add --debug to the command to see where it happened. Please report it as an issue of the project, "
    "with what --debug and minmargin doctor show."
)

# An argument with its value, or alone where its name cannot be an ordinary word.
_ARGUMENT = re.compile(
    r"\b(?:(batch_size|bootstrap_fraction|n_models|n_jobs|preprocess|prefilter|features|id_column|keep|device|precision"
    r"|classes|learner|batch_sizes|n_labeled|test_size|n_draws|scoring|rounds|strategies"
    r"|unlabeled_ok|requeue|replace|new_classes|distinct)"
    r"(<=|>=|=)('?)(\[\.\.\.\]|[^\s.,;']*)\3|(batch_sizes?|bootstrap_fraction|n_models|n_jobs|id_column|n_labeled|test_size)\b)"
)
_OTHER_FLAGS = {"unlabeled_ok": "--even-so"}  # where the flag has another name than the argument


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
        _show_error(with_flags(str(error)))
        return USER_ERROR
    except Exception as error:  # noqa: BLE001 - the last resort: show the fault, leave with its code
        _show_error(f"a fault of minmargin: {type(error).__name__}: {error}\n{_HOW_TO_REPORT}")
        return FAULT
    return OK


def _show_error(message: str) -> None:
    """Print an error; with --debug, after the traceback of what is being handled."""
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


def with_flags(message: str) -> str:
    """Return a message of the library with its arguments spelled as flags.

    >>> with_flags("Use preprocess='auto', or leave it out with features=[...].")
    'Use --preprocess auto, or leave it out with --features NAMES.'
    >>> with_flags("Go on without them with unlabeled_ok=True, or use new_classes=True.")
    'Go on without them with --even-so, or use --new-classes.'
    >>> with_flags("Name it as id_column. The pool has 3 features. Use batch_size<=3.")
    'Name it as --id-column. The pool has 3 features. Use --batch-size <= 3.'
    >>> with_flags("Use batch_size<=50, or distinct=False.")
    'Use --batch-size <= 50, or --no-distinct.'
    """

    def spell(found: re.Match[str]) -> str:
        name, relation, _, value, alone = found.groups(default="")
        flag = _OTHER_FLAGS.get(name, "--" + (name or alone).replace("_", "-"))
        if value == "False":
            return flag.replace("--", "--no-", 1)
        value = "" if value == "True" else value.replace("[...]", "NAMES")
        return " ".join(filter(None, [flag, relation.rstrip("=") and relation, value]))

    return _ARGUMENT.sub(spell, message)

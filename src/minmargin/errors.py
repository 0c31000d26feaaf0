"""The few kinds of error this package raises on purpose.

Every message is one sentence with the values, where they were found, and the fix.
"""

from __future__ import annotations

import difflib
import sys
import warnings
from collections.abc import Iterable

_MOST_SHOWN = 40  # characters of a text that nobody can read as it is


class MinMarginError(Exception):
    """The parent of every error that this package raises on purpose."""


class InputError(MinMarginError, ValueError):
    """What the caller passed cannot be used; the message says how to mend it."""


class TooFewDistinctError(InputError):
    """A pool has fewer distinct rows than a batch is to have.

    Attributes:
        n_distinct: how many it has.
    """

    def __init__(self, message: str, n_distinct: int) -> None:
        super().__init__(message)
        self.n_distinct = n_distinct


class NotNumbersError(InputError):
    """Rows are not numbers, where only numbers will do."""


class ColumnError(InputError):
    """A column of a data frame goes into no Arrow column: its values are of several types, or of one that has none."""


class MemberFitError(MinMarginError, RuntimeError):
    """A model of the committee could not be trained; the cause is chained."""


class ScoringError(MinMarginError, RuntimeError):
    """A trained model could not score pool rows; the cause is chained."""


class MissingExtraError(MinMarginError, ImportError):
    """An optional library is needed and is not installed."""


def missing_extra(needs: str, extra: str) -> MissingExtraError:
    """Return the error for a library that comes with an extra.

    >>> str(missing_extra("Reports need jinja2", "report"))
    "Reports need jinja2, which is not installed. Use pip install 'minmargin[report]'."
    """
    return MissingExtraError(f"{needs}, which is not installed. Use pip install 'minmargin[{extra}]'.")


class DataWarning(UserWarning):
    """The data looks wrong, but a batch can still be picked."""


def warn(message: str, category: type[Warning] = DataWarning) -> None:
    """Warn whoever called this package: the line that Python shows is theirs, however deep in here it is said."""
    frame, level = sys._getframe(1), 2  # noqa: SLF001 - Python 3.12 has skip_file_prefixes for this
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "minmargin":
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def nearest(name: str, known: Iterable[str]) -> str:
    """Return " Did you mean 'x'?" for the known name closest to `name`, or an empty string."""
    folded = {each.casefold(): each for each in known}
    close = difflib.get_close_matches(name.casefold(), folded, n=1)
    return f" Did you mean {folded[close[0]]!r}?" if close else ""


def not_unicode(where: str, text: str) -> InputError:
    """Return the error for a text that no file can hold, such as bytes that Python has read as halves of characters."""
    shown = text if len(text) <= _MOST_SHOWN else text[:_MOST_SHOWN] + "…"
    return InputError(
        f"{where} {shown!r}, which is not valid Unicode. Read it with the encoding that it was written in, or mend it "
        "with text.encode('utf-8', 'replace').decode()."
    )


def is_unicode(text: str) -> bool:
    """Return whether a text can be written as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def listing(names: Iterable[object], *, most: int = 8) -> str:
    """Return names as 'a', 'b', 'c' and, past `most`, how many more there are.

    >>> listing(["a", "b", "c"], most=2)
    "'a', 'b' and 1 more"
    """
    shown = [repr(name) for name in names]
    more = len(shown) - most
    return ", ".join(shown[:most]) + (f" and {more} more" if more > 0 else "")

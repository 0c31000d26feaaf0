"""The few kinds of error this package raises on purpose.

Every message is one sentence with the values, where they were found, and the fix.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class MinMarginError(Exception):
    """The parent of every error that this package raises on purpose."""


class InputError(MinMarginError, ValueError):
    """What the caller passed cannot be used; the message says how to mend it."""


class MemberFitError(MinMarginError, RuntimeError):
    """A model of the committee could not be trained; the cause is chained."""


class ScoringError(MinMarginError, RuntimeError):
    """A trained model could not score pool rows; the cause is chained."""


class MissingExtraError(MinMarginError, ImportError):
    """An optional library is needed and is not installed."""


class DataWarning(UserWarning):
    """The data looks wrong, but a batch can still be picked."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Return " Did you mean 'x'?" for the known name closest to `name`, or an empty string."""
    folded = {each.casefold(): each for each in known}
    close = difflib.get_close_matches(name.casefold(), folded, n=1)
    return f" Did you mean {folded[close[0]]!r}?" if close else ""


def listing(names: Iterable[object], *, most: int = 8) -> str:
    """Return names as 'a', 'b', 'c' and, past `most`, how many more there are.

    >>> listing(["a", "b", "c"], most=2)
    "'a', 'b' and 1 more"
    """
    shown = [repr(name) for name in names]
    more = len(shown) - most
    return ", ".join(shown[:most]) + (f" and {more} more" if more > 0 else "")

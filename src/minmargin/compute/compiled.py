"""`compiled`, the decorator of all functions that numba compiles for the CPU.

What is compiled is kept in a folder, and a later process loads it from there. Where no folder can be written, every
process compiles anew. Either way a line of the log says so, since it takes seconds in which nothing else is seen to
happen; who has not set up logging reads it on stderr.

Importing this module imports numba.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from typing import Any

from numba import njit
from numba.core import event

_log = logging.getLogger("minmargin")
_EVERY_TIME = (
    "in every process anew, because no folder can be written to keep them (set NUMBA_CACHE_DIR to one)"
)


def compiled(function: Callable[..., Any], *, fastmath: Collection[str] = ()) -> Any:
    """Return a function that is compiled for the types it is called with, and does not hold the interpreter's lock.

    `fastmath` names what LLVM may do to sums; nothing that decides a batch may allow it anything.
    """
    dispatcher = njit(nogil=True, fastmath=set(fastmath) or False)(function)
    try:
        dispatcher.enable_caching()
    except RuntimeError:  # numba finds no folder that can be written
        _teller.kept = False
    return dispatcher


class _Teller(event.Listener):  # type: ignore[misc] # numba has no types
    """Tells once that something of ours is compiled. What is loaded from a folder is not."""

    def __init__(self) -> None:
        self.kept = True
        self._told = False

    def on_start(self, event: Any) -> None:
        if self._told or not event.data["dispatcher"].py_func.__module__.startswith("minmargin."):
            return
        self._told = True
        how_often = "once for this installation" if self.kept else _EVERY_TIME
        _log.warning(
            "minmargin: kernels for large work are compiled, %s; it takes 5 to 20 seconds.", how_often
        )

    def on_end(self, event: Any) -> None:
        """Do nothing."""


_teller = _Teller()
event.register("numba:compile", _teller)

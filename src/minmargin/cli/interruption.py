"""Ctrl-C: one line on what was kept and how to go on, and the exit code 130.

A process runs one command line, so what it would say is the module's state, as in `manners`. A command says beforehand
what is kept of its work, and the sentence is made when it is needed: by then it is known how far the work has come.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from minmargin.scan.checkpoint import STATE

INTERRUPTED = 130  # 128 and the number of the signal, as shells have it
_BEGINS_ANEW = "The same command begins anew."


class Interruption:
    """Whether Ctrl-C was pressed, and what is to be said then."""

    def __init__(self) -> None:
        self.asked = False
        self._kept: Callable[[], str] = str

    def keep(self, sentence: Callable[[], str]) -> None:
        """Say with `sentence()` what was kept and how to go on, if the command is interrupted from here on."""
        self._kept = sentence

    def tell(self) -> None:
        """Print the line."""
        print(f"minmargin: interrupted. {self._kept() or _BEGINS_ANEW}", file=sys.stderr)  # noqa: T201 - where errors go

    @contextmanager
    def listened_to(self) -> Iterator[None]:
        """Have Ctrl-C raise KeyboardInterrupt in this block, and end the process at once the second time."""
        self.asked, self._kept = False, str
        if threading.current_thread() is not threading.main_thread():  # which alone may say what signals do
            yield
            return
        before = signal.signal(signal.SIGINT, self._ask)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def _ask(self, _number: int, _frame: FrameType | None) -> None:
        if self.asked:
            os._exit(INTERRUPTED)
        self.asked = True
        raise KeyboardInterrupt


interruption = Interruption()


def in_checkpoint(checkpoint: Path | None) -> str:
    """Return what a selection keeps, by now."""
    if checkpoint is None:
        return "Nothing was kept; the same command begins anew, and with --checkpoint DIR it can go on next time."
    if not (checkpoint / STATE).exists():
        return (
            f"Nothing was found yet; the same command begins anew, and keeps what it finds in {checkpoint}."
        )
    return f"What was found so far is in {checkpoint}; the same command goes on from there."


def in_folder(out: Path) -> str:
    """Return what a command keeps that plays draws, and keeps each, by now."""
    if not out.exists():
        return f"Nothing was played yet; the same command begins anew, and keeps what it plays in {out}."
    return f"What was played so far is in {out}; the same command goes on from there."

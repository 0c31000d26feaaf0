"""The command `minmargin` from its first moment: it answers, and can be interrupted, before anything else is there.

This file stands beside the package, since to import anything of the package is to import numpy, pandas and Arrow first,
which takes a second or two. Until they are there, nothing has begun that would have to be put in order: Ctrl-C ends the
process at once. Were it an exception, some library would take it for one of its own, or Python show forty lines of it.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
from types import FrameType

INTERRUPTED = 130  # 128 and the number of the signal, as shells have it
LOADING = "minmargin: loading ..."
_ERASE = "\r\x1b[K"
_TOLD = b"minmargin: interrupted while it was loading. Nothing was begun; the same command begins anew.\n"


def main() -> None:
    """Run the command line and leave with 0 (ok), 1 (the caller's error), 2 (ours) or 130 (interrupted)."""
    signal.signal(signal.SIGINT, _leave)
    shown = _is_watched()
    if shown:
        sys.stderr.write(LOADING)
        sys.stderr.flush()
    from minmargin.cli import run  # noqa: PLC0415 - what takes long, and the reason for this file

    if shown:
        sys.stderr.write(_ERASE)
        sys.stderr.flush()
    code = run()
    if code == INTERRUPTED:
        # sys.exit would wait for threads that nobody needs any more, and might end in a signal instead of the code.
        signal.signal(signal.SIGINT, lambda *_: os._exit(code))
        atexit._run_exitfuncs()  # noqa: SLF001 - has no other name
        sys.stdout.flush()
        os._exit(code)
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # everything is done and said: there is nothing left to interrupt
    sys.exit(code)


def _is_watched() -> bool:
    """Return whether somebody sees the line that tells of loading: it is for terminals, which can erase it."""
    return sys.stderr.isatty() and "--quiet" not in sys.argv and "_MINMARGIN_COMPLETE" not in os.environ


def _leave(_number: int, _frame: FrameType | None) -> None:
    """End the process, by nothing that an import could get hold of."""
    os.write(2, (_ERASE.encode() if _is_watched() else b"") + _TOLD)
    os._exit(INTERRUPTED)


if __name__ == "__main__":
    main()

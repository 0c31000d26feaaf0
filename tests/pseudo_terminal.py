"""What a program shows on a terminal."""

from __future__ import annotations

import os
import pty
import subprocess
from collections.abc import Mapping, Sequence


def shown_by(command: Sequence[str], environment: Mapping[str, str] | None = None) -> str:
    """Return all that a program writes on a terminal; it must end well."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdout=theirs, stderr=theirs, env=environment) as program:
        os.close(theirs)
        shown = b""
        while True:
            try:
                shown += os.read(ours, 65536)
            except OSError:  # the other end is closed: the program has ended
                break
    os.close(ours)
    assert program.returncode == 0
    return shown.decode()

"""Targets in a process of their own, watched: one that crashes, or takes too long, is begun again after that change."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

_CHILD = Path(__file__).with_name("child.py")
_SECONDS_TO_BEGIN, _SECONDS_EACH = 180.0, 20.0
_MOST_CRASHES = 40


@dataclass
class Figures:
    """What came of a target.

    Attributes:
        target: what was read.
        outcomes: how often which.
        found: what must not be: the change, what came of it, and where.
        next: the number of the change that comes next.
    """

    target: str
    outcomes: Counter[str] = field(default_factory=Counter)
    found: list[dict[str, Any]] = field(default_factory=list)
    next: int = 0

    @property
    def tried(self) -> int:
        """How many changes were tried."""
        return self.outcomes.total()

    def note(self, outcome: str, found: dict[str, Any] | None = None) -> None:
        """Take in what came of a change."""
        self.outcomes[outcome] += 1
        self.next += 1
        if found is not None:
            self.found.append(found)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures, ready for JSON."""
        names = ("right", "refused", "told", "other", "raw", "hangs")
        return {"target": self.target, "tried": self.tried, **{name: self.outcomes[name] for name in names}}


def watch(
    counts: dict[str, int], words: dict[str, str], folder: Path, *, seconds: float
) -> dict[str, Figures]:
    """Return what came of so many changes of each target, or of as many as there was time for."""
    figures, left = {name: Figures(words[name]) for name in counts}, list(counts)
    deadline = time.monotonic() + seconds
    for attempt in range(_MOST_CRASHES):
        if not left or time.monotonic() > deadline:
            break
        left = _run(left, counts, figures, folder / str(attempt), deadline - time.monotonic())
    return figures


def _run(
    names: list[str], counts: dict[str, int], figures: dict[str, Figures], folder: Path, seconds: float
) -> list[str]:
    """Let a process try changes, and return the targets that are left when it has ended too early."""
    folder.mkdir()
    asked = [text for name in names for text in (name, str(figures[name].next), str(counts[name]))]
    process = subprocess.Popen(
        [sys.executable, str(_CHILD), str(folder), str(seconds), *asked],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    lines: queue.Queue[str | None] = queue.Queue()
    errors: list[str] = []
    reader = threading.Thread(target=_pass_on, args=(process.stdout, lines), daemon=True)
    listener = threading.Thread(target=_keep, args=(process.stderr, errors), daemon=True)
    reader.start(), listener.start()
    now, last, hung = figures[names[0]], {"change": "its beginning"}, False
    try:
        while (
            line := lines.get(timeout=_SECONDS_EACH if "number" in last else _SECONDS_TO_BEGIN)
        ) is not None:
            record = json.loads(line)
            if "target" in record:
                now, last = figures[record["target"]], {"change": "its beginning", **record}
            elif "change" in record:
                last = record
            elif "outcome" in record:
                now.note(record["outcome"])
            else:
                now.note("raw", {**last, **record})
    except queue.Empty:
        hung = True
        process.kill()
    finally:
        process.wait()
        reader.join()
        listener.join()
    if not hung and process.returncode == 0:
        return []
    what = "it hung" if hung else f"it ended with {process.returncode}: {''.join(errors)[-1500:]}"
    now.note("hangs" if hung else "raw", {"number": now.next, **last, "found": what, "where": []})
    place = [figures[name] is now for name in names].index(True)
    return names[place if "number" in last else place + 1 :]  # one that cannot begin is not begun again


def _pass_on(lines: IO[str], into: queue.Queue[str | None]) -> None:
    with lines:
        for line in lines:
            into.put(line)
    into.put(None)


def _keep(lines: IO[str], into: list[str]) -> None:
    with lines:
        into.append(lines.read())

"""Cells of `peer_picks.py`: each is asked of a process of its own, and written to a file as soon as it is known.

A cell that is on disk is not played again, so a run may be halted at any moment and taken up later. One that did not
finish within its limit is played again only if it is given more time.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

from minmargin.files import write_json

POLL = 0.05  # seconds between two looks at the clock

#: Every library is given one thread, so that processor time is what a machine without other work would take.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

#: Tells the seconds that a process has had.
Clock = Callable[[int], float]


def wall_clock(pid: int) -> float:
    """Return seconds that pass, whatever a process does."""
    del pid
    return time.monotonic()


def processor_clock(pid: int) -> float:
    """Return the seconds that a process has computed: it has had none while it was halted, or others were at work."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Worker:
    """A process that answers jobs, each in a line of JSON. It is started when it is first asked.

    Args:
        command: that starts it.
        environment: what is added to the environment of this process.
        clock: what limits are counted by.
    """

    def __init__(
        self,
        command: list[str],
        *,
        environment: Mapping[str, str] | None = None,
        clock: Clock = wall_clock,
    ) -> None:
        self._command = command
        self._environment = {**os.environ, **(environment or {})}
        self._clock = clock
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self._end()

    def ask(self, job: dict[str, Any], *, limit: float) -> dict[str, Any]:
        """Return the answer to a job; one that says why under `stopped`, if there was none within the limit."""
        process = self._started()
        assert process.stdin is not None, "it has a pipe for jobs"
        assert process.stdout is not None, "it has a pipe for answers"
        start = self._clock(process.pid)
        process.stdin.write(json.dumps(job) + "\n")
        process.stdin.flush()
        while not select.select([process.stdout], [], [], POLL)[0]:
            if self._clock(process.pid) - start > limit:
                self._end()
                return {"stopped": f"did not finish in {limit:,.0f} s", "limit": limit}
        line = process.stdout.readline()
        if not line:
            status = process.wait()
            self._end()
            return {"stopped": f"its process ended with status {status}"}
        answer: dict[str, Any] = json.loads(line)
        return {"stopped": answer["error"]} if "error" in answer else answer

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                env=self._environment,
            )
        return self._process

    def _end(self) -> None:
        """End the process, if there is one; the next job starts another."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


def strategy_worker(way: str, python: str, *, one_thread: bool) -> Worker:
    """Return a worker that picks by a way of `peer_strategies.py`; limits of one thread are processor time."""
    command = [python, str(Path(__file__).with_name("peer_strategies.py")), way]
    if one_thread:
        return Worker(command, environment=ONE_THREAD, clock=processor_clock)
    return Worker(command)


class Cells:
    """What is known of cells: a file each, in a folder.

    Args:
        folder: where the files are, and new ones go.
        rules: what else cells depend on; those of other rules do not belong together.
    """

    def __init__(self, folder: Path, rules: str) -> None:
        self._folder = folder
        self._rules = rules
        folder.mkdir(parents=True, exist_ok=True)

    def read(self, *key: object) -> dict[str, Any] | None:
        """Return what is known of a cell, None if nothing is."""
        path = self._path(key)
        if not path.exists():
            return None
        found: dict[str, Any] = json.loads(path.read_text())
        if found["rules"] != self._rules:
            sys.exit(
                f"{path} was played by other rules ({found['rules']}; now: {self._rules}). "
                "Use another folder with --cells."
            )
        return found

    def write(self, key: tuple[object, ...], found: Mapping[str, Any]) -> None:
        """Keep what was found, whole or not at all."""
        write_json(self._path(key), {"rules": self._rules, **found})

    def left(self, key: tuple[object, ...], *, limit: float) -> bool:
        """Return whether a cell is still to be played: it is unknown, or had less time than there is now."""
        found = self.read(*key)
        return found is None or found.get("limit", limit) < limit

    def _path(self, key: tuple[object, ...]) -> Path:
        return self._folder / (".".join(str(part).replace(" ", "-") for part in key) + ".json")

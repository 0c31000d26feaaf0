"""Change and use files of some targets, and print what came of each change, one JSON object a line.

Run as `python child.py FOLDER SECONDS TARGET FIRST LAST [TARGET FIRST LAST]...`. The seconds are shared out among the
targets. It may not take much more memory than it has when a target begins: a file that makes a reader ask for more than
that is a fault.
"""

from __future__ import annotations

import json
import random
import resource
import sys
import time
import traceback
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz.target import Trial
from fuzz.targets import TARGETS

_MORE_MEMORY = 2 << 30
_AT_LEAST = 2  # changes of each target, however late it is


def main() -> None:
    """Try the changes with these numbers, as far as there is time."""
    folder, deadline = Path(sys.argv[1]), time.monotonic() + float(sys.argv[2])
    asked = list(zip(sys.argv[3::3], map(int, sys.argv[4::3]), map(int, sys.argv[5::3]), strict=True))
    for place, (name, first, last) in enumerate(asked):
        start = time.monotonic()
        until = start + (deadline - start) / (len(asked) - place)
        _say(target=name)
        _try(name, Trial(TARGETS[name], folder / name), range(first, last), until)


def _try(name: str, trial: Trial, numbers: range, deadline: float) -> None:
    _limit_memory()
    for place, number in enumerate(numbers):
        if place >= _AT_LEAST and time.monotonic() > deadline:
            break
        change = trial.change(random.Random(f"{name} {number}"))  # noqa: S311 - no secrets
        _say(number=number, change=change.words)
        try:
            _say(outcome=trial.outcome(change))
        except (Exception, MemoryError, RecursionError) as error:  # noqa: BLE001 - this is what is looked for
            _say(found=" ".join(f"{type(error).__name__}: {error}"[:600].split()), where=_where(error))
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def _limit_memory() -> None:
    """Let this process have some memory more than it has by now, and no core file."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + _MORE_MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _where(error: BaseException) -> list[str]:
    frames = traceback.extract_tb(error.__traceback__)
    return [f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames][-6:]


def _say(**record: Any) -> None:
    print(json.dumps(record), flush=True)  # noqa: T201 - for whoever started it


if __name__ == "__main__":
    main()

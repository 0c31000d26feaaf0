"""Try every fault for real, print what happened, and write the table of docs/reliability.md.

Run as `python tests/faults/run.py [--quick] [--only NAME] [--out docs/reliability.md]`. It stops with an error at the
first thing that no fault may cause.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from faults import arrays, hostile, interrupted, killed, mutations, obstacles, struck
from faults.page import page

FAULTS = {
    "killed": killed.tried,
    "struck": struck.tried,
    "interrupted": interrupted.tried,
    "obstacles": obstacles.tried,
    "arrays": arrays.tried,
    "mutations": mutations.tried,
    "hostile": hostile.tried,
}


def main() -> None:
    """Try the faults that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a handful of each, in well under a minute")
    parser.add_argument("--only", choices=FAULTS, action="append", help="one kind of fault; repeat for more")
    parser.add_argument("--out", type=Path, help="the page to write")
    arguments = parser.parse_args()
    rows = []
    for name in arguments.only or FAULTS:
        start = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            found = FAULTS[name](Path(folder) / name, quick=arguments.quick)
        for row in found:
            _say(str(row))
        _say(f"{name}: {time.monotonic() - start:.0f} s\n")
        rows += found
    if arguments.out is not None:
        machine = f"{platform.system()}, {platform.machine()}, {os.cpu_count()} cores"
        day = datetime.now(UTC).date().isoformat()
        text = page(rows, day=day, machine=machine, python=platform.python_version())
        arguments.out.write_text(text, encoding="utf-8")


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - counts, for whoever runs it


if __name__ == "__main__":
    main()

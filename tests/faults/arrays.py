"""An array file that is cut short while it is read: a process that had mapped it into memory would be ended."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from faults.situation import Row, expect

_PROGRAM = Path(__file__).with_name("cut_array.py")


def tried(folder: Path, *, quick: bool) -> list[Row]:
    """Cut the file in processes of their own."""
    n_times = 1 if quick else 5
    folder.mkdir()
    for _ in range(n_times):
        run = subprocess.run(
            [sys.executable, str(_PROGRAM), str(folder)],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        expect(run.returncode == 0, f"Ended with {run.returncode}: {run.stderr}")
        expect(
            "pool.npy' was replaced or changed since it was opened" in run.stdout, f"It said {run.stdout!r}"
        )
    said = run.stdout.strip().replace(f"{folder}/", "")
    return [
        Row("Obstacle", "a `.npy` pool cut short in the middle of a scan", n_times, f"InputError: “{said}”")
    ]

"""Damaged files of every kind: an error or the right answer, never a crash, a hang or a wrong answer.

Files are damaged and read in batches, each in a process of its own, so that a crash is seen and blamed on its file.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

from faults.damaging import KINDS
from faults.situation import Row, UnexpectedOutcomeError, expect

_READER = Path(__file__).with_name("reading.py")
_PATIENCE_S = 300.0
_WORDS = {
    "parquet": "Parquet pools with page checksums",
    "csv": "CSV pools",
    "feather": "Feather pools",
    "npy": "`.npy` pools",
    "checkpoint": "checkpoints",
    "committee": "saved committees",
}


def tried(folder: Path, *, quick: bool) -> list[Row]:
    """Damage files of each kind, and let a process read them."""
    n_each = 12 if quick else 350
    folder.mkdir()
    rows = []
    kinds = list(KINDS)
    # Two processes at a time; a quick run is one, since loading the package takes longer than reading.
    shares = [[kinds[0::2], kinds[1::2]]] if not quick else [[kinds]]
    counts: Counter[tuple[str, str]] = Counter()
    for share in shares:
        processes = [_started(folder / str(place), kinds, n_each) for place, kinds in enumerate(share)]
        try:
            for process in processes:
                counts.update(_outcomes(process))
        finally:
            for process in processes:
                if process.poll() is None:
                    process.kill()
                    process.communicate()
    for kind in kinds:
        found = {outcome: n for (of, outcome), n in counts.items() if of == kind}
        expect(sum(found.values()) == n_each, f"{kind}: {found} in place of {n_each} outcomes.")
        happened = ", ".join(f"{found[outcome]} {outcome}" for outcome in sorted(found))
        rows.append(Row("Damage", f"{_WORDS[kind]}: flips, cuts, junk, another schema", n_each, happened))
    return rows


def _started(folder: Path, kinds: list[str], n_each: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(_READER), str(folder), str(n_each), *kinds],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _outcomes(process: subprocess.Popen[str]) -> Counter[tuple[str, str]]:
    """Return how often each kind of file had each outcome."""
    try:
        output, errors = process.communicate(timeout=_PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        output, _ = process.communicate()
        last = output.splitlines()[-1:]
        raise UnexpectedOutcomeError(f"Reading a damaged file hung: {last}") from None
    records = [json.loads(line) for line in output.splitlines()]
    counts = Counter((record["kind"], record["outcome"]) for record in records if "outcome" in record)
    expect(process.returncode == 0, f"Ended with {process.returncode} at {records[-1:]}: {errors[-3000:]}")
    return counts

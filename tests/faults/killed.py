"""The process is killed, again and again, and taken up each time."""

from __future__ import annotations

import random
import shutil
import signal
import time
from pathlib import Path

import pyarrow as pa

from faults.situation import Outcome, Row, Situation, ended, expect, read_batch, started
from minmargin.scan.checkpoint import read_state

_PAUSE = 0.02
_KILLS_OF_ONE = 5  # selection


def tried(folder: Path, *, quick: bool) -> list[Row]:
    """Kill selections at random moments, resume each until it finishes, and compare its batch."""
    n_kills = 1 if quick else 50
    situation = Situation.made(folder)
    right = situation.right_batch()
    rng = random.Random(0)  # noqa: S311 - moments, no secrets
    killed = finished = resumed_later = n_looks = 0
    while killed < n_kills or not finished:
        out, checkpoint = folder / "out" / "batch.parquet", folder / "checkpoint"
        shutil.rmtree(checkpoint, ignore_errors=True)
        shutil.rmtree(out.parent, ignore_errors=True)
        out.parent.mkdir()
        n_finished_before, enough = 0, min(killed + _KILLS_OF_ONE, n_kills)
        while True:
            # A selection that was killed often enough is left alone.
            moment = rng.uniform(0.0, 1.0) if killed < enough else None
            outcome, looks = _run_and_kill(situation, out, checkpoint, right, moment)
            n_looks += looks
            state = read_state(checkpoint)
            n_finished = 0 if state is None else len(state.each("finished", int))
            expect(n_finished >= n_finished_before, "A later state has less than an earlier one.")
            resumed_later += n_finished_before > 0
            n_finished_before = n_finished
            if outcome.status == 0:
                break
            expect(outcome.status == -signal.SIGKILL, f"Ended with {outcome.status}: {outcome.errors}")
            killed += 1
        expect(read_batch(out).equals(right), "The batch differs after kills.")
        expect(not list(checkpoint.glob(".*.tmp")), "Temporary files were left in the checkpoint.")
        finished += 1
    return [
        Row(
            "SIGKILL",
            f"the process killed at random moments, taken up until it finishes ({finished} selections)",
            killed,
            f"the same batch to the bit each time; {resumed_later} runs began from a state on disk; the batch file "
            f"was looked at {n_looks:,} times: absent or whole",
        )
    ]


def _run_and_kill(
    situation: Situation, out: Path, checkpoint: Path, right: pa.Table, moment: float | None
) -> tuple[Outcome, int]:
    """Return how a run ended that is killed so many seconds after its start, and how often its file was looked at."""
    n_looks = 0
    options = ["--pause", str(_PAUSE), "--write-for", "0.3"]
    with started(situation.start(out, checkpoint, options=options)) as process:
        deadline = None if moment is None else time.monotonic() + moment
        while process.poll() is None and (deadline is None or time.monotonic() < deadline):
            n_looks += 1
            if out.exists():
                expect(read_batch(out).equals(right), "A part of a batch was seen under the final name.")
            time.sleep(0.005)
        if process.poll() is None:
            process.kill()
        outcome = ended(process)
    visible = [path.name for path in out.parent.iterdir() if not path.name.startswith(".")]
    expect(visible in ([], [out.name]), f"{visible} were left behind.")
    if visible:
        expect(read_batch(out).equals(right), "A part of a batch was left under the final name.")
    return outcome, n_looks + 1

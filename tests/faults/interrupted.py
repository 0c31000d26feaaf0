"""Ctrl-C: the command ends soon, keeps what it has, and says how to go on."""

from __future__ import annotations

import random
import shutil
import signal
import time
from pathlib import Path

import numpy as np

from faults.situation import N_FILES, Row, Situation, ended, expect, only_whole_files, read_batch, started
from minmargin.scan.checkpoint import read_state

_MOST_SECONDS = 2.0  # one second is the aim; the machine may be busy


def tried(folder: Path, *, quick: bool) -> list[Row]:
    """Interrupt the command at random moments, and let the same command finish."""
    n_times = 1 if quick else 20
    situation = Situation.made(folder)
    right = situation.right_batch()
    rng = random.Random(1)  # noqa: S311 - moments, no secrets
    seconds: list[float] = []
    n_told = n_with_state = 0
    while len(seconds) < n_times:
        out, checkpoint = folder / "out" / "batch.parquet", folder / "checkpoint"
        shutil.rmtree(checkpoint, ignore_errors=True)
        shutil.rmtree(out.parent, ignore_errors=True)
        out.parent.mkdir()
        with started(situation.start(out, checkpoint, options=["--pause", "0.05"])) as process:
            time.sleep(rng.uniform(0.1, 1.4))
            if process.poll() is not None:
                continue
            process.send_signal(signal.SIGINT)
            start = time.monotonic()
            outcome = ended(process)
            seconds.append(time.monotonic() - start)
        expect(outcome.status not in {0, 2}, f"Ended with {outcome.status}: {outcome.errors}")
        hint = f"What was found so far is in {checkpoint}; the same command goes on from there."
        state = read_state(checkpoint)
        n_told += hint in outcome.errors
        # When the selection has ended, there is nothing to go on with.
        begun = state is not None and len(state.each("finished", int)) < N_FILES
        expect(hint in outcome.errors or not begun, f"It did not say how to go on: {outcome.errors!r}")
        expect("Traceback" not in outcome.errors, f"It showed a traceback: {outcome.errors}")
        only_whole_files(out.parent, out.name, right)
        n_with_state += state is not None
        again = situation.run(out, checkpoint)
        expect(again.status == 0, f"The same command failed: {again.errors}")
        expect(read_batch(out).equals(right), "The batch differs after an interrupt.")
    slowest = max(seconds)
    expect(slowest <= _MOST_SECONDS, f"It took {slowest:.2f} s to end.")
    return [
        Row(
            "Ctrl-C",
            "SIGINT to `minmargin select --checkpoint` at random moments (fragments of 250 rows)",
            len(seconds),
            f"ended after {np.median(seconds):.2f} s (median; at most {slowest:.2f} s); {n_told} had begun to select, "
            f"and said how to go on; {n_with_state} had a state on disk; the same command then gave the same batch",
        )
    ]

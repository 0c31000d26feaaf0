"""The command line in small steps: fragments of one file, a checkpoint after each, and a pause so that faults find it.

Run as `python program.py [--pause S] [--largest-file BYTES] [--write-for S] -- select ...`. It prints
"ready" when everything has been loaded. Nothing else differs from `minmargin`.
"""

from __future__ import annotations

import argparse
import resource
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import minmargin as mm
from minmargin import cli
from minmargin.batch import Batch
from minmargin.scan import checkpoint, fragments


def main() -> int:
    """Return the exit status of the command line."""
    split = sys.argv.index("--")
    parser = argparse.ArgumentParser()
    parser.add_argument("--pause", type=float, default=0.0, help="seconds, after each fragment")
    parser.add_argument("--largest-file", type=int, help="bytes that a file may have")
    parser.add_argument(
        "--write-for", type=float, default=0.0, help="seconds to write the batch again and again"
    )
    options = parser.parse_args(sys.argv[1:split])
    _warm_up()
    make_small_steps(options.pause)
    _write_for(options.write_for)
    if options.largest_file is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (options.largest_file, options.largest_file))
    sys.argv = ["minmargin", *sys.argv[split + 1 :]]
    print("ready", flush=True)  # noqa: T201 - for whoever started it
    return cli.run()


def _warm_up() -> None:
    """Load what a selection loads when it is first needed, so that moments after the start fall into the scan."""
    X = np.arange(16.0).reshape(8, 2)
    mm.select(X, [0, 0, 0, 1, 1, 1, 2, 2], X, 2, n_models=2, n_jobs=1, random_state=0)


def make_small_steps(pause: float) -> None:
    """Have every file of a pool be a fragment, with a state on disk and a pause after it."""
    fragments._FRAGMENT_ROWS = 1
    fragments._TIMES_THE_BATCH = 0
    checkpoint._SECONDS = 0.0
    write_if_due = checkpoint.Checkpoint.write_if_due

    def slowed(self: checkpoint.Checkpoint, state: checkpoint.Progressed) -> None:
        write_if_due(self, state)
        time.sleep(pause)

    checkpoint.Checkpoint.write_if_due = slowed  # type: ignore[method-assign]


def _write_for(seconds: float) -> None:
    """Write the batch again and again for some time: a kill shall find it being written."""
    to_parquet = Batch.to_parquet

    def again_and_again(self: Batch, path: Any) -> Path:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            to_parquet(self, path)
        return to_parquet(self, path)

    from minmargin.batch import batch  # noqa: PLC0415 - only to replace what it calls

    batch._WRITERS[".parquet"] = again_and_again


if __name__ == "__main__":
    sys.exit(main())

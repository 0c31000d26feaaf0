"""A program whose children play a campaign and are killed while they do.

It reads on standard input in which folder each plays and how it shall die: see `Touches` and `die_after`; 0 is never.
It starts the child, which says what has returned, and says how it ended. Only the first child pays for the start of
Python and the imports.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

import numpy as np

import minmargin as mm


def say(what: str, **more: object) -> None:
    print(json.dumps({"done": what, **more}), flush=True)  # noqa: T201 - the test reads it


class Touches:
    """Counts how often this process touches the campaign's files, and kills it before it does for the n-th time."""

    def __init__(self, folder: Path, die_at: int) -> None:
        self.folder, self.die_at, self.number = str(folder), die_at, 0
        sys.addaudithook(self.watch)

    def watch(self, event: str, arguments: tuple[object, ...]) -> None:
        touching = event in {"open", "os.rename", "os.remove", "os.mkdir", "sqlite3.connect"}
        if touching and self.folder in " ".join(map(str, arguments)):
            self.number += 1
            if self.number == self.die_at:
                os.kill(os.getpid(), signal.SIGKILL)


def die_after(seconds: float) -> None:
    """Have the kernel end this process, wherever it is, when it has computed for so long.

    SIGPROF, which nobody handles, ends it as SIGKILL does. On a busy machine a process waits, and the clock of its own
    computing with it.
    """
    signal.setitimer(signal.ITIMER_PROF, seconds)


def main(folder: Path, truth: dict[str, str], n_rounds: int, learner: str) -> None:
    given = learner == "given"
    if (folder / "settings.json").exists():
        campaign = mm.Campaign.open(folder)
    else:
        more = {"classes": sorted(set(truth.values()))} if given else {"n_models": 2}
        campaign = mm.Campaign.init(
            folder,
            labeled="labeled.csv",
            label_column="y",
            pool="pool/*.parquet",
            id_column="row_id",
            batch_size=4,
            audit=3,
            stop_hints=True,
            learner=learner,
            random_state=0,
            **more,
        )
    while campaign.n_rounds < n_rounds or campaign.status(n_jobs=1).unlabeled:
        if not campaign.status(n_jobs=1).unlabeled:
            told = (
                {"probabilities": f"predicted-{campaign.n_rounds}.parquet", "columns": "p_*"} if given else {}
            )
            say("next", ids=campaign.next(csv=True, n_jobs=1, **told).ids.tolist())
        ids = campaign.batch()["id"].to_pylist()
        for some in (ids[:2], ids):
            campaign.add_labels({each: truth[each] for each in some}, n_jobs=1)
            say("add_labels", ids=some)


def warm_up() -> None:
    """Load what a selection loads when it is first needed."""
    X = np.arange(16.0).reshape(8, 2)
    mm.select(X, [0, 0, 0, 1, 1, 1, 2, 2], X, 2, n_models=2, n_jobs=1, random_state=0)


if __name__ == "__main__":
    truth, n_rounds, learner = json.loads(Path(sys.argv[1]).read_text()), int(sys.argv[2]), sys.argv[3]
    warm_up()
    for line in sys.stdin:
        told = json.loads(line)
        child = os.fork()
        if not child:
            touches = Touches(Path(told["folder"]), told["die_at"])
            die_after(told["die_after"])
            main(Path(told["folder"]), truth, n_rounds, learner)
            say("finished", touches=touches.number, seconds=time.process_time())
            os._exit(0)
        say("end", status=os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

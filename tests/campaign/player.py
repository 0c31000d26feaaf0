"""A program whose children play a campaign and are killed while they do.

It reads on standard input how each shall die, a number (see `die_at`) or 0, and starts the child, whose number it says,
which says what has returned, and whose end it says. Only the first child pays for the start of Python and the imports.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import numpy as np

import minmargin as mm


def say(what: str, **more: object) -> None:
    print(json.dumps({"done": what, **more}), flush=True)  # noqa: T201 - the test reads it


def die_at(number: int, folder: Path) -> None:
    """Have this process killed when it is about to touch the campaign's files for the given time."""
    touched = 0

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal touched
        if event in {"open", "os.rename", "os.remove", "os.mkdir", "sqlite3.connect"}:
            touched += str(folder) in " ".join(map(str, arguments))
            if touched == number:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)


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
            learner=learner,
            random_state=0,
            **more,
        )
    say("ready")
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
    say("finished")


def warm_up() -> None:
    """Load what a selection loads when it is first needed."""
    X = np.arange(16.0).reshape(8, 2)
    mm.select(X, [0, 0, 0, 1, 1, 1, 2, 2], X, 2, n_models=2, n_jobs=1, random_state=0)


if __name__ == "__main__":
    folder, truth, n_rounds = Path(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text()), int(sys.argv[3])
    learner = sys.argv[4]
    warm_up()
    for line in sys.stdin:
        child = os.fork()
        if not child:
            say("start", process=os.getpid())
            if int(line):
                die_at(int(line), folder)
            main(folder, truth, n_rounds, learner)
            os._exit(0)
        say("end", status=os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

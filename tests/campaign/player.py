"""A program that plays a campaign and is killed while it does: it says on standard output what has returned."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

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


def main(folder: Path, truth: dict[str, str], n_rounds: int) -> None:
    if (folder / "settings.json").exists():
        campaign = mm.Campaign.open(folder)
    else:
        campaign = mm.Campaign.init(
            folder,
            labeled="labeled.csv",
            label_column="y",
            pool="pool/*.parquet",
            id_column="row_id",
            batch_size=4,
            n_models=2,
            random_state=0,
        )
    say("ready")
    while campaign.n_rounds < n_rounds or campaign.status(n_jobs=1).unlabeled:
        if not campaign.status(n_jobs=1).unlabeled:
            say("next", ids=campaign.next(csv=True, n_jobs=1).ids.tolist())
        ids = campaign.batch()["id"].to_pylist()
        for some in (ids[:2], ids):
            campaign.add_labels({each: truth[each] for each in some}, n_jobs=1)
            say("add_labels", ids=some)
    say("finished")


if __name__ == "__main__":
    if int(sys.argv[4]):
        die_at(int(sys.argv[4]), Path(sys.argv[1]))
    main(Path(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text()), int(sys.argv[3]))

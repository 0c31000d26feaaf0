"""A real process is killed at many moments of a campaign; whatever it had said was done is there, and only once."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Self

import numpy as np
import pandas as pd
import pytest

import minmargin as mm
from campaign.flowers import IDS, TRUTH
from campaign.told import CLASSES
from minmargin.campaign.tables import checksum
from minmargin.files import LockError, locked_folder

PLAYER = Path(__file__).with_name("player.py")
N_ROUNDS = 4


class Players:
    """Processes that play a campaign, one after the other."""

    def __init__(self, folder: Path, learner: str) -> None:
        Path("truth.json").write_text(json.dumps(TRUTH))
        command = [sys.executable, str(PLAYER), str(folder), "truth.json", str(N_ROUNDS), learner]
        self.program = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.program.kill()
        self.program.communicate()

    def play(self, die_at: int = 0, kill_after: float | None = None) -> tuple[int, list[dict[str, object]]]:
        """Return how a process ended, and what it had said; `kill_after`: seconds after it first said something."""
        assert self.program.stdin is not None
        assert self.program.stdout is not None
        self.program.stdin.write(f"{die_at}\n")
        self.program.stdin.flush()
        said: list[dict[str, object]] = []
        for line in self.program.stdout:
            said.append(json.loads(line))
            if said[-1]["done"] == "end":
                break
            if said[-1]["done"] == "ready" and kill_after is not None:
                time.sleep(kill_after)
                with suppress(ProcessLookupError):  # it may have finished
                    os.kill(int(str(said[0]["process"])), signal.SIGKILL)
        return int(str(said[-1]["status"])), said[1:-1]


def check(folder: Path, said: list[dict[str, object]]) -> None:
    """Assert that the journal and the files agree, and that nothing that was said to be done is lost."""
    if not (folder / "settings.json").exists():  # killed before the campaign had begun
        assert not said
        return
    campaign = mm.Campaign.open(folder)
    journal = campaign._journal
    picked = [each for made in journal.rounds() for each in journal.picks(made.number)]
    assert len(picked) == len(set(picked)), "a row was picked twice"
    for made in journal.rounds():
        assert checksum(folder / "batches" / made.file) == made.sha256
        assert campaign.batch(made.number)["id"].to_pylist() == journal.picks(made.number)
    if campaign.settings.given:
        assert list(journal.evidence()) == [made.number for made in journal.rounds()]
    labels = journal.labels()
    assert set(labels) <= set(picked)
    assert all(label.label == TRUTH[each] for each, label in labels.items())
    for line in said:
        known = labels if line["done"] == "add_labels" else picked
        assert set(line.get("ids", ())) <= set(known), f"{line} was lost"
    assert len(campaign.labeled()) == 15 + len(labels)


@pytest.mark.slow
@pytest.mark.parametrize("learner", ["logistic", "given"])
def test_killed_at_any_moment_a_campaign_is_whole_and_goes_on(here, learner):
    for number in range(N_ROUNDS):  # in another order than the pool
        members = np.random.default_rng(number).dirichlet(np.ones(3), size=len(IDS))
        frame = pd.DataFrame(members, columns=[f"p_{name}" for name in CLASSES]).assign(row_id=IDS)
        frame[::-1].to_parquet(f"predicted-{number}.parquet")
    moments = random.Random(0)  # noqa: S311 - when to kill, not a secret
    folder, said, n_killed = Path("flowers"), [], 0
    with Players(folder, learner) as players:
        for turn in range(14):
            # In turns: before it touches a file for the n-th time, and at any time, be it in a transaction.
            if turn % 2 == 0:
                status, lines = players.play(die_at=moments.randint(1, 60))
            else:
                status, lines = players.play(kill_after=moments.uniform(0.0, 0.6))
            n_killed += status == -signal.SIGKILL
            said += lines
            check(folder, said)
        assert n_killed >= 7
        assert players.play()[0] == 0
    check(folder, said)
    assert mm.Campaign.open(folder).n_rounds == N_ROUNDS
    kinds = sorted(path.suffix for path in (folder / "batches").iterdir())
    assert kinds == [".csv"] * N_ROUNDS + [".parquet"] * N_ROUNDS


def test_the_batches_of_a_killed_campaign_are_those_of_one_that_was_not(here, begin):
    first = begin("whole", batch_size=4, n_models=2)
    for _ in range(2):
        first.add_labels({each: TRUTH[each] for each in first.next(n_jobs=1).ids.tolist()}, n_jobs=1)
    second = begin("killed", batch_size=4, n_models=2)
    second.add_labels({each: TRUTH[each] for each in second.next(n_jobs=1).ids.tolist()}, n_jobs=1)
    # What a process leaves that is killed between the batch file and the journal.
    orphan = Path("killed/batches/round-002.parquet")
    orphan.write_bytes(b"of a round that never was")
    Path("killed/batches/.round-002.parquet.x.tmp").write_bytes(b"half")
    second.next(n_jobs=1)
    assert second.batch(2)["id"].to_pylist() == first.batch(2)["id"].to_pylist()
    assert [path.name for path in sorted(Path("killed/batches").iterdir())] == [
        "round-001.parquet",
        "round-002.parquet",
    ]


def test_a_second_process_is_told_who_has_the_campaign(begin):
    campaign = begin()
    with locked_folder(campaign.folder, "Campaign"), pytest.raises(LockError) as caught:
        campaign.next(n_jobs=1)
    assert str(caught.value).startswith("Campaign 'flowers' is in use by process ")
    assert str(caught.value).endswith(". Wait for it, or use another folder.")

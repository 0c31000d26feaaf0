"""A real process is killed at many moments of a campaign; whatever it had said was done is there, and only once."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

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

    def __init__(self, learner: str) -> None:
        Path("truth.json").write_text(json.dumps(TRUTH))
        command = [sys.executable, str(PLAYER), "truth.json", str(N_ROUNDS), learner]
        self.program = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.program.kill()
        self.program.communicate()

    def play(self, folder: Path, die_at: int = 0, die_after: float = 0.0) -> tuple[int, list[dict[str, Any]]]:
        """Return how a process ended, and what it had said."""
        assert self.program.stdin is not None
        assert self.program.stdout is not None
        told = {"folder": str(folder), "die_at": die_at, "die_after": die_after}
        self.program.stdin.write(json.dumps(told) + "\n")
        self.program.stdin.flush()
        said: list[dict[str, Any]] = []
        for line in self.program.stdout:
            said.append(json.loads(line))
            if said[-1]["done"] == "end":
                break
        return said[-1]["status"], said[:-1]


def check(folder: Path, said: list[dict[str, Any]]) -> None:
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
    audits = journal.audits()
    assert list(audits) == [made.number for made in journal.rounds()]
    for number, drawn in audits.items():
        assert list(drawn) == journal.picks(number)[4:]
        assert list(drawn.values()) == campaign.batch(number)["predicted"].to_pylist()[4:]
    stop_sets = journal.stop_sets()
    assert list(stop_sets) == [made.number for made in journal.rounds()]
    for number, predicted in stop_sets.items():
        batch = campaign.batch(number)
        picks = dict(zip(batch["id"].to_pylist(), batch["predicted"].to_pylist(), strict=True))
        assert predicted.items() >= picks.items(), "the pool is small, and all of it is compared"
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
    deaths = []
    with Players(learner) as players:
        status, said = players.play(Path("measured"))
        assert status == 0
        whole = said[-1]
        # A process that is not killed ends its campaign. The next begins another, where it has more to do than it is
        # given, so that at least every other process is killed. Campaigns begin with either way to die in turns.
        n_ended, n_killed, said = 0, 0, []
        for _ in range(14):
            folder = Path(f"flowers-{n_ended}")
            # In turns: before it touches a file for the n-th time, and at any time, be it in a transaction.
            if (n_ended + n_killed) % 2 == 0:
                status, lines = players.play(folder, die_at=moments.randint(1, whole["touches"]))
            else:
                status, lines = players.play(folder, die_after=moments.uniform(0.001, whole["seconds"] / 2))
            deaths.append(status)
            said += lines
            check(folder, said)
            n_killed += 1
            if status == 0:
                check_finished(folder)
                n_ended, n_killed, said = n_ended + 1, 0, []
        assert {-signal.SIGKILL, -signal.SIGPROF} <= set(deaths) <= {-signal.SIGKILL, -signal.SIGPROF, 0}
        assert all(one or other for one, other in pairwise(deaths))
        folder = Path(f"flowers-{n_ended}")
        assert players.play(folder)[0] == 0
    check(folder, said)
    check_finished(folder)


def check_finished(folder: Path) -> None:
    """Assert that a campaign has all its rounds, and no file besides theirs."""
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

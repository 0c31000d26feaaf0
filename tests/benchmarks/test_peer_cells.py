"""Processes that are asked under a limit, and cells on disk."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import minmargin as mm
from peer_cells import Cells, Worker, processor_clock, strategy_worker, wall_clock

# Answers with what it is told; sleeps, computes, fails or ends where it is told to.
PLAYED = """
import json, sys, time
for line in sys.stdin:
    job = json.loads(line)
    time.sleep(job.get("sleep", 0))
    while job.get("compute"):
        pass
    if job.get("end"):
        sys.exit(3)
    print(json.dumps({"error": "MemoryError: too much"} if job.get("fail") else {"rows": job["rows"]}), flush=True)
"""


def played_worker(**settings: object) -> Worker:
    return Worker([sys.executable, "-c", PLAYED], **settings)  # type: ignore[arg-type]


def test_a_job_over_the_limit_did_not_finish_and_the_next_one_is_answered() -> None:
    with played_worker() as worker:
        assert worker.ask({"rows": [1]}, limit=30) == {"rows": [1]}
        assert worker.ask({"sleep": 60}, limit=1) == {"stopped": "did not finish in 1 s", "limit": 1}
        assert worker.ask({"rows": [2]}, limit=30) == {"rows": [2]}


def test_processor_time_passes_only_for_a_process_that_computes() -> None:
    with played_worker(clock=processor_clock) as worker:
        assert worker.ask({"sleep": 1.5, "rows": [1]}, limit=1) == {"rows": [1]}
        assert worker.ask({"compute": True}, limit=1) == {"stopped": "did not finish in 1 s", "limit": 1}


def test_what_ends_or_fails_is_stopped_and_says_why() -> None:
    with played_worker(clock=wall_clock) as worker:
        assert worker.ask({"end": True}, limit=30) == {"stopped": "its process ended with status 3"}
        assert worker.ask({"fail": True}, limit=30) == {"stopped": "MemoryError: too much"}
        assert worker.ask({"rows": [2]}, limit=30) == {"rows": [2]}


def test_a_way_picks_in_its_process_what_it_picks_here(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4)).astype(np.float32)
    y = (X[:, 0] > 0).astype(np.int64)
    np.savez(tmp_path / "draw.npz", X=X[:40], y=y[:40], pool=X[40:])
    job = {"arrays": str(tmp_path / "draw.npz"), "rows": 200, "size": 5, "seed": 7}
    with strategy_worker("minmargin margin", sys.executable, one_thread=True) as worker:
        answer = worker.ask(job, limit=120)
    batch = mm.select(X[:40], y[:40], X[40:240], 5, strategy="margin", random_state=7)
    assert answer["rows"] == batch.rows.tolist()
    assert answer["seconds"] > 0


def test_a_cell_is_left_until_it_is_known_or_there_is_more_time(tmp_path: Path) -> None:
    cells = Cells(tmp_path, "rules")
    key = ("magic04", 100, 0, "some library's way")
    assert cells.left(key, limit=10)
    cells.write(key, {"stopped": "did not finish in 10 s", "limit": 10})
    assert not cells.left(key, limit=10)
    assert cells.left(key, limit=20)
    cells.write(key, {"accuracy": 0.5})
    assert not cells.left(key, limit=20)
    assert Cells(tmp_path, "rules").read(*key) == {"rules": "rules", "accuracy": 0.5}


def test_cells_of_other_rules_are_refused(tmp_path: Path) -> None:
    Cells(tmp_path, "200 labeled").write(("magic04", 100), {"accuracy": 0.5})
    with pytest.raises(SystemExit) as refused:
        Cells(tmp_path, "300 labeled").read("magic04", 100)
    assert str(refused.value) == (
        f"{tmp_path / 'magic04.100.json'} was played by other rules (200 labeled; now: 300 labeled). "
        "Use another folder with --cells."
    )

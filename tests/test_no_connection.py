"""Nothing connects to anything unless it is asked to.

Python tells of every lookup and connection that goes through its sockets, so the ways to use the package run in a
process that listens, and in which they fail. Object storage is reached by compiled code, which nobody tells of: that it
is left alone unless a URI is given is tested in pools/test_storage.py.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import NamedTuple

import pytest

SELECT = (
    "select --labeled labeled.parquet --label-column y --pool pool.parquet --batch-size 5 --out batch.parquet"
)
ALONE = {
    "select": SELECT,
    "select with a checkpoint": f"{SELECT} --checkpoint state --json",
    "demo": "demo --out demo",
    "strategies": "strategies",
    "data list": "data list",
}
ASKED = {
    "a data set": "data fetch mnist --data-dir data",
    "a pool behind a link": SELECT.replace("pool.parquet", "http://127.0.0.1:9/pool.parquet"),
}

# One process: a start for each way would take longer than all of them. It listens from before anything is imported.
_SCRIPT = """
import sys

NETWORK = {"socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto", "socket.sendmsg"}
heard = []

def listen(event, arguments):
    if event in NETWORK:
        heard.append(event)
        raise ConnectionRefusedError(f"{event} in a test")

sys.addaudithook(listen)

import json
import shlex
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

rng = np.random.default_rng(0)
table = pa.table({"a": rng.normal(size=80), "b": rng.normal(size=80), "y": np.arange(80) % 2})
pq.write_table(table, "labeled.parquet")
pq.write_table(table.drop_columns("y"), "pool.parquet")

import minmargin as mm
from minmargin.experiments import digits

digits.N_DRAWS = 2  # a short demo

def library():
    mm.strategies()
    committee = mm.fit_committee("labeled.parquet", "y", random_state=0, n_models=3)
    committee.score("pool.parquet")
    committee.save("committee")
    mm.load_committee("committee").select("pool.parquet", 5, checkpoint="of-the-library")
    mm.select("labeled.parquet", "y", "pool.parquet", 5, random_state=0).to_csv("batch.csv")
    return 0

def command(line):
    from minmargin.cli import run

    sys.argv[1:] = shlex.split(line)
    return run()

found = {}
for name, line in [("library", None), *json.loads(sys.argv[1]).items()]:
    heard.clear()
    status = library() if line is None else command(line)
    found[name] = (status, list(heard))
print("FOUND" + json.dumps(found))
"""


class Heard(NamedTuple):
    """How a way to use the package ended, and what it looked up or connected to."""

    status: int
    events: list[str]


@pytest.fixture(scope="module")
def heard(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Heard]:
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT, json.dumps(ALONE | ASKED)],
        cwd=tmp_path_factory.mktemp("no-connection"),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.rpartition("FOUND")[2])
    return {name: Heard(*each) for name, each in found.items()}


@pytest.mark.parametrize("way", ["library", *ALONE])
def test_nothing_is_looked_up_or_connected_to(way: str, heard: dict[str, Heard]) -> None:
    assert heard[way] == (0, [])


@pytest.mark.parametrize(
    ("way", "told"), [("a data set", "socket.getaddrinfo"), ("a pool behind a link", "socket.connect")]
)
def test_what_is_asked_for_is_connected_to(way: str, told: str, heard: dict[str, Heard]) -> None:
    assert heard[way].status == 1
    assert told in heard[way].events

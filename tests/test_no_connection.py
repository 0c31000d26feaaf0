"""Nothing connects to anything unless it is asked to.

Python tells of every lookup and connection that goes through its sockets, so each way to use the package runs in a
process of its own that listens, and in which they fail. Object storage is reached by compiled code, which nobody tells
of: that it is left alone unless a URI is given is tested in pools/test_storage.py.
"""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

_LISTEN = """
    import sys

    NETWORK = {"socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto", "socket.sendmsg"}

    def listen(event, arguments):
        if event in NETWORK:
            print(f"the network: {event}", file=sys.stderr, flush=True)
            raise ConnectionRefusedError(f"{event} in a test")

    sys.addaudithook(listen)
"""
_FILES = """
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    table = pa.table({"a": rng.normal(size=80), "b": rng.normal(size=80), "y": np.arange(80) % 2})
    pq.write_table(table, "labeled.parquet")
    pq.write_table(table.drop_columns("y"), "pool.parquet")
"""
_LIBRARY = """
    import minmargin as mm

    mm.strategies()
    committee = mm.fit_committee("labeled.parquet", "y", random_state=0, n_models=3)
    committee.score("pool.parquet")
    committee.save("committee")
    mm.load_committee("committee").select("pool.parquet", 5, checkpoint="state")
    mm.select("labeled.parquet", "y", "pool.parquet", 5, random_state=0).to_csv("batch.csv")
"""
_COMMAND = """
    import sys
    from minmargin.cli import run

    sys.argv[1:] = {words!r}
    sys.exit(run())
"""
_SELECT = (
    "select --labeled labeled.parquet --label-column y --pool pool.parquet --batch-size 5 --out batch.parquet"
)


def run(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a script that is told of every connection, and denied it."""
    whole = "\n".join(map(textwrap.dedent, (_LISTEN, _FILES, script)))
    return subprocess.run(
        [sys.executable, "-c", whole], cwd=folder, capture_output=True, text=True, check=False, timeout=300
    )


def command(words: str) -> str:
    return textwrap.dedent(_COMMAND).format(words=words.split())


@pytest.mark.parametrize(
    "script",
    [
        _LIBRARY,
        command(_SELECT),
        command(f"{_SELECT} --checkpoint state --json"),
        command("demo --out demo"),
        command("strategies"),
        command("data list"),
    ],
    ids=["library", "select", "select with a checkpoint", "demo", "strategies", "data list"],
)
def test_nothing_is_looked_up_or_connected_to(script: str, tmp_path: Path) -> None:
    done = run(script, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "the network" not in done.stderr


@pytest.mark.parametrize(
    ("script", "told"),
    [
        (command("data fetch mnist --data-dir data"), "socket.getaddrinfo"),
        (command(_SELECT.replace("pool.parquet", "http://127.0.0.1:9/pool.parquet")), "socket.connect"),
    ],
    ids=["a data set", "a pool behind a link"],
)
def test_what_is_asked_for_is_connected_to(script: str, told: str, tmp_path: Path) -> None:
    done = run(script, tmp_path)
    assert done.returncode == 1, done.stderr
    assert f"the network: {told}" in done.stderr

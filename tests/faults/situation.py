"""What all faults are tried on: a small made-up pool, its right batch, and the program in a process of its own."""

from __future__ import annotations

import ctypes
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import minmargin as mm

PROGRAM = Path(__file__).with_name("program.py")
BATCH_SIZE, N_MODELS, SEED = 200, 5, 0
N_FILES, ROWS_OF_FILE, N_FEATURES = 24, 250, 4
_LIBC = ctypes.CDLL(None)
_GIVE_UP, _POWERS = 24, (1, 2)  # Linux: PR_CAPBSET_DROP, CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH
_PATIENCE_S = 120.0  # a process that takes longer hangs


class Row(NamedTuple):
    """A line of the table: what was tried, how many times, what happened."""

    fault: str
    tried: str
    times: int
    happened: str

    def __str__(self) -> str:
        return f"{self.times:6,}  {self.fault}: {self.tried}\n        {self.happened}"


class UnexpectedOutcomeError(AssertionError):
    """Something happened that no fault may cause."""


def expect(condition: object, otherwise: str) -> None:
    """Raise an error with this text unless the condition holds."""
    if not condition:
        raise UnexpectedOutcomeError(otherwise)


@dataclass(frozen=True)
class Outcome:
    """How a process ended: its exit status, negative for a signal, and what it printed."""

    status: int
    output: str
    errors: str


@dataclass(frozen=True)
class Situation:
    """A folder with labeled rows and a pool of Parquet files."""

    folder: Path

    @classmethod
    def made(cls, folder: Path) -> Situation:
        """Return the situation, with its files written."""
        situation = cls(folder)
        (folder / "pool").mkdir(parents=True)
        rng = np.random.default_rng(0)
        pq.write_table(_table(rng, 60, labeled=True), situation.labeled)
        for number in range(N_FILES):
            table = _table(rng, ROWS_OF_FILE, labeled=False)
            pq.write_table(table, situation.pool_file(number), write_page_checksum=True)
        return situation

    @property
    def labeled(self) -> Path:
        """The labeled rows."""
        return self.folder / "labeled.parquet"

    def pool_file(self, number: int) -> Path:
        """Return a file of the pool."""
        return self.folder / "pool" / f"part-{number:02}.parquet"

    def arguments(self, out: Path, checkpoint: Path | None) -> list[str]:
        """Return the arguments of `minmargin` that select from the pool."""
        return [
            *("select", "--labeled", str(self.labeled), "--label-column", "y"),
            *("--pool", str(self.folder / "pool"), "--batch-size", str(BATCH_SIZE), "--out", str(out)),
            *("--n-models", str(N_MODELS), "--seed", str(SEED), "--n-jobs", "2", "--preprocess", "none"),
            *([] if checkpoint is None else ["--checkpoint", str(checkpoint)]),
        ]

    def start(
        self, out: Path, checkpoint: Path | None, *, options: Sequence[str] = ()
    ) -> subprocess.Popen[str]:
        """Return the program, started, once it has been loaded. Permissions bind it, whoever runs it."""
        process = subprocess.Popen(
            [sys.executable, str(PROGRAM), *options, "--", *self.arguments(out, checkpoint)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=_be_bound_by_permissions,  # noqa: PLW1509 - it makes two system calls, and takes no lock
        )
        assert process.stdout is not None
        expect(process.stdout.readline() == "ready\n", "The program did not start.")
        return process

    def run(self, out: Path, checkpoint: Path | None, *, options: Sequence[str] = ()) -> Outcome:
        """Return how the program ended."""
        with started(self.start(out, checkpoint, options=options)) as process:
            return ended(process)

    def right_batch(self) -> pa.Table:
        """Return the batch of a run that nothing disturbs."""
        batch = mm.select(
            self.labeled,
            "y",
            self.folder / "pool",
            BATCH_SIZE,
            n_models=N_MODELS,
            random_state=SEED,
            n_jobs=1,
        )
        return batch.to_arrow().replace_schema_metadata(None)


@dataclass(frozen=True)
class Place:
    """Where one selection works: a folder for its batch, and one for its state."""

    situation: Situation
    folder: Path

    @classmethod
    def made(cls, situation: Situation, folder: Path) -> Place:
        """Return the place, with its folders made."""
        place = cls(situation, folder)
        for each in (folder, place.out.parent, place.checkpoint.parent):
            each.mkdir()
        return place

    @property
    def out(self) -> Path:
        """Where the batch goes."""
        return self.folder / "out" / "batch.parquet"

    @property
    def checkpoint(self) -> Path:
        """Where the state goes."""
        return self.folder / "state" / "checkpoint"

    def left(self) -> list[str]:
        """Return what lies where the batch should be."""
        return sorted(path.name for path in self.out.parent.iterdir())


@contextmanager
def started(process: subprocess.Popen[str]) -> Iterator[subprocess.Popen[str]]:
    """Give a process that does not outlive the block."""
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


def ended(process: subprocess.Popen[str]) -> Outcome:
    """Return how a process ends, or say that it hangs."""
    try:
        output, errors = process.communicate(timeout=_PATIENCE_S)
    except subprocess.TimeoutExpired:
        raise UnexpectedOutcomeError(f"The program hung for {_PATIENCE_S:.0f} s.") from None
    return Outcome(process.returncode, output, errors)


def wait_until(happened: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Wait until something has happened, while a process runs."""
    deadline = time.monotonic() + _PATIENCE_S
    while not happened():
        expect(process.poll() is None, "The program ended too early.")
        expect(time.monotonic() < deadline, "What was waited for did not happen.")
        time.sleep(0.002)


def read_batch(path: Path) -> pa.Table:
    """Return the batch in a file, without the manifest, which tells times."""
    return pq.read_table(path).replace_schema_metadata(None)


def only_whole_files(folder: Path, name: str, right: pa.Table) -> None:
    """Raise an error if a folder holds anything but the right batch under its name."""
    for path in folder.iterdir():
        expect(path.name == name, f"{path.name!r} was left behind.")
        expect(read_batch(path).equals(right), f"{path.name!r} holds another batch.")


def _be_bound_by_permissions() -> None:
    """Give up root's power to pass over the permissions of files, from the next program on; others have none."""
    for power in _POWERS:
        _LIBC.prctl(_GIVE_UP, power, 0, 0, 0)


def _names() -> list[str]:
    return [f"x{place}" for place in range(N_FEATURES)]


def _table(rng: np.random.Generator, n_rows: int, *, labeled: bool) -> pa.Table:
    X = rng.normal(size=(n_rows, N_FEATURES))
    columns = {name: X[:, place] for place, name in enumerate(_names())}
    if labeled:
        columns["y"] = np.argmax(X[:, :3] + rng.normal(size=(n_rows, 3)) / 2, axis=1)
    return pa.table(columns)

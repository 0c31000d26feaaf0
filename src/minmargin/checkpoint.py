"""Checkpoints: what a scan has found so far, on disk, so that an interrupted one is taken up where it stopped.

A folder holds `checkpoint.json`, which says what was asked for, which fragments are finished and what each file's
checksum is, and one Arrow file for each shortlist. New files are written beside the old ones, and the JSON file, which
names those that count, is replaced last: at any moment the folder holds one whole state.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from minmargin.atomic import write_json, write_whole
from minmargin.errors import InputError
from minmargin.parcel import from_table, to_table
from minmargin.seeds import SeedTree
from minmargin.strategies import Shortlist
from minmargin.topb import TopB

_FORMAT = 1
_STATE, _LOCK = "checkpoint.json", "lock"
_SECONDS = 5.0  # between two states on disk


@dataclass
class Progressed:
    """How far a scan has come.

    Attributes:
        tops: what each shortlist keeps so far.
        finished: the numbers of the fragments that are in it.
        n_rows: how many rows they have.
        n_decided: how many of these were scored exactly.
    """

    tops: list[TopB]
    finished: set[int] = field(default_factory=set)
    n_rows: int = 0
    n_decided: int = 0

    @classmethod
    def nothing(cls, shortlists: Sequence[Shortlist], seeds: SeedTree) -> Progressed:
        """Return the state of a scan that has not begun."""
        return cls([TopB(shortlist.size, seeds) for shortlist in shortlists])

    def add(self, number: int, kept: Sequence[TopB], n_rows: int, n_decided: int) -> None:
        """Take in what a fragment gave; one that comes twice, since a worker was lost, counts once."""
        if number in self.finished:
            return
        for top, more in zip(self.tops, kept, strict=True):
            top.merge(more)
        self.finished.add(number)
        self.n_rows += n_rows
        self.n_decided += n_decided


@dataclass
class Checkpoint:
    """A folder for the state of one scan.

    Attributes:
        folder: where.
        asked: everything that a batch depends on, by name: a state that was made for anything else is refused.
    """

    folder: Path
    asked: Mapping[str, Any]
    _written: float = field(default_factory=time.monotonic, repr=False)

    def read(self, shortlists: Sequence[Shortlist], seeds: SeedTree) -> Progressed:
        """Return the state on disk, or that of a scan that has not begun."""
        saved = read_state(self.folder)
        if saved is None:
            return Progressed.nothing(shortlists, seeds)
        self._check_same(saved["asked"])
        if len(saved["kept"]) != len(shortlists):
            raise _damaged(self.folder, "it has another number of files")
        tops = [
            from_table(self._read_table(entry), shortlist.size, seeds)
            for entry, shortlist in zip(saved["kept"], shortlists, strict=True)
        ]
        return Progressed(tops, set(saved["finished"]), saved["rows"], saved["rows_scored_exactly"])

    def write_if_due(self, state: Progressed) -> None:
        """Write the state if the last one on disk is some seconds old."""
        if time.monotonic() - self._written >= _SECONDS:
            self.write(state)

    def write(self, state: Progressed) -> None:
        """Write the state; until it is whole, the one before it counts."""
        entries = [self._write_table(place, to_table(top)) for place, top in enumerate(state.tops)]
        content = {
            "format": _FORMAT,
            "asked": dict(self.asked),
            "finished": sorted(state.finished),
            "rows": state.n_rows,
            "rows_scored_exactly": state.n_decided,
            "kept": entries,
        }
        write_json(self.folder / _STATE, {**content, "sha256": _digest_of(content)})
        current = {entry["file"] for entry in entries}
        for path in self.folder.glob("kept-*.arrow"):
            if path.name not in current:
                path.unlink()
        self._written = time.monotonic()

    @contextmanager
    def locked(self) -> Iterator[Checkpoint]:
        """Keep other processes out of the folder. The lock goes with the process that has it, however that ends."""
        import fcntl  # noqa: PLC0415 - not on Windows

        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            file = (self.folder / _LOCK).open("a+")
        except OSError as error:
            raise InputError(
                f"Checkpoint {str(self.folder)!r} cannot be used: {error.strerror}. "
                "Use a folder that you may write to."
            ) from error
        with file as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                lock.seek(0)
                raise InputError(
                    f"Checkpoint {str(self.folder)!r} is in use by {lock.read().strip() or 'another process'}. "
                    "Wait for it, or use another folder."
                ) from None
            with suppress(OSError):  # on a full disk the lock holds, it only does not tell whose it is
                lock.seek(0)
                lock.truncate()
                os.write(lock.fileno(), f"process {os.getpid()} on {socket.gethostname()}\n".encode())
            for left in self.folder.glob(".*.tmp"):  # by a process that was killed while it wrote
                left.unlink(missing_ok=True)
            yield self

    def _check_same(self, before: Mapping[str, Any]) -> None:
        now = json.loads(json.dumps(dict(self.asked)))
        names = [name for name in {**before, **now} if before.get(name) != now.get(name)]
        if names:
            changes = "; ".join(
                f"{name} was {_shown(before.get(name))}, now {_shown(now.get(name))}" for name in names
            )
            raise InputError(
                f"Checkpoint {str(self.folder)!r} belongs to another selection ({changes}). "
                "Use another folder, or remove it to start anew."
            )

    def _write_table(self, place: int, table: pa.Table) -> dict[str, str]:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
        content = sink.getvalue().to_pybytes()
        digest = hashlib.sha256(content).hexdigest()
        name = f"kept-{place}-{digest[:16]}.arrow"

        def write(file: IO[bytes]) -> None:
            file.write(content)

        write_whole(self.folder / name, write)
        return {"file": name, "sha256": digest}

    def _read_table(self, entry: Mapping[str, str]) -> pa.Table:
        path = self.folder / Path(entry["file"]).name
        try:
            content = path.read_bytes()
        except OSError as error:
            raise _damaged(self.folder, f"{path.name} cannot be read: {error.strerror}") from error
        if hashlib.sha256(content).hexdigest() != entry["sha256"]:
            raise _damaged(self.folder, f"{path.name} does not have its checksum")
        return pa.ipc.open_file(content).read_all()


def seed_of(folder: Path) -> int | None:
    """Return the seed of the selection that a checkpoint belongs to; None if there is none yet."""
    saved = read_state(folder)
    return None if saved is None else int(saved["asked"]["seed"])


def read_state(folder: Path) -> dict[str, Any] | None:
    """Return what the JSON file of a checkpoint says; None if there is none."""
    path = folder / _STATE
    try:
        saved = json.loads(path.read_text())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(
            f"Checkpoint {str(folder)!r} cannot be used: {_STATE} cannot be read: {error.strerror}."
        ) from error
    except (ValueError, RecursionError) as error:
        raise _damaged(folder, f"{_STATE} cannot be read") from error
    if not isinstance(saved, dict) or saved.pop("sha256", None) != _digest_of(saved):
        raise _damaged(folder, f"{_STATE} does not have its checksum")
    if saved["format"] != _FORMAT:
        raise InputError(
            f"Checkpoint {str(folder)!r} has format {saved['format']}, and this version reads {_FORMAT}. "
            "Use the version that wrote it, or remove it to start anew."
        )
    return saved


def _digest_of(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _damaged(folder: Path, why: str) -> InputError:
    return InputError(f"Checkpoint {str(folder)!r} is damaged: {why}. Remove it to start anew.")


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."

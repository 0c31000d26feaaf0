"""Checkpoints: what a scan has found so far, on disk, so that an interrupted one is taken up where it stopped.

A folder holds `checkpoint.json`, which says what was asked for, which fragments are finished and what each file's
checksum is, and one Arrow file for each shortlist. New files are written beside the old ones, and the JSON file, which
names those that count, is replaced last: at any moment the folder holds one whole state.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from minmargin.errors import InputError
from minmargin.fields import Fields, parse_json
from minmargin.files import locked_folder, write_json, write_whole
from minmargin.scan.found import Counts
from minmargin.scan.kept import Expected, check_counts, check_table, check_top
from minmargin.scan.wire import from_table, to_table
from minmargin.seeds import SeedTree
from minmargin.strategies import Shortlist
from minmargin.topb import TopB

_FORMAT = 1
STATE = "checkpoint.json"
_FILE = re.compile(r"kept-[0-9]+-[0-9a-f]{16}\.arrow")
_SECONDS = 5.0  # between two states on disk
_TOLD = 4  # changes that an error tells of


@dataclass
class Progressed:
    """How far a scan has come.

    Attributes:
        tops: what each shortlist keeps so far.
        finished: the numbers of the fragments that are in it.
        counts: of their rows.
    """

    tops: list[TopB]
    finished: set[int] = field(default_factory=set)
    counts: Counts = field(default_factory=Counts)

    @classmethod
    def nothing(cls, shortlists: Sequence[Shortlist], seeds: SeedTree) -> Progressed:
        """Return the state of a scan that has not begun."""
        return cls([TopB(each.size, seeds, distinct=each.distinct) for each in shortlists])

    def add(self, number: int, kept: Sequence[TopB], counts: Counts) -> None:
        """Take in what a fragment gave; one that comes twice, since a worker was lost, counts once."""
        if number in self.finished:
            return
        for top, more in zip(self.tops, kept, strict=True):
            top.merge(more)
        self.finished.add(number)
        self.counts = self.counts.plus(counts)


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

    def read(self, shortlists: Sequence[Shortlist], seeds: SeedTree, expected: Expected) -> Progressed:
        """Return the state on disk, or that of a scan that has not begun."""
        saved = read_state(self.folder)
        if saved is None:
            return Progressed.nothing(shortlists, seeds)
        self._check_same(saved.get("asked", dict))
        finished = saved.each("finished", int)
        excluded = 0 if saved.optional("rows_excluded", int) is None else saved.size("rows_excluded")
        counts = Counts(saved.size("rows"), excluded, saved.size("rows_scored_exactly"))
        entries = saved.each_inner("kept")
        if len(entries) != len(shortlists):
            raise saved.wrong("it has another number of files")
        try:
            check_counts(finished, counts, expected.fragments)
        except ValueError as error:
            raise saved.wrong(str(error)) from error
        tops = []
        for entry, shortlist in zip(entries, shortlists, strict=True):
            table, name = self._read_table(entry)
            try:
                if table.num_rows:
                    check_table(table, expected.sample(shortlist), carried_as_read=expected.carried_as_read)
                top = from_table(table, shortlist.size, seeds, distinct=shortlist.distinct)
                check_top(top, shortlist, expected, finished, counts.rows - counts.excluded)
            except InputError:
                raise
            except (ValueError, KeyError, pa.ArrowException) as error:
                raise saved.wrong(f"{name} cannot be used: {_first_line(error)}") from error
            tops.append(top)
        return Progressed(tops, set(finished), counts)

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
            "rows": state.counts.rows,
            "rows_excluded": state.counts.excluded,
            "rows_scored_exactly": state.counts.decided,
            "kept": entries,
        }
        write_json(self.folder / STATE, {**content, "sha256": _digest_of(content)})
        current = {entry["file"] for entry in entries}
        for path in self.folder.glob("kept-*.arrow"):
            if path.name not in current:
                path.unlink()
        self._written = time.monotonic()

    @contextmanager
    def locked(self) -> Iterator[Checkpoint]:
        """Keep other processes out of the folder."""
        with locked_folder(self.folder, "Checkpoint"):
            for left in self.folder.glob(".*.tmp"):  # by a process that was killed while it wrote
                left.unlink(missing_ok=True)
            yield self

    def _check_same(self, before: Mapping[str, Any]) -> None:
        now = json.loads(json.dumps(dict(self.asked)))
        changes = _changes({"distinct": False, **before}, now)  # those of earlier versions do not say
        if changes:
            more = f"; and {len(changes) - _TOLD:,} more" if len(changes) > _TOLD else ""
            raise InputError(
                f"Checkpoint {str(self.folder)!r} belongs to another selection ({'; '.join(changes[:_TOLD])}{more}). "
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

    def _read_table(self, entry: Fields) -> tuple[pa.Table, str]:
        """Return the rows in a file, and its name."""
        name = entry.get("file", str)
        if _FILE.fullmatch(name) is None:
            raise entry.wrong(f"it names a file {name[:80]!r}, which no checkpoint has")
        try:
            content = (self.folder / name).read_bytes()
        except OSError as error:
            raise entry.wrong(f"{name} cannot be read: {error.strerror}") from error
        if hashlib.sha256(content).hexdigest() != entry.get("sha256", str):
            raise entry.wrong(f"{name} does not have its checksum")
        try:
            table = pa.ipc.open_file(content).read_all()
            table.validate(full=True)
        except (OSError, pa.ArrowException) as error:
            raise entry.wrong(f"{name} is no Arrow file: {_first_line(error)}") from error
        return table, name


def seed_of(folder: Path) -> int | None:
    """Return the seed of the selection that a checkpoint belongs to; None if there is none yet."""
    saved = read_state(folder)
    return None if saved is None else saved.inner("asked").size("seed")


def read_state(folder: Path) -> Fields | None:
    """Return what the JSON file of a checkpoint says; None if there is none."""
    path = folder / STATE
    wrong = partial(_damaged, folder)
    try:
        found = parse_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(
            f"Checkpoint {str(folder)!r} cannot be used: {STATE} cannot be read: {error.strerror}."
        ) from error
    except ValueError as error:
        raise wrong(f"{STATE} cannot be read") from error
    saved = Fields(found, wrong)
    checksum = found.pop("sha256", None)
    try:
        fits = checksum == _digest_of(found)
    except RecursionError:
        fits = False
    if not fits:
        raise wrong(f"{STATE} does not have its checksum")
    if saved.size("format") != _FORMAT:
        raise InputError(
            f"Checkpoint {str(folder)!r} has format {saved.size('format')}, and this version reads {_FORMAT}. "
            "Use the version that wrote it, or remove it to start anew."
        )
    return saved


def _digest_of(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _damaged(folder: Path, why: str) -> InputError:
    return InputError(f"Checkpoint {str(folder)!r} is damaged: {why}. Remove it to start anew.")


def _first_line(error: Exception) -> str:
    text = str(error.args[0]) if error.args else type(error).__name__
    return text.partition("\n")[0].rstrip(".")


def _changes(before: Mapping[str, Any], now: Mapping[str, Any], of: str = "") -> list[str]:
    """Return what differs, in words: each entry of what has entries by itself."""
    found: list[str] = []
    for name in {**before, **now}:
        then, since = before.get(name), now.get(name)
        if isinstance(then, dict) and isinstance(since, dict):
            found += _changes(then, since, f"{of}{name}: ")
        elif then != since:
            found.append(f"{of}{name} was {_shown(then)}, now {_shown(since)}")
    return found


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."

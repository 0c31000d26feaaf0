"""Obstacles: a full disk, a folder that cannot be written, files that change or may not be read.

Each is put in the way of a selection, which must end with one clear sentence and leave nothing half-written. Then it is
taken away, and the same command must give the right batch.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from faults.changes import CHANGES
from faults.denials import DENIALS
from faults.disks import full_disks
from faults.situation import (
    Outcome,
    Place,
    Row,
    Situation,
    ended,
    expect,
    only_whole_files,
    read_batch,
    started,
    wait_until,
)
from minmargin.scan.checkpoint import read_state


@dataclass(frozen=True)
class Obstacle:
    """What is put in the way.

    Attributes:
        tried: in words.
        put: puts it there, gives the file or folder that the error must name, and takes it away again.
        options: of the program.
        in_the_middle: put there when some fragments are finished, and not before the start.
    """

    tried: str
    put: Callable[[Place], AbstractContextManager[Path]]
    options: tuple[str, ...] = ()
    in_the_middle: bool = False


def tried(folder: Path, *, quick: bool) -> list[Row]:
    """Try each obstacle, a few times unless it has to be quick."""
    n_times = 1 if quick else 2
    situation = Situation.made(folder)
    right = situation.right_batch()
    obstacles = [
        *(Obstacle(words, put, options) for words, put, options in full_disks(folder)),
        *(Obstacle(words, put, in_the_middle=True) for words, put in CHANGES),
        *(Obstacle(words, put) for words, put in DENIALS),
    ]
    rows = []
    for number, obstacle in enumerate(obstacles[1::6] if quick else obstacles):
        said = ""
        for time in range(n_times):
            here = folder / f"{number}-{time}"
            said = _try(obstacle, Place.made(situation, here), right)
            said = said.replace(f"{here}/", "").replace(f"{folder}/", "")
        happened = f"exit 1: “{said}”; nothing left behind; without it, the right batch"
        rows.append(Row("Obstacle", obstacle.tried, n_times, happened))
    return rows


def _try(obstacle: Obstacle, place: Place, right: pa.Table) -> str:
    """Return what the program said of the obstacle."""
    outcome, named, left = _obstructed(obstacle, place)
    lines = outcome.errors.splitlines()
    expect(outcome.status == 1 and len(lines) == 1, f"{obstacle.tried}: {outcome.status}, {outcome.errors}")
    expect(str(named) in lines[0], f"{obstacle.tried}: {named} is not named: {lines[0]}")
    expect(not left, f"{obstacle.tried}: {left} were left behind.")
    n_before = _n_finished(place)
    expect(n_before >= 2 or not obstacle.in_the_middle, f"{obstacle.tried}: the state was lost.")
    again = place.situation.run(place.out, place.checkpoint)
    expect(again.status == 0, f"{obstacle.tried}: without it: {again.errors}")
    expect(read_batch(place.out).equals(right), f"{obstacle.tried}: another batch.")
    only_whole_files(place.out.parent, place.out.name, right)
    return lines[0].removeprefix("minmargin: ")


def _obstructed(obstacle: Obstacle, place: Place) -> tuple[Outcome, Path, list[str]]:
    """Return how the program ended, what its error must name, and what lies where the batch should be."""
    options = ("--pause", "0.02", *obstacle.options)
    if not obstacle.in_the_middle:
        with obstacle.put(place) as named:
            outcome = place.situation.run(place.out, place.checkpoint, options=options)
            return outcome, named, place.left()
    with started(place.situation.start(place.out, place.checkpoint, options=options)) as process:
        wait_until(lambda: _n_finished(place) >= 2, process)
        with obstacle.put(place) as named:
            return ended(process), named, place.left()


def _n_finished(place: Place) -> int:
    state = read_state(place.checkpoint)
    return 0 if state is None else len(state.each("finished", int))

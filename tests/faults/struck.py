"""Commands are killed at their points, or their disk is full from there on; the same command then ends as it should."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple, Self

from faults.contents import contents_of, differences, left_behind
from faults.disks import may_mount, mounted
from faults.points import Fate
from faults.scenes import SCENES, Scene, make_files, write_labels
from faults.situation import Outcome, expect
from faults.striking import SERVER

_PROGRAM = Path(__file__).with_name("striking.py")
_PAGE = 4096
_FULL = ("No space left on device", "database or disk is full")


class Struck(NamedTuple):
    """A line of the table: a command, its points, and how often it was struck.

    Attributes:
        command: in words.
        points: how many it has.
        kills: how often it was killed.
        full: how often its disk was full from a point on.
        mounted: how often its disk was a small one that was really full.
    """

    command: str
    points: int
    kills: int
    full: int
    mounted: int

    @property
    def times(self) -> int:
        """How often it was struck."""
        return self.kills + self.full + self.mounted

    def __str__(self) -> str:
        n_full = self.full + self.mounted
        return (
            f"{self.times:6,}  {self.command}: {self.points} points, {self.kills} kills, {n_full} full disks"
        )


class Ran(NamedTuple):
    """How a command ended, and the points that it reached; none are known of one that was killed."""

    outcome: Outcome
    reached: list[str]


class Player:
    """The program that strikes, and the folder that its children work in."""

    def __init__(self, folder: Path) -> None:
        self.work, self.start, self.notes = folder / "work", folder / "start", folder / "notes"
        self.notes.mkdir(parents=True)
        self._program = subprocess.Popen(
            [sys.executable, str(_PROGRAM)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> Self:
        make_files(self.work)
        self.run(SCENES[1].command, forked=False)  # loads what commands load when they first need it
        return self

    def __exit__(self, *_: object) -> None:
        self._program.kill()
        self._program.communicate()

    def run(self, arguments: tuple[str, ...], fate: Fate = Fate(), *, forked: bool = True) -> Ran:  # noqa: B008 - it is a tuple
        """Return how a command ended in the working folder."""
        assert self._program.stdin is not None
        assert self._program.stdout is not None
        told = {
            "arguments": arguments,
            "folder": str(self.work),
            "notes": str(self.notes),
            "fate": fate,
            "forked": forked,
        }
        self._program.stdin.write(json.dumps(told) + "\n")
        self._program.stdin.flush()
        answer = json.loads(self._program.stdout.readline())
        return Ran(Outcome(answer["status"], answer["output"], answer["errors"]), answer["reached"])

    def prepare(self, scene: Scene) -> None:
        """Make the folder that a scene begins in, by the commands before it."""
        for folder in (self.work, self.start):
            _empty(folder)
        (self.notes / SERVER).unlink(missing_ok=True)
        make_files(self.work)
        for arguments in scene.before:
            # In the program itself, which has then loaded what its children need.
            outcome = self.run(arguments, forked=False).outcome
            expect(outcome.status == 0, f"{scene.name}: {arguments}: {outcome.errors}")
            if arguments[:2] == ("campaign", "next"):
                write_labels(self.work)
        shutil.copytree(self.work, self.start, dirs_exist_ok=True)

    def begin(self) -> None:
        """Put the working folder back to what the scene begins with."""
        _empty(self.work)
        shutil.copytree(self.start, self.work, dirs_exist_ok=True)
        (self.notes / SERVER).unlink(missing_ok=True)

    def end(self) -> dict[str, Any]:
        """Return all that is there now, on the server too."""
        server = self.notes / SERVER
        stored = json.loads(server.read_text()) if server.exists() else None
        # A copy is looked at: SQLite would mend what a process that was killed has left.
        looked_at = self.notes / "looked-at"
        _empty(looked_at)
        shutil.copytree(self.work, looked_at, dirs_exist_ok=True)
        return {**contents_of(looked_at), "server": stored}


def tried(folder: Path, *, quick: bool) -> list[Struck]:
    """Strike every command at its points, an even share of them if it has to be quick."""
    rng = random.Random(2)  # noqa: S311 - which points, no secrets
    with Player(folder) as player:
        may = may_mount(folder)
        scenes = [scene for scene in SCENES if not (quick and scene.heavy)]
        return [_strike(player, scene, rng, quick=quick, may_mount=may) for scene in scenes]


def _strike(player: Player, scene: Scene, rng: random.Random, *, quick: bool, may_mount: bool) -> Struck:
    player.prepare(scene)
    first = player.run(scene.command)
    expect(first.outcome.status == 0, f"{scene.name}: {first.outcome.errors}")
    right, n_points = player.end(), len(first.reached)
    n_most = 3 if quick else 10 if scene.heavy else 40
    kills = _even_share(_kills(n_points, rng), n_most)
    n_killed = 0
    for fates in kills:
        where = f"{scene.name}, {fates} ({first.reached[fates[0].at - 1]})"
        n_killed += _kill(player, scene, fates, where)
        _end_well(player, scene, right, where)
    full = _even_share(range(1, n_points + 1), (n_most + 1) // 2)
    for at in full:
        where = f"{scene.name}, full from {at} on ({first.reached[at - 1]})"
        _fill(player, scene, at, where)
        _end_well(player, scene, right, where)
    n_mounted = _fill_mounted(player, scene, right, n_most // 3) if may_mount else 0
    return Struck(scene.name, n_points, n_killed, len(full), n_mounted)


def _kill(player: Player, scene: Scene, fates: list[Fate], where: str) -> int:
    """Kill the command, and perhaps the next one; return how often."""
    player.begin()
    n_killed = 0
    for fate in fates:
        outcome = player.run(scene.command, fate).outcome
        # One that is killed for the second time may have less to do, and end before.
        ended = outcome.status == -signal.SIGKILL or (fate is not fates[0] and _is_done(outcome, scene))
        expect(ended, f"{where}: ended with {outcome.status}: {outcome.errors}")
        n_killed += outcome.status == -signal.SIGKILL
    return n_killed


def _fill(player: Player, scene: Scene, at: int, where: str) -> None:
    """Have the disk be full from a point on: the command says so, and leaves nothing half done."""
    player.begin()
    outcome = player.run(scene.command, Fate("full", at)).outcome
    _say_it_is_full(outcome, where)
    expect(not left_behind(player.work), f"{where}: {left_behind(player.work)} were left behind.")


def _fill_mounted(player: Player, scene: Scene, right: dict[str, Any], n_most: int) -> int:
    """Have a small disk be full, with more and more space left at first; return how often."""
    with mounted(player.work, "size=16m"):
        player.begin()
        before = _free(player.work)
        player.run(scene.command)
        pages = range(max(before - _free(player.work), 0) // _PAGE + 1)
        shares = _even_share(pages, n_most)
        for n_left in shares:
            where = f"{scene.name}, with {n_left} pages of its disk left"
            player.begin()
            ballast = player.work / "ballast"
            with ballast.open("wb") as file:
                os.posix_fallocate(file.fileno(), 0, max(_free(player.work) - n_left * _PAGE, 1))
            _say_it_is_full(player.run(scene.command).outcome, where)
            expect(not left_behind(player.work), f"{where}: {left_behind(player.work)} were left behind.")
            ballast.unlink()
            _end_well(player, scene, right, where)
    return len(shares)


def _free(folder: Path) -> int:
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


def _empty(folder: Path) -> None:
    """Remove all that is in a folder, and, unless a file system is mounted on it, the folder."""
    shutil.rmtree(folder, ignore_errors=True)


def _kills(n_points: int, rng: random.Random) -> list[list[Fate]]:
    """Return ways to be killed: after and inside each point, and again at another one."""
    found = []
    for at in range(1, n_points + 1):
        found.append([Fate("after", at)])
        found.append([Fate("inside", at, rng.random())])
        again = rng.randint(1, n_points)
        found.append([Fate("inside", at, rng.random()), Fate("after", again)])
    return found


def _end_well(player: Player, scene: Scene, right: dict[str, Any], where: str) -> None:
    """Run the command once more, and raise an error unless everything is as if nothing had happened."""
    if not scene.repeats or left_behind(player.work) or player.end() != right:
        outcome = player.run(scene.command).outcome
        expect(_is_done(outcome, scene), f"{where}: then ended with {outcome.status}: {outcome.errors}")
    differ = differences(player.end(), right)
    expect(not differ, f"{where}: {differ} differ.")


def _is_done(outcome: Outcome, scene: Scene) -> bool:
    """Return whether a command has done its work, or says that it was done already."""
    already = scene.done is not None and scene.done in outcome.errors
    return outcome.status == 0 or (outcome.status == 1 and already)


def _say_it_is_full(outcome: Outcome, where: str) -> None:
    lines = outcome.errors.splitlines()
    expect(outcome.status in {0, 1}, f"{where}: ended with {outcome.status}: {outcome.errors}")
    if outcome.status == 1:
        told = lines and lines[-1].startswith("minmargin: ") and any(text in lines[-1] for text in _FULL)
        expect(told, f"{where}: it said {outcome.errors}")


def _even_share(items: Any, n_most: int) -> list[Any]:
    """Return all items, or so many of them, evenly spaced."""
    items = list(items)
    if len(items) <= n_most:
        return items
    return [items[round((place + 0.5) * len(items) / n_most - 0.5)] for place in range(n_most)]

"""Disks that are full or read-only: small file systems in memory where this user may mount them, limits elsewhere."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path

from faults.situation import Place

_TINY = 4096  # bytes: less than a batch or a state takes
_LIMIT = ("--largest-file", str(_TINY))

Put = Callable[[Place], AbstractContextManager[Path]]


def full_disks(folder: Path) -> list[tuple[str, Put, tuple[str, ...]]]:
    """Return what can be tried here: words, what puts it there, and the program's options."""
    limited: list[tuple[str, Put, tuple[str, ...]]] = [
        ("files may not grow beyond 4 kB (`RLIMIT_FSIZE`)", _limited, _LIMIT),
    ]
    if not may_mount(folder):
        words = "no file system can be mounted here, so full and read-only disks are tried by limits only: 4 kB a file"
        return [(words, _limited, _LIMIT)]
    return [
        *limited,
        ("the output's disk is full (a tmpfs of 4 kB)", partial(_mounted_out, options=f"size={_TINY}"), ()),
        ("the checkpoint's disk is full (a tmpfs of 8 kB)", _mounted_checkpoint, ()),
        ("the output's disk is read-only (a tmpfs, `ro`)", partial(_mounted_out, options="ro"), ()),
    ]


@contextmanager
def _limited(place: Place) -> Iterator[Path]:
    yield place.checkpoint  # whose states are the first files to be too large


@contextmanager
def _mounted_out(place: Place, options: str) -> Iterator[Path]:
    with mounted(place.out.parent, options):
        yield place.out


@contextmanager
def _mounted_checkpoint(place: Place) -> Iterator[Path]:
    """Give the checkpoint a small disk. What is on it when it is full is kept: it must be a good state."""
    place.checkpoint.mkdir()
    with mounted(place.checkpoint, f"size={2 * _TINY}"):
        yield place.checkpoint
        kept = place.folder / "kept"
        shutil.copytree(place.checkpoint, kept)
    shutil.copytree(kept, place.checkpoint, dirs_exist_ok=True)


@contextmanager
def mounted(folder: Path, options: str) -> Iterator[None]:
    """Mount a file system in memory on a folder."""
    _call("mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder))
    try:
        yield
    finally:
        _call("umount", str(folder))


def may_mount(folder: Path) -> bool:
    """Return whether this user may mount file systems."""
    probe = folder / "probe"
    probe.mkdir()
    try:
        with mounted(probe, "size=4096"):
            return True
    except (OSError, subprocess.CalledProcessError):
        return False


def _call(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)

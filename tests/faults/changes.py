"""Pool files that are removed, replaced or cut short while they are read."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from faults.situation import N_FILES, Place


@contextmanager
def _changed(place: Place, change: Callable[[Path], None]) -> Iterator[Path]:
    """Change the pool's last file, and put it back as it was."""
    path = place.situation.pool_file(N_FILES - 1)
    copy = place.folder / "copy"
    shutil.copy2(path, copy)
    try:
        change(path)
        yield path
    finally:
        copy.replace(path)


def _removed(place: Place) -> AbstractContextManager[Path]:
    return _changed(place, Path.unlink)


def _replaced(place: Place) -> AbstractContextManager[Path]:
    other = place.situation.pool_file(0)

    def replace(path: Path) -> None:
        temporary = place.folder / "other"
        shutil.copy(other, temporary)
        temporary.replace(path)

    return _changed(place, replace)


def _truncated(place: Place) -> AbstractContextManager[Path]:
    return _changed(place, lambda path: os.truncate(path, path.stat().st_size // 2))


def _overwritten(place: Place) -> AbstractContextManager[Path]:
    """Write junk into the middle of the file, without a new file and without another size."""

    def overwrite(path: Path) -> None:
        with path.open("r+b") as file:
            file.seek(path.stat().st_size // 2)
            file.write(b"junk" * 50)

    return _changed(place, overwrite)


CHANGES: list[tuple[str, Callable[[Place], AbstractContextManager[Path]]]] = [
    ("a pool file removed in the middle of a scan", _removed),
    ("a pool file replaced by another in the middle of a scan", _replaced),
    ("a pool file cut in half in the middle of a scan", _truncated),
    ("a pool file overwritten with junk in the middle of a scan", _overwritten),
]

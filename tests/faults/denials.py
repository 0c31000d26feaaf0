"""Files and folders that the user may not read or write. Permissions do not bind root, so root gives up that power."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from faults.situation import Place

Put = Callable[[Place], AbstractContextManager[Path]]


@contextmanager
def _with_mode(path: Path, mode: int, named: Path) -> Iterator[Path]:
    """Give a file or folder another mode, and its own back."""
    before = path.stat().st_mode
    path.chmod(mode)
    try:
        yield named
    finally:
        path.chmod(before)


def _closed_pool_file(place: Place) -> AbstractContextManager[Path]:
    path = place.situation.pool_file(3)
    return _with_mode(path, 0, path)


def _closed_labeled_file(place: Place) -> AbstractContextManager[Path]:
    return _with_mode(place.situation.labeled, 0, place.situation.labeled)


def _read_only_out(place: Place) -> AbstractContextManager[Path]:
    return _with_mode(place.out.parent, 0o555, place.out)


def _read_only_checkpoint(place: Place) -> AbstractContextManager[Path]:
    return _with_mode(place.checkpoint.parent, 0o555, place.checkpoint)


@contextmanager
def _closed_state(place: Place) -> Iterator[Path]:
    place.situation.run(place.folder / "first.parquet", place.checkpoint)
    with _with_mode(place.checkpoint / "checkpoint.json", 0, place.checkpoint) as named:
        yield named


DENIALS: list[tuple[str, Put]] = [
    ("a pool file that the user may not read", _closed_pool_file),
    ("labeled rows that the user may not read", _closed_labeled_file),
    ("an output folder that the user may not write to", _read_only_out),
    ("a checkpoint's folder that the user may not write to", _read_only_checkpoint),
    ("a checkpoint that the user may not read", _closed_state),
]

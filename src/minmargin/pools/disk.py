"""Files on this machine's disks: what a path, a folder or a glob names, each real file once."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from minmargin.errors import InputError, warn
from minmargin.pools.storage import has_marks, matches


def find_on_disk(source: str | Path, is_data: Callable[[Path], bool]) -> list[Path]:
    """Return the files that a path, of a file, a folder or a glob, names.

    Args:
        source: what to look for.
        is_data: tells by its name whether a file of a folder is read.
    """
    path = Path(source)
    while path.name == "**":  # all that is in a folder
        path = path.parent
    if path.is_dir():
        found = _data_in(path, is_data)
        if not found:
            raise InputError(f"Folder {str(source)!r} holds no file in a format that can be read.")
        return found
    if path.exists() or not has_marks(str(path)):
        return [path]
    found = _glob(path)
    if not found:
        raise InputError(f"No file matches {str(source)!r}.")
    return [file for each in found for file in (_data_in(each, is_data) if each.is_dir() else [each])]


def each_once(paths: Iterable[Path]) -> list[Path]:
    """Return the paths, sorted; of those that lead to one file, the first. Say so if there are any."""
    real: dict[str, Path] = {}
    again = [
        (path, first)
        for path in sorted(set(paths))
        if (first := real.setdefault(os.path.realpath(path), path)) is not path
    ]
    if again:
        path, first = again[0]
        more = f" So {'is' if len(again) == 2 else 'are'} {len(again) - 1:,} more." if len(again) > 1 else ""
        warn(f"{str(path)!r} is the file {str(first)!r}, by a link.{more} Each file is read once.")
    return list(real.values())


def check_ordinary(path: Path) -> None:
    """Raise an error for a path that is neither a file nor a folder: to open a pipe may wait for ever."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise InputError(
            f"{str(path)!r} is a pipe or a device, and a pool must be files that can be read again. "
            "Write its content to a file first."
        )


def _data_in(folder: Path, is_data: Callable[[Path], bool]) -> list[Path]:
    return [path for path in _below(folder) if path.is_file() and is_data(path)]


def _glob(pattern: Path) -> list[Path]:
    """Return what matches a pattern, as Python's glob does; but each real folder is entered once."""
    parts = pattern.parts
    n_fixed = next(place for place, part in enumerate(parts) if has_marks(part))
    fixed, marked = Path(*parts[:n_fixed]), parts[n_fixed:]
    if "**" not in marked or ".." in marked:
        return [Path(match) for match in glob.glob(str(pattern), recursive=True)]  # noqa: PTH207 - absolute patterns
    return [path for path in _below(fixed) if matches(path.relative_to(fixed).parts, marked)]


def _below(folder: Path) -> Iterator[Path]:
    """Return all files and folders in a folder. Links to folders are followed last, unless they were entered before."""
    entered: set[str] = set()
    links = [folder]
    while links:
        link = links.pop(0)
        if os.path.realpath(link) in entered:
            warn(f"{str(link)!r} is a link to a folder that is read anyhow. Each file is read once.")
            continue
        yield link
        for path, folders, files in os.walk(link):
            entered.add(os.path.realpath(path))
            here = Path(path)
            linked = sorted(here / name for name in folders if (here / name).is_symlink())
            yield from {here / name for name in [*folders, *files]}.difference(linked)
            links += linked

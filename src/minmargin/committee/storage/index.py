"""The JSON file of a saved committee: its format, a checksum of itself, and the sizes and checksums of all others."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from minmargin.committee.storage.damage import damaged
from minmargin.errors import InputError, listing
from minmargin.fields import Fields
from minmargin.version import __version__

INDEX = "committee.json"
FORMAT = "minmargin committee"
#: Raised by one whenever an older version of this package could not read, or would misread, what is written.
FORMAT_VERSION = 2
#: What is written where columns are neither converted nor dates, and models are no modules: older versions can read it.
_PLAIN_VERSION = 1

# A committee of a million named columns has an index of about 200 MB.
_LARGEST_INDEX = 1 << 29
_FILE_NAME = re.compile(r"[a-z0-9_]+\.(npy|json|skops|safetensors)")


def write_index(content: Mapping[str, Any], files: Mapping[str, bytes]) -> bytes:
    """Return the JSON file that describes a committee and lists its other files."""
    listed = {
        name: {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()} for name, data in files.items()
    }
    body = {**content, "files": listed}
    written = {
        "format": FORMAT,
        "format_version": _PLAIN_VERSION if _is_plain(content) else FORMAT_VERSION,
        "minmargin": __version__,
        "sha256": _checksum(body),
        "content": body,
    }
    return json.dumps(written, indent=1).encode() + b"\n"


def read_index(folder: Path) -> Fields:
    """Return what a committee's JSON file says, or an error if it is not what was written."""
    path = folder / INDEX
    top = Fields(_parse(folder), partial(damaged, path))
    if top.get("format", str) != FORMAT:
        raise damaged(path, f"it does not begin with the format {FORMAT!r}")
    version = top.size("format_version")
    if version not in {_PLAIN_VERSION, FORMAT_VERSION}:
        written_by = top.get("minmargin", str)
        raise InputError(
            f"{str(path)!r} has format version {version}, written by minmargin {written_by[:40]}, and minmargin "
            f"{__version__} reads versions up to {FORMAT_VERSION}. Use the minmargin that wrote it, or a newer one."
        )
    content = top.get("content", dict)
    try:
        checksum = _checksum(content)
    except RecursionError:
        raise damaged(path, "it is nested too deeply") from None
    if checksum != top.get("sha256", str):
        raise damaged(path, "its content does not have the recorded checksum, so it was altered")
    index = Fields(content, partial(damaged, path))
    for name in index.inner("files").names:
        if not is_file_name(name):
            raise damaged(path, f"it lists a file {name[:80]!r}, which no committee has")
    return index


def check_replaceable(folder: Path) -> None:
    """Raise an error unless a folder holds a committee and nothing else, or nothing at all."""
    present = {each.name for each in folder.iterdir()}
    if not present:
        return
    if INDEX not in present:
        raise _not_ours(folder, f"has {listing(sorted(present), most=3)} and no {INDEX!r}")
    # A damaged committee may be replaced too, but only where it is certain that it was one.
    written = _parse(folder)
    if not (isinstance(written, dict) and written.get("format") == FORMAT):
        raise _not_ours(folder, f"has a {INDEX!r} of another program")
    others = sorted(name for name in present - {INDEX} if not is_file_name(name))
    if others:
        raise _not_ours(folder, f"has {listing(others, most=3)} besides a committee")


def is_file_name(name: str) -> bool:
    """Return whether this may be the name of a committee's file: no path, no hidden file."""
    return _FILE_NAME.fullmatch(name) is not None


def read_bounded(path: Path, most: int) -> bytes:
    """Return the content of a plain file, or an error if there is none or it is larger than `most` bytes."""
    try:
        if not path.is_file():  # also what would block, such as a pipe
            raise damaged(path, "it is no plain file" if path.exists() else "it is missing")
        size = path.stat().st_size
        if size > most:
            raise damaged(path, f"it has {size:,} bytes, more than the {most:,} that it can have")
        return path.read_bytes()
    except OSError as error:
        raise damaged(path, f"it cannot be read ({error.strerror})") from error


def _is_plain(content: Mapping[str, Any]) -> bool:
    columns = content["intake"]["columns"] or []
    return content["scorer"]["kind"] != "modules" and all(
        column["conversion"] is None and column["kind"] != "date" for column in columns
    )


def _parse(folder: Path) -> Any:
    path = folder / INDEX
    text = read_bounded(path, _LARGEST_INDEX)
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise damaged(path, "it is not JSON") from error


def _checksum(content: Any) -> str:
    """Return a checksum of JSON values, however they are spaced and ordered in the file."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _not_ours(folder: Path, why: str) -> InputError:
    return InputError(
        f"Folder {str(folder)!r} {why}, so it is not replaced. Save the committee in a new folder, or empty this one."
    )

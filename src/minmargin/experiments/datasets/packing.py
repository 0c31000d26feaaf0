"""Content out of compressed files and archives, recognised by their first bytes.

A file of our data sets never begins with these bytes itself, so it may be kept plain or compressed, and whatever a
server sends under whatever name is understood.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from typing import IO

from minmargin.errors import InputError, listing

_OPEN: dict[bytes, Callable[[io.BytesIO], io.BufferedIOBase]] = {
    b"\x1f\x8b": lambda packed: gzip.GzipFile(fileobj=packed),
    b"\xfd7zXZ\x00": lzma.LZMAFile,
    b"BZh": bz2.BZ2File,
}
#: What is added to the name of a compressed file; the first is that of a plain one.
SUFFIXES = ("", ".gz", ".xz", ".bz2")

_ZIP = b"PK\x03\x04"


# What the libraries raise for content that is cut short or was changed; bz2 raises a plain ValueError.
_FAULTS = (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile)


def unpack(packed: bytes, member: str | None = None, *, most: int | None = None) -> bytes:
    """Return the content of a plain or compressed file, or of a member of an archive; an error if it has over `most`.

    A few bytes can unpack to any number: where the size is known, no more is unpacked.
    """
    try:
        if member is not None:
            # It may be compressed itself, which makes a few files a little larger.
            packed = _take_member(packed, member, None if most is None else 2 * most + 4096)
        for first_bytes, open_packed in _OPEN.items():
            if packed.startswith(first_bytes):
                with open_packed(io.BytesIO(packed)) as file:
                    return _read(file, most)
    except InputError:
        raise
    except _FAULTS as error:
        raise InputError(f"It cannot be unpacked: {error}.") from error
    return packed


def _read(file: io.BufferedIOBase | IO[bytes], most: int | None) -> bytes:
    content = file.read(-1 if most is None else most + 1)
    if most is not None and len(content) > most:
        raise InputError(f"It unpacks to more than {most:,} bytes.")
    return content


def _take_member(archive: bytes, member: str, most: int | None) -> bytes:
    if archive.startswith(_ZIP):
        with zipfile.ZipFile(io.BytesIO(archive)) as folder:
            if member not in folder.namelist():
                raise _no_member(member, folder.namelist())
            with folder.open(member) as file:
                return _read(file, most)
    with tarfile.open(fileobj=io.BytesIO(archive)) as folder:
        found = folder.extractfile(member) if member in folder.getnames() else None
        if found is None:
            raise _no_member(member, folder.getnames())
        return _read(found, most)


def _no_member(member: str, names: list[str]) -> InputError:
    return InputError(f"The archive has no file {member!r} (files: {listing(names)}).")

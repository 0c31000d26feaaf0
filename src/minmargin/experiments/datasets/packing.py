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

from minmargin.errors import InputError, listing

_UNPACK: dict[bytes, Callable[[bytes], bytes]] = {
    b"\x1f\x8b": gzip.decompress,
    b"\xfd7zXZ\x00": lzma.decompress,
    b"BZh": bz2.decompress,
}
#: What is added to the name of a compressed file; the first is that of a plain one.
SUFFIXES = ("", ".gz", ".xz", ".bz2")

_ZIP = b"PK\x03\x04"


# What the libraries raise for content that is cut short or was changed; bz2 raises a plain ValueError.
_FAULTS = (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile)


def unpack(packed: bytes, member: str | None = None) -> bytes:
    """Return the content of a plain or compressed file, or of a member of an archive."""
    try:
        if member is not None:
            packed = _take_member(packed, member)
        for first_bytes, decompress in _UNPACK.items():
            if packed.startswith(first_bytes):
                return decompress(packed)
    except InputError:
        raise
    except _FAULTS as error:
        raise InputError(f"It cannot be unpacked: {error}.") from error
    return packed


def _take_member(archive: bytes, member: str) -> bytes:
    if archive.startswith(_ZIP):
        with zipfile.ZipFile(io.BytesIO(archive)) as folder:
            if member not in folder.namelist():
                raise _no_member(member, folder.namelist())
            return folder.read(member)
    with tarfile.open(fileobj=io.BytesIO(archive)) as folder:
        found = folder.extractfile(member) if member in folder.getnames() else None
        if found is None:
            raise _no_member(member, folder.getnames())
        return found.read()


def _no_member(member: str, names: list[str]) -> InputError:
    return InputError(f"The archive has no file {member!r} (files: {listing(names)}).")

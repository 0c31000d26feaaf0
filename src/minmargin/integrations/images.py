"""Images as a browser can show them: an address stays one, a file or bytes become a data URI."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any

from minmargin.errors import InputError

_ADDRESS = re.compile(
    r"(https?|s3|gs|azure-blob)://|data:image/|/data/"
)  # the last: files that a server keeps

# How files begin that every browser shows. Nothing else is sent: a path in a data file may name any file at all.
_BEGINNINGS = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF8": "image/gif",
    b"BM": "image/bmp",
}


def as_address(value: Any, where: str) -> str:
    """Return the address of an image that is given as an address, a path, bytes, or a struct with bytes or a path.

    `where` begins the error's sentence, such as "Row 17".
    """
    if isinstance(value, dict):  # as the `datasets` library keeps images
        value = value.get("bytes") or value.get("path")
    if isinstance(value, bytes):
        return _data_uri(value, f"{where} has an image that")
    if not isinstance(value, str) or not value:
        raise InputError(f"{where} has no image. Leave such rows out, or show another column.")
    if _ADDRESS.match(value):
        return value
    try:
        content = Path(value).read_bytes()
    except OSError as error:
        raise InputError(
            f"{where} names the image {value!r}, which cannot be read ({error.strerror}). Run the command in the "
            "folder that the paths start from."
        ) from None
    return _data_uri(content, f"{where} names the image {value!r}, which")


def _data_uri(content: bytes, what: str) -> str:
    kind = next((kind for beginning, kind in _BEGINNINGS.items() if content.startswith(beginning)), None)
    if content.startswith(b"RIFF") and content[8:12] == b"WEBP":
        kind = "image/webp"
    if kind is None:
        raise InputError(f"{what} is no PNG, JPEG, GIF, BMP or WebP. Convert it to one of these.")
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"

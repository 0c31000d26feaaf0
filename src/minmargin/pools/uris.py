"""URIs of files, told from paths, and cut to what may be shown: credentials can stand in them."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

_SCHEME = r"[A-Za-z][A-Za-z0-9+.-]+"  # two letters at least: C:// is a drive
_URI = re.compile(rf"(?:{_SCHEME}::)*(?P<scheme>{_SCHEME})://")  # fsspec chains them: simplecache::s3://...
_CHAIN = re.compile(rf"::(?={_SCHEME}(?:::|://))")
_URI_IN_TEXT = re.compile(rf"{_SCHEME}://[^\s'\"<>]+")
_NOT_SECRET = {"region", "scheme", "endpoint_override"}  # they help to see what is wrong
_SHORTEST_SECRET = 4  # shorter values would be found by chance in any sentence


def is_uri(source: object) -> bool:
    """Return whether a source is a URI and no path."""
    return isinstance(source, str) and _URI.match(source) is not None


def scheme_of(uri: str) -> str:
    """Return the scheme of a URI, in lower case; of a chain of them, the first."""
    return re.split("::|://", uri, maxsplit=1)[0].lower()


def split_uri(uri: str) -> tuple[str, str, str]:
    """Return the authority, path and query of a URI, as they stand. A path may hold spaces and '#'."""
    rest = uri.partition("://")[2]
    before, _, query = rest.partition("?")
    authority, _, path = before.partition("/")
    return authority, path, query


def shown(source: str | Path) -> str:
    """Return what a source is called in messages and manifests: a URI loses its user info and its query.

    >>> shown("s3://key:secret@bucket/pool/*.parquet?region=eu-west-1")
    's3://bucket/pool/*.parquet'
    """
    return "::".join(map(_shown, _CHAIN.split(str(source)))) if is_uri(source) else str(source)


def has_stray_slash(uri: str) -> bool:
    """Return whether the user info of a URI holds a raw slash or question mark, as a secret key may."""
    rest = uri.partition("://")[2]
    authority = re.split("[/?#]", rest, maxsplit=1)[0]
    # host:8020 is a port, and object stores have none.
    has_port = re.fullmatch(r"[^:]*:\d+", authority) is not None and scheme_of(uri) not in {"s3", "s3a"}
    return "@" not in authority and ":" in authority and not has_port and "@" in rest


def hide(text: str, uri: str = "") -> str:
    """Return a library's message without what a URI keeps to itself, and without that of any URI in it."""
    text = text.replace(uri, shown(uri)) if uri else text
    for secret in sorted(_secrets(uri), key=len, reverse=True):
        text = text.replace(secret, "***")
    return _URI_IN_TEXT.sub(lambda found: shown(found[0]), text)


def _shown(uri: str) -> str:
    scheme, mark, rest = uri.partition("://")
    if not mark:
        return uri
    if has_stray_slash(uri):
        rest = rest.rpartition("@")[2]
    before = rest.partition("?")[0]
    authority, slash, path = before.partition("/")
    return f"{scheme}://{authority.rpartition('@')[2]}{slash}{path}"


def _secrets(uri: str) -> set[str]:
    found: set[str] = set()
    for part in _CHAIN.split(uri):
        authority, _, query = split_uri(part)
        user_info = (
            part.partition("://")[2].rpartition("@")[0]
            if has_stray_slash(part)
            else authority.rpartition("@")[0]
        )
        options = (option.partition("=") for option in query.split("&"))
        values = [value for name, _, value in options if name not in _NOT_SECRET]
        found.update([user_info, *user_info.split(":", 1), *values])
    found |= {unquote(secret) for secret in found}
    return {secret for secret in found if len(secret) >= _SHORTEST_SECRET}

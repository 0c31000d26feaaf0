"""Behaviours of servers: ways to bend an answer of Label Studio, by bytes and by meaning.

Lies that look like the truth are none: a server that says of a row that its label is another cannot be found out.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from played_answers import UNKNOWN
from played_label_studio import Sent

KINDS = ("refresh", "projects", "make", "import", "count", "project", "tasks")

Change = Callable[[Sent], None]


@dataclass(frozen=True)
class Behaviour:
    """One way to bend the answers to one kind of request."""

    kind: str
    name: str
    change: Change


# Bytes


def _set(**values: Any) -> Change:
    def change(sent: Sent) -> None:
        for name, value in values.items():
            setattr(sent, name, value)

    return change


def _header(name: str, value: str) -> Change:
    return lambda sent: sent.headers.update({name: value})


def _redirect(status: int, to: str) -> Change:
    return _set(status=status, headers={"Location": to}, body=b"")


def text_of(content: Any) -> bytes:
    """Return the bytes of an answer."""
    return json.dumps(content).encode()


def _on_body(bend: Callable[[bytes], bytes]) -> Change:
    def change(sent: Sent) -> None:
        sent.body = bend(text_of(sent.content))

    return change


def _cut(share: float, *, told: bool) -> Change:
    """Send the beginning of a body; `told` says whether the header promises all of it."""

    def change(sent: Sent) -> None:
        whole = text_of(sent.content)
        sent.body = whole[: int(len(whole) * share)]
        sent.length = len(whole) if told else -1

    return change


def _chunked(pieces: list[bytes]) -> bytes:
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"".join(pieces)


def _echo(status: int, cut: int, write: Callable[[str], str]) -> Change:
    """Refuse with a part of the token in the server's words."""
    return _set(status=status, content={"detail": f"Not this: {write(UNKNOWN[-cut:])}"})


_BOMB = gzip.compress(b" " * (64 << 20), 1)


def _compressed(sent: Sent) -> None:
    sent.body = _BOMB
    sent.headers["Content-Encoding"] = "gzip"


_DEEP = 200_000
_STATUSES = (
    "102 199 202 204 206 226 300 304 305 400 401 402 403 404 405 408 409 410 413 418 422 425 429 431 451 "
    "500 501 502 503 504 507 511 599 600 999"
)
_BYTES: dict[str, Change] = {
    **{f"status {status}": _set(status=status) for status in map(int, _STATUSES.split())},
    **{
        f"{status} to {to!r}": _redirect(status, to)
        for status in (301, 302, 303, 307, 308)
        for to in ("http://127.0.0.2:9/", "/api/token/refresh/", "//other.invalid/", "http://[", "")
    },
    "307 to https": _redirect(307, "https://127.0.0.1/"),
    "307 to a file": _redirect(307, "file:///etc/passwd"),
    "307 to data": _redirect(307, "data:application/json,{}"),
    "308 to a bad port": _redirect(308, "http://127.0.0.1:99999/"),
    "308 to a space": _redirect(308, "/a b\tc?d e"),
    "308 with a user": _redirect(308, f"http://{UNKNOWN[:60]}:x@127.0.0.1:9/"),
    "302 without a place": _set(status=302),
    "empty": _set(body=b""),
    "blank": _set(body=b" \r\n "),
    **{f"cut at {share}": _cut(share, told=False) for share in (0.1, 0.5, 0.9, 0.99)},
    **{f"cut at {share}, unlike told": _cut(share, told=True) for share in (0.0, 0.5, 0.99)},
    **{
        f"length {length}": _header("content-length", length)
        for length in ("-5", "0", "abc", "9" * 30, "1, 2")
    },
    "length too small": _set(length=3),
    "length too large": _set(length=10**6),
    "length of a terabyte": _set(length=10**12),
    "no length": _set(length=None),
    "two lengths": lambda sent: sent.headers.update({"content-length": "7"}),
    "plain text": _header("Content-Type", "text/plain"),
    "no type": _set(headers={}),
    "type of a page": _header("Content-Type", "text/html; charset=utf-8"),
    "a page": _set(body=b"<!DOCTYPE html><title>Log in</title>", headers={"Content-Type": "text/html"}),
    "a page that calls itself JSON": _set(body=b"\n <html>Log in</html>"),
    "half compressed": _header("Content-Encoding", "gzip"),
    "compressed": _compressed,
    "unknown coding": _header("Content-Encoding", "zstd, br"),
    "identity coding": _header("Content-Encoding", "identity"),
    "a header of 1 MB": _header("X-Long", "x" * 10**6),
    "200 headers": lambda sent: sent.headers.update({f"X-{place}": "x" for place in range(200)}),
    "hangs up": _set(raw=b""),
    "says nothing": _set(raw=b"HTTP/1.1 200 OK\r\n", pieces=8, pause=60.0),
    "drips headers": _set(raw=b"HTTP/1.1 200 OK\r\nX-Slow: " + b"x" * 10**4, pieces=1, pause=0.1),
    "drips a body": _set(length=None, pieces=2, pause=0.1, repeats=True),
    "never ends": _set(length=None, repeats=True),
    "never ends, of spaces": _set(length=None, repeats=True, body=b" " * (1 << 16)),
    "continues for ever": _set(raw=b"HTTP/1.1 100 Continue\r\n\r\n" * 10**5, pieces=1000, pause=0.01),
    "no HTTP": _set(raw=b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 9),
    "a banner": _set(raw=b"SSH-2.0-OpenSSH_9.2\r\n"),
    "HTTP/0.9": _set(raw=b'{"id": 1}\n'),
    "HTTP/9.9": _set(raw=b"HTTP/9.9 200 OK\r\n\r\n{}"),
    "a status of letters": _set(raw=b"HTTP/1.1 OK OK\r\n\r\n{}"),
    "a status of one digit": _set(raw=b"HTTP/1.1 2 OK\r\n\r\n{}"),
    "bad chunks": _set(raw=_chunked([b"zz\r\n{}\r\n0\r\n\r\n"])),
    "a negative chunk": _set(raw=_chunked([b"-5\r\n{}\r\n0\r\n\r\n"])),
    "a huge chunk": _set(raw=_chunked([b"f" * 15 + b"\r\n{}"])),
    "chunks without an end": _set(raw=_chunked([b"2\r\n{}\r\n"])),
    "an endless trailer": _set(raw=_chunked([b"2\r\n{}\r\n0\r\n", b"X: y\r\n" * 10**5])),
    "a byte mark": _on_body(lambda body: b"\xef\xbb\xbf" + body),
    "UTF-16": _on_body(lambda body: body.decode().encode("utf-16")),
    "no UTF-8": _on_body(lambda body: b'{"\xff": 1, ' + body[1:]),
    "zeros": _on_body(lambda body: bytes(len(body))),
    "twice": _on_body(lambda body: body + body),
    "a comma too many": _on_body(lambda body: body[:-1] + b",}"),
    "single quotes": _on_body(lambda body: body.replace(b'"', b"'")),
    "NaN": _on_body(lambda body: b'{"a": NaN, ' + body[1:]),
    "Infinity": _on_body(lambda body: b'{"a": [-Infinity], ' + body[1:]),
    "a number of 5,000 digits": _on_body(lambda body: b'{"a": ' + b"9" * 5000 + b", " + body[1:]),
    "a number of 1e999": _on_body(lambda body: b'{"a": 1e999, ' + body[1:]),
    "deep lists": _set(body=b"[" * _DEEP + b"]" * _DEEP),
    "deep lists, open": _set(body=b"[" * _DEEP),
    "deep objects": _set(body=b'{"a":' * _DEEP + b"1" + b"}" * _DEEP),
    "deep within": _on_body(lambda body: b'{"a": ' + b"[" * _DEEP + b"]" * _DEEP + b", " + body[1:]),
    "deep within a refusal": _set(status=500, body=b'{"detail": ' + b"[" * 900 + b"]" * 900 + b"}"),
    "a million lists": _set(body=b"[" + b"[]," * 10**6 + b"[]]"),
    **{
        f"{json.dumps(content)} alone": _set(content=content)
        for content in (
            None,
            True,
            0,
            -1.5,
            "text",
            "",
            [],
            {},
            [None],
            [[]],
            [{}],
            {"id": None},
            {"detail": 5},
        )
    },
    **{
        f"{status} with {cut} of the token {how}": _echo(status, cut, write)
        for status in (401, 500)
        for cut in (5, 12, 20, 22)
        for how, write in {
            "as it is": str,
            "percent-encoded": lambda part: "".join(f"%{ord(letter):02X}" for letter in part),
            "in capitals": str.upper,
            "spaced out": " ".join,
        }.items()
    },
}


# Meaning

_VALUES: dict[str, Any] = {
    "null": None,
    "true": True,
    "-1": -1,
    "2**63": 2**63,
    "10**400": 10**400,
    "1.5": 1.5,
    "a text": "x",
    "half a character": "\ud800",
    "a list": [],
    "lists": [[], [{}]],
    "an object": {},
}
# What is there to be shown or counted by people, and never looked at here; and lies that look like the truth.
_UNREAD = {
    "task_number",
    "sampling",
    "show_collab_predictions",
    "annotation_count",
    "duration",
    "to_name",
    "type",
}
_BELIEVED = {
    ("title", "a text"),
    ("was_cancelled", "true"),
    ("was_cancelled", "null"),
    ("result", "null"),
    ("result", "a list"),
    ("result", "missing"),
    ("choices", "a list"),
    ("annotations", "a list"),
    ("from_name", "a text"),
    ("data", "an object"),
    ("row_id", "-1"),
    ("row_id", "2**63"),
    ("row_id", "a text"),
    ("row_id", "missing"),
    ("0", "a text"),
    ("0", "missing"),
    ("label_config", "null"),
    ("access", "a text"),
}


def _paths(content: Any, before: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Return the ways to the values of an answer; of a list, those to its first and last one."""
    if isinstance(content, dict):
        steps: list[str | int] = [name for name in content if name not in _UNREAD]
    elif isinstance(content, list):
        steps = sorted({0, len(content) - 1}) if content else []
    else:
        return
    for step in steps:
        yield (*before, step)
        if step != "data":
            yield from _paths(content[step], (*before, step))
        elif isinstance(content[step], dict):
            yield (*before, step, "row_id")


def _replace(path: tuple[str | int, ...], value: Any, *, missing: bool = False) -> Change:
    def change(sent: Sent) -> None:
        place = sent.content
        try:
            for step in path[:-1]:
                place = place[step]
            if missing:
                del place[path[-1]]
            else:
                place[path[-1]] = value
        except (KeyError, IndexError, TypeError):
            return  # this answer has no such value

    return change


def _repeat_last(name: str) -> Change:
    def change(sent: Sent) -> None:
        if sent.content.get(name):
            sent.content[name].append(sent.content[name][-1])

    return change


def _always_first_page(name: str, played: dict[str, Any]) -> Change:
    """A server that does not look at the page that it is asked for."""

    def change(sent: Sent) -> None:
        played.setdefault(name, sent.content[name])
        sent.content[name] = played[name]

    return change


def _shift_total(name: str, by: int) -> Change:
    def change(sent: Sent) -> None:
        sent.content[name] = max(0, sent.content[name] + by)

    return change


def bend_all(examples: dict[str, Any]) -> list[Behaviour]:
    """Return all behaviours in a fixed order; `examples` are answers of every kind, which nobody has bent."""
    found = [Behaviour(kind, name, change) for kind in KINDS for name, change in _BYTES.items()]
    for kind, content in examples.items():
        for path in _paths(content):
            last = str(path[-1])
            way = "/".join(map(str, path))
            for name, value in _VALUES.items():
                if not {(last, name), (last, "*")} & _BELIEVED:
                    found.append(Behaviour(kind, f"{way} is {name}", _replace(path, value)))
            if not {(last, "missing"), (last, "*")} & _BELIEVED:
                found.append(Behaviour(kind, f"{way} is missing", _replace(path, None, missing=True)))
    for kind, name, total in (("projects", "results", "count"), ("tasks", "tasks", "total")):
        found += [
            Behaviour(kind, "repeats the last of a page", _repeat_last(name)),
            Behaviour(kind, "gives the first page for every page", _always_first_page(name, {})),
            Behaviour(kind, "gives no page", _replace((name,), [])),
            *(Behaviour(kind, f"counts {by:+}", _shift_total(total, by)) for by in (1, 7, 10**9)),
        ]
        if kind == "tasks":  # a list of projects that is cut short looks like a list without the project
            found.append(Behaviour(kind, "counts -1", _shift_total(total, -1)))
    return found

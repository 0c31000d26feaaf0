"""Answers of servers that are played by a few lines, tokens that no server knows, and what is said of both."""

from __future__ import annotations

import base64
import json
import socket
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

Answer = Callable[[BaseHTTPRequestHandler], None]

SECRET = "s3cr3t-t0k3n-that-nobody-may-see"  # noqa: S105 - no server knows it


def as_jwt(**claims: Any) -> str:
    """Return a token of the form that personal access tokens have, signed by nobody."""
    parts = ({"alg": "HS256", "typ": "JWT"}, claims)
    texts = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts]
    return ".".join([*texts, "c2lnbmVkIGJ5IG5vYm9keQ"])


EXPIRED = as_jwt(token_type="refresh", exp=1, jti="x", user_id=1)  # noqa: S106 - as above
UNKNOWN = as_jwt(token_type="refresh", exp=4_000_000_000, jti="x", user_id=1)  # noqa: S106 - as above


def answer_with(status: int, content: bytes, kind: str = "application/json", **headers: str) -> Answer:
    def answer(request: BaseHTTPRequestHandler) -> None:
        request.rfile.read(int(request.headers.get("Content-Length", 0)))
        request.send_response(status)
        request.send_header("Content-Type", kind)
        request.send_header("Content-Length", str(len(content)))
        for name, value in headers.items():
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(content)

    return answer


def hang_up(request: BaseHTTPRequestHandler) -> None:
    request.close_connection = True
    request.connection.shutdown(socket.SHUT_RDWR)


def complaint(call: Callable[[], object], kind: type[Exception]) -> str:
    """Return the message of an error that has no cause or context to show."""
    with pytest.raises(kind) as caught:
        call()
    assert type(caught.value) is kind
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
    return str(caught.value)

"""Answers of servers that are played by a few lines, tokens that no server knows, and what is said of both."""

from __future__ import annotations

import base64
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
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


@contextmanager
def answering_servers() -> Iterator[Callable[[Answer], str]]:
    """Give a function that starts a server, which answers every request in one way, and returns its address."""
    servers = []

    def start(answer: Answer) -> str:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                answer(self)

            do_POST = do_GET  # noqa: N815 - the library's names

            def log_message(self, *args: object) -> None:
                """Keep quiet."""

        servers.append(ThreadingHTTPServer(("127.0.0.1", 0), Handler))
        # Looking often whether to stop: by default it takes half a second to stop each.
        threading.Thread(target=servers[-1].serve_forever, args=[0.01], daemon=True).start()
        return f"http://127.0.0.1:{servers[-1].server_port}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


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

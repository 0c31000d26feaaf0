"""A Label Studio of a few lines that listens on this machine, and whose answers can be bent before they are sent."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from played_answers import as_jwt

ACCESS = as_jwt(token_type="access", exp=4_000_000_000, jti="y", user_id=1)  # noqa: S106 - of a played server


@dataclass
class Sent:
    """An answer as it is about to be sent.

    Attributes:
        status: the status code.
        content: what the body says, before it is written as JSON.
        headers: the headers, besides the length.
        body: the bytes of the body; by default the content in JSON.
        length: what the header says of the length; by default the truth. None leaves it out.
        raw: the bytes to send in place of everything.
        pieces: how many bytes are sent at once; 0 sends all of them.
        pause: the seconds between two pieces.
        repeats: whether the body is sent over and over.
    """

    status: int
    content: Any
    headers: dict[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})
    body: bytes | None = None
    length: int | None = -1
    raw: bytes | None = None
    pieces: int = 0
    pause: float = 0.0
    repeats: bool = False


#: Changes the n-th answer to a request of some kind, before it is sent.
Bend = Callable[[str, int, Sent], None]


class PlayedLabelStudio:
    """Keeps projects and tasks, and answers the requests that push and pull make, as Label Studio 1.23 does."""

    def __init__(self, bend: Bend | None = None) -> None:
        self.bend = bend
        self.projects: dict[int, dict[str, Any]] = {}
        self.tasks: dict[int, dict[str, Any]] = {}
        self.requests: list[str] = []
        self.url = ""

    def annotate(self, choose: Callable[[dict[str, Any]], str | None]) -> None:
        """Let an annotator choose a class for every task's data, or none."""
        for number, task in self.tasks.items():
            choice = choose(task["data"])
            part = {
                "from_name": "label",
                "to_name": "text",
                "type": "choices",
                "value": {"choices": [choice]},
            }
            made = {"id": number, "completed_by": 1, "was_cancelled": False, "result": [part]}
            task["annotations"] = [] if choice is None else [made]

    def rows(self) -> list[Any]:
        """Return the row ids of all tasks, in their order."""
        return [task["data"]["row_id"] for task in self.tasks.values()]

    def answer(self, method: str, path: str, query: dict[str, str], body: Any) -> tuple[str, Sent]:
        """Return what kind of request this is, and the answer to it."""
        if path == "/api/token/refresh/":
            return "refresh", Sent(200, {"access": ACCESS})
        if path == "/api/projects/":
            if method == "POST":
                number = len(self.projects) + 1
                self.projects[number] = {"id": number, "task_number": 0, **body}
                return "make", Sent(201, self.projects[number])
            return "projects", self._page(list(self.projects.values()), query, "results", "count")
        if path.endswith("/import"):
            for task in body:
                number = len(self.tasks) + 1
                self.tasks[number] = {"id": number, "data": task["data"], "annotations": []}
            return "import", Sent(201, {"task_count": len(body), "annotation_count": 0, "duration": 0.1})
        if path == "/api/tasks/":
            kind = "count" if query["page_size"] == "1" else "tasks"
            return kind, self._page(list(self.tasks.values()), query, "tasks", "total")
        number = int(path.strip("/").rpartition("/")[2])
        found = self.projects.get(number)
        return "project", Sent(404, {"detail": "Not found."}) if found is None else Sent(200, found)

    @staticmethod
    def _page(records: list[Any], query: dict[str, str], name: str, total: str) -> Sent:
        size, page = int(query["page_size"]), int(query["page"])
        return Sent(200, {total: len(records), name: records[(page - 1) * size : page * size]})

    @contextmanager
    def listening(self) -> Iterator[PlayedLabelStudio]:
        """Listen on a port of this machine."""
        played, done = self, threading.Event()

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                with suppress(OSError):  # the other side has had enough
                    played._handle(self, done)

            do_POST = do_GET  # noqa: N815 - the library's names

            def log_message(self, *args: object) -> None:
                """Keep quiet."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.block_on_close = False
        threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
        self.url = f"http://127.0.0.1:{server.server_port}"
        try:
            yield self
        finally:
            done.set()
            server.shutdown()
            server.server_close()

    def _handle(self, request: BaseHTTPRequestHandler, done: threading.Event) -> None:
        body = request.rfile.read(int(request.headers.get("Content-Length", 0)))
        parts = urlsplit(request.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        kind, sent = self.answer(request.command, parts.path, query, json.loads(body) if body else None)
        self.requests.append(kind)
        # A copy: what is bent on the way out stays right on the server.
        sent.content = json.loads(json.dumps(sent.content))
        if self.bend is not None:
            self.bend(kind, self.requests.count(kind), sent)
        _send(request, sent, done)


def _send(request: BaseHTTPRequestHandler, sent: Sent, done: threading.Event) -> None:
    request.close_connection = True
    body = json.dumps(sent.content).encode() if sent.body is None else sent.body
    if sent.raw is not None:
        whole = sent.raw
    else:
        length = (
            {} if sent.length is None else {"Content-Length": len(body) if sent.length == -1 else sent.length}
        )
        lines = [f"{name}: {value}" for name, value in {**sent.headers, **length}.items()]
        whole = "\r\n".join([f"HTTP/1.1 {sent.status} Said", *lines, "", ""]).encode() + body
    size = sent.pieces or max(1, len(whole))
    for start in range(0, len(whole), size):
        request.wfile.write(whole[start : start + size])
        request.wfile.flush()
        if sent.pause and done.wait(sent.pause):
            return
    while sent.repeats and not done.is_set():
        request.wfile.write(body)
        time.sleep(sent.pause)

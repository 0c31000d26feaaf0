"""A made-up data set, and a server on this machine to fetch it from."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import numpy as np
import pytest

from minmargin.experiments.datasets import DATASETS, DataFile, Dataset, Source, Table

CONTENT = b"".join(b"%d,%d\n" % (i, i % 2) for i in range(20_000))


def load_toy(files: Mapping[str, bytes]) -> Table:
    """Return the table of a file of numbers and labels."""
    rows = np.array([line.split(b",") for line in files["toy.csv"].split()], float)
    return Table(rows[:, :1], rows[:, 1].astype(np.intp), ("even", "odd"), None, None, ("number",))


def toy(*sources: Source, content: bytes = CONTENT) -> Dataset:
    """Return the entry of a data set with one file."""
    checksum = hashlib.sha256(content).hexdigest()
    return Dataset(
        name="toy",
        title="Numbers",
        origin="the school",
        license="MIT",
        files=(DataFile("toy.csv", len(content), checksum, sources),),
        n_rows=20_000,
        n_features=1,
        n_classes=2,
        load=load_toy,
        note="Sorted.",
    )


@pytest.fixture
def register(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Dataset]:
    """Return a function that adds the toy to the registry, for one test."""

    def add(*sources: Source) -> Dataset:
        dataset = toy(*sources)
        monkeypatch.setitem(DATASETS, "toy", dataset)
        return dataset

    return add


class Origin:
    """What a server has, how well it behaves, and what it was asked for."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.files: dict[str, bytes] = {}
        self.understands_ranges = True
        self.cut_after: list[int] = []  # how many bytes the next answers send before the connection breaks
        self.asked: list[tuple[str, str | None]] = []

    def source(self, path: str, content: bytes, member: str | None = None) -> Source:
        """Put a file on the server and return its address."""
        self.files[path] = content
        return Source(self.url + path, member)


class _Handler(BaseHTTPRequestHandler):
    origin: Origin

    def do_GET(self) -> None:
        origin = self.origin
        wanted = self.headers.get("Range")
        origin.asked.append((self.path, wanted))
        content = origin.files.get(self.path)
        if content is None:
            self.send_error(404)
            return
        start = 0
        if wanted is not None and origin.understands_ranges:
            start = int(wanted.removeprefix("bytes=").removesuffix("-"))
            if start >= len(content):
                self.send_error(416)
                return
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        end = start + origin.cut_after.pop(0) if origin.cut_after else len(content)
        self.wfile.write(content[start:end])

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def origin() -> Iterator[Origin]:
    """A server on this machine."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        serving = Origin(f"http://127.0.0.1:{server.server_port}")
        server.RequestHandlerClass = type("Handler", (_Handler,), {"origin": serving})
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield serving
        server.shutdown()
        thread.join()

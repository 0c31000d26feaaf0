"""A real Label Studio server on this machine: SQLite, loopback, no other connection, a data folder of its own.

`make test-labelling` makes the two environments that this takes. Without them nothing here is collected.
"""

from __future__ import annotations

import importlib.util
import os
import signal
import socket
import subprocess
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

PROGRAM = Path(__file__).parents[2] / ".venv-label-studio" / "bin" / "label-studio"

_HERE = PROGRAM.exists() and all(map(importlib.util.find_spec, ("httpx", "playwright")))
collect_ignore_glob = [] if _HERE else ["test_*.py"]

PASSWORD = "correct horse battery staple"  # noqa: S105 - of a server that lives as long as the tests
START_SECONDS = 600  # the first start makes the database


class LabelStudio:
    """A server that can be killed and started again, and what a person would do in its pages."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.token = "0123456789abcdef" * 2 + "01234567"
        self.owner, self.password = "owner@example.com", PASSWORD
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        import httpx  # noqa: PLC0415 - of the environment that this needs

        quiet = {
            "COLLECT_ANALYTICS": "false",
            "LATEST_VERSION_CHECK": "false",
            "SENTRY_DSN": "",
            "FRONTEND_SENTRY_DSN": "",
        }
        with (self.folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    PROGRAM,
                    "start",
                    "--no-browser",
                    "--enable-legacy-api-token",  # counts at the first start only
                    *("--internal-host", "127.0.0.1"),
                    *("--port", str(self.port)),
                    *("--data-dir", self.folder / "data"),
                    *("--username", self.owner),
                    *("--password", self.password),
                    *("--user-token", self.token),
                ],
                env={**os.environ, **quiet, "LABEL_STUDIO_BASE_DATA_DIR": str(self.folder / "data")},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                break
            try:
                if httpx.get(f"{self.url}/health", timeout=30).status_code == 200:
                    return
            except httpx.TransportError:
                time.sleep(0.2)
        self.kill()
        raise AssertionError((self.folder / "server.log").read_text()[-3000:])

    def kill(self) -> None:
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def ask(self, method: str, path: str, *, token: str | None = None, **options: Any) -> Any:
        """Return the server's answer, in JSON."""
        import httpx  # noqa: PLC0415 - as above

        headers = {"Authorization": f"Token {token or self.token}"}
        answer = httpx.request(method, self.url + path, headers=headers, timeout=60, **options)
        answer.raise_for_status()
        return answer.json()

    def sign_up(self, name: str) -> str:
        """Return the legacy token of a new annotator, who signs up as people do."""
        import httpx  # noqa: PLC0415 - as above

        with httpx.Client(base_url=self.url, follow_redirects=True, timeout=60) as browser:
            browser.get("/user/signup/")
            form = {
                "email": f"{name}@example.com",
                "password": PASSWORD,
                "csrfmiddlewaretoken": browser.cookies["csrftoken"],
            }
            browser.post("/user/signup/", data=form, headers={"Referer": f"{self.url}/user/signup/"})
            return str(browser.get("/api/current-user/token").json()["token"])

    def tasks(self, project: int) -> list[dict[str, Any]]:
        """Return the tasks of a project in the order of their numbers, with annotations and predictions' numbers."""
        path = f"/api/projects/{project}/export?exportType=JSON&download_all_tasks=true"
        return sorted(self.ask("GET", path), key=lambda task: task["id"])

    def next_row(self, project: int, *, token: str | None = None) -> dict[str, Any]:
        """Return the task that the button "Label all tasks" leads to next."""
        return dict(self.ask("GET", f"/api/projects/{project}/next", token=token))

    def annotate(self, task: int, label: str | None, *, target: str, token: str | None = None) -> None:
        """Choose a class for a task, as the page does; None skips it."""
        part = {"from_name": "label", "to_name": target, "type": "choices", "value": {"choices": [label]}}
        body = {"result": [], "was_cancelled": True} if label is None else {"result": [part]}
        self.ask("POST", f"/api/tasks/{task}/annotations/", token=token, json=body)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabelStudio]:
    """The one server of this run, which holds one project a test."""
    server = LabelStudio(tmp_path_factory.mktemp("label-studio"))
    server.start()
    yield server
    server.kill()


@pytest.fixture(scope="session")
def personal_token(server: LabelStudio) -> str:
    """The owner's personal access token, which is a JWT; the server gives one."""
    return str(server.ask("POST", "/api/token/")["token"])


@pytest.fixture
def environment(server: LabelStudio, monkeypatch: pytest.MonkeyPatch) -> LabelStudio:
    """The server, with its address and a legacy token in the environment, as commands read them."""
    monkeypatch.setenv("LABEL_STUDIO_URL", server.url)
    monkeypatch.setenv("LABEL_STUDIO_API_KEY", server.token)
    return server


@pytest.fixture
def title(request: pytest.FixtureRequest) -> str:
    """A title that no other test uses, of the length that a server takes."""
    name = request.node.name
    return f"{name.removeprefix('test_')[:40]} {zlib.crc32(name.encode()):08x}"

"""Redirects of a Label Studio server: within it they are followed, and nothing is sent to another one."""

from __future__ import annotations

import json
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

import minmargin as mm
from made_up_batch import made_up_batch
from minmargin.integrations.items import Showing
from minmargin.integrations.label_studio import pull, push
from minmargin.integrations.label_studio.address import Address
from minmargin.integrations.label_studio.server import Project, Server
from played_answers import SECRET, UNKNOWN, Answer, answer_with, as_jwt, complaint

STATUSES = [301, 302, 303, 307, 308]
ACCESS = as_jwt(token_type="access", exp=4_000_000_000, jti="y", user_id=1)  # noqa: S106 - of a played server
REFRESH_PATH = "/api/token/refresh/"
MESSAGE = (
    "Label Studio at {} redirects to {}, which is not sent the token. "
    "If that is your server, use its address (--url)."
)

Start = Callable[[Answer], str]


class Other:
    """Another server, which writes down what it is sent and answers as if all were well."""

    def __init__(self, answering: Start) -> None:
        self.requests: list[str] = []
        self.url = answering(self._answer)

    def _answer(self, request: BaseHTTPRequestHandler) -> None:
        self.requests.append(f"{request.command} {request.path}")
        content = {"access": ACCESS, "id": 1, "title": "mine", "count": 0, "results": []}
        answer_with(200, json.dumps(content).encode())(request)


@pytest.fixture
def other(answering: Start) -> Other:
    return Other(answering)


def redirect(status: int, to: str) -> Answer:
    return answer_with(status, b"", Location=to)


def redirect_to_same_path(status: int, origin: str) -> Answer:
    return lambda request: redirect(status, origin + request.path)(request)


def assert_unseen(token: str, message: str) -> None:
    """No eight characters of the token in a row are in the message."""
    parts = {token[start : start + 8].lower() for start in range(len(token) - 7)}
    assert not [part for part in parts if part in message.lower()]


@pytest.mark.parametrize("token", [SECRET, UNKNOWN], ids=["legacy", "personal"])
@pytest.mark.parametrize("status", STATUSES)
def test_nothing_is_sent_to_another_server(answering: Start, other: Other, status: int, token: str) -> None:
    """A personal token is in the body of the first request, where no library takes it out again."""
    url = answering(redirect_to_same_path(status, other.url))
    message = complaint(lambda: pull(url=url, project="mine", token=token), mm.InputError)
    assert other.requests == []
    assert message == MESSAGE.format(url, other.url)
    assert_unseen(token, message)


@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize(
    "ask",
    [
        lambda server: server.find_project(1),
        lambda server: server.find_project("mine"),
        lambda server: server.get_project("mine"),
        lambda server: server.make_project("mine", "<View/>"),
        lambda server: list(server.tasks(Project(1, "mine", ""), annotations=True)),
        lambda server: server.add_tasks(Project(1, "mine", ""), [{"data": {"text": "a"}}]),
    ],
    ids=["a project", "a title", "projects", "make a project", "tasks", "add tasks"],
)
def test_no_request_goes_elsewhere_once_the_token_is_accepted(
    answering: Start, other: Other, ask: Callable[[Server], object], status: int
) -> None:
    def answer(request: BaseHTTPRequestHandler) -> None:
        if request.path == REFRESH_PATH:
            answer_with(200, json.dumps({"access": ACCESS}).encode())(request)
        else:
            redirect_to_same_path(status, other.url)(request)

    url = answering(answer)
    with Server.at(url, UNKNOWN) as server:
        message = complaint(lambda: ask(server), mm.InputError)
    assert other.requests == []
    assert message == MESSAGE.format(url, other.url)
    assert_unseen(ACCESS, message)


@pytest.mark.parametrize("token", [SECRET, UNKNOWN], ids=["legacy", "personal"])
@pytest.mark.parametrize(
    "origin", ["https://127.0.0.1:{port}", "http://localhost:{port}", "http://127.0.0.1"]
)
def test_scheme_host_and_port_all_count(answering: Start, origin: str, token: str) -> None:
    n_requests = 0

    def answer(request: BaseHTTPRequestHandler) -> None:
        nonlocal n_requests
        n_requests += 1
        redirect_to_same_path(307, elsewhere)(request)

    url = answering(answer)
    elsewhere = origin.format(port=urlsplit(url).port)
    message = complaint(lambda: pull(url=url, project="mine", token=token), mm.InputError)
    assert n_requests == 1
    assert message == MESSAGE.format(url, elsewhere)


def test_a_detour_on_the_same_server_does_not_help(answering: Start, other: Other) -> None:
    def answer(request: BaseHTTPRequestHandler) -> None:
        redirect(308, f"{other.url}/" if request.path == "/detour" else "/detour")(request)

    url = answering(answer)
    message = complaint(lambda: pull(url=url, project="mine", token=UNKNOWN), mm.InputError)
    assert other.requests == []
    assert message == MESSAGE.format(url, other.url)


@pytest.mark.parametrize(
    ("location", "shown"),
    [
        ("http://me:{}@other.invalid:81/{}?next={}#{}", "http://other.invalid:81"),
        ("http://{}.invalid/", "an address that holds a part of the token"),
        ("http://{:.10}.invalid/", "an address that holds a part of the token"),
    ],
    ids=["path and query", "host", "part in host"],
)
@pytest.mark.parametrize("token", [SECRET, SECRET.upper()], ids=["lower case", "upper case"])
def test_an_address_that_repeats_the_token_is_not_shown(
    answering: Start, location: str, shown: str, token: str
) -> None:
    url = answering(redirect(307, location.format(*[token] * 4)))
    message = complaint(lambda: pull(url=url, project="mine", token=token), mm.InputError)
    assert message == MESSAGE.format(url, shown)
    assert_unseen(token, message)


@pytest.mark.parametrize("debug", [False, True])
def test_commands_leave_with_1(
    answering: Start,
    other: Other,
    run_command: Any,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    debug: bool,
) -> None:
    url = answering(redirect_to_same_path(307, other.url))
    monkeypatch.setenv("LABEL_STUDIO_API_KEY", UNKNOWN)
    monkeypatch.chdir(tmp_path)
    made_up_batch(2, kept={"text": ["a", "b"]}).to_parquet("batch.parquet")
    options = ["--url", url, "--project", "mine"]
    for line in (["push", "batch.parquet", "--text-column", "text"], ["pull", "--out", "labels.csv"]):
        code, out, err = run_command(*["--debug"] * debug, "label-studio", *line, *options)
        assert (code, out) == (1, "")
        assert err.splitlines()[-1] == f"minmargin: {MESSAGE.format(url, other.url)}"
        assert debug or len(err.splitlines()) == 1
        assert_unseen(UNKNOWN, err)
    assert other.requests == []


@pytest.mark.parametrize("absolute", [False, True], ids=["path", "address"])
@pytest.mark.parametrize("status", [307, 308])
def test_a_redirect_within_the_server_is_followed(answering: Start, status: int, absolute: bool) -> None:
    """As of a path without a trailing slash; method, token and body go along."""
    requests = []

    def answer(request: BaseHTTPRequestHandler) -> None:
        if not request.path.startswith("/moved"):
            redirect(status, (url if absolute else "") + "/moved" + request.path)(request)
            return
        path = urlsplit(request.path).path.removeprefix("/moved")
        requests.append((request.command, path, request.headers["Authorization"]))
        if path == REFRESH_PATH:
            content: dict[str, Any] = {"access": ACCESS}
        elif request.command == "GET":
            content = {"count": 0, "results": [], "total": 3, "tasks": []}
        else:
            content = {"id": 7, "title": "mine", "task_count": 3}
        answer_with(201 if path == "/api/projects/" else 200, json.dumps(content).encode())(request)

    url = answering(answer)
    pushed = push(Showing.of(made_up_batch(3)), url=url, project="mine", token=UNKNOWN)
    assert (pushed.project, pushed.created, pushed.n_added) == (7, True, 3)
    assert requests == [
        ("POST", REFRESH_PATH, None),
        ("GET", "/api/projects/", f"Bearer {ACCESS}"),
        ("POST", "/api/projects/", f"Bearer {ACCESS}"),
        ("POST", "/api/projects/7/import", f"Bearer {ACCESS}"),
        ("GET", "/api/tasks/", f"Bearer {ACCESS}"),
    ]


@pytest.mark.parametrize(
    ("url", "to"),
    [
        ("http://Example.COM", "http://example.com:80/api/"),
        ("https://example.com:443/labels", "https://EXAMPLE.com/api/"),
        ("http://[::1]:8080", "http://[::1]:8080/api/"),
        ("http://b\N{LATIN SMALL LETTER U WITH DIAERESIS}cher.example", "http://xn--bcher-kva.example/api/"),
    ],
)
def test_one_server_in_two_spellings_is_one_server(url: str, to: str) -> None:
    assert Address.of(url, insecure=True).locate("/api/projects/1/", to) == ("", "/api/")

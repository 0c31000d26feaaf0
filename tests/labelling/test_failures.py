"""Servers, tokens and projects that are not what they should be: one sentence each, and never the token."""

from __future__ import annotations

import json
import os
import pty
import socket
import subprocess
import sys
import termios
import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

import minmargin as mm
from labelling.played_answers import EXPIRED, SECRET, UNKNOWN, Answer, answer_with, complaint, hang_up
from made_up_batch import made_up_batch
from minmargin.integrations.items import Showing
from minmargin.integrations.label_studio import LabelStudioError, pull, push

# Servers that are played by a few lines


@pytest.mark.parametrize(
    ("answer", "kind", "message"),
    [
        (
            answer_with(500, b'{"detail": "Out of order"}'),
            LabelStudioError,
            "Label Studio at {} failed (500: Out of order) when it was asked for its projects.",
        ),
        (
            answer_with(500, b"<html>Internal</html>", "text/html"),
            LabelStudioError,
            "Label Studio at {} failed (500) when it was asked for its projects.",
        ),
        (
            answer_with(200, b"<html>Welcome</html>", "text/html"),
            LabelStudioError,
            "What answers at {} is no Label Studio. Mend the address.",
        ),
        (
            answer_with(404, b"not here", "text/plain"),
            LabelStudioError,
            "What answers at {} is no Label Studio. Mend the address.",
        ),
        (
            answer_with(401, json.dumps({"detail": f"Invalid token {SECRET}."}).encode()),
            mm.InputError,
            (
                "Label Studio at {} refuses the token (401: Invalid token [token]). Make a new one on its page Account "
                "& Settings, and copy it from the dialog: afterwards the page shows only a part of it."
            ),
        ),
        (
            hang_up,
            LabelStudioError,
            "Label Studio at {} went away (RemoteProtocolError) when it was asked for its projects. Try again.",
        ),
    ],
    ids=["500", "500 as a page", "a page", "404", "401 with the token", "hangs up"],
)
def test_a_server_that_fails_is_described_in_one_sentence(
    answering: Any, answer: Answer, kind: type[Exception], message: str
) -> None:
    url = answering(answer)
    assert complaint(lambda: pull(url=url, project="mine", token=SECRET), kind) == message.format(url)


def test_an_import_that_is_cut_off_is_not_sent_again(answering: Any) -> None:
    """The SDK would send it up to three times, and a server that had taken the first would have it twice."""
    n_imports = 0

    def answer(request: BaseHTTPRequestHandler) -> None:
        nonlocal n_imports
        if "/import" in request.path:
            n_imports += 1
            hang_up(request)
        elif request.command == "POST":
            answer_with(201, b'{"id": 1, "title": "mine"}')(request)
        else:
            answer_with(200, b'{"count": 0, "next": null, "previous": null, "results": []}')(request)

    url = answering(answer)
    message = complaint(
        lambda: push(Showing.of(made_up_batch(3)), url=url, project="mine", token=SECRET), LabelStudioError
    )
    assert n_imports == 1
    assert message == (
        f"Label Studio at {url} went away (RemoteProtocolError) when it was sent 3 tasks. Try again. 0 of 3 new rows "
        "were added before. Push again: no row is added twice."
    )


def test_no_server_is_said_at_once() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    assert complaint(lambda: pull(url=url, project="mine", token=SECRET), LabelStudioError) == (
        f"No server answers at {url} (start Label Studio, or mend the address)."
    )


@pytest.mark.parametrize(
    ("url", "message"),
    [
        (
            "localhost:8080",
            "'localhost:8080' is no address of a server. Let it begin with http:// or https:// as in a browser.",
        ),
        (
            "http://me:secret@localhost",
            (
                "The server's address holds more than a host and a path. Leave out names, passwords and what follows a "
                "question mark."
            ),
        ),
    ],
)
def test_an_address_that_is_none_is_refused(url: str, message: str) -> None:
    assert complaint_of_input(url=url, token=SECRET) == message


@pytest.mark.parametrize(
    ("token", "message"),
    [
        (
            " \n",
            (
                "There is no token for Label Studio. Copy one from its page Account & Settings into the environment "
                "variable LABEL_STUDIO_API_KEY."
            ),
        ),
        (
            f"{SECRET}\nX-Other: header",
            "The token for Label Studio holds characters that no token has. Copy it again into LABEL_STUDIO_API_KEY.",
        ),
    ],
)
def test_a_token_that_is_none_is_refused_before_it_is_sent(token: str, message: str) -> None:
    assert complaint_of_input(url="http://localhost", token=token) == message


def complaint_of_input(**settings: Any) -> str:
    with pytest.raises(mm.InputError) as caught:
        pull(project="mine", **settings)
    return str(caught.value)


# The real server


@pytest.mark.parametrize("token", [SECRET, EXPIRED, UNKNOWN], ids=["legacy", "expired", "unknown"])
def test_a_wrong_token_is_refused(server: Any, token: str) -> None:
    message = complaint(lambda: pull(url=server.url, project="mine", token=token), mm.InputError)
    assert message.startswith(f"Label Studio at {server.url} refuses the token (401")
    assert message.endswith("and copy it from the dialog: afterwards the page shows only a part of it.")
    assert token not in message


def test_a_project_that_is_not_there_is_named_with_those_that_are(environment: Any, title: str) -> None:
    push(Showing.of(made_up_batch(1)), url=environment.url, project=title)
    message = complaint_of_project(environment, title[:-1])
    assert message.startswith(f"Label Studio at {environment.url} has no project {title[:-1]!r}. It has '")
    assert message.endswith(f"Did you mean {title!r}?")
    assert complaint_of_project(environment, 999_999) == (
        f"Label Studio at {environment.url} has no project 999999. Use the number in the project's address, or a title."
    )


def complaint_of_project(server: Any, project: int | str) -> str:
    with pytest.raises(mm.InputError) as caught:
        pull(url=server.url, project=project)
    return str(caught.value)


def test_two_projects_of_one_title_are_told_apart_by_number(environment: Any, title: str) -> None:
    numbers = [environment.ask("POST", "/api/projects/", json={"title": title})["id"] for _ in range(2)]
    message = complaint_of_project(environment, title)
    first, second = sorted(numbers, reverse=True)
    assert message in {
        f"2 projects are titled {title!r}: {a}, {b}. Name one by its number."
        for a, b in ((first, second), (second, first))
    }


def test_a_project_with_other_classes_is_left_alone(environment: Any, title: str) -> None:
    push(Showing.of(made_up_batch(2, classes=["a", "b"])), url=environment.url, project=title)
    with pytest.raises(mm.InputError, match="offers other classes: it lacks 'card', 'cash', 'top-up'"):
        push(Showing.of(made_up_batch(4)), url=environment.url, project=title)
    number = pull(url=environment.url, project=title).n_rows
    assert number == 2


# The token is nobody's business


@pytest.mark.parametrize("token", [SECRET, EXPIRED, UNKNOWN, "0123456789abcdef" * 2 + "01234567"])
@pytest.mark.parametrize("debug", [False, True])
def test_no_command_shows_or_writes_the_token(
    environment: Any,
    title: str,
    command: Any,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    token: str,
    debug: bool,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LABEL_STUDIO_API_KEY", token)
    made_up_batch(2, kept={"text": ["a", "b"]}).to_parquet("batch.parquet")
    loud = ["--debug"] if debug else []
    shown = ""
    for line in (
        ["label-studio", "push", "batch.parquet", "--project", title, "--text-column", "text"],
        ["label-studio", "push", "batch.parquet", "--project", title, "--text-column", "text", "--json"],
        ["label-studio", "push", "batch.parquet", "--project", title, "--url", "http://127.0.0.1:9"],
        ["label-studio", "pull", "--project", title, "--out", "labels.csv"],
        ["label-studio", "pull", "--project", "999999", "--out", "none.csv", "--json"],
    ):
        _, out, err = command(*loud, *line)
        shown += out + err
    assert shown
    assert token not in shown
    for path in tmp_path.rglob("*"):
        assert token.encode() not in path.read_bytes()


def test_a_token_that_is_typed_is_not_shown(server: Any, tmp_path: Path) -> None:
    """At a real terminal, which would echo what is typed."""
    ours, theirs = pty.openpty()
    program = Path(sys.executable).with_name("minmargin")
    line = ["label-studio", "pull", "--url", server.url, "--project", "999999", "--out", tmp_path / "x.csv"]
    environment = {name: value for name, value in os.environ.items() if name != "LABEL_STUDIO_API_KEY"}
    with subprocess.Popen(
        [program, *line], stdin=theirs, stdout=theirs, stderr=theirs, env=environment
    ) as process:
        os.close(theirs)
        shown = b""
        while b"Token for Label Studio" not in shown:
            shown += os.read(ours, 1024)
        while termios.tcgetattr(ours)[3] & termios.ECHO:  # what comes before it is off is thrown away
            time.sleep(0.01)
        os.write(ours, SECRET.encode() + b"\n")
        while chunk := _read(ours):
            shown += chunk
    os.close(ours)
    assert process.returncode == 1
    assert b"refuses the token (401" in shown
    assert SECRET.encode() not in shown


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1024)
    except OSError:  # the other end is closed
        return b""

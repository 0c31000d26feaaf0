"""Servers, tokens and addresses that are not what they should be: one sentence each, and never the token."""

from __future__ import annotations

import json
import socket
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

import minmargin as mm
from made_up_batch import made_up_batch
from minmargin.integrations.items import Showing
from minmargin.integrations.label_studio import LabelStudioError, pull, push
from played_answers import SECRET, Answer, answer_with, complaint, hang_up


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
            (
                "What answers at {} is no Label Studio. It sent a page for a browser, as a proxy does that wants a "
                "login. Mend the address, or log in there."
            ),
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
                "Label Studio at {} refuses the token (401). Make a new one on its page Account "
                "& Settings, and copy it from the dialog: afterwards the page shows only a part of it."
            ),
        ),
        (
            hang_up,
            LabelStudioError,
            "Label Studio at {} hung up when it was asked for its projects. Try again.",
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
    """A server that had taken the first would have it twice."""
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
        f"Label Studio at {url} hung up when it was sent 3 tasks. Try again. 0 of 3 new rows "
        "were added before. Push again: no row is added twice."
    )


def test_a_server_that_goes_away_before_tasks_are_counted_has_them(answering: Any) -> None:
    imported = False

    def answer(request: BaseHTTPRequestHandler) -> None:
        nonlocal imported
        if "/import" in request.path:
            imported = True
            answer_with(201, b'{"task_count": 3}')(request)
        elif request.command == "POST":
            answer_with(201, b'{"id": 1, "title": "mine"}')(request)
        elif imported:
            hang_up(request)
        else:
            answer_with(200, b'{"count": 0, "next": null, "previous": null, "results": []}')(request)

    url = answering(answer)
    message = complaint(
        lambda: push(Showing.of(made_up_batch(3)), url=url, project="mine", token=SECRET), LabelStudioError
    )
    assert message == (
        f"Label Studio at {url} hung up when it was asked for the tasks of project 1. Try again. 3 of 3 new rows "
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

"""Servers, tokens and projects that are not what they should be: one sentence each, and never the token."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import Any

import pytest

import minmargin as mm
from made_up_batch import made_up_batch
from minmargin.integrations.items import Showing
from minmargin.integrations.label_studio import pull, push
from played_answers import EXPIRED, SECRET, UNKNOWN, complaint


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
        f"2 projects of {environment.url} are titled {title!r}: {a}, {b}. Name one by its number."
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
    run_command: Any,
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
        _, out, err = run_command(*loud, *line)
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

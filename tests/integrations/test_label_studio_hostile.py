"""Servers that answer anything: what comes back is checked, counted and bounded."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from made_up_batch import made_up_batch
from minmargin.integrations.items import Showing
from minmargin.integrations.label_studio import LabelStudioError, connection, pull, push
from minmargin.integrations.label_studio.pulling import tally
from minmargin.integrations.label_studio.server import Task
from played_answers import SECRET, Answer, answer_with, complaint
from played_label_studio import PlayedLabelStudio, Sent

LOOK = "Try again, or look at the server and at what stands between."


@pytest.fixture
def played() -> Iterator[PlayedLabelStudio]:
    """A project of twelve rows, of which every other one has a label."""
    with PlayedLabelStudio().listening() as server:
        push(Showing.of(made_up_batch(12)), url=server.url, project="mine", token=SECRET)
        server.annotate(lambda data: "card" if data["rank"] % 2 else None)
        yield server


def complaint_of(played: PlayedLabelStudio, kind: str, change: Callable[[Sent], None]) -> str:
    """Return what pull says if the answers to one kind of request are changed."""
    played.bend = lambda asked, _, sent: change(sent) if asked == kind else None
    return complaint(lambda: pull(url=played.url, project="mine", token=SECRET), LabelStudioError)


# What comes back


def test_an_answer_to_everything_makes_no_project(
    answering: Callable[[Answer], str], run_command: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was 'Project None (made): 250 rows added', and exit code 0."""
    monkeypatch.setenv("LABEL_STUDIO_API_KEY", SECRET)
    monkeypatch.setenv("LABEL_STUDIO_URL", answering(answer_with(200, b'{"ok": true}')))
    made_up_batch(250).to_parquet(tmp_path / "batch.parquet")
    code, out, err = run_command("label-studio", "push", tmp_path / "batch.parquet", "--project", "mine")
    assert (code, out) == (1, "")
    assert err == (
        f"minmargin: Label Studio at {os.environ['LABEL_STUDIO_URL']} gave a wrong answer when it was asked for its "
        f"projects: its 'count' is missing or null, where a whole number should be. {LOOK}\n"
    )


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        ({"ok": True}, "the 'id' of a project is missing or null, where a whole number should be"),
        ({"id": 0, "title": "mine"}, "the 'id' of a project is out of range"),
        (
            {"id": True, "title": "mine"},
            "the 'id' of a project is true or false, where a whole number should be",
        ),
        ({"id": 1}, "the 'title' of project 1 is missing or null, where a text should be"),
        ({"id": 1, "title": "other"}, "it tells of a project with another title"),
        ({"id": 1, "title": SECRET[4:16]}, "the 'title' of project 1 holds a part of the token"),
        (None, "it is missing or null, where an object should be"),
    ],
)
def test_a_project_that_is_made_has_a_number_and_its_title(content: Any, wrong: str) -> None:
    def bend(kind: str, _: int, sent: Sent) -> None:
        if kind == "make":
            sent.content = content

    with PlayedLabelStudio(bend).listening() as server:
        message = complaint(
            lambda: push(Showing.of(made_up_batch(2)), url=server.url, project="mine", token=SECRET),
            LabelStudioError,
        )
        assert message == (
            f"Label Studio at {server.url} gave a wrong answer when it was asked to make the project 'mine': {wrong}. "
            f"{LOOK}"
        )
        assert server.tasks == {}


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        ({}, "its 'task_count' is missing or null, where a whole number should be"),
        ({"task_count": 2}, "it says that 2 were taken"),
    ],
)
def test_an_import_that_took_fewer_tasks_is_told_of(content: Any, wrong: str) -> None:
    def bend(kind: str, _: int, sent: Sent) -> None:
        if kind == "import":
            sent.content = content

    with PlayedLabelStudio(bend).listening() as server:
        call = {"url": server.url, "project": "mine", "token": SECRET}
        message = complaint(lambda: push(Showing.of(made_up_batch(3)), **call), LabelStudioError)
        assert message == (
            f"Label Studio at {server.url} gave a wrong answer when it was sent 3 tasks: {wrong}. {LOOK} "
            "0 of 3 new rows were added before. Push again: no row is added twice."
        )
        server.bend = None
        assert push(Showing.of(made_up_batch(3)), **call).n_present == 3


@pytest.mark.parametrize("in_background", [False, True])
def test_rows_that_a_server_says_it_took_are_counted(
    monkeypatch: pytest.MonkeyPatch, in_background: bool
) -> None:
    monkeypatch.setattr("minmargin.integrations.label_studio.pushing._BACKGROUND_SECONDS", 0)

    def bend(kind: str, _: int, sent: Sent) -> None:
        if kind == "import":
            server.tasks.popitem()
            sent.content = {"import": 7} if in_background else sent.content

    with PlayedLabelStudio(bend).listening() as server:
        with pytest.raises(LabelStudioError) as caught:
            push(Showing.of(made_up_batch(3)), url=server.url, project="mine", token=SECRET)
        fix = (
            "It imports in the background: push again if rows are missing when it is done."
            if in_background
            else "Push again: no row is added twice."
        )
        assert str(caught.value) == (
            f"Project 1 ('mine') of {server.url} should have 3 tasks by now, and has 2. {fix}"
        )


def test_a_server_that_imports_in_the_background_is_waited_for() -> None:
    taken: dict[int, Any] = {}

    def bend(kind: str, n: int, sent: Sent) -> None:
        if kind == "import":
            taken.update(server.tasks)
            server.tasks.clear()
            sent.content = {"import": 7}
        elif kind == "count" and n == 1:
            server.tasks.update(taken)

    with PlayedLabelStudio(bend).listening() as server:
        pushed = push(Showing.of(made_up_batch(3)), url=server.url, project="mine", token=SECRET)
        assert (pushed.n_added, server.requests.count("count")) == (3, 2)


# Pages


def test_a_server_that_does_not_look_at_the_page_is_not_asked_for_ever(
    played: PlayedLabelStudio, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("minmargin.integrations.label_studio.server._PAGE_SIZES", (5, 1))
    first = [{"id": n, "data": {"row_id": f"r{n}"}, "annotations": []} for n in range(1, 6)]

    def change(sent: Sent) -> None:
        sent.content["tasks"] = first

    assert complaint_of(played, "tasks", change) == (
        f"Label Studio at {played.url} gave a wrong answer when it was asked for the tasks of project 1: page 2 "
        f"repeats task 1. {LOOK}"
    )


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        (lambda sent: sent.content.update(total=13), "it told of 13 tasks, and page 2 has 0"),
        (lambda sent: sent.content.update(total=11), "it told of 11 tasks, and there are more on page 1"),
        (lambda sent: sent.content.update(tasks=[]), "it told of 12 tasks, and page 1 has 0"),
        (
            lambda sent: sent.content.update(total="12"),
            "its 'total' is a text, where a whole number should be",
        ),
        (
            lambda sent: sent.content.update(tasks=None),
            "its 'tasks' is missing or null, where a list should be",
        ),
        (
            lambda sent: sent.content["tasks"][3].pop("id"),
            "the 'id' of a task on page 1 is missing or null, where a whole number should be",
        ),
        (
            lambda sent: sent.content["tasks"][3].update(data=[]),
            "the 'data' of task 4 is a list, where an object should be",
        ),
        (
            lambda sent: sent.content["tasks"][3]["data"].update(row_id={"a": 1}),
            "the 'row_id' of task 4 is an object, where a whole number should be",
        ),
        (
            lambda sent: sent.content["tasks"][4]["annotations"][0].pop("id"),
            "the 'id' of an annotation of task 5 is missing or null, where a whole number should be",
        ),
        (
            lambda sent: sent.content["tasks"][4]["annotations"][0].pop("result"),
            "annotation 5 lacks 'result'",
        ),
        (
            lambda sent: sent.content["tasks"][4]["annotations"][0].update(completed_by=[]),
            "the 'completed_by' of annotation 5 is a list, where a whole number should be",
        ),
        (
            lambda sent: sent.content["tasks"][4]["annotations"].append(
                sent.content["tasks"][4]["annotations"][0]
            ),
            "task 5 has annotation 5 twice",
        ),
        (
            lambda sent: sent.content["tasks"][4]["annotations"][0]["result"][0].update(value={}),
            "the 'value' of annotation 5 has no choice",
        ),
        (
            lambda sent: sent.content["tasks"][4]["annotations"][0]["result"][0].update(
                value={"choices": ["\ud800"]}
            ),
            "a choice of annotation 5 holds half a character",
        ),
        (lambda sent: setattr(sent, "content", None), "it is missing or null, where an object should be"),
        (lambda sent: setattr(sent, "body", b"[" * 200_000), "its JSON is nested too deep"),
        (lambda sent: setattr(sent, "body", b'{"total": NaN}'), "it is no JSON"),
        (lambda sent: setattr(sent, "body", b""), "it is no JSON"),
    ],
)
def test_what_is_wrong_with_a_page_of_tasks_is_said(
    played: PlayedLabelStudio, change: Callable[[Sent], None], wrong: str
) -> None:
    assert complaint_of(played, "tasks", change) == (
        f"Label Studio at {played.url} gave a wrong answer when it was asked for the tasks of project 1: {wrong}. "
        f"{LOOK}"
    )


def test_pages_that_are_too_large_are_asked_for_in_smaller_ones(
    played: PlayedLabelStudio, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = pull(url=played.url, project="mine", token=SECRET)
    monkeypatch.setattr(connection, "MOST_BYTES", 3000)  # a task has about 600
    before = len(played.requests)
    assert pull(url=played.url, project="mine", token=SECRET) == whole
    assert len(played.requests) - before > 12


def test_ids_above_63_bits_come_back_as_they_were() -> None:
    result = [{"from_name": "label", "value": {"choices": ["card"]}}]
    annotation = {"id": 1, "completed_by": 1, "was_cancelled": False, "result": result}
    tasks = [Task({"row_id": row}, [annotation]) for row in (2**63 + 1, 5)]
    assert tally(tasks, "label").labels["id"].to_pylist() == [2**63 + 1, 5]


# Time and size


AGAIN, SERVER, BETWEEN = (
    "Try again.",
    "Mend the address, or look at the server.",
    "Mend the address, or look at what stands between.",
)
BEGUN = b"HTTP/1.1 200 OK\r\nX: "


@pytest.mark.parametrize(
    ("changed", "did", "fix"),
    [
        ({"length": 10**12}, "answered with more than 128 MiB", SERVER),
        ({"length": 10**6}, "cut its answer short", AGAIN),
        ({"raw": b""}, "hung up", AGAIN),
        ({"raw": BEGUN, "pieces": 1, "pause": 60}, "said nothing for 0.2 seconds", AGAIN),
        ({"pieces": 1, "pause": 0.05}, "took longer than 0.5 seconds", AGAIN),
        ({"raw": BEGUN + b"x" * 1000, "pieces": 1, "pause": 0.05}, "took longer than 0.5 seconds", AGAIN),
        (
            {"raw": b"HTTP/1.1 100 Continue\r\n\r\n" * 1000, "pieces": 25, "pause": 0.05},
            "took longer than 0.5 seconds",
            AGAIN,
        ),
        ({"raw": b"SSH-2.0-OpenSSH_9.2\r\n"}, "answered with something that is no HTTP", BETWEEN),
        (
            {"headers": {"Content-Encoding": "gzip"}},
            "answered in a compressed form that it was not asked for",
            BETWEEN,
        ),
        ({"status": 307, "headers": {"Location": "?"}}, "redirects in circles", BETWEEN),
        ({"status": 307, "headers": {"Location": "http://["}}, "redirects to no address", BETWEEN),
    ],
    ids=[
        "huge",
        "cut",
        "gone",
        "silent",
        "drip",
        "header",
        "continue",
        "ssh",
        "gzip",
        "circles",
        "no address",
    ],
)
def test_a_request_ends_in_time_with_a_reason(
    played: PlayedLabelStudio, monkeypatch: pytest.MonkeyPatch, changed: dict[str, Any], did: str, fix: str
) -> None:
    monkeypatch.setattr(connection, "SILENT_SECONDS", 0.2)
    monkeypatch.setattr(connection, "CALL_SECONDS", 0.5)
    began = time.monotonic()
    message = complaint_of(played, "project", lambda sent: sent.__dict__.update(changed))
    assert time.monotonic() - began < 10
    assert message == f"Label Studio at {played.url} {did} when it was asked for a project. {fix}"


def test_an_endless_answer_is_given_up_within_bounded_memory(played: PlayedLabelStudio) -> None:
    """With the limits that people have, in a process that may have half a gigabyte more than it begins with."""
    played.bend = lambda kind, _, sent: (
        sent.__dict__.update(length=None, repeats=True, body=b" " * (1 << 20)) if kind == "projects" else None
    )
    script = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        "from minmargin.integrations.label_studio import LabelStudioError, pull\n"
        "now = int(Path('/proc/self/statm').read_text().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (now + (1 << 29),) * 2)\n"
        "try:\n"
        f"    pull(url={played.url!r}, project='mine', token='a-token')\n"
        "except LabelStudioError as error:\n"
        "    print(error)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=True
    )
    assert run.stdout == (
        f"Label Studio at {played.url} answered with more than 128 MiB when it was asked for its projects. Mend the "
        "address, or look at the server.\n"
    )

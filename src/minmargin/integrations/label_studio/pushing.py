"""push: a batch into a Label Studio project. A second push of the same rows adds nothing."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from minmargin.errors import InputError
from minmargin.execution import Progress, silent
from minmargin.integrations.items import Showing
from minmargin.integrations.label_studio.interface import (
    Interface,
    check_interface,
    make_interface,
    read_interface,
)
from minmargin.integrations.label_studio.server import (
    LabelStudioError,
    Project,
    Server,
    check_title,
)
from minmargin.integrations.label_studio.tasks import make_data, make_task, row_of

# One import is one transaction of the server. Modest ones: what a server that goes away has taken is kept.
_MOST_TASKS = 100
_MOST_BYTES = 8 << 20
_BACKGROUND_SECONDS = 60


@dataclass(frozen=True)
class Pushed:
    """What a push did.

    Attributes:
        project: the project's number.
        title: its title.
        address: its page.
        created: whether the push made it.
        n_added: how many rows became tasks.
        n_present: how many rows were tasks already.
        n_guessed: how many of those were pushed with the model's guess, and keep it.
    """

    project: int
    title: str
    address: str
    created: bool
    n_added: int
    n_present: int
    n_guessed: int


def push(
    showing: Showing,
    *,
    url: str,
    project: int | str,
    predictions: bool = True,
    token: str | None = None,
    insecure: bool = False,
    progress: Progress = silent,
) -> Pushed:
    """Make tasks of the rows of a batch, in its order, and return what was added.

    Rows that the project has are left alone, by their id: push again after any failure.

    Args:
        showing: the batch, and what is shown of its rows.
        url: the server's address.
        project: a project's number, or its title; a title that no project has makes one.
        predictions: whether annotators see the model's guess.
        token: a personal access token or a legacy token; by default that of $LABEL_STUDIO_API_KEY.
        insecure: whether plain http to another machine will do.
        progress: called with a stage, the tasks sent and their number.
    """
    config = make_interface(showing)
    if isinstance(project, str):
        check_title(project)
    with Server.at(url, token, insecure=insecure) as server:
        found = server.find_project(project)
        n_tasks, known = (0, {}) if found is None else _known_rows(server, found)
        name = "The new project" if found is None else f"{found} of {server.url}"
        interface = read_interface(config if found is None else found.config, name)
        _check_rows(showing, interface, known, name, predictions=predictions)
        used = found or server.make_project(str(project), config)
        tasks = (
            make_task(item, interface, showing.question, predictions=predictions)
            for item in showing.items(predictions=predictions)
            if item.id not in known
        )
        n_new = sum(identity not in known for identity in showing.ids)
        in_background = _add(server, used, tasks, n_new, progress)
        if n_new:
            try:
                n_there = _count(server, used, n_tasks + n_new, in_background=in_background)
            except LabelStudioError as error:
                raise _told_how_far(error, n_new, n_new) from None
            _check_count(server, used, n_there, n_tasks + n_new, in_background=in_background)
    return Pushed(
        project=used.id,
        title=used.title,
        address=f"{server.url}/projects/{used.id}",
        created=found is None,
        n_added=n_new,
        n_present=len(showing) - n_new,
        n_guessed=sum(known[identity].guessed for identity in showing.ids if identity in known),
    )


def _add(
    server: Server, project: Project, tasks: Iterable[dict[str, Any]], n_tasks: int, progress: Progress
) -> bool:
    """Send the tasks in chunks, or say how far it came; return whether the server imports some in the background."""
    n_added, in_background = 0, False
    for chunk in in_chunks(tasks):
        try:
            in_background |= not server.add_tasks(project, chunk)
        except LabelStudioError as error:
            raise _told_how_far(error, n_added, n_tasks) from None
        n_added += len(chunk)
        progress("pushing", n_added, n_tasks)
    return in_background


def _told_how_far(error: LabelStudioError, n_added: int, n_tasks: int) -> LabelStudioError:
    return LabelStudioError(
        f"{error} {n_added:,} of {n_tasks:,} new rows were added before. Push again: no row is added twice."
    )


def _count(server: Server, project: Project, n_tasks: int, *, in_background: bool) -> int:
    """Return how many tasks a project has; what is imported in the background is waited for."""
    deadline = time.monotonic() + (_BACKGROUND_SECONDS if in_background else 0)
    while (n_there := server.count_tasks(project)) < n_tasks and time.monotonic() < deadline:
        time.sleep(1)
    return n_there


def _check_count(
    server: Server, project: Project, n_there: int, n_tasks: int, *, in_background: bool
) -> None:
    """Raise an error if a project has fewer tasks than it should: what a server says it took may not be there."""
    if n_there < n_tasks:
        after = (
            "It imports in the background: push again if rows are missing when it is done."
            if in_background
            else "Push again: no row is added twice."
        )
        raise LabelStudioError(
            f"{project} of {server.url} should have {n_tasks:,} tasks by now, and has {n_there:,}. {after}"
        )


def in_chunks(
    tasks: Iterable[dict[str, Any]], most_tasks: int = _MOST_TASKS, most_bytes: int = _MOST_BYTES
) -> Iterator[list[dict[str, Any]]]:
    """Return the tasks in order, in lists that are not too long and, unless one task is, not too large."""
    chunk: list[dict[str, Any]] = []
    n_bytes = 0
    for task in tasks:
        size = len(json.dumps(task))
        if chunk and (len(chunk) == most_tasks or n_bytes + size > most_bytes):
            yield chunk
            chunk, n_bytes = [], 0
        chunk.append(task)
        n_bytes += size
    if chunk:
        yield chunk


class _Known(NamedTuple):
    """What a task tells of the row that it was made of."""

    shown: Any
    guessed: bool


def _known_rows(server: Server, project: Project) -> tuple[int, dict[int | str, _Known]]:
    """Return how many tasks the project has, and what they tell of each row that it has, by the row's id."""
    n_tasks, known = 0, {}
    with server.wrong_answers(f"was asked for the tasks of project {project.id}"):
        for task in server.tasks(project, annotations=False):
            n_tasks += 1
            row = row_of(task)
            if row is not None:
                known[row] = _Known(_shown(task.data), "predicted" in task.data)
    return n_tasks, known


def _check_rows(
    showing: Showing,
    interface: Interface,
    known: Mapping[int | str, _Known],
    project: str,
    *,
    predictions: bool,
) -> None:
    """Look at every row before any is sent: images must be readable, and known rows must be the same rows."""
    for item in showing.items():
        data = make_data(item, showing.question, predictions=predictions)
        check_interface(interface, showing, data, project)
        if item.id in known and known[item.id].shown != _shown(data):
            raise InputError(
                f"{project} has a row {item.id!r} that shows something else. Use a project for each pool, or an "
                "id_column whose values are unique across pools."
            )


def _shown(data: Mapping[str, Any]) -> Any:
    """Return what tells a row from another with the same id. An image may be kept in another form: it tells nothing."""
    return data.get("text"), data.get("columns")

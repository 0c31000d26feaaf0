"""pull: the labels that annotators gave, by row id."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from minmargin.errors import listing
from minmargin.integrations.label_studio.answers import (
    AnswerError,
    as_list,
    as_number,
    as_object,
    as_text,
    as_truth,
)
from minmargin.integrations.label_studio.interface import read_interface
from minmargin.integrations.label_studio.server import Server, Task
from minmargin.integrations.label_studio.tasks import LABEL_TYPE, row_of
from minmargin.integrations.label_studio.votes import Tie, Vote, count_votes, settle

_NUMBERS: dict[str, Callable[[str], float]] = {"int": int, "float": float}


@dataclass(frozen=True)
class Pulled:
    """What annotators have said so far.

    Attributes:
        labels: an Arrow table with the columns id and label: one row for each row that has a label.
        ties: the rows on which annotators disagree evenly; they have no label.
        skipped: the ids of rows that have no label because every annotator skipped them.
        waiting: the ids of rows that nobody has annotated yet.
        n_rows: how many rows the project has.
        n_other: how many tasks are none of ours.
    """

    labels: pa.Table
    ties: tuple[Tie, ...]
    skipped: tuple[int | str, ...]
    waiting: tuple[int | str, ...]
    n_rows: int
    n_other: int

    @property
    def n_skipped(self) -> int:
        """How many rows every annotator skipped."""
        return len(self.skipped)

    @property
    def n_waiting(self) -> int:
        """How many rows nobody has annotated yet."""
        return len(self.waiting)


def pull(*, url: str, project: int | str, token: str | None = None, insecure: bool = False) -> Pulled:
    """Return the labels of a project's rows: for each, the class that most annotators chose.

    Skipped and empty annotations are no votes. Of several by one annotator the last counts.

    Args:
        url: the server's address.
        project: the project's number or title.
        token: a personal access token or a legacy token; by default that of $LABEL_STUDIO_API_KEY.
        insecure: whether plain http to another machine will do.
    """
    with Server.at(url, token, insecure=insecure) as server:
        used = server.get_project(project)
        control = read_interface(used.config, f"{used} of {server.url}").control
        with server.wrong_answers(f"was asked for the tasks of project {used.id}"):
            return tally(server.tasks(used, annotations=True), control)


def tally(tasks: Iterable[Task], control: str) -> Pulled:
    """Return what the annotations of tasks come to; `control` names the choices."""
    votes: dict[int | str, list[Vote]] = {}
    n_other = 0
    for task in tasks:
        row = row_of(task)
        if row is None:
            n_other += 1
        else:
            votes.setdefault(row, []).extend(_votes(task, control, of_type=_label_type(task.data)))
    labels, ties = settle({identity: count_votes(cast) for identity, cast in votes.items()})
    decided = labels.keys() | {tie.id for tie in ties}
    return Pulled(
        labels=pa.table({"id": _column(labels), "label": _column(labels.values())}),
        ties=tuple(ties),
        skipped=tuple(identity for identity, cast in votes.items() if cast and identity not in decided),
        waiting=tuple(identity for identity, cast in votes.items() if not cast),
        n_rows=len(votes),
        n_other=n_other,
    )


def _votes(task: Task, control: str, *, of_type: str) -> list[Vote]:
    """Return the votes of one task, oldest first."""
    cast = {}
    for annotation in task.annotations:
        record = as_object(annotation, f"an annotation of task {task.id}")
        number = as_number(record.get("id"), f"the 'id' of an annotation of task {task.id}")
        what = f"annotation {number}"
        if number in cast:
            raise AnswerError(f"task {task.id} has {what} twice")
        missing = {"was_cancelled", "completed_by", "result"} - record.keys()
        if missing:
            raise AnswerError(f"{what} lacks {listing(sorted(missing))}")
        skipped = as_truth(record.get("was_cancelled"), f"the 'was_cancelled' of {what}")
        cast[number] = Vote(
            annotator=_annotator(record.get("completed_by"), what),
            label=None if skipped else _choice(record.get("result"), control, of_type, what),
        )
    return [cast[number] for number in sorted(cast)]


def _annotator(completed_by: Any, what: str) -> int | None:
    if completed_by is None:
        return None
    found = completed_by.get("id") if isinstance(completed_by, dict) else completed_by  # as the server is set
    return as_number(found, f"the 'completed_by' of {what}")


def _label_type(data: dict[str, Any]) -> str:
    """Return the type of the classes, by name, as far as a task tells it."""
    return str(data.get(LABEL_TYPE, type(data.get("predicted")).__name__))


def _choice(result: Any, control: str, of_type: str, what: str) -> Any:
    """Return the one class that an annotation chose; None if it chose none, or several."""
    chosen = []
    for part in as_list([] if result is None else result, f"the 'result' of {what}"):
        if as_object(part, f"a part of {what}").get("type") == "relation":  # which comes from no control
            continue
        if as_text(part.get("from_name"), f"the 'from_name' of a part of {what}") != control:
            continue
        value = as_object(part.get("value"), f"the 'value' of {what}")
        if value.keys().isdisjoint({"choices", "taxonomy"}):
            raise AnswerError(f"the 'value' of {what} has no choice")
        chosen += as_list(value.get("choices", []), f"the 'choices' of {what}")
        # A Taxonomy gives the path to a choice, which has one step.
        paths = as_list(value.get("taxonomy", []), f"the 'taxonomy' of {what}")
        chosen += [(as_list(path, f"the 'taxonomy' of {what}") or [None])[-1] for path in paths]
    texts = [as_text(each, f"a choice of {what}") for each in chosen]
    return _as_class(texts[0], of_type) if len(texts) == 1 else None


def _as_class(text: str, of_type: str) -> Any:
    """Return a choice, which is a text, as a class of the type that the model's classes have.

    >>> [_as_class("3", "int"), _as_class("3", "str"), _as_class("False", "bool"), _as_class("none", "int")]
    [3, '3', False, 'none']
    """
    if of_type == "bool":
        return {"True": True, "False": False}.get(text, text)
    try:
        return _NUMBERS[of_type](text) if of_type in _NUMBERS else text
    except ValueError:  # a class that was added in the project
        return text


def _column(values: Iterable[Any]) -> pa.Array:
    """Return an Arrow column; of texts, if the values are of several types or too large for its numbers."""
    values = list(values)
    if not values:
        return pa.array([], pa.string())
    if len({type(value) for value in values}) > 1:
        values = list(map(str, values))
    for kind in (None, pa.uint64()):
        try:
            return pa.array(values, kind)
        except (OverflowError, pa.ArrowInvalid):
            continue
    return pa.array(list(map(str, values)))

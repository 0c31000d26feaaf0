"""pull: the labels that annotators gave, by row id."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from minmargin.integrations.label_studio.interface import read_interface
from minmargin.integrations.label_studio.server import Server, Task
from minmargin.integrations.label_studio.tasks import LABEL_TYPE, ROW_ID
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


def pull(*, url: str, project: int | str, token: str | None = None) -> Pulled:
    """Return the labels of a project's rows: for each, the class that most annotators chose.

    Skipped and empty annotations are no votes. Of several by one annotator the last counts.

    Args:
        url: the server's address.
        project: the project's number or title.
        token: a personal access token or a legacy token; by default that of $LABEL_STUDIO_API_KEY.
    """
    with Server.at(url, token) as server:
        used = server.get_project(project)
        control = read_interface(used.config, str(used)).control
        return tally(server.tasks(used, annotations=True), control)


def tally(tasks: Iterable[Task], control: str) -> Pulled:
    """Return what the annotations of tasks come to; `control` names the choices."""
    votes: dict[int | str, list[Vote]] = {}
    n_other = 0
    for task in tasks:
        if ROW_ID in task.data:
            cast = votes.setdefault(task.data[ROW_ID], [])
            cast += _votes(task.annotations, control, of_type=_label_type(task.data))
        else:
            n_other += 1
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


def _votes(annotations: Iterable[dict[str, Any]], control: str, *, of_type: str) -> list[Vote]:
    """Return the votes of one task, oldest first."""
    return [
        Vote(
            annotator=_annotator(each.get("completed_by")),
            label=None if each.get("was_cancelled") else _choice(each.get("result"), control, of_type),
        )
        for each in sorted(annotations, key=lambda each: each["id"])
    ]


def _annotator(completed_by: Any) -> int | None:
    return completed_by.get("id") if isinstance(completed_by, dict) else completed_by  # as the server is set


def _label_type(data: dict[str, Any]) -> str:
    """Return the type of the classes, by name, as far as a task tells it."""
    return str(data.get(LABEL_TYPE, type(data.get("predicted")).__name__))


def _choice(result: Any, control: str, of_type: str) -> Any:
    """Return the one class that an annotation chose; None if it chose none, or several."""
    values = [part.get("value", {}) for part in result or [] if part.get("from_name") == control]
    # A Taxonomy gives the path to a choice, which has one step.
    chosen = [
        name
        for value in values
        for name in (*value.get("choices", ()), *map(_last, value.get("taxonomy", ())))
    ]
    return _as_class(chosen[0], of_type) if len(chosen) == 1 else None


def _last(path: Sequence[str]) -> str:
    return path[-1]


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
    """Return an Arrow column; of texts, if the values are of several types."""
    values = list(values)
    if len({type(value) for value in values}) > 1:
        values = list(map(str, values))
    return pa.array(values) if values else pa.array([], pa.string())

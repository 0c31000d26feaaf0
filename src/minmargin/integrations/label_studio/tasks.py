"""Tasks as Label Studio imports them: what is shown of a row, what is known of it, and the model's guess."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from minmargin.integrations.items import QUESTION, Item, Showing
from minmargin.integrations.label_studio.answers import as_number, as_text
from minmargin.integrations.label_studio.interface import Interface, make_interface, read_interface
from minmargin.integrations.label_studio.server import Task

#: One name for all rounds: a project shows the predictions of one model version only.
MODEL_VERSION = "minmargin"

#: The field of a task's data that says which row it is.
ROW_ID = "row_id"

#: The field that says of which type its class is, in tasks without a guess.
LABEL_TYPE = "label_type"


def make_task(
    item: Item, interface: Interface, question: str = QUESTION, *, predictions: bool = True
) -> dict[str, Any]:
    """Return a row as a task; its prediction is the base's guess, with the batch's score.

    In a list that is searched the guess is not chosen beforehand, the row's reason tells it: what is chosen there stays
    when another class is added, and a row that is sent with the guess by mistake would look like any other. A row of an
    audit never has one: people tend to agree with what they see, and the model would look better than it is.
    """
    predictions = predictions and not item.audit
    task: dict[str, Any] = {"data": make_data(item, question, predictions=predictions)}
    if predictions and interface.kind == "choices":
        guess = {
            "from_name": interface.control,
            "to_name": interface.target,
            "type": "choices",
            "value": {"choices": [str(item.predicted)]},
        }
        task["predictions"] = [{"model_version": MODEL_VERSION, "score": item.score, "result": [guess]}]
    return task


def row_of(task: Task) -> int | str | None:
    """Return the id of the row that a task was made of; None if it is none of ours."""
    if ROW_ID not in task.data:
        return None
    found, what = task.data[ROW_ID], f"the {ROW_ID!r} of task {task.id}"
    if isinstance(found, str):
        return as_text(found, what)
    return as_number(found, what, least=-(2**63), most=2**64 - 1)


def make_data(item: Item, question: str = QUESTION, *, predictions: bool = True) -> dict[str, Any]:
    """Return the data of a task: the fields that an interface can show, then those for the list of tasks.

    Columns are there twice: as lines, which our interfaces show, and by name, for interfaces of one's own.
    """
    shown = {
        "text": item.text,
        "image": item.image,
        "lines": item.lines() or None,
        "columns": item.columns or None,
    }
    predictions = predictions and not item.audit
    # A choice is a text. Which class it stands for is told by the guess, or else by the classes' type.
    of_type = {} if predictions else {LABEL_TYPE: type(item.predicted).__name__}
    return {
        **{name: value for name, value in shown.items() if value is not None},
        **item.facts(predictions=predictions),
        "question": question,
        **of_type,
    }


def make_tasks(showing: Showing, *, predictions: bool = True) -> Iterator[dict[str, Any]]:
    """Return the tasks of a batch, in its order, for the interface that `make_interface` makes."""
    interface = read_interface(make_interface(showing), "the project")
    for item in showing.items(predictions=predictions):
        yield make_task(item, interface, showing.question, predictions=predictions)

"""Batches in a real Label Studio: texts, images and tables, in order, with guesses, and back as labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from made_up_batch import CLASSES, PNG, made_up_batch
from minmargin.integrations.items import Showing
from minmargin.integrations.label_studio import Tie, pull, push

KINDS = {
    "text": (
        {"text": [f"<b>text</b> {place} \N{SNOWMAN} $reason" for place in range(7)]},
        {"text_column": "text"},
    ),
    "image": ({"picture": [PNG] * 7}, {"image_column": "picture"}),
    "columns": ({"a b": list(range(7)), "<i>": [None, *"uvwxyz"]}, {}),
}


def rows_of(tasks: list[dict[str, Any]]) -> list[Any]:
    return [task["data"]["row_id"] for task in tasks]


@pytest.mark.parametrize("field", KINDS)
@pytest.mark.parametrize("personal", [False, True], ids=["legacy token", "personal token"])
def test_a_batch_is_labeled_in_its_order_with_the_guess_in_sight(
    server: Any, personal_token: str, title: str, field: str, personal: bool
) -> None:
    kept, asked = KINDS[field]
    batch = made_up_batch(7, kept=kept, ids=[2**60 + 7 - place for place in range(7)])
    token = personal_token if personal else server.token
    pushed = push(Showing.of(batch, **asked), url=server.url, project=title, token=token)
    assert (pushed.created, pushed.n_added, pushed.n_present) == (True, 7, 0)

    tasks = server.tasks(pushed.project)
    assert rows_of(tasks) == batch.ids.tolist()
    assert [task["data"][field] for task in tasks] == [
        getattr(item, field) for item in Showing.of(batch, **asked).items()
    ]
    chosen = []
    for identity in batch.ids.tolist():
        task = server.next_row(pushed.project)
        assert task["data"]["row_id"] == identity
        (guess,) = task["predictions"]
        assert guess["result"][0]["value"]["choices"] == [task["data"]["predicted"]]
        assert guess["score"] == task["data"]["score"]
        chosen.append(CLASSES[(identity + 1) % 3])
        server.annotate(task["id"], chosen[-1], target=field)

    pulled = pull(url=server.url, project=title, token=token)
    assert pulled.labels.to_pydict() == {"id": batch.ids.tolist(), "label": chosen}
    assert (pulled.n_rows, pulled.n_waiting, pulled.n_skipped, pulled.ties) == (7, 0, 0, ())


def test_of_several_annotators_the_majority_decides_and_ties_are_listed(server: Any, title: str) -> None:
    pushed = push(Showing.of(made_up_batch(6)), url=server.url, project=title, token=server.token)
    tokens = [server.token, server.sign_up("ann"), server.sign_up("bob")]
    votes = {
        "r0": ["card", "card", "card"],
        "r1": ["card", "cash", "cash"],
        "r2": ["card", "cash", None],
        "r3": [None, None, None],
        "r4": [None, "top-up", None],
    }
    for task in server.tasks(pushed.project):
        for token, label in zip(tokens, votes.get(task["data"]["row_id"], []), strict=False):
            server.annotate(task["id"], label, target="columns", token=token)
    pulled = pull(url=server.url, project=pushed.project, token=server.token)
    assert pulled.labels.to_pydict() == {"id": ["r0", "r1", "r4"], "label": ["card", "cash", "top-up"]}
    assert pulled.ties == (Tie("r2", {"card": 1, "cash": 1}),)
    assert (pulled.n_rows, pulled.n_skipped, pulled.n_waiting) == (6, 1, 1)


def test_a_second_round_goes_into_the_same_project_behind_the_first(server: Any, title: str) -> None:
    first, both = made_up_batch(3), made_up_batch(5)
    push(Showing.of(first), url=server.url, project=title, token=server.token)
    pushed = push(Showing.of(both), url=server.url, project=title, token=server.token)
    assert (pushed.created, pushed.n_added, pushed.n_present) == (False, 2, 3)
    assert rows_of(server.tasks(pushed.project)) == ["r0", "r1", "r2", "r3", "r4"]


def test_a_batch_of_several_imports_keeps_its_order(server: Any, title: str) -> None:
    batch = made_up_batch(430)
    pushed = push(Showing.of(batch), url=server.url, project=title, token=server.token)
    assert rows_of(server.tasks(pushed.project)) == batch.ids.tolist()
    assert push(Showing.of(batch), url=server.url, project=title, token=server.token).n_present == 430


def test_without_predictions_annotators_see_no_guess(server: Any, title: str) -> None:
    pushed = push(
        Showing.of(made_up_batch(1)), url=server.url, project=title, token=server.token, predictions=False
    )
    task = server.next_row(pushed.project)
    assert task["predictions"] == []
    assert task["data"].keys().isdisjoint({"predicted", "first_class", "second_class"}), (
        "the list of tasks shows them"
    )


def test_hostile_classes_are_choices_like_any_other(server: Any, title: str) -> None:
    classes = ['<Choice value="x"/>', "a & b", "\"quoted\" 'twice'", "\N{SNOWMAN}, and, commas", "{{ x }}"]
    pushed = push(
        Showing.of(made_up_batch(5, classes=classes)), url=server.url, project=title, token=server.token
    )
    for _ in classes:
        task = server.next_row(pushed.project)
        (guess,) = task["predictions"]
        server.annotate(task["id"], guess["result"][0]["value"]["choices"][0], target="columns")
    assert pull(url=server.url, project=title, token=server.token).labels["label"].to_pylist() == classes


def test_numbers_come_back_as_numbers(environment: Any, title: str) -> None:
    pushed = push(Showing.of(made_up_batch(1, classes=[3, 7])), url=environment.url, project=title)
    environment.annotate(environment.tasks(pushed.project)[0]["id"], "7", target="columns")
    labels = pull(url=environment.url, project=title).labels
    assert labels.to_pydict() == {"id": ["r0"], "label": [7]}
    assert labels.schema.field("label").type == pa.int64()


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".jsonl"])
def test_the_commands_push_and_pull(
    environment: Any, title: str, run_command: Any, tmp_path: Path, suffix: str
) -> None:
    path = made_up_batch(4, kept={"text": list("abcd")}).to_parquet(tmp_path / "batch.parquet")
    push_line = ("label-studio", "push", path, "--project", title, "--text-column", "text")
    code, out, err = run_command(*push_line)
    number = out.rsplit("/", 1)[1].rstrip(".\n")
    assert (code, err) == (0, "")
    assert out == (
        f"Project '{title}' (made): 4 rows added.\nLabel here: {environment.url}/projects/{number}\n"
    )
    assert run_command(*push_line)[1].startswith(
        f"Project '{title}' (used): 0 rows added; 4 were there already.\n"
    )
    for task, label in zip(environment.tasks(int(number)), ["cash", "card", None], strict=False):
        environment.annotate(task["id"], label, target="text")
    labels = tmp_path / f"labels{suffix}"
    code, out, err = run_command("label-studio", "pull", "--project", number, "--out", labels)
    assert (code, err) == (0, "")
    assert out == f"2 of 4 rows have a label (1 not annotated yet, 1 skipped).\nWritten to {labels}.\n"
    expected = {
        ".csv": b'"id","label"\n"r0","cash"\n"r1","card"\n',
        ".jsonl": b'{"id": "r0", "label": "cash"}\n{"id": "r1", "label": "card"}\n',
    }
    if suffix == ".parquet":
        assert pq.read_table(labels).to_pydict() == {"id": ["r0", "r1"], "label": ["cash", "card"]}
    else:
        assert labels.read_bytes() == expected[suffix]

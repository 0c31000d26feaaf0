"""Pushing and pulling against a server that is played in memory: nothing twice, nothing lost, votes counted."""

from __future__ import annotations

import itertools
from contextlib import nullcontext
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minmargin as mm
from integrations.played_server import PlayedServer
from made_up_batch import made_up_batch
from minmargin.integrations.items import Showing
from minmargin.integrations.label_studio import LabelStudioError, Tie, pull, push
from minmargin.integrations.label_studio.pulling import tally
from minmargin.integrations.label_studio.pushing import in_chunks
from minmargin.integrations.label_studio.server import Server, Task
from minmargin.integrations.label_studio.votes import Vote, count_votes


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> PlayedServer:
    server = PlayedServer()
    monkeypatch.setattr(Server, "at", lambda url, token=None, **_: nullcontext(server))
    return server


def push_text(batch: Any, **settings: Any) -> Any:
    return push(Showing.of(batch, text_column="text"), url="http://played", project="mine", **settings)


# Pushing


@settings(max_examples=40)  # each pushes hundreds of rows, several times
@given(
    st.integers(1, 450),
    st.lists(st.sampled_from(["ok", "lost", "gone"]), max_size=12),
)
def test_pushes_that_fail_anywhere_add_every_row_once_and_in_order(n: int, fates: list[str]):
    server = PlayedServer(fates)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Server, "at", lambda url, token=None, **_: nullcontext(server))
        batch = made_up_batch(n)
        for _ in itertools.count():
            try:
                push_text(batch)
                break
            except LabelStudioError:
                pass
        again = push_text(batch)
    assert [task.data["row_id"] for task in server.rows] == batch.ids.tolist()
    assert (again.n_added, again.n_present, again.created) == (0, n, False)
    assert len(server.projects) == 1


def test_a_push_that_fails_says_how_far_it_came(played: PlayedServer):
    played.fates = ["ok", "gone"]
    with pytest.raises(LabelStudioError) as caught:
        push_text(made_up_batch(250))
    assert str(caught.value) == (
        "It went away. 100 of 250 new rows were added before. Push again: no row is added twice."
    )


def test_a_second_batch_adds_only_what_is_new_and_reports_progress(played: PlayedServer):
    first = push_text(made_up_batch(3))
    assert (first.project, first.title, first.address, first.created) == (
        1,
        "mine",
        "http://played/projects/1",
        True,
    )
    seen: list[Any] = []
    second = push_text(made_up_batch(120), progress=lambda *counts: seen.append(counts))
    assert (second.n_added, second.n_present, second.created) == (117, 3, False)
    assert seen == [("pushing", 100, 117), ("pushing", 117, 117)]


@pytest.mark.parametrize("first", [True, False])
def test_rows_that_are_there_keep_their_guess_or_stay_without(played: PlayedServer, first: bool):
    push_text(made_up_batch(3), predictions=first)
    again = push_text(made_up_batch(5), predictions=not first)
    assert (again.n_present, again.n_guessed) == (3, 3 if first else 0)
    guesses = {"predicted", "first_class", "second_class"}
    assert [guesses <= task.data.keys() for task in played.rows] == [first] * 3 + [not first] * 2
    assert [guesses.isdisjoint(task.data) for task in played.rows] == [not first] * 3 + [first] * 2


def test_the_same_id_with_another_text_is_another_pool(played: PlayedServer):
    push_text(made_up_batch(3))
    other = made_up_batch(3, kept={"text": ["text 0", "changed", "text 2"]})
    with pytest.raises(mm.InputError) as caught:
        push_text(other)
    assert str(caught.value) == (
        "Project 1 ('mine') of http://played has a row 'r1' that shows something else. Use a project for each pool, or "
        "an id_column whose values are unique across pools."
    )


def test_an_image_that_cannot_be_read_stops_a_push_before_a_project_is_made(played: PlayedServer):
    batch = made_up_batch(2, kept={"image": ["https://example.com/a.png", "none.png"]})
    with pytest.raises(mm.InputError, match=r"Row 'r1' names the image 'none\.png'"):
        push(Showing.of(batch, image_column="image"), url="http://played", project="mine")
    assert played.projects == []


@pytest.mark.parametrize("title", ["ab", "x" * 51])
def test_a_title_that_no_project_can_have_is_refused(played: PlayedServer, title: str):
    with pytest.raises(mm.InputError) as caught:
        push(Showing.of(made_up_batch()), url="http://played", project=title)
    assert str(caught.value) == (f"The title {title!r} has {len(title)} characters. A project's has 3 to 50.")


@given(st.lists(st.integers(0, 300)), st.integers(1, 5), st.integers(20, 400))
def test_chunks_keep_order_and_stay_small(sizes: list[int], most_tasks: int, most_bytes: int):
    tasks = [{"x": "y" * size} for size in sizes]
    chunks = list(in_chunks(tasks, most_tasks, most_bytes))
    assert [task for chunk in chunks for task in chunk] == tasks
    for chunk in chunks:
        n_bytes = sum(len(task["x"]) + len('{"x": ""}') for task in chunk)
        assert 1 <= len(chunk) <= most_tasks
        assert len(chunk) == 1 or n_bytes <= most_bytes


# Pulling


def annotation(number: int, annotator: Any, *choices: str, cancelled: bool = False) -> dict[str, Any]:
    part = {"from_name": "label", "type": "choices", "value": {"choices": list(choices)}}
    return {
        "id": number,
        "completed_by": annotator,
        "was_cancelled": cancelled,
        "result": [{"from_name": "note", "value": {"text": ["hm"]}}, *([part] if choices else [])],
    }


def row(identity: Any, *annotations: dict[str, Any], predicted: Any = "card") -> Task:
    return Task({"row_id": identity, "predicted": predicted}, list(annotations))


def test_the_majority_decides_and_everything_else_is_counted():
    pulled = tally(
        [
            row("one", annotation(1, 1, "card")),
            row(
                "majority",
                annotation(2, 1, "card"),
                annotation(3, 2, "cash"),
                annotation(4, {"id": 3}, "cash"),
            ),
            row("tied", annotation(5, 1, "card"), annotation(6, 2, "cash")),
            row("skipped", annotation(7, 1, cancelled=True)),
            row("half skipped", annotation(8, 1, "card", cancelled=True), annotation(9, 2, "cash")),
            row("empty", annotation(10, 1)),
            row("two at once", annotation(11, 1, "card", "cash")),
            row("thought again", annotation(13, 1, "cash"), annotation(12, 1, "card")),
            row("waiting"),
            Task({"text": "somebody else's"}, [annotation(14, 1, "card")]),
        ],
        "label",
    )
    assert dict(zip(*pulled.labels.to_pydict().values(), strict=True)) == {
        "one": "card",
        "majority": "cash",
        "half skipped": "cash",
        "thought again": "cash",
    }
    assert pulled.ties == (Tie("tied", {"card": 1, "cash": 1}),)
    assert (pulled.n_rows, pulled.n_skipped, pulled.n_waiting, pulled.n_other) == (9, 3, 1, 1)
    assert (pulled.skipped, pulled.waiting) == (("skipped", "empty", "two at once"), ("waiting",))


def test_a_choice_in_a_list_is_read_by_its_name():
    def chosen(number: int, *names: str) -> dict[str, Any]:
        part = {"from_name": "label", "type": "taxonomy", "value": {"taxonomy": [[name] for name in names]}}
        return {"id": number, "completed_by": 1, "was_cancelled": False, "result": [part]}

    pulled = tally([row("one", chosen(1, "card")), row("two", chosen(2, "card", "cash"))], "label")
    assert pulled.labels.to_pydict() == {"id": ["one"], "label": ["card"]}
    assert pulled.skipped == ("two",)


@pytest.mark.parametrize(
    ("predicted", "choice", "kind"),
    [(3, "7", pa.int64()), (True, "False", pa.bool_()), (1.0, "2.0", pa.float64()), ("3", "7", pa.string())],
)
def test_labels_have_the_type_of_the_classes(predicted: Any, choice: str, kind: pa.DataType):
    pulled = tally([row(2**60 + 1, annotation(1, 1, choice), predicted=predicted)], "label")
    assert pulled.labels.schema.types == [pa.int64(), kind]
    assert [str(value) for value in pulled.labels["label"].to_pylist()] == [choice]


@pytest.mark.parametrize("name", [7, True, 2.0, "7"])
def test_labels_have_the_type_of_the_classes_also_where_no_guess_tells_it(played: PlayedServer, name: Any):
    push_text(made_up_batch(1, classes=[name, type(name)(0)]), predictions=False)
    played.rows[0].annotations.append(annotation(1, 1, str(name)))
    (label,) = pull(url="http://played", project="mine").labels["label"].to_pylist()
    assert (label, type(label)) == (name, type(name))


def test_a_class_that_was_added_in_the_project_makes_all_labels_texts():
    pulled = tally(
        [row(1, annotation(1, 1, "7"), predicted=7), row(2, annotation(2, 1, "none"), predicted=7)], "label"
    )
    assert pulled.labels.to_pydict() == {"id": [1, 2], "label": ["7", "none"]}


def test_nothing_annotated_is_an_empty_table():
    assert tally([row("a")], "label").labels.to_pydict() == {"id": [], "label": []}


def test_pull_reads_the_rows_that_push_made(played: PlayedServer):
    push_text(made_up_batch(2))
    played.rows[1].annotations.append(annotation(1, 1, "top-up"))
    assert pull(url="http://played", project="mine").labels.to_pydict() == {"id": ["r1"], "label": ["top-up"]}


@given(st.lists(st.tuples(st.none() | st.integers(1, 3), st.sampled_from(["a", "b", None]))))
def test_every_annotator_has_one_vote_and_unknown_ones_have_one_each(
    given_votes: list[tuple[int | None, str | None]],
):
    last = dict(vote for vote in given_votes if vote[0] is not None)
    expected = sorted(filter(None, [*last.values(), *(label for who, label in given_votes if who is None)]))
    counts = count_votes([Vote(*vote) for vote in given_votes])
    assert sorted(label for label, n in counts.items() for _ in range(n)) == expected

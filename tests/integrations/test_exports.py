"""Batches as files for labeling tools: every row with its guess and reason, in the batch's order."""

from __future__ import annotations

import csv
import datetime as dt
import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minmargin as mm
from made_up_batch import CLASSES, made_up_batch
from minmargin.batch import Batch
from minmargin.integrations.batch_files import read_batch
from minmargin.integrations.exports import FORMATS, export
from minmargin.integrations.items import Showing, as_json

PNG = b"\x89PNG\r\n\x1a\n and so on"


def complaint(*args, **settings) -> str:
    with pytest.raises(mm.InputError) as caught:
        Showing.of(*args, **settings)
    return str(caught.value)


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


# Files read back


@pytest.mark.parametrize("suffix", [".parquet", ".feather", ".jsonl", ".csv"])
def test_a_batch_file_read_back_is_the_batch(tmp_path: Path, suffix: str):
    batch = made_up_batch(kept={"text": ["a", None, "=SUM(A1)", "", "007"], "n": [1.5, None, 2.0, 3.0, 4.0]})
    read = read_batch(batch.write(tmp_path / f"batch{suffix}"))
    expected, found = batch.to_arrow(), read.to_arrow()
    if suffix == ".csv":  # where everything of the pool is a text
        assert found["n"].to_pylist() == ["1.5", None, "2", "3", "4"]
        expected, found = expected.drop_columns("n"), found.drop_columns("n")
    assert found.to_pylist() == expected.to_pylist()
    assert read.manifest == (batch.manifest if suffix == ".parquet" else {})


def test_ids_beyond_what_floats_hold_come_back_whole(tmp_path: Path):
    batch = made_up_batch(2, ids=[2**60 + 1, 2**60 + 2])
    assert read_batch(batch.to_parquet(tmp_path / "b.parquet")).ids.tolist() == [2**60 + 1, 2**60 + 2]


def test_a_batch_whose_rows_were_sorted_anew_is_read_by_rank(tmp_path: Path):
    table = made_up_batch().to_arrow().sort_by([("rank", "descending")])
    path = tmp_path / "batch.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in table.to_pylist()))
    assert read_batch(path).ids.tolist() == ["r0", "r1", "r2", "r3", "r4"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("b.xlsx", b"", "{!r} ends in no format a batch is written in. Use one of {formats}."),
        ("b.parquet", None, "There is no file {!r}. Give the file that minmargin select wrote."),
        (
            "b.csv",
            b"rank,row,score\n1,2,3\n",
            (
                "{!r} is no batch: it has no column 'member', 'first_class', 'second_class', 'predicted'. Give the "
                "file that minmargin select wrote."
            ),
        ),
        (
            "b.jsonl",
            b"{",
            (
                "{!r} cannot be read as a batch (Expecting property name enclosed in double quotes: line 1 column 2 "
                "(char 1))."
            ),
        ),
    ],
)
def test_a_file_that_is_no_batch_is_named(tmp_path: Path, name: str, content: bytes | None, message: str):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(mm.InputError) as caught:
        read_batch(path)
    formats = "'.parquet', '.csv', '.jsonl', '.feather'"
    assert str(caught.value) == message.format(str(path), formats=formats)


def test_bytes_are_base64_where_only_texts_can_be(tmp_path: Path):
    batch = made_up_batch(2, kept={"image": [PNG, None]})
    encoded = ["iVBORw0KGgogYW5kIHNvIG9u", None]
    assert [record["image"] for record in lines(batch.to_jsonl(tmp_path / "b.jsonl"))] == encoded
    assert read_batch(batch.to_csv(tmp_path / "b.csv")).kept["image"].to_pylist() == encoded


# What is shown


def test_items_carry_the_guess_the_contest_and_the_reason_in_the_order_of_the_batch():
    items = list(Showing.of(made_up_batch(), text_column="text").items())
    assert [item.id for item in items] == ["r0", "r1", "r2", "r3", "r4"]
    assert items[3].text == "text 3"
    assert items[3].facts() == {
        "row_id": "r3",
        "rank": 4,
        "reason": "The model's guess: “card”. Some of the models are torn between “card” and “top-up”. "
        "Row 4 of 5, the most useful first.",
        "predicted": "card",
        "first_class": "card",
        "second_class": "top-up",
        "score": 0.003,
        "member": 3,
    }
    assert items[1].reason == (
        "The model's guess: “cash”. It is torn between “cash” and “card”. Row 2 of 5, the most useful first."
    )


def test_without_predictions_the_reason_names_no_class():
    showing = Showing.of(made_up_batch(), text_column="text")
    assert [item.reason for item in showing.items(predictions=False)] == [
        f"Row {rank} of 5, the most useful first." for rank in range(1, 6)
    ]


def test_annotators_see_no_guess_of_a_row_that_the_model_is_audited_by(tmp_path: Path):
    batch = replace(made_up_batch(4), audit=np.array([False, False, True, True]))
    items = list(Showing.of(batch, text_column="text").items())
    assert [item.reason.startswith("The model's guess") for item in items] == [True, True, False, False]
    assert items[2].reason == "Row 3 of 4."
    tasks = json.loads(write(tmp_path, "label-studio", batch, text_column="text").read_text())
    assert ["predictions" in task for task in tasks] == [True, True, False, False]
    assert ["predicted" in task["data"] for task in tasks] == [True, True, False, False]
    assert tasks[2]["data"]["label_type"] == "str"
    choices = lines(write(tmp_path, "prodigy", batch, text_column="text"))
    assert ["accept" in choice for choice in choices] == [True, True, False, False]
    documents = lines(write(tmp_path, "doccano", batch, text_column="text"))
    assert [len(document["label"]) for document in documents] == [1, 1, 0, 0]
    assert ["predicted" in document for document in documents] == [True, True, False, False]


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".jsonl", ".feather"])
def test_a_file_keeps_which_rows_are_of_an_audit(tmp_path: Path, suffix: str):
    kept = {"text": list("abcd"), "audit": list("efgh")}
    batch = replace(made_up_batch(4, kept=kept), audit=np.array([False, False, True, True]))
    read = read_batch(batch.write(tmp_path / f"batch{suffix}"))
    assert read.audit.tolist() == batch.audit.tolist()
    assert read.kept.column_names == ["text", "pool_audit"]
    plain = read_batch(made_up_batch(4, kept=kept).write(tmp_path / f"plain{suffix}"))
    assert plain.audit is None
    assert plain.kept["audit"].to_pylist() == list("efgh")


def test_a_row_that_was_drawn_at_random_is_contested_by_nobody():
    batch = made_up_batch(1)
    batch.manifest["settings"]["strategy"] = "random"
    assert Showing.of(batch).reasons() == ["The model's guess: “card”. Row 1 of 1, the most useful first."]


def test_between_two_classes_there_is_no_more_to_say_than_the_guess():
    batch = made_up_batch(1, classes=["yes.", "no?"])
    assert Showing.of(batch).reasons() == ["The model's guess: “yes.”. Row 1 of 1, the most useful first."]


def test_without_ids_rows_are_known_by_their_number():
    assert Showing.of(made_up_batch(3, ids=[])).ids == (0, 10, 20)


def test_with_nothing_asked_for_every_column_is_shown():
    showing = Showing.of(made_up_batch(2, kept={"a": [1, 2], "score": ["x", "y"]}))
    assert [item.columns for item in showing.items()] == [
        {"a": 1, "pool_score": "x"},
        {"a": 2, "pool_score": "y"},
    ]


def test_images_are_addresses_files_bytes_or_structs(tmp_path: Path):
    (tmp_path / "x.png").write_bytes(PNG)
    uri = "data:image/png;base64,iVBORw0KGgogYW5kIHNvIG9u"
    for value, address in (
        ("https://example.com/a.png", "https://example.com/a.png"),
        (str(tmp_path / "x.png"), uri),
        (PNG, uri),
        ({"bytes": PNG, "path": None}, uri),
        ({"bytes": None, "path": str(tmp_path / "x.png")}, uri),
        (b"RIFF\0\0\0\0WEBPVP8 ", "data:image/webp;base64,UklGRgAAAABXRUJQVlA4IA=="),
    ):
        showing = Showing.of(made_up_batch(1, kept={"image": [value]}), image_column="image")
        assert next(showing.items()).image == address


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "Row 'r0' has no image. Leave such rows out, or show another column."),
        (
            "/etc/passwd",
            (
                "Row 'r0' names the image '/etc/passwd', which is no PNG, JPEG, GIF, BMP or WebP. Convert it to one "
                "of these."
            ),
        ),
        (
            "none.png",
            (
                "Row 'r0' names the image 'none.png', which cannot be read (No such file or directory). Run the "
                "command in the folder that the paths start from."
            ),
        ),
        (
            b"secret",
            "Row 'r0' has an image that is no PNG, JPEG, GIF, BMP or WebP. Convert it to one of these.",
        ),
    ],
)
def test_only_images_are_sent_anywhere(value: object, message: str):
    showing = Showing.of(made_up_batch(1, kept={"image": [value]}), image_column="image")
    with pytest.raises(mm.InputError) as caught:
        next(showing.items())
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("batch", "asked", "message"),
    [
        (
            {},
            {"text_column": "texd"},
            "Column 'texd' is not in the batch (columns: 'text'). Did you mean 'text'?",
        ),
        (
            {"kept": {}},
            {},
            (
                "The batch carries no column that could be shown. Select it with keep=[...], naming what an "
                "annotator has to see."
            ),
        ),
        (
            {"n": 2, "ids": ["a", "a"]},
            {},
            "The batch has the id 'a' more than once. Use an id_column of unique values.",
        ),
        (
            {"n": 2, "ids": ["a", None]},
            {},
            "The batch has the id None. Use an id_column of texts or whole numbers, without gaps.",
        ),
        (
            {"n": 2, "ids": [0.5, 1.5]},
            {},
            "The batch has the id 0.5. Use an id_column of texts or whole numbers, without gaps.",
        ),
        (
            {"manifest": False},
            {},
            (
                "The batch has no manifest, so its classes are not known. Name them with classes=[...], or use a "
                "batch in Parquet, which keeps its manifest."
            ),
        ),
        (
            {},
            {"classes": ["card", "cash"]},
            "The batch speaks of 'top-up', and the classes given are 'card', 'cash'. Give them all.",
        ),
    ],
)
def test_what_cannot_be_shown_is_said_before_anything_is_written(batch: dict, asked: dict, message: str):
    assert complaint(made_up_batch(**batch), **asked) == message


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats()
        | st.text()
        | st.binary()
        | st.dates()
        | st.decimals(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_any_value_becomes_json_that_every_database_takes(value: object):
    written = json.dumps(as_json(value), allow_nan=False)
    assert "\\u0000" not in written.replace("\\\\", "")


def test_dates_and_decimals_are_texts():
    assert as_json([dt.date(2026, 1, 31), Decimal("1.50")]) == ["2026-01-31", "1.50"]


# The files


def write(tmp_path: Path, to: str, batch: Batch | None = None, *, predictions: bool = True, **shown) -> Path:
    showing = Showing.of(batch or made_up_batch(), **(shown or {"text_column": "text"}))
    return export(showing, tmp_path / "out", to=to, predictions=predictions)


def test_label_studio_gets_tasks_with_predictions(tmp_path: Path):
    tasks = json.loads(write(tmp_path, "label-studio").read_text())
    assert [task["data"]["row_id"] for task in tasks] == ["r0", "r1", "r2", "r3", "r4"]
    assert tasks[0] == {
        "data": {
            "text": "text 0",
            "row_id": "r0",
            "rank": 1,
            "reason": "The model's guess: “card”. Some of the models are torn between “card” and “top-up”. "
            "Row 1 of 5, the most useful first.",
            "predicted": "card",
            "first_class": "card",
            "second_class": "top-up",
            "score": 0.0,
            "member": 0,
            "question": "Which class?",
        },
        "predictions": [
            {
                "model_version": "minmargin",
                "score": 0.0,
                "result": [
                    {
                        "from_name": "label",
                        "to_name": "text",
                        "type": "choices",
                        "value": {"choices": ["card"]},
                    }
                ],
            }
        ],
    }
    without = json.loads(write(tmp_path, "label-studio", predictions=False).read_text())[0]
    assert "predictions" not in without
    assert without["data"] == {
        "text": "text 0",
        "row_id": "r0",
        "rank": 1,
        "reason": "Row 1 of 5, the most useful first.",
        "score": 0.0,
        "member": 0,
        "question": "Which class?",
        "label_type": "str",
    }, "the list of tasks shows all of it"


def test_prodigy_gets_choices(tmp_path: Path):
    first, *_ = lines(write(tmp_path, "prodigy"))
    assert first["text"] == "text 0"
    assert first["options"] == [{"id": name, "text": name} for name in CLASSES]
    assert first["accept"] == ["card"]
    assert first["meta"].keys() == {"row_id", "reason"}, "annotators see them"
    assert (first["meta"]["row_id"], first["score"], first["member"]) == ("r0", 0.0, 0)
    without = lines(write(tmp_path, "prodigy", predictions=False))[0]
    assert "accept" not in without
    assert without["meta"] == {"row_id": "r0", "reason": "Row 1 of 5, the most useful first."}
    assert without.keys().isdisjoint({"predicted", "first_class", "second_class"})


def test_prodigy_gets_images_as_images_and_rows_as_lines_of_text(tmp_path: Path):
    images = made_up_batch(1, kept={"image": [PNG]})
    assert lines(write(tmp_path, "prodigy", images, image_column="image"))[0]["image"].startswith(
        "data:image/png"
    )
    row = made_up_batch(1, kept={"a": [1], "b": [None]})
    assert lines(write(tmp_path, "prodigy", row, columns=["a", "b"]))[0]["text"] == "a: 1\nb: "


def test_doccano_gets_labeled_texts(tmp_path: Path):
    first, *_ = lines(write(tmp_path, "doccano"))
    assert (first["text"], first["label"], first["row_id"]) == ("text 0", ["card"], "r0")
    without = lines(write(tmp_path, "doccano", predictions=False))[0]
    assert without["label"] == []
    assert "card" not in json.dumps(without), "doccano shows all of it"


def test_doccano_gets_no_images(tmp_path: Path):
    with pytest.raises(mm.InputError) as caught:
        write(tmp_path, "doccano", made_up_batch(1, kept={"image": [PNG]}), image_column="image")
    assert str(caught.value) == (
        "doccano imports images as files, not from a list. Upload them there, or export to another tool."
    )


def test_a_table_has_the_reasons_and_room_for_labels(tmp_path: Path):
    with write(tmp_path, "csv", made_up_batch(2, kept={"text": ["=1+1", "b"]})).open(newline="") as file:
        records = list(csv.DictReader(file))
    assert [record["text"] for record in records] == ["'=1+1", "b"]
    assert records[0]["reason"].startswith(
        "The model's guess: “card”. Some of the models are torn between “card” and"
    )
    assert {record["label"] for record in records} == {""}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"to": "csv", "predictions": False},
            "A batch in CSV always has its column 'predicted'. Leave predictions on for it.",
        ),
        (
            {"to": "csv", "batch": made_up_batch(1, kept={"label": ["x"]}), "columns": ["label"]},
            "Column 'label' of the batch has the name of one that is added. Rename it.",
        ),
        (
            {"to": "prodigy", "question": "Which flower?"},
            "A file for prodigy has no place for a question. Ask it there, or export to label-studio.",
        ),
        (
            {"to": "doccanno"},
            (
                "'doccanno' is no labeling tool. Use one of 'label-studio', 'prodigy', 'doccano', 'csv'. Did you "
                "mean 'doccano'?"
            ),
        ),
    ],
)
def test_what_a_tool_cannot_take_is_said(tmp_path: Path, settings: dict, message: str):
    with pytest.raises(mm.InputError) as caught:
        write(tmp_path, **settings)
    assert str(caught.value) == message


HOSTILE = st.text(min_size=1).filter(lambda text: text.strip() and "\0" not in text)


@given(text=HOSTILE, column=HOSTILE, identity=HOSTILE)
@pytest.mark.parametrize("to", [name for name in FORMATS if name != "csv"])
def test_hostile_texts_names_and_ids_come_back_as_they_went_in(
    tmp_path_factory: pytest.TempPathFactory, to: str, text: str, column: str, identity: str
):
    batch = made_up_batch(1, kept={f"x{column}": pa.array([text])}, ids=[identity])
    path = write(tmp_path_factory.mktemp("hostile"), to, batch, text_column=f"x{column}")
    content = path.read_text()
    record = json.loads(content)[0]["data"] if to == "label-studio" else json.loads(content)
    assert record["text"] == text
    assert record.get("meta", record)["row_id"] == identity

"""`minmargin export`, and what the commands for Label Studio say before they speak to a server."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from made_up_batch import made_up_batch

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_command: Command) -> Command:
    """Runs a command in a folder with a batch, and returns its exit code and what it printed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LABEL_STUDIO_API_KEY", raising=False)
    made_up_batch(3).to_parquet("batch.parquet")
    made_up_batch(3).to_csv("batch.csv")
    return run_command


def test_export_writes_the_file_and_the_interface(command: Command) -> None:
    line = ["--to", "label-studio", "--text-column", "text", "--out", "tasks.json", "--interface", "i.xml"]
    assert command("export", "batch.parquet", *line, "--question", "What about?") == (
        0,
        "Written 3 rows for label-studio to tasks.json.\n",
        "",
    )
    tasks = json.loads(Path("tasks.json").read_text())
    assert [task["data"]["question"] for task in tasks] == ["What about?"] * 3
    assert Path("i.xml").read_text().startswith("<View>\n")


def test_export_speaks_json_and_takes_classes_for_a_batch_without_a_manifest(command: Command) -> None:
    line = ["--to", "doccano", "--text-column", "text", "--out", "d.jsonl", "--json"]
    code, out, err = command("export", "batch.csv", *line, "--classes", "card,cash,top-up")
    assert (code, err) == (0, "")
    assert json.loads(out) == {
        "out": "d.jsonl",
        "to": "doccano",
        "rows": 3,
        "classes": ["card", "cash", "top-up"],
    }


def test_what_is_missing_is_said_in_the_words_of_the_command_line(command: Command) -> None:
    assert command("export", "batch.csv", "--to", "csv", "--out", "x.csv") == (
        1,
        "",
        (
            "minmargin: The batch has no manifest, so its classes are not known. Name them with --classes NAMES, or "
            "use a batch in Parquet, which keeps its manifest.\n"
        ),
    )
    assert not Path("x.csv").exists()


def test_labels_go_to_a_file_of_a_known_kind_in_a_folder_that_is_there(command: Command) -> None:
    assert command("label-studio", "pull", "--project", "mine", "--out", "labels.xlsx")[2] == (
        "minmargin: 'labels.xlsx' ends in no format labels can be written in. Use one of '.csv', '.parquet', "
        "'.jsonl'.\n"
    )
    assert command("label-studio", "pull", "--project", "mine", "--out", "none/labels.csv")[2] == (
        "minmargin: Folder 'none' does not exist. Make it, or write elsewhere.\n"
    )


def test_without_a_token_and_a_terminal_a_push_says_where_to_put_one(command: Command) -> None:
    assert command("label-studio", "push", "batch.parquet", "--project", "mine") == (
        1,
        "",
        (
            "minmargin: There is no token for Label Studio. Copy one from its page Account & Settings into the "
            "environment variable LABEL_STUDIO_API_KEY.\n"
        ),
    )


def test_a_token_is_no_option(command: Command) -> None:
    for subcommand in ("push", "pull"):
        assert "token" not in command("label-studio", subcommand, "--help")[1].lower()


@pytest.mark.parametrize("group", [["label-studio"], []])
def test_a_group_without_a_command_shows_its_help(command: Command, group: list[str]) -> None:
    code, out, _ = command(*group)
    assert code == 0
    assert ("push" if group else "label-studio") in out

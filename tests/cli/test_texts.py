"""Texts on the command line: `--learner text` needs no file of Python, and free text is not taken for categories."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import pytest

from minmargin import cli

CARD, TRANSFER = ("my card was lost", "the card is broken"), ("my transfer is late", "cancel the transfer")


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a command in a folder with forty labeled texts and a pool of thirty; return its exit code."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    labeled = [
        (f"{(CARD, TRANSFER)[i % 2][i // 2 % 2]} nr{i:02}", ("card", "transfer")[i % 2]) for i in range(40)
    ]
    write("labeled.csv", ["text", "topic"], labeled)
    write("pool.csv", ["ticket", "text"], [(i, f"where is the card of transfer nr{i:02}") for i in range(30)])

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["minmargin", *words])
        return cli.run()

    return run


def write(path, names, rows):
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([names, *rows])


SELECT = [
    "select",
    "--labeled",
    "labeled.csv",
    "--label-column",
    "topic",
    "--pool",
    "pool.csv",
    "--batch-size",
    "5",
]
CAMPAIGN = ["--labeled", "labeled.csv", "--label-column", "topic", "--pool", "pool.csv", "--batch-size", "5"]


def test_the_text_learner_reads_the_text_column(run, capsys):
    more = ["--id-column", "ticket", "--out", "batch.csv", "--learner", "text", "--seed", "0", "--json"]
    assert run(*SELECT, *more) == 0
    settings = json.loads(capsys.readouterr().out)["settings"]
    assert (settings["learner"], settings["preprocess"]) == ("text", "none")
    with Path("batch.csv").open(encoding="utf-8") as file:
        assert len({row["id"] for row in csv.DictReader(file)}) == 5


def test_an_id_that_was_not_named_is_told_apart(run, capsys):
    labeled = [(i, f"{(CARD, TRANSFER)[i % 2][0]}", ("card", "transfer")[i % 2]) for i in range(40)]
    write("labeled.csv", ["ticket", "text", "topic"], labeled)
    assert run(*SELECT, "--out", "batch.csv", "--learner", "text") == 1
    assert capsys.readouterr().err == (
        "minmargin: --learner text reads text columns only, and column 'ticket' is Int64. Name the text columns with "
        "--features NAMES ('text'); a column that identifies rows, as --id-column.\n"
    )
    assert (
        run(
            *SELECT,
            "--out",
            "b.csv",
            "--learner",
            "text",
            "--id-column",
            "ticket",
            "--no-distinct",
            "--keep-labeled",
        )
        == 0
    )


@pytest.mark.parametrize(
    "command",
    [[*SELECT, "--out", "batch.csv"], ["campaign", "init", "plain", *CAMPAIGN, "--id-column", "ticket"]],
)
def test_free_text_is_refused_as_categories_and_the_learner_for_it_is_named(run, capsys, command):
    assert run(*command) == 1
    assert capsys.readouterr().err == (
        "minmargin: Text column 'text' has a different value in nearly each of the 40 labeled rows, and there is no "
        "other feature, so there is nothing to learn from categories. This looks like free text: use --learner text.\n"
    )
    assert not Path("batch.csv").exists()
    assert not Path("plain").exists()


def test_a_campaign_of_texts(run, capsys):
    assert run("campaign", "init", "bank", *CAMPAIGN, "--id-column", "ticket", "--learner", "text") == 0
    assert run("campaign", "next", "bank") == 0
    assert run("campaign", "status", "bank", "--json") == 0
    assert capsys.readouterr().err == ""


@pytest.mark.filterwarnings("default")
def test_a_command_that_trains_several_times_warns_once(run, capsys):
    labeled = [
        (f"{(CARD, TRANSFER)[i % 2][0]} nr{i:02}", i % 7, ("card", "transfer")[i % 2]) for i in range(60)
    ]
    write("labeled.csv", ["text", "length", "topic"], labeled)
    write("pool.csv", ["ticket", "text", "length"], [(i, f"a card nr{i:02}", i % 5) for i in range(30)])
    assert run("campaign", "init", "bank", *CAMPAIGN, "--id-column", "ticket") == 0
    capsys.readouterr()
    assert run("campaign", "next", "bank") == 0
    assert capsys.readouterr().err.count("minmargin: warning: Text column 'text'") == 1

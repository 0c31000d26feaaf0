"""`minmargin campaign push` and `pull` against a server that is played in memory: what they say, and how to go on."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import minmargin as mm
from integrations.played_server import PlayedServer
from minmargin import cli
from minmargin.integrations.label_studio.server import Server

X, y = load_iris(return_X_y=True)
SPECIES = ["setosa", "versicolor", "virginica"]
NOTHING_TO_LEARN = [SPECIES[(row // 10) % 3] for row in range(150)]


class Person:
    """Somebody at a terminal and in Label Studio, with a campaign of irises that has one round of four rows."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.server = PlayedServer()
        self._monkeypatch, self._capsys = monkeypatch, capsys
        monkeypatch.setattr(Server, "at", lambda url, token=None, **_: nullcontext(self.server))

    def begin(self, labels: Any = None) -> str:
        rows = pd.DataFrame(X, columns=["a", "b", "c", "d"]).assign(row_id=[f"r{row}" for row in range(150)])
        rows.to_parquet("pool.parquet")
        names = [SPECIES[each] for each in y] if labels is None else labels
        rows.assign(y=names).iloc[::10].to_csv("labeled.csv", index=False)
        settings = ("--batch-size", "4", "--n-models", "2", "--seed", "0", "--id-column", "row_id")
        inputs = ("--labeled", "labeled.csv", "--label-column", "y", "--pool", "pool.parquet")
        self.run("init", "flowers", *inputs, *settings)
        return self.run("next", "flowers")

    def run(self, *line: str) -> str:
        self._monkeypatch.setattr("sys.argv", ["minmargin", "campaign", *line])
        code = cli.run()
        out, err = self._capsys.readouterr()
        assert (code, err) == (0, "")
        return str(out)

    def complaint(self, *line: str) -> str:
        self._monkeypatch.setattr("sys.argv", ["minmargin", "campaign", *line])
        assert cli.run() == 1
        return str(self._capsys.readouterr().err)

    def annotate(self, place: int, *choices: str, by: int = 1) -> None:
        """Choose classes for a task, or skip it."""
        task = self.server.rows[place]
        part = {"from_name": "label", "type": "choices", "value": {"choices": list(choices)}}
        number = sum(len(each.annotations) for each in self.server.rows)
        answer = {"id": number, "completed_by": by, "was_cancelled": not choices, "result": [part]}
        task.annotations.append(answer)


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Person:
    monkeypatch.chdir(tmp_path)
    return Person(monkeypatch, capsys)


def test_push_and_pull_tell_how_to_go_on(person: Person):
    person.begin()
    assert person.run("push", "flowers").splitlines() == [
        "Project 'flowers' (made): 4 rows added.",
        "Label here: http://played/projects/1",
        "Next: minmargin campaign pull flowers  (when rows are labeled)",
    ]
    for place in (0, 1):
        person.annotate(place, "setosa")
    out = person.run("pull", "flowers")
    assert out.startswith(
        "2 of 4 rows have a label (2 not annotated yet).\nLabels: 2 new, 0 known already.\n"
    )
    assert out.endswith("Next: minmargin campaign pull flowers  (when more rows are labeled)\n")
    person.annotate(2)
    person.annotate(3, "setosa")
    person.annotate(3, "virginica", by=2)
    out = person.run("pull", "flowers")
    assert "(1 skipped, 1 tied)" in out
    assert out.endswith(
        "Next: minmargin campaign next flowers --even-so  (without the rows that nobody decided)\n"
        "  or: minmargin campaign next flowers --requeue  (which puts them back into the pool)\n"
    )
    out = person.run("next", "flowers", "--requeue")
    assert out.endswith("Next: minmargin campaign push flowers  (to label in Label Studio)\n")
    assert person.run("pull", "flowers").endswith(
        "Next: minmargin campaign push flowers  (not all rows of the last round are in the project)\n"
    )
    person.run("push", "flowers")
    for place in range(2, len(person.server.rows)):
        person.server.rows[place].annotations.clear()
        person.annotate(place, "virginica")
    assert person.run("pull", "flowers").endswith("Next: minmargin campaign next flowers\n")


def test_a_class_that_the_campaign_does_not_know_is_said_of_the_project(person: Person):
    person.begin()
    person.run("push", "flowers")
    person.annotate(0, "lily")
    assert person.complaint("pull", "flowers") == (
        "minmargin: Label Studio project 1: 'lily' is no class of this campaign ('setosa', 'versicolor', 'virginica'). "
        "Mend it, or use --new-classes; no label was added.\n"
    )
    assert "Labels: 1 new" in person.run("pull", "flowers", "--new-classes")
    assert mm.Campaign.open("flowers").classes[-1] == "lily"


@pytest.mark.parametrize("options", [[], ["--no-predictions"], ["--json"]])
def test_a_model_that_is_often_wrong_is_told_of_before_people_see_its_guesses(
    person: Person, options: list[str]
):
    person.begin(NOTHING_TO_LEARN)
    status = json.loads(person.run("status", "flowers", "--json"))
    assert status["accuracy"] < 0.6
    out = person.run("push", "flowers", *options)
    warned = (
        f"The model's accuracy is {status['accuracy']:.1%} so far, and annotators see its guesses beforehand. "
        "--no-predictions leaves them out.\n"
    )
    assert out.startswith(warned) == (options == [])
    reasons = [task.data["reason"] for task in person.server.rows]
    assert all(("guess" in reason) == (options != ["--no-predictions"]) for reason in reasons)


def test_a_round_of_a_model_that_is_often_wrong_names_the_push_without_guesses(person: Person):
    out = person.begin(NOTHING_TO_LEARN)
    accuracy = json.loads(person.run("status", "flowers", "--json"))["accuracy"]
    without = (
        "  or: minmargin campaign push flowers --no-predictions  (without the model's guesses, as its accuracy is "
        f"{accuracy:.1%} so far)\n"
    )
    assert without in out
    person.run("push", "flowers")
    assert without in person.run("next", "flowers", "--even-so")
    person.run("push", "flowers", "--no-predictions")
    assert "--no-predictions" not in person.run("next", "flowers", "--even-so"), "it is remembered"


def test_a_model_that_is_mostly_right_needs_no_such_word(person: Person):
    assert "--no-predictions" not in person.begin()


def test_the_next_rounds_are_shown_as_the_last_one_was(person: Person):
    person.begin()
    shown = [
        ("--no-predictions",),
        (),
        ("--question", "Which flower?"),
        ("--columns", "d,a"),
        ("--predictions",),
    ]
    for place, options in enumerate(shown):
        if place:
            person.run("next", "flowers", "--even-so")
        person.run("push", "flowers", *options)
    firsts = [task.data for task in person.server.rows[::4]]
    assert ["predicted" in data for data in firsts] == [False] * 4 + [True]
    assert [data["question"] for data in firsts] == ["y"] * 2 + ["Which flower?"] * 3
    assert [list(data["columns"]) for data in firsts] == [[*"abcd"]] * 3 + [["d", "a"]] * 2


def test_a_push_says_which_rows_keep_the_guess_of_an_earlier_push(person: Person):
    person.begin()
    person.run("push", "flowers")
    assert person.run("push", "flowers", "--no-predictions").splitlines()[:2] == [
        "Project 'flowers' (used): 0 rows added; 4 were there already.",
        "Pushed before with the model's guess, and left so: 4.",
    ]
    person.run("next", "flowers", "--even-so")
    person.run("push", "flowers")
    assert person.run("push", "flowers", "--predictions").splitlines()[:2] == [
        "Project 'flowers' (used): 0 rows added; 4 were there already.",
        "Pushed before without the model's guess, and left so: 4.",
    ]


def test_a_round_too_early_is_told_to_pull_what_was_pushed(person: Person):
    person.begin()
    person.run("push", "flowers")
    ids = [repr(task.data["row_id"]) for task in person.server.rows]
    assert person.complaint("next", "flowers") == (
        f"minmargin: 4 rows of round 1 have no label yet ({', '.join(ids[:3])} and 1 more). Fetch the labels with "
        "minmargin campaign pull, go on without them with --even-so, or put the rows back into the pool with "
        "--requeue.\n"
    )


def test_a_campaign_whose_models_live_elsewhere_goes_through_label_studio_too(person: Person):
    rows = pd.DataFrame(
        {"row_id": [f"r{row}" for row in range(150)], "text": [f"row {row}" for row in range(150)]}
    )
    rows.to_parquet("pool.parquet")
    for number in (1, 2):
        members = np.random.default_rng(number).dirichlet(np.ones(3), size=150)
        told = pd.DataFrame(members, columns=[f"p_{name}" for name in SPECIES]).assign(row_id=rows["row_id"])
        told[::-1].to_parquet(f"predicted-{number}.parquet")
    settings = ("--batch-size", "4", "--seed", "0", "--id-column", "row_id", "--keep", "text")
    person.run(
        "init",
        "told",
        "--learner",
        "given",
        "--classes",
        ",".join(SPECIES),
        "--pool",
        "pool.parquet",
        *settings,
    )
    person.run("next", "told", "--probabilities", "predicted-1.parquet", "--columns", "p_*")
    assert person.run("push", "told", "--text-column", "text").splitlines() == [
        "Project 'told' (made): 4 rows added.",
        "Label here: http://played/projects/1",
        "Next: minmargin campaign pull told  (when rows are labeled)",
    ]
    batch = mm.Campaign.open("told").batch()
    shown = {task.data["text"] for task in person.server.rows}
    assert shown == set(batch["text"].to_pylist())
    for place in range(4):
        person.annotate(place, "setosa")
    out = person.run("pull", "told")
    assert "Labels: 4 new, 0 known already.\n1 round, 4 labels.\n" in out
    assert out.splitlines()[-1] == (
        "Next: minmargin campaign next told --probabilities probabilities.parquet --columns 'p_*'"
    )
    agreed = sum(guess == "setosa" for guess in batch["predicted"].to_pylist())
    assert mm.Campaign.open("told").status().rounds[1].agreed == agreed
    person.run("next", "told", "--probabilities", "predicted-2.parquet", "--columns", "p_*")
    assert person.run("push", "told").startswith("Project 'told' (used): 4 rows added.")

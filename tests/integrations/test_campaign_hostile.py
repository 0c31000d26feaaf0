"""Campaigns against servers that answer anything: nothing of a campaign is lost, and where it goes is remembered."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import minmargin as mm
from played_answers import SECRET
from played_label_studio import PlayedLabelStudio, Sent

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def played(
    run_command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[PlayedLabelStudio]:
    """A server that has the four rows of a campaign's first round, all labeled."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LABEL_STUDIO_API_KEY", SECRET)
    values = np.random.default_rng(0).normal(size=(60, 2))
    rows = pd.DataFrame(values, columns=["a", "b"]).assign(row_id=[f"r{row}" for row in range(60)])
    rows.to_parquet("pool.parquet")
    rows.assign(y=np.where(values[:, 0] > 0, "up", "down")).iloc[:20].to_csv("labeled.csv", index=False)
    settings = ("--batch-size", 4, "--n-models", 2, "--seed", 0, "--id-column", "row_id")
    inputs = ("--labeled", "labeled.csv", "--label-column", "y", "--pool", "pool.parquet")
    assert run_command("campaign", "init", "mine", *inputs, *settings)[0] == 0
    assert run_command("campaign", "next", "mine")[0] == 0
    with PlayedLabelStudio().listening() as server:
        assert run_command("campaign", "push", "mine", "--url", server.url)[0] == 0
        server.annotate(lambda data: "up")
        yield server


def content_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "change",
    [
        lambda sent: sent.__dict__.update(status=500),
        lambda sent: sent.__dict__.update(body=b""),
        lambda sent: sent.__dict__.update(body=json.dumps(sent.content).encode()[:-20]),
        lambda sent: sent.__dict__.update(content=None),
        lambda sent: sent.content["tasks"].pop(),
        lambda sent: sent.content["tasks"][3]["data"].update(row_id=None),
        lambda sent: sent.content["tasks"][3]["data"].update(row_id="another"),
        lambda sent: sent.content["tasks"][3]["annotations"][0].pop("id"),
        lambda sent: sent.content["tasks"][3]["annotations"][0]["result"][0]["value"].update(
            choices=["other"]
        ),
    ],
    ids=["500", "empty", "cut", "null", "fewer", "no row", "another row", "no id", "another class"],
)
def test_a_pull_that_is_refused_leaves_the_campaign_as_it_was(
    played: PlayedLabelStudio, run_command: Command, change: Callable[[Sent], Any]
) -> None:
    before = content_of(Path("mine"))
    played.bend = lambda kind, _, sent: change(sent) if kind == "tasks" else None
    code, out, err = run_command("campaign", "pull", "mine")
    assert (code, out, len(err.splitlines())) == (1, "", 1)
    assert "Label Studio" in err
    assert content_of(Path("mine")) == before
    played.bend = None
    assert run_command("campaign", "pull", "mine")[0] == 0
    assert len(mm.Campaign.open("mine").waiting) == 0


def test_a_pull_that_is_refused_leaves_the_file_of_labels(
    played: PlayedLabelStudio, run_command: Command, tmp_path: Path
) -> None:
    line = (
        "label-studio",
        "pull",
        "--url",
        played.url,
        "--project",
        "mine",
        "--out",
        tmp_path / "labels.csv",
    )
    assert run_command(*line)[0] == 0
    before = (tmp_path / "labels.csv").read_bytes()
    played.bend = lambda kind, _, sent: sent.content.update(total=9) if kind == "tasks" else None
    assert run_command(*line)[0] == 1
    assert (tmp_path / "labels.csv").read_bytes() == before


@pytest.mark.parametrize(
    ("changed", "wrong"),
    [
        ({"url": 5}, "url is of a wrong type"),
        ({"project": None}, "project is of a wrong type"),
        ({"columns": "a"}, "columns is of a wrong type"),
        ({"text_column": 5}, "text_column is of a wrong type"),
        ({"insecure": "no"}, "insecure is of a wrong type"),
    ],
)
def test_a_remembered_project_that_was_edited_is_refused(
    played: PlayedLabelStudio, run_command: Command, changed: dict[str, Any], wrong: str
) -> None:
    (path,) = (path for path in Path("mine").glob("*.json") if "insecure" in path.read_text())
    path.write_text(json.dumps({**json.loads(path.read_text()), **changed}))
    assert run_command("campaign", "pull", "mine") == (
        1,
        "",
        f"minmargin: {str(path)!r} does not tell the project ({wrong}). Remove it, and push with --project.\n",
    )


def test_insecure_is_said_once_for_a_server(
    played: PlayedLabelStudio, run_command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other machine is this one, by way of a proxy."""
    refused = (
        "minmargin: http://labels.invalid would get the token and the rows unencrypted. Use https://, or --insecure if "
        "you trust everyone on the way there.\n"
    )
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.setenv("http_proxy", played.url)
    push = ("campaign", "push", "mine", "--url", "http://labels.invalid", "--project", "1")
    assert run_command(*push) == (1, "", refused)
    assert run_command(*push, "--insecure")[0] == 0
    assert run_command("campaign", "pull", "mine")[0] == 0
    assert run_command("campaign", "push", "mine")[0] == 0

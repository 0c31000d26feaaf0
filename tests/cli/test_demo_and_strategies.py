"""The commands besides `select`: the demo, the list of strategies, help and version."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from typer.main import get_command
from typer.testing import CliRunner

import minmargin as mm
from minmargin.cli import app
from minmargin.cli.strategies import WHICH
from minmargin.experiments import digits


def commands(group: Any, *names: str) -> Iterator[str]:
    """Return every command, those of groups as "group command"."""
    for name, command in group.commands.items():
        inner = getattr(command, "commands", None)
        yield from commands(command, *names, name) if inner else [" ".join([*names, name])]


COMMANDS = list(commands(get_command(app)))


def invoke(*line: str) -> str:
    """Return what a command that ends well prints."""
    result = CliRunner().invoke(app, list(line), catch_exceptions=False)
    assert result.exit_code == 0
    assert result.stderr == ""
    return result.stdout


def test_every_command_is_listed() -> None:
    assert {"select", "demo", "strategies", "reproduce", "doctor", "data fetch"} < set(COMMANDS)
    text = invoke("--help")
    assert all(command.split()[0] in text for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_the_help_of_every_command_has_an_example_and_json(command: str, flag: str) -> None:
    text, _, example = invoke(*command.split(), flag).partition("Example:")
    assert f"minmargin {command}" in example
    assert "--json" in text


def test_the_help_explains_every_option_of_select() -> None:
    text = " ".join(invoke("select", "--help").split())
    for option in ("--labeled", "--pool", "--batch-size", "--out", "--seed", "--preprocess", "--json"):
        assert option in text


def test_the_version_is_the_packages() -> None:
    assert invoke("--version") == f"minmargin {mm.__version__}\n"


def test_strategies_are_listed_by_name_meaning_and_cost() -> None:
    text = invoke("strategies")
    for entry in mm.strategies():
        assert entry.name in text


def test_which_for_what_is_told_below_the_list_as_the_page_tells_it() -> None:
    """The page has each of these rows, and may say more in it."""
    text = invoke("strategies").partition("Which for what:")[2]
    page = Path(__file__).parents[2].joinpath("docs", "howto", "strategies.md").read_text()
    table = page.partition("| you have | try |")[2].partition("\n\n")[0]
    plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", table).replace("`", "").replace("*", "")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in plain.splitlines()[2:]]
    said = dict(rows)
    names = [entry.name for entry in mm.strategies()]
    assert 5 <= len(WHICH) <= 7
    for situation, advice in WHICH:
        assert re.search(rf"^{re.escape(situation)} +{re.escape(advice)} *$", text, re.MULTILINE)
        assert re.split(r"[;,] (?:not |which )", said[situation])[0] == advice
        assert any(re.search(rf"\b{name}\b", advice) for name in names)


def test_strategies_are_listed_as_json() -> None:
    listed = json.loads(invoke("strategies", "--json"))
    assert listed == [{"name": e.name, "summary": e.summary, "cost": e.cost} for e in mm.strategies()]
    assert [each["name"] for each in listed][:2] == ["min-margin", "margin"]
    assert all(each["summary"] and each["cost"] for each in listed)


@pytest.fixture
def small_demo(monkeypatch: pytest.MonkeyPatch) -> None:
    """A demo of two draws and small batches, without the 25 members of min-margin."""
    monkeypatch.setattr(digits, "N_DRAWS", 2)
    monkeypatch.setattr(digits, "BATCH_SIZE", 20)
    monkeypatch.setattr(digits, "STRATEGIES", ("margin", "random"))


@pytest.mark.usefixtures("small_demo")
def test_the_demo_writes_a_batch_and_says_what_the_labels_bought(tmp_path: Path) -> None:
    out = tmp_path / "new" / "demo"
    text = " ".join(invoke("demo", "--out", str(out)).split())
    assert sorted(path.name for path in out.iterdir()) == [
        "batch.csv",
        "batch.parquet",
        "report.html",
        "result.json",
    ]
    result = json.loads((out / "result.json").read_text())
    assert (result["draws"], result["batch_size"]) == (2, 20)
    assert list(result["accuracy"]) == ["before", "margin", "random"]
    assert all(0.5 < each["mean"] <= 1 for each in result["accuracy"].values())
    assert result["manifest"]["pool"]["rows"] == 1797 - digits.N_LABELED - digits.N_TEST
    with (out / "batch.csv").open() as file:
        rows = [int(record["row"]) for record in csv.DictReader(file)]
    assert rows == pq.read_table(out / "batch.parquet")["row"].to_pylist()
    assert len(rows) == 20
    assert "50 labeled, 1,147 in the pool; 20 to be labeled next." in text
    for name in ("margin", "random"):
        assert f"+ 20 by {name}" in text
    assert f"{result['accuracy']['before']['mean']:.1%} ±" in text


@pytest.mark.usefixtures("small_demo")
def test_the_demo_prints_json(tmp_path: Path) -> None:
    printed = json.loads(invoke("demo", "--out", str(tmp_path), "--json"))
    assert printed == {
        name: json.loads((tmp_path / "result.json").read_text())[name]
        for name in ("draws", "batch_size", "accuracy")
    }

"""How commands behave towards people: --quiet, --debug, colors, and what the shell completes."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from sklearn.datasets import load_iris
from typer.testing import CliRunner

from minmargin import cli
from minmargin.cli.manners import manners
from minmargin.cli.progress import progress_bars
from minmargin.execution import silent
from minmargin.learners import LEARNERS
from minmargin.strategies import strategies
from pseudo_terminal import shown_by

PROGRAM = Path(sys.executable).with_name("minmargin")
SELECT = shlex.split(
    "select --labeled labeled.csv --label-column target --pool pool.csv --batch-size 3 --n-models 2 "
    "--seed 0 --n-jobs 1 --out batch.csv"
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a labeled CSV whose text column looks like an id, and a pool."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(manners, "quiet", False)
    monkeypatch.setattr(manners, "debug", False)
    table = load_iris(as_frame=True).frame.assign(name=[f"iris {i}" for i in range(150)])
    table[::5].to_csv("labeled.csv", index=False)
    table.drop(columns="target").to_csv("pool.csv", index=False)
    return tmp_path


def run(monkeypatch: pytest.MonkeyPatch, *line: str) -> int:
    monkeypatch.setattr(sys, "argv", ["minmargin", *line])
    return cli.run()


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("line", [["--quiet", *SELECT], [*SELECT, "--quiet"]], ids=["before", "after"])
def test_quiet_leaves_nothing_but_the_batch(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], line: list[str]
) -> None:
    assert run(monkeypatch, *SELECT) == 0
    out, err = capsys.readouterr()
    assert "Picked 3 of 150 rows" in out
    assert "warning: Text column 'name'" in err
    Path("batch.csv").unlink()
    assert run(monkeypatch, *line) == 0
    assert capsys.readouterr() == ("", "")
    assert Path("batch.csv").exists()


def test_quiet_shows_errors(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, *SELECT, "--quiet", "--strategy", "margins") == 1
    assert capsys.readouterr().err.startswith("minmargin: There is no strategy 'margins'")


def test_quiet_shows_no_progress_and_lists_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manners, "quiet", True)
    with progress_bars() as report:
        assert report is silent
    shown = CliRunner().invoke(cli.app, ["--quiet", "data", "list"]).stdout
    assert "mnist" in shown
    assert "min-margin" in CliRunner().invoke(cli.app, ["--quiet", "strategies"]).stdout


def test_what_follows_two_dashes_is_no_option_of_ours(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "data", "verify", "--", "--debug") == 1
    assert "There is no data set '--debug'" in capsys.readouterr().err


def test_errors_have_a_traceback_with_debug_only(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sentence = "minmargin: --batch-size 0 must be a whole number >= 1.\n"
    wrong = [*SELECT, "--batch-size", "0"]
    assert run(monkeypatch, *wrong) == 1
    assert capsys.readouterr().err == sentence
    assert run(monkeypatch, *wrong, "--debug") == 1
    shown = capsys.readouterr().err
    assert shown.startswith("Traceback (most recent call last):\n")
    assert shown.endswith(sentence)


def test_a_fault_says_how_to_see_it_and_how_to_report_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def select(*_: Any, **__: Any) -> None:
        raise RuntimeError("a bolt came loose")

    monkeypatch.setattr("minmargin.cli.select.select", select)
    assert run(monkeypatch, *SELECT) == 2
    sentence = (
        "minmargin: a fault of minmargin: RuntimeError: a bolt came loose\n"
        "Add --debug to the command to see where it happened. Please report it as an issue of the project, "
        "with what --debug and minmargin doctor show.\n"
    )
    assert capsys.readouterr() == ("", sentence)
    assert run(monkeypatch, "--debug", *SELECT) == 2
    shown = capsys.readouterr().err
    assert 'raise RuntimeError("a bolt came loose")' in shown
    assert shown.endswith(sentence)


# On a terminal, which only a real process has


# One process for all commands: most of its time it imports.
_COMMANDS = """
import json, os, sys
from minmargin import cli
for line, environment in json.loads(sys.argv[1]):
    sys.argv = ["minmargin", *line]
    os.environ.update(environment)
    assert cli.run() == 0
    print("END OF COMMAND", flush=True)
"""


def on_terminal(*lines: tuple[list[str], dict[str, str]]) -> list[str]:
    """Return what each command shows on a terminal; the environment of one is that of those after it too."""
    inherited = {name: value for name, value in os.environ.items() if name not in {"NO_COLOR", "FORCE_COLOR"}}
    variables = {**inherited, "TERM": "xterm-256color", "COLUMNS": "100"}
    command = [sys.executable, "-c", _COMMANDS, json.dumps(lines)]
    *each, _ = shown_by(command, variables).split("END OF COMMAND")
    return each


_COLORS = re.compile(r"\x1b\[(?:\d+;)*(?:3[0-8]|9[0-7])(?:;\d+)*m")


def test_no_color_turns_colors_off(folder: Path) -> None:
    off = {"NO_COLOR": "1"}
    shown = on_terminal((["--help"], {}), (SELECT, {}), (["--help"], off), (SELECT, off))
    assert [bool(_COLORS.search(each)) for each in shown] == [True, True, False, False]


# What the shell completes


def completing(*line: str) -> dict[str, str]:
    """Return the variables by which bash asks for words after a line whose last word is being typed."""
    words = " ".join(["minmargin", *line])
    return {"_MINMARGIN_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(line))}


def completed(*line: str) -> list[str]:
    return CliRunner().invoke(cli.app, prog_name="minmargin", env=completing(*line)).stdout.split()


def test_the_shell_asks_the_program() -> None:
    variables = {**os.environ, **completing("data", "f")}
    done = subprocess.run([PROGRAM], env=variables, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["fetch"]


def test_the_shell_completes_commands_and_names() -> None:
    assert completed("str") == ["strategies"]
    assert completed("data", "f") == ["fetch"]
    assert completed("select", "--strategy", "") == [each.name for each in strategies()]
    assert completed("select", "--strategy", "margin-o") == ["margin-of-mean"]
    assert completed("select", "--learner", "") == list(LEARNERS)
    assert completed("campaign", "init", "--learner", "") == [*LEARNERS, "given"]
    assert completed("select", "--engine", "d") == ["dask"]
    assert completed("data", "fetch", "mn") == ["mnist"]
    assert completed("reproduce", "the") == ["theorem"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_are_shown(shell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # The shell is the one that runs the program, which a test has to pretend.
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    shown = CliRunner().invoke(cli.app, ["--show-completion", shell], prog_name="minmargin")
    assert shown.exit_code == 0
    assert "_MINMARGIN_COMPLETE" in shown.stdout

"""Ctrl-C, as a real signal at chosen moments: one line on what was kept, exit code 130; and the line while it loads."""

from __future__ import annotations

import shlex
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from minmargin.execution import out_of_reach
from minmargin_program import LOADING, main
from pseudo_terminal import shown_by

# The process interrupts itself when a module is first looked for, or when a function of ours has done its work: moments
# that are the same on every machine.
_PROGRAM = """
import importlib, importlib.abc, os, signal, sys
moment, *sys.argv[1:] = sys.argv[1:]

class Moment(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == moment:
            os.kill(os.getpid(), signal.SIGINT)

def interrupted_after(function):
    def wrapped(*args, **kwargs):
        result = function(*args, **kwargs)
        os.kill(os.getpid(), signal.SIGINT)
        return result
    return wrapped

if ":" in moment:
    module, name = moment.split(":")
    *parts, name = name.split(".")
    where = importlib.import_module(module)
    for part in parts:
        where = getattr(where, part)
    setattr(where, name, interrupted_after(getattr(where, name)))
else:
    sys.meta_path.insert(0, Moment())
from minmargin_program import main
main()
"""
_FILES = "--labeled labeled.csv --label-column y --pool pool.csv --id-column id --batch-size 3 --n-models 2"
SELECT = f"select {_FILES} --seed 0 --out b.csv"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"id": [f"r{i}" for i in range(200)], "a": rng.normal(size=200), "b": rng.normal(size=200)}
    )
    table["y"] = np.where(table["a"] + rng.normal(size=200) > 0, "yes", "no")
    table[:120].to_csv("labeled.csv", index=False)
    table[120:].drop(columns="y").to_csv("pool.csv", index=False)
    return tmp_path


def interrupted(moment: str, line: str) -> str:
    """Return the one line that a command says when it is interrupted at a moment."""
    command = [sys.executable, "-c", _PROGRAM, moment, *shlex.split(line)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 130, done.stderr
    return done.stderr


@pytest.mark.parametrize("module", ["minmargin", "numpy", "pandas._libs", "typer", "minmargin.cli.study"])
def test_while_it_is_loading(folder: Path, module: str) -> None:
    told = "minmargin: interrupted while it was loading. Nothing was begun; the same command begins anew.\n"
    assert interrupted(module, SELECT) == told


def test_a_selection_without_a_checkpoint(folder: Path) -> None:
    nothing = (
        "minmargin: interrupted. Nothing was kept; the same command begins anew, and with --checkpoint DIR it can go "
        "on next time.\n"
    )
    assert interrupted("sklearn", f"{SELECT} --learner random-forest") == nothing
    assert interrupted("minmargin.cli.select:select", SELECT) == nothing
    assert not Path("b.csv").exists()


def test_a_selection_with_a_checkpoint(folder: Path) -> None:
    line = f"{SELECT} --checkpoint kept"
    assert interrupted("minmargin.cli.select:read_excluded", line) == (
        "minmargin: interrupted. Nothing was found yet; the same command begins anew, and keeps what it finds in "
        "kept.\n"
    )
    assert interrupted("minmargin.scan.checkpoint:Checkpoint.write", line) == (
        "minmargin: interrupted. What was found so far is in kept; the same command goes on from there.\n"
    )


def test_a_selection_whose_batch_is_written(folder: Path) -> None:
    assert interrupted("minmargin.report.batch:write_report", f"{SELECT} --report r.html") == (
        "minmargin: interrupted. The batch is in b.csv, and what comes after it may be missing.\n"
    )
    assert len(pd.read_csv("b.csv")) == 3


def test_a_campaign(folder: Path) -> None:
    init = f"campaign init camp {_FILES}"
    following = "minmargin campaign next camp"
    assert interrupted("minmargin.campaign.campaign:refuse_used", init) == (
        "minmargin: interrupted. No campaign was begun; the same command begins anew.\n"
    )
    assert interrupted("minmargin.campaign.campaign:Campaign.init", init) == (
        f"minmargin: interrupted. The campaign has begun; {following} goes on.\n"
    )
    assert interrupted("minmargin.campaign.campaign:train_and_pick", "campaign next camp") == (
        f"minmargin: interrupted. No round was picked, and the campaign is as it was; {following} picks it anew.\n"
    )
    assert interrupted("minmargin.campaign.journal:Journal.add_round", "campaign next camp") == (
        "minmargin: interrupted. Round 1 was picked, and is in camp/batches/round-001.parquet.\n"
    )
    picked = pd.read_parquet("camp/batches/round-001.parquet")
    picked[["id"]].assign(y="yes").to_csv("labels.csv", index=False)
    assert interrupted(
        "minmargin.campaign.journal:Journal.add_labels", "campaign add-labels camp labels.csv"
    ) == (
        "minmargin: interrupted. Either all labels were added or none; the same command adds those that are missing.\n"
    )


def test_a_comparison(folder: Path) -> None:
    line = "compare --labeled labeled.csv --label-column y --id-column id --n-labeled 20 --n-draws 2 --out c"
    assert interrupted("minmargin.cli.compare:resolve_strategy", f"{line} --strategies random") == (
        "minmargin: interrupted. Nothing was played yet; the same command begins anew, and keeps what it plays in c.\n"
    )
    assert interrupted("minmargin.compare.store:Store.write", line) == (
        "minmargin: interrupted. What was played so far is in c; the same command goes on from there.\n"
    )


def test_a_command_that_keeps_nothing(folder: Path) -> None:
    told = "minmargin: interrupted. The same command begins anew.\n"
    assert interrupted("minmargin.cli.inspect:inspect", "inspect labeled.csv --label-column y") == told


def test_what_a_library_makes_of_it_is_not_shown(folder: Path) -> None:
    """Some take every exception for a failed import, and raise their own."""
    script = _PROGRAM.replace("from minmargin_program", _FAILING + "from minmargin_program")
    command = [sys.executable, "-c", script, "no.such.module", "inspect", "labeled.csv"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "minmargin: interrupted. The same command begins anew.\n")


_FAILING = """
import minmargin.cli.inspect
def inspect(*args, **kwargs):
    try:
        os.kill(os.getpid(), signal.SIGINT)
    except BaseException:
        raise ImportError("the library is not installed properly") from None
minmargin.cli.inspect.inspect = inspect
"""


def test_processes_that_a_command_starts_are_out_of_reach() -> None:
    """Their parent is interrupted, and ends them: by themselves they would print where they were."""
    script = "import signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))"

    def started() -> str:
        return subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True
        ).stdout

    with out_of_reach():
        within = started()
    assert (within, started()) == ("True\n", "False\n")
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


# While it loads


_MARKING = """
import importlib.abc, os, sys

class Mark(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name in {"numpy", "pyarrow", "typer", "rich"}:
            sys.meta_path.remove(self)
            os.write(2, b"<HEAVY>")

sys.meta_path.insert(0, Mark())
from minmargin_program import main
main()
"""


def shown_on_terminal(*line: str) -> str:
    return shown_by([sys.executable, "-c", _MARKING, *line])


def test_a_terminal_is_answered_before_anything_heavy_is_imported() -> None:
    """The line is erased when that is done."""
    shown = shown_on_terminal("--version")
    assert shown.startswith(f"{LOADING}<HEAVY>\r\x1b[Kminmargin ")
    assert shown_on_terminal("--quiet", "strategies", "--json").startswith("<HEAVY>[")


def test_a_pipe_hears_nothing_of_loading() -> None:
    command = [sys.executable, "-c", _MARKING, "--version"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stderr == "<HEAVY>"


def test_no_command_waits_for_libraries_that_others_need() -> None:
    """scikit-learn takes longer to import than everything else that a command needs."""
    script = "import sys, minmargin.cli; print([each for each in ('sklearn', 'numba', 'torch') if each in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_command_begins_here() -> None:
    """What pip writes calls this function, and imports nothing of the package before."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert project["scripts"] == {"minmargin": f"{main.__module__}:{main.__name__}"}

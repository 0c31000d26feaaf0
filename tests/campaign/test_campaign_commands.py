"""`minmargin campaign`: a campaign from beginning to report, and errors that name flags."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pandas as pd
import pytest
from sklearn.datasets import load_iris

from minmargin import cli

X, y = load_iris(return_X_y=True)


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run a command line in a folder with labeled rows and a pool; return its code, output and errors."""
    monkeypatch.chdir(tmp_path)
    rows = pd.DataFrame(X, columns=["a", "b", "c", "d"]).assign(row_id=[f"r{row}" for row in range(150)])
    rows.assign(y=y).iloc[::10].to_csv("labeled.csv", index=False)
    rows.to_parquet("pool.parquet")

    def run(*line: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["minmargin", "campaign", *line])
        code = cli.run()
        return code, *capsys.readouterr()

    return run


INIT = (
    *("init", "flowers", "--labeled", "labeled.csv", "--label-column", "y", "--pool", "pool.parquet"),
    *("--id-column", "row_id", "--batch-size", "5", "--n-models", "2", "--seed", "0"),
)


def test_a_campaign_from_beginning_to_report(run):
    assert run(*INIT) == (
        0,
        "A campaign begins in flowers (seed 0).\nNext: minmargin campaign next flowers\n",
        "",
    )
    code, out, _ = run("next", "flowers", "--csv", "--n-jobs", "1")
    assert code == 0
    assert out.startswith("Round 1\nPicked 5 of 150 rows by min-margin")
    assert out.endswith("Next: minmargin campaign add-labels flowers labels.csv\n")
    batch = pd.read_csv("flowers/batches/round-001.csv")
    batch.assign(label=[y[int(each[1:])] for each in batch["id"]])[["id", "label"]].to_csv(
        "l.csv", index=False
    )
    code, out, _ = run("add-labels", "flowers", "l.csv", "--n-jobs", "1")
    assert (code, out.splitlines()[0]) == (0, "Labels: 5 new.")
    assert out.splitlines()[-1] == "Next: minmargin campaign next flowers"
    code, out, _ = run("add-labels", "flowers", "l.csv", "--json", "--n-jobs", "1")
    assert json.loads(out)["same"] == 5
    code, out, _ = run("status", "flowers")
    assert (code, "cross-validation" in out) == (0, True)
    assert [each["labels"] for each in json.loads(run("status", "flowers", "--json")[1])["curve"]] == [15, 20]
    assert run("report", "flowers")[:2] == (0, "Written to flowers/report.html.\n")
    assert Path("flowers/report.html").exists()
    assert json.loads(run("next", "flowers", "--json", "--n-jobs", "1")[1])["round"] == 2


def test_errors_leave_with_1_and_name_flags(run):
    run(*INIT)
    assert run("next", "nowhere") == (
        1,
        "",
        "minmargin: There is no campaign in 'nowhere'. Begin one with Campaign.init, or minmargin campaign init.\n",
    )
    assert run("next", "flowers", "--batch-size", "0", "--n-jobs", "1") == (
        1,
        "",
        "minmargin: --batch-size 0 must be a whole number >= 1.\n",
    )
    run("next", "flowers", "--n-jobs", "1")
    code, _, error = run("next", "flowers", "--n-jobs", "1")
    assert (code, "--even-so" in error) == (1, True)
    assert run("next", "flowers", "--even-so", "--n-jobs", "1")[0] == 0


@pytest.mark.parametrize("command", ["init", "next", "add-labels", "status", "report"])
def test_every_command_has_an_example(run, command):
    code, out, _ = run(command, "--help")
    assert (code, f"minmargin campaign {command}" in out) == (0, True)

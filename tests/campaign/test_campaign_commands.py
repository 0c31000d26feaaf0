"""`minmargin campaign`: a campaign from beginning to report, and errors that name flags."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pandas as pd
import pytest
from sklearn.datasets import load_iris

X, y = load_iris(return_X_y=True)


@pytest.fixture
def run(tmp_path, monkeypatch, run_command):
    """Run a command line in a folder with labeled rows and a pool; return its code, output and errors."""
    monkeypatch.chdir(tmp_path)
    rows = pd.DataFrame(X, columns=["a", "b", "c", "d"]).assign(row_id=[f"r{row}" for row in range(150)])
    rows.assign(y=y).iloc[::10].to_csv("labeled.csv", index=False)
    rows.to_parquet("pool.parquet")
    return partial(run_command, "campaign")


INIT = (
    *("init", "flowers", "--labeled", "labeled.csv", "--label-column", "y", "--pool", "pool.parquet"),
    *("--id-column", "row_id", "--batch-size", "5", "--n-models", "2", "--seed", "0"),
)


def test_class_weights_and_other_settings_of_the_learner_are_kept(run):
    weighed = ("--class-weight", "balanced", "--learner-option", "C=0.5", "--folds", "0")
    assert run(*INIT, *weighed)[0] == 0
    assert json.loads(Path("flowers/settings.json").read_text())["learner_options"] == {
        "C": 0.5,
        "class_weight": "balanced",
    }
    code, out, _ = run("next", "flowers", "--json", "--n-jobs", "1")
    assert code == 0
    assert json.loads(out)["settings"]["learner"] == "logistic(C=0.5, class_weight='balanced')"
    assert run("report", "flowers")[0] == 0
    assert "logistic (C=0.5, class_weight=balanced)" in Path("flowers/report.html").read_text()
    assert run("set", "flowers", "learner_options=none")[2] == (
        "minmargin: learner_options stays as it is. The curve would be of two learners. Begin another campaign, with "
        "labeled.parquet of this one as its labeled rows.\n"
    )


def test_class_weights_are_for_learners_with_a_name(run):
    given = ("--learner", "given", "--classes", "0,1,2", "--pool", "pool.parquet", "--id-column", "row_id")
    code, out, err = run("init", "flowers", *given, "--batch-size", "5", "--class-weight", "balanced")
    assert (code, out) == (1, "")
    assert err == (
        "minmargin: --class-weight is for learners with a name (logistic, text, mlp, random-forest, "
        "gradient-boosting), and --learner is given. Leave it out.\n"
    )
    assert not Path("flowers").exists()


def test_a_campaign_from_beginning_to_report(run):
    assert run(*INIT) == (
        0,
        (
            "Read 15 labeled rows (0 5, 1 5, 2 5) and 150 pool rows. 15 rows of the pool have the id of a labeled row, "
            "and are not picked again. Numbers: 'a', 'b', 'c', 'd'. No features: 'row_id', 'y'.\n"
            "A campaign begins in flowers (seed 0), with 3 classes.\nNext: minmargin campaign next flowers\n"
        ),
        "",
    )
    code, out, _ = run("next", "flowers", "--csv", "--n-jobs", "1")
    assert code == 0
    assert out.startswith("Round 1\nPicked 5 of 135 rows by min-margin")
    assert "Excluded: 15 rows of the pool.\n" in out
    assert out.endswith(
        "Next: minmargin campaign push flowers  (to label in Label Studio)\n"
        "  or: minmargin campaign add-labels flowers labels.csv  (with labels from elsewhere)\n"
    )
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


def test_without_a_pool_the_rows_without_a_label_are_it(run):
    known = dict(pd.read_csv("labeled.csv")[["row_id", "y"]].to_numpy().tolist())
    rows = pd.read_parquet("pool.parquet")
    rows.assign(y=[known.get(each) for each in rows["row_id"]]).to_csv("table.csv", index=False)
    line = [part for part in INIT if part not in {"--pool", "pool.parquet"}]
    line[line.index("labeled.csv")] = "table.csv"
    assert run(*line) == (
        0,
        (
            "Read 15 labeled rows (0 5, 1 5, 2 5) and 135 pool rows. Numbers: 'a', 'b', 'c', 'd'. "
            "No features: 'row_id', 'y'.\n"
            "A campaign begins in flowers (seed 0), with 3 classes.\n"
            "The pool is the 135 of 150 rows without a label.\n"
            "Next: minmargin campaign next flowers\n"
        ),
        "",
    )
    assert "Picked 5 of 135 rows by min-margin" in run("next", "flowers", "--n-jobs", "1")[1]


@pytest.mark.parametrize("asked", [(), ("--features", "a,b"), ("--drop", "note,b")])
def test_init_names_the_same_columns_as_select(run, run_command, asked):
    """What is no feature is named by both: the id, the label, and columns that were not asked for."""
    labeled, pool = pd.read_csv("labeled.csv"), pd.read_parquet("pool.parquet")
    labeled.assign(note=[f"n{row % 3}" for row in range(len(labeled))]).to_csv("labeled.csv", index=False)
    pool.assign(note=[f"n{row % 3}" for row in range(len(pool))]).to_parquet("pool.parquet")
    same = (*INIT[2:], "--preprocess", "auto", "--n-jobs", "1", *asked)
    of_select = run_command("select", *same, "--out", "batch.csv")
    of_init = run(*INIT, "--preprocess", "auto", *asked)
    assert (of_init[0], of_select[0]) == (0, 0), (of_init, of_select)
    told = [out.splitlines()[0] for _, out, _ in (of_init, of_select)]
    assert told[0] == told[1]
    assert "No features: " in told[0]
    assert "'row_id', 'y'" in told[0]


def test_a_share_of_the_pool_comes_to_a_number(run):
    line = [part if part != "5" else "10%" for part in INIT]
    assert run(*line)[1].splitlines()[1:] == [
        "A campaign begins in flowers (seed 0), with 3 classes.",
        "A round picks 15 rows, 10% of the pool.",
        "Next: minmargin campaign next flowers",
    ]


def test_an_audit_and_changed_settings_from_the_command_line(run):
    assert run(*INIT, "--audit", "4", "--stop-hints")[0] == 0
    code, out, _ = run("next", "flowers", "--csv", "--n-jobs", "1", "--report", "round.html")
    assert code == 0
    assert "Picked 5 of 135 rows by min-margin" in out
    assert "Audit: 4 rows of the rest, drawn by chance, to measure the model by.\n" in out
    batch = pd.read_csv("flowers/batches/round-001.csv")
    assert batch["audit"].sum() == 4
    batch.assign(label=[y[int(each[1:])] for each in batch["id"]])[["id", "label"]].to_csv(
        "l.csv", index=False
    )
    assert run("add-labels", "flowers", "l.csv", "--n-jobs", "1")[1].splitlines()[0] == "Labels: 9 new."
    out = run("status", "flowers")[1]
    assert "Audit: the model with 15 labels is right in " in out
    assert "Forecast: cannot tell yet. It takes 4 measured models, and there is 1.\n" in out
    assert json.loads(run("status", "flowers", "--json")[1])["audits"][0]["tested"] == 4
    code, out, _ = run("set", "flowers", "batch_size=3", "audit=2")
    assert code == 0
    assert out.splitlines() == [
        "A round picks 3 rows from round 2 on (5 before).",
        "2 rows are drawn by chance from round 2 on (4 a round before), to measure the model by.",
    ]
    assert run("set", "flowers", "batch_size=2%")[1] == "Nothing is changed: these are the settings.\n"
    assert run("set", "flowers", "batch_size=3")[1] == "Nothing is changed: these are the settings.\n"
    more = ("strategy=cluster-margin", "keep=a,b", "--strategy-option", "oversample=4", "--json")
    assert len(json.loads(run("set", "flowers", *more)[1])["changes"]) == 3
    assert json.loads(run("next", "flowers", "--json", "--n-jobs", "1")[1])["audit"]["rows"] == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("batch_size", "batch_size is not NAME=VALUE. Write batch_size=50, say."),
        ("label_column=z", "label_column stays as it is. Labels that came back stand under this name."),
        ("folds=many", "folds='many' must be a whole number from 0 to 1,000,000,000."),
        (
            "batch_size=200",
            "batch_size=200 is larger than the pool (150 rows in the pool's files). Use batch_size<=150.",
        ),
    ],
)
def test_a_setting_that_cannot_be_changed_is_told(run, change, message):
    run(*INIT)
    assert run("set", "flowers", change)[::2] == (1, f"minmargin: {message}\n")
    assert run("set", "flowers", "folds=2", "folds=3")[2] == (
        "minmargin: folds=3 gives 'folds' a second time. Give it once.\n"
    )


def test_a_round_has_a_report_if_one_is_asked_for(run):
    run(*INIT)
    code, out, _ = run("next", "flowers", "--report", "round.html", "--n-jobs", "1")
    assert (code, "with a report in round.html." in out) == (0, True)
    assert "<svg" in Path("round.html").read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--report", "nowhere/round.html"], "Folder 'nowhere' does not exist. Make it, or write elsewhere."),
        (["--report", "round.txt"], "'round.txt' is no name for a page. Let it end in .html."),
        (["--image-column", "a"], "--image-column is for a report. Say where it goes with --report."),
        (
            ["--report", "round.html", "--image-column", "picture"],
            "Column 'picture' is not in the batches of this campaign (columns: 'a', 'b', 'c', 'd').",
        ),
    ],
)
def test_a_report_that_cannot_be_written_is_noticed_before_anything_is_picked(run, options, message):
    run(*INIT)
    assert run("next", "flowers", *options) == (1, "", f"minmargin: {message}\n")
    assert json.loads(run("status", "flowers", "--json")[1])["rounds"][1:] == []


def test_classes_that_no_labeled_row_has_are_told(run):
    labeled = pd.read_csv("labeled.csv")
    labeled.to_csv("test.csv", index=False)
    labeled[labeled["y"] != 1].to_csv("labeled.csv", index=False)
    code, out, _ = run(*INIT, "--held-out", "test.csv", "--classes", "7")
    assert (code, out.splitlines()[1:3]) == (
        0,
        [
            "A campaign begins in flowers (seed 0), with 4 classes.",
            "No labeled row has 1, 7 yet, which annotators can give all the same.",
        ],
    )
    made = json.loads(run("init", "again", *INIT[2:], "--held-out", "test.csv", "--json")[1])
    assert (made["classes"], made["empty_classes"]) == ([0, 1, 2], [1])


def test_with_a_project_the_next_step_is_to_push_and_some_labels_are_not_all(run):
    run(*INIT)
    Path("flowers/label-studio.json").write_text('{"url": "http://localhost:8080", "project": 1}')
    assert run("next", "flowers", "--csv", "--n-jobs", "1")[1].endswith(
        "\nNext: minmargin campaign push flowers  (to label in Label Studio)\n"
    )
    batch = pd.read_csv("flowers/batches/round-001.csv")
    batch.assign(label=0)[["id", "label"]][:4].to_csv("l.csv", index=False)
    out = run("add-labels", "flowers", "l.csv", "--n-jobs", "1")[1]
    assert "1 round, 19 labels, 1 picked row waits for a label; accuracy" in out
    assert out.endswith(
        "Next: minmargin campaign add-labels flowers labels.csv  (with the labels that are missing)\n"
        "  or: minmargin campaign next flowers --even-so  (without them)\n"
    )


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
    assert code == 1
    assert error.endswith(
        "Add the labels first, go on without them with --even-so, or put the rows back into the pool with --requeue.\n"
    )
    assert run("next", "flowers", "--even-so", "--n-jobs", "1")[0] == 0


@pytest.mark.parametrize("command", ["init", "next", "add-labels", "status", "report"])
def test_every_command_has_an_example(run, command):
    code, out, _ = run(command, "--help")
    assert (code, f"minmargin campaign {command}" in out) == (0, True)

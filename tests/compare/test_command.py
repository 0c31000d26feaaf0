"""`minmargin compare`, end to end."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
from sklearn.datasets import load_breast_cancer

from minmargin import cli


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows, labels = load_breast_cancer(return_X_y=True, as_frame=True)
    rows.assign(kind="k", y=labels.map({0: "malignant", 1: "benign"})).to_csv("labeled.csv", index=False)

    def command(*more):
        usual = ["--labeled", "labeled.csv", "--label-column", "y", "--out", "curves", "--n-labeled", "20"]
        quick = ["--n-draws", "3", "--n-models", "3", "--batch-sizes", "5,20", "--seed", "0", "--n-jobs", "1"]
        monkeypatch.setattr("sys.argv", ["minmargin", "compare", *usual, *quick, *more])
        return cli.run()

    return command


def test_it_writes_everything_and_says_what_it_found(run, capsys):
    assert run() == 0
    out, err = capsys.readouterr()
    told = json.loads(Path("curves/comparison.json").read_text())
    lines = [line.rstrip() for line in out.splitlines()]
    assert lines[0].startswith("Read 569 labeled rows (benign 357, malignant 212). Numbers: ")
    assert lines[1] == told["advice"]
    assert "Mean test accuracy over 3 draws, by the number of labels added" in lines
    assert (
        lines[-1]
        == "Written to curves: report.html, curves.png, curves.svg, results.parquet, comparison.json."
    )
    assert err == ""
    assert told["settings"]["preprocess"] == "auto"
    assert told["settings"]["n_draws"] == 3
    assert pq.read_table("curves/results.parquet").num_rows == 3 * 10
    assert Path("curves/curves.png").read_bytes().startswith(b"\x89PNG")
    assert told["advice"].replace("'", "&#39;") in Path("curves/report.html").read_text()


def test_json_for_machines(run, capsys):
    assert (
        run(
            "--json",
            "--strategies",
            "margin,random",
            "--rounds",
            "1,2",
            "--scoring",
            "roc_auc",
            "--test-size",
            "200",
        )
        == 0
    )
    told = json.loads(capsys.readouterr().out)
    assert set(told) == {"out", "advice", "settings", "curves", "differences", "gains_of_rounds"}
    assert told["settings"]["n_test"] == 200
    assert told["settings"]["scoring"] == "roc_auc"
    assert {(row["strategy"], row["rounds"]) for row in told["differences"]} == {("margin", 1), ("margin", 2)}


def test_several_scores_of_the_same_models(run, capsys):
    names = ["roc_auc", "neg_log_loss", "balanced_accuracy"]
    assert run("--scoring", "roc_auc,neg_log_loss", "--scoring", "balanced_accuracy", "--n-draws", "2") == 0
    titles = [line for line in capsys.readouterr().out.splitlines() if line.startswith("Mean test ")]
    assert titles == [
        f"Mean test {name.replace('_', ' ')} over 2 draws, by the number of labels added" for name in names
    ]
    told = json.loads(Path("curves/comparison.json").read_text())
    assert (told["settings"]["scoring"], told["settings"]["leading"]) == (names, "roc_auc")
    for part in ("curves", "differences"):
        assert list(dict.fromkeys(row["scoring"] for row in told[part])) == names
    page = Path("curves/report.html").read_text()
    assert all(f"What labels bought, by {name.replace('_', ' ')}" in page for name in names)
    assert sorted(path.name for path in Path("curves").iterdir()) == [
        "comparison.json", "curves.png", "curves.svg", "draws", "report.html", "results.parquet"
    ]  # fmt: skip


def test_rare_classes_are_scored_by_what_fits_them_and_ids_are_no_feature(run, capsys):
    table = pd.read_csv("labeled.csv")
    rare = table[table["y"] == "malignant"].head(40)
    table = pd.concat([rare, table[table["y"] == "benign"]])
    table.assign(patient=range(1000, 1000 + len(table))).to_csv("labeled.csv", index=False)
    assert run("--id-column", "patient", "--test-size", "100", "--class-weight", "balanced") == 0
    said = capsys.readouterr().out.splitlines()
    assert said[1].startswith(
        "This goes by average precision of 'malignant', since 90% of rows are 'benign'. "
    )
    assert said[2] == "What helps where a class is rare was measured: howto/rare-classes.md of the docs."
    settings = json.loads(Path("curves/comparison.json").read_text())["settings"]
    assert settings["scoring"] == ["accuracy", "average_precision"]
    assert (settings["leading"], settings["positive"]) == ("average_precision", "malignant")
    assert settings["learner"] == "logistic(class_weight='balanced')"
    assert "patient" not in settings["features"]
    assert "kind" in settings["features"]


def test_the_same_command_goes_on_and_another_is_refused(run, capsys):
    assert run() == 0
    first = Path("curves/results.parquet").read_bytes()
    assert run() == 0
    assert Path("curves/results.parquet").read_bytes() == first
    capsys.readouterr()
    assert run("--n-labeled", "30") == 1
    assert capsys.readouterr().err == (
        "minmargin: 'curves/draws/00000.parquet' was played by other rules (--n-labeled 20; now: --n-labeled 30). Use "
        "another folder.\n"
    )


def test_a_factory_makes_the_learner(run):
    Path("mine.py").write_text(
        "from sklearn.naive_bayes import GaussianNB\n\ndef make():\n    return GaussianNB()\n"
    )
    assert run("--learner", "mine:make", "--features", "mean radius,mean texture") == 0
    told = json.loads(Path("curves/comparison.json").read_text())["settings"]
    assert (told["learner"], told["preprocess"]) == ("GaussianNB()", "none")
    assert told["features"] == ["mean radius", "mean texture"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            ["--batch-sizes", "5,many"],
            "--batch-sizes 5,20,5,many must be whole numbers, such as 50,100,200, or shares of the pool, such as 5%.",
        ),
        (
            ["--test-size", "half"],
            "--test-size half must be a fraction or a whole number, such as 0.5 or 2000.",
        ),
        (
            ["--n-labeled", "400"],
            (
                "The table has 569 rows, and --n-labeled 400 with --test-size 0.5 (284 rows) leaves none to pick from. "
                "Use smaller ones, or a larger table."
            ),
        ),
        (
            ["--label-column", "z"],
            "Column 'z' is not in the labeled set (columns: 'mean radius', 'mean texture', ",
        ),
        (
            ["--scoring", "accuracy,f1,accuracy"],
            "scoring has 'accuracy' twice. Results could not tell them apart.",
        ),
        (
            ["--id-column", "patient"],
            "Column 'patient' is not in the labeled set (columns: 'mean radius', 'mean texture', ",
        ),
        (
            ["--scoring", "acuracy"],
            (
                "--scoring acuracy is not a scorer of scikit-learn. Did you mean 'accuracy'? "
                "sklearn.metrics.get_scorer_names() lists them."
            ),
        ),
    ],
)
def test_errors_are_in_the_words_of_the_command_line(run, capsys, more, message):
    assert run(*more) == 1
    assert capsys.readouterr().err.startswith(f"minmargin: {message}")
    assert not Path("curves").exists()


def test_an_extra_that_is_missing_is_named_before_anything_is_read(run, capsys, monkeypatch):
    monkeypatch.setattr("minmargin.cli.compare.find_spec", lambda name: None)
    assert run("--labeled", "nowhere.csv") == 1
    assert capsys.readouterr().err == (
        "minmargin: Pictures and the page need matplotlib, which is not installed. Use pip install "
        "'minmargin[report]'.\n"
    )


def test_a_csv_with_few_rows(run, capsys):
    pd.DataFrame({"a": [1.0, 2.0], "y": ["u", "v"]}).to_csv("labeled.csv", index=False)
    assert run() == 1
    assert capsys.readouterr().err == (
        "minmargin: Some classes have a single row, which cannot be both learned from and tested on: 'u', 'v'. Drop "
        "such rows, or merge the classes with others.\n"
    )


def test_settings_of_the_learner_and_classes(run, capsys):
    more = ["--learner-option", "C=auto", "--classes", "benign,malignant,other", "--strategies", "random"]
    assert run("--json", "--features", "mean radius,mean texture", *more) == 0
    settings = json.loads(capsys.readouterr().out)["settings"]
    assert settings["learner"] == "logistic(C='auto')"
    assert settings["classes"] == ["benign", "malignant", "other"]

"""`minmargin select`: an ordinary CSV works at the first try, and every error says what to do."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.datasets import load_iris

import minmargin as mm
from minmargin import cli
from minmargin.cli.options import ClassWeightChoice, learner_for
from minmargin.learners import LEARNERS

PROGRAM = Path(sys.executable).with_name("minmargin")
X, y = load_iris(return_X_y=True)
NAMES = ["sepal_length", "sepal_width", "petal_length", "petal_width"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a labeled CSV and a pool in two CSV files: numbers, texts and holes."""
    monkeypatch.chdir(tmp_path)
    rows = pd.DataFrame(X, columns=NAMES).assign(
        color=["red", "green", None] * 50, row_id=[f"r{i}" for i in range(150)]
    )
    rows.loc[::11, "sepal_width"] = np.nan
    species = np.array(["setosa", "versicolor", "virginica"])[y]
    rows.assign(species=species).iloc[::5].to_csv("labeled.csv", index=False)
    Path("pool").mkdir()
    rows.iloc[:70].to_csv("pool/0.csv", index=False)
    rows.iloc[70:].to_csv("pool/1.csv", index=False)
    return tmp_path


def test_a_pool_may_be_several_folders(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("more").mkdir()
    Path("pool/1.csv").rename("more/1.csv")
    files = ("--labeled", "labeled.csv", "--label-column", "species", "--pool", "pool", "--pool", "more")
    asked = ("--id-column", "row_id", "--batch-size", "3", "--n-models", "2", "--out", "batch.csv")
    monkeypatch.setattr(sys, "argv", ["minmargin", "select", *files, *asked, "--manifest", "manifest.json"])
    assert cli.run() == 0
    assert json.loads(Path("manifest.json").read_text())["pool"]["rows"] == 150


ARGUMENTS = {
    "--labeled": "labeled.csv",
    "--label-column": "species",
    "--pool": "pool/*.csv",
    "--batch-size": "7",
    "--out": "batch.csv",
    "--id-column": "row_id",
    "--n-models": "3",
    "--seed": "0",
    "--n-jobs": "1",
}


def arguments(*more: str, **changed: str | None) -> list[str]:
    """Return a command line: the usual options, some changed or left out (None), and more."""
    options = {**ARGUMENTS, **{"--" + name.replace("_", "-"): value for name, value in changed.items()}}
    pairs = [(name, value) for name, value in options.items() if value is not None]
    return ["select", *(part for pair in pairs for part in pair), *more]


def run(monkeypatch: pytest.MonkeyPatch, line: list[str]) -> int:
    monkeypatch.setattr(sys, "argv", ["minmargin", *line])
    return cli.run()


def read(path: str = "batch.csv") -> list[dict[str, str]]:
    with Path(path).open(newline="") as file:
        return list(csv.DictReader(file))


# As a program


def test_a_mixed_csv_works_at_the_first_try_and_quietly_in_a_pipe(folder: Path) -> None:
    done = subprocess.run([PROGRAM, *arguments()], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    read_back, picked, *_ = done.stdout.decode().splitlines()
    assert read_back == (
        "Read 30 labeled rows (setosa 10, versicolor 10, virginica 10) and 150 rows of the pool. 30 rows of "
        "the pool have the id of a labeled row, and are not picked again. Numbers: 'sepal_length', 'sepal_width', "
        "'petal_length', 'petal_width'. Categories: 'color'. No features: 'row_id', 'species'."
    )
    assert picked.startswith("Picked 7 of 120 rows by min-margin (3 members, 30 labeled rows, seed 0) in ")
    assert (
        b"Left out: 30 rows have an id of the labeled set; --keep-labeled lets them be picked." in done.stdout
    )
    assert done.stdout.endswith(b"Written to batch.csv.\n")
    assert b"\x1b" not in done.stdout
    assert b"\r" not in done.stdout
    assert [record["rank"] for record in read()] == list("1234567")


def test_an_error_of_the_caller_is_one_line_on_stderr_and_exit_code_1(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, arguments(batch_size="5000")) == 1
    assert capsys.readouterr().err == (
        "minmargin: --batch-size 5000 is larger than what is left of the pool (150 rows in pool/*.csv, 30 of them "
        "excluded). Use --batch-size <= 120.\n"
    )
    assert not Path("batch.csv").exists()


def test_main_leaves_with_the_exit_code(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for line, code in ((arguments(), 0), (arguments(batch_size="0"), 1)):
        monkeypatch.setattr(sys, "argv", ["minmargin", *line])
        with pytest.raises(SystemExit) as caught:
            cli.main()
        assert caught.value.code == code


# What it picks


def test_the_command_is_one_library_call(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch, arguments()) == 0
    batch = mm.select(
        "labeled.csv",
        "species",
        "pool/*.csv",
        7,
        id_column="row_id",
        n_models=3,
        random_state=0,
        preprocess="auto",
    )
    assert [int(record["row"]) for record in read()] == batch.rows.tolist()
    assert [float(record["score"]) for record in read()] == batch.scores.tolist()
    assert [record["id"] for record in read()] == batch.ids.tolist()


def test_json_is_the_manifest_and_nothing_else(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, arguments("--json")) == 0
    out, err = capsys.readouterr()
    printed = json.loads(out)
    assert err == ""
    assert printed["out"] == "batch.csv"
    assert printed["settings"]["seed"] == 0
    assert printed["settings"]["preprocess"] == "auto"
    assert printed["pool"]["rows"] == 150
    assert printed["pool"]["files"] == 2
    assert printed["labeled"]["class_counts"] == {"setosa": 10, "versicolor": 10, "virginica": 10}


def test_the_manifest_is_written_where_it_is_asked_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch, arguments(manifest="run.json")) == 0
    manifest = json.loads(Path("run.json").read_text())
    assert manifest["settings"]["batch_size"] == 7


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl", ".feather"])
def test_the_suffix_tells_the_format(folder: Path, monkeypatch: pytest.MonkeyPatch, suffix: str) -> None:
    assert run(monkeypatch, arguments()) == 0
    assert run(monkeypatch, arguments(out=f"batch{suffix}")) == 0
    readers = {
        ".parquet": lambda path: pq.read_table(path).to_pylist(),
        ".jsonl": lambda path: [json.loads(line) for line in path.read_text().splitlines()],
        ".feather": lambda path: pa.ipc.open_file(path.read_bytes()).read_all().to_pylist(),
    }
    records = readers[suffix](Path(f"batch{suffix}"))
    assert [record["id"] for record in records] == [record["id"] for record in read()]


@pytest.mark.parametrize(
    "more",
    [
        ["--features", "sepal_length, petal_width"],
        ["--features", "sepal_length", "--features", "petal_width"],
    ],
)
def test_features_are_comma_separated_or_repeated(
    folder: Path, monkeypatch: pytest.MonkeyPatch, more: list[str]
) -> None:
    assert run(monkeypatch, arguments(*more, manifest="run.json")) == 0
    assert json.loads(Path("run.json").read_text())["labeled"]["features"] == ["sepal_length", "petal_width"]


def test_device_and_precision_reach_the_selection_and_change_no_row(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(monkeypatch, arguments()) == 0
    expected = read()
    assert run(monkeypatch, arguments(device="cpu", precision="fast", manifest="run.json")) == 0
    settings = json.loads(Path("run.json").read_text())["settings"]
    assert (settings["device"], settings["precision"]) == ("cpu", "fast")
    assert read() == expected


def test_kept_columns_and_ids_go_into_the_batch(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch, arguments("--keep", "color,petal_length", "--keep", "row_id")) == 0
    records = read()
    assert list(records[0])[:3] == ["rank", "row", "id"]
    assert list(records[0])[-2:] == ["color", "petal_length"]
    for record in records:
        row = int(record["row"])
        assert record["id"] == f"r{row}"
        assert float(record["petal_length"]) == X[row, 2]
        assert record["color"] == ["red", "green", ""][row % 3]


def test_pools_can_be_repeated_or_a_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch, arguments()) == 0
    expected = read()
    assert run(monkeypatch, arguments("--pool", "pool/0.csv", pool="pool/1.csv")) == 0
    assert read() == expected
    assert run(monkeypatch, arguments(pool="pool")) == 0
    assert read() == expected


def test_a_seed_is_taken_and_shown_if_none_is_given(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, arguments("--json", seed=None)) == 0
    seed = json.loads(capsys.readouterr().out)["settings"]["seed"]
    first = read()
    assert run(monkeypatch, arguments(seed=str(seed))) == 0
    assert read() == first


# Strategies and learners


@pytest.mark.parametrize("strategy", ["k-centers", "balanced-margin"])
def test_a_greedy_strategy_takes_a_prefilter(
    folder: Path, monkeypatch: pytest.MonkeyPatch, strategy: str
) -> None:
    assert run(monkeypatch, arguments(strategy="margin", batch_size="20")) == 0
    lowest = {record["row"] for record in read()}
    assert run(monkeypatch, arguments(strategy=strategy, prefilter="20")) == 0
    picked = {record["row"] for record in read()}
    assert len(picked) == 7
    assert picked < lowest


@pytest.mark.parametrize("learner", ["random-forest", "gradient-boosting"])
def test_a_learner_has_a_name(folder: Path, monkeypatch: pytest.MonkeyPatch, learner: str) -> None:
    assert run(monkeypatch, arguments(learner=learner, strategy="margin")) == 0
    assert len(read()) == 7


FACTORY = """
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

def make():
    columns = make_column_transformer(
        (SimpleImputer(), ["sepal_length", "sepal_width"]),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["color"]),
    )
    return make_pipeline(columns, GaussianNB())
"""


def test_a_factory_in_the_current_folder_is_given_the_columns_as_they_are(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("our_learner_module.py").write_text(FACTORY)
    path = list(sys.path)
    assert run(monkeypatch, arguments("--json", learner="our_learner_module:make")) == 0
    settings = json.loads(capsys.readouterr().out)["settings"]
    assert settings["preprocess"] == "none"
    assert settings["learner"].startswith("Pipeline(steps=[('columntransformer',")
    assert sys.path == path


def test_a_factory_that_needs_no_own_module_can_be_a_class(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = arguments(learner="sklearn.naive_bayes:GaussianNB", preprocess="auto")
    assert run(monkeypatch, line) == 0


# Errors


ERRORS: dict[str, tuple[dict[str, str], str]] = {
    "column that is not numeric": (
        {"preprocess": "none", "features": "sepal_length,color"},
        (
            "Column 'color' is String, which is not a number. Use --preprocess auto for categories or "
            "--learner text for free text, leave it out with --features NAMES, or use a scikit-learn pipeline that "
            "encodes it."
        ),
    ),
    "label column": (
        {"label_column": "specis"},
        (
            "Column 'specis' is not in the labeled set (columns: 'sepal_length', 'sepal_width', 'petal_length', "
            "'petal_width', 'color', 'row_id', 'species'). Did you mean 'species'?"
        ),
    ),
    "pool": ({"pool": "pool/*.parquet"}, "No file matches 'pool/*.parquet'."),
    "batch size": ({"batch_size": "0"}, "--batch-size 0 must be a whole number >= 1."),
    "device": ({"device": "tpu"}, "--device tpu must be 'auto', 'cpu' or 'cuda'."),
    "precision": ({"precision": "double"}, "--precision double must be 'float32' or 'fast'."),
    "suffix": (
        {"out": "batch.xlsx"},
        (
            "'batch.xlsx' ends in no format a batch can be written in. "
            "Use one of '.parquet', '.csv', '.jsonl', '.feather'."
        ),
    ),
    "folder of the batch": (
        {"out": "no/batch.csv"},
        "Folder 'no' does not exist. Make it, or write elsewhere.",
    ),
    "folder of the manifest": (
        {"manifest": "no/run.json"},
        "Folder 'no' does not exist. Make it, or write elsewhere.",
    ),
    "option of the strategy": (
        {"strategy": "margin", "prefilter": "20"},
        "Strategy 'margin' has no option 'prefilter'.",
    ),
    "module of the learner": (
        {"learner": "no_such_module:make"},
        (
            "--learner no_such_module:make failed: ModuleNotFoundError: No module named 'no_such_module'. It was "
            "looked for in {here!r} and among installed packages."
        ),
    ),
    "factory of the learner": (
        {"learner": "our_constants:make"},
        "--learner our_constants:make failed: AttributeError: module 'our_constants' has no attribute 'make'.",
    ),
    "learner": (
        {"learner": "logistics"},
        (
            "There is no learner 'logistics' (names: 'logistic', 'text', 'mlp', 'random-forest', 'gradient-boosting'). "
            "Did you mean 'logistic'? Any scikit-learn classifier can be passed as an object."
        ),
    ),
}


@pytest.mark.parametrize(("changed", "message"), ERRORS.values(), ids=ERRORS)
def test_nothing_is_trained_or_written_for_a_wrong(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    changed: dict[str, str],
    message: str,
) -> None:
    def fit(*_: Any, **__: Any) -> None:
        raise AssertionError("trained")

    monkeypatch.setattr("minmargin.committee.training.Training.fit", fit)
    Path("our_constants.py").write_text("ANSWER = 42\n")
    before = sorted(path.name for path in folder.iterdir() if path.suffix != "")
    assert run(monkeypatch, arguments(**changed)) == 1
    message = message.replace("{here!r}", repr(str(folder)))
    assert capsys.readouterr() == ("", f"minmargin: {message}\n")
    assert sorted(path.name for path in folder.iterdir() if path.suffix != "") == before


@pytest.mark.parametrize(
    ("learner", "options", "name"),
    [
        ("logistic", ["C=auto"], "logistic(C='auto')"),
        ("logistic", ["C=0.5", "class_weight=balanced"], "logistic(C=0.5, class_weight='balanced')"),
        ("random-forest", ["n_estimators=5", "max_depth=none"], "RandomForestClassifier(n_estimators=5)"),
    ],
)
def test_settings_of_a_learner(
    folder: Path, monkeypatch: pytest.MonkeyPatch, learner: str, options: list[str], name: str
) -> None:
    given = [part for option in options for part in ("--learner-option", option)]
    assert run(monkeypatch, arguments(*given, learner=learner, manifest="m.json")) == 0
    assert json.loads(Path("m.json").read_text())["settings"]["learner"] == name


@pytest.mark.parametrize(
    ("options", "learner", "message"),
    [
        (
            ["c=3"],
            "logistic",
            (
                "--learner-option c=3 is no setting of the learner. Learner 'logistic' has 'C', 'fit_intercept', "
                "'class_weight', 'tol'. Did you mean 'C'?"
            ),
        ),
        (
            ["auto"],
            "text",
            "--learner-option auto is not NAME=VALUE. Learner 'text' has 'C', 'class_weight'.",
        ),
        (["C=1", "C=2"], "logistic", "--learner-option C=2 gives 'C' a second time. Give it once."),
        (
            ["C=much"],
            "logistic",
            "C='much' must be a positive number, or 'auto'. 1.0 is usual; more fits the labels closer.",
        ),
        *(
            (
                ["class_weight=even"],
                learner,
                "class_weight='even' must be None, 'balanced', or a weight for each class, such as {0: 2.0}.",
            )
            for learner in ("logistic", "text", "mlp")
        ),
        (
            ["C=1"],
            "sklearn.naive_bayes:GaussianNB",
            (
                "--learner-option is for learners with a name (logistic, text, mlp, random-forest, "
                "gradient-boosting), and --learner is sklearn.naive_bayes:GaussianNB. Leave it out."
            ),
        ),
    ],
)
def test_settings_that_a_learner_does_not_have(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    learner: str,
    message: str,
) -> None:
    given = [part for option in options for part in ("--learner-option", option)]
    assert run(monkeypatch, arguments(*given, learner=learner)) == 1
    assert capsys.readouterr() == ("", f"minmargin: {message}\n")


BALANCED = ("--class-weight", "balanced")
NAMED = "logistic, text, mlp, random-forest, gradient-boosting"


@pytest.mark.parametrize("learner", LEARNERS)
def test_every_learner_with_a_name_takes_class_weights(learner: str) -> None:
    weighed = learner_for(learner, None, ClassWeightChoice.BALANCED)
    assert weighed.class_weight == "balanced"


@pytest.mark.parametrize(
    ("more", "name"),
    [
        ([], "logistic(class_weight='balanced')"),
        (["C=0.5"], "logistic(C=0.5, class_weight='balanced')"),
        (["class_weight=balanced"], "logistic(class_weight='balanced')"),
    ],
)
def test_class_weights_have_a_flag_of_their_own(
    folder: Path, monkeypatch: pytest.MonkeyPatch, more: list[str], name: str
) -> None:
    given = [part for option in more for part in ("--learner-option", option)]
    assert run(monkeypatch, arguments(*BALANCED, *given, manifest="m.json")) == 0
    assert json.loads(Path("m.json").read_text())["settings"]["learner"] == name


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            ["--learner-option", "class_weight=none"],
            "--class-weight balanced and --learner-option class_weight=none differ. Give one of them.",
        ),
        (
            ["--learner", "sklearn.naive_bayes:GaussianNB"],
            (
                f"--class-weight is for learners with a name ({NAMED}), and --learner is "
                "sklearn.naive_bayes:GaussianNB. Leave it out."
            ),
        ),
        (
            ["--learner", "logistics"],
            (
                "There is no learner 'logistics' (names: 'logistic', 'text', 'mlp', 'random-forest', "
                "'gradient-boosting'). Did you mean 'logistic'? Any scikit-learn classifier can be passed as an object."
            ),
        ),
    ],
)
def test_class_weights_that_no_learner_can_use(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    more: list[str],
    message: str,
) -> None:
    assert run(monkeypatch, arguments(*BALANCED, *more)) == 1
    assert capsys.readouterr() == ("", f"minmargin: {message}\n")


def test_class_weights_are_of_no_use_with_probabilities(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["select", "--probabilities", "p.parquet", "--batch-size", "3", "--out", "b.csv", *BALANCED]
    assert run(monkeypatch, line) == 1
    assert capsys.readouterr().err == (
        "minmargin: --class-weight is of no use with --probabilities. Leave it out.\n"
    )


def partly_labeled(folder: Path) -> pd.DataFrame:
    rows = pd.concat([pd.read_csv(path) for path in sorted(folder.glob("pool/*.csv"))], ignore_index=True)
    labeled = pd.read_csv("labeled.csv").set_index("row_id")["species"]
    return rows.assign(species=[labeled.get(each) for each in rows["row_id"]])


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_without_a_pool_the_rows_without_a_label_are_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], suffix: str
) -> None:
    table = partly_labeled(folder)
    name = f"table{suffix}"
    table.to_csv(name, index=False) if suffix == ".csv" else table.to_parquet(name)
    assert run(monkeypatch, arguments(labeled=name, pool=None)) == 0
    out, err = capsys.readouterr()
    mark = "''" if suffix == ".csv" else "None or NaN"
    assert f"The pool is the 120 of 150 rows whose label is {mark}.\n" in out
    assert "Excluded" not in out
    assert "Picked 7 of 120 rows by min-margin (3 members, 30 labeled rows, seed 0)" in out
    assert err == ""
    theirs = mm.select(
        name, "species", None, 7, id_column="row_id", n_models=3, preprocess="auto", random_state=0
    )
    assert [row["id"] for row in read()] == theirs.ids.tolist()
    assert not {row["id"] for row in read()} & set(pd.read_csv("labeled.csv")["row_id"])


def test_without_a_pool_more_rows_can_be_excluded(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    partly_labeled(folder).to_csv("table.csv", index=False)
    assert run(monkeypatch, arguments(labeled="table.csv", pool=None)) == 0
    capsys.readouterr()
    assert (
        run(monkeypatch, arguments("--exclude", "batch.csv", labeled="table.csv", pool=None, out="b.csv"))
        == 0
    )
    out = capsys.readouterr().out
    assert "The pool is the 120 of 150 rows" in out
    assert "Excluded: 7 rows of the pool.\n" in out
    assert not {row["id"] for row in read()} & {row["id"] for row in read("b.csv")}


def test_without_a_pool_there_have_to_be_rows_without_a_label(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, arguments(pool=None)) == 1
    assert capsys.readouterr().err == (
        "minmargin: All 30 rows have labels. Without --pool, those are picked from whose label is None, NaN, -1 or "
        "empty. Give the rows to pick from as pool.\n"
    )


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (arguments("--colour", "red"), "No such option"),
        (
            arguments(batch_size="many"),
            "minmargin: --batch-size many must be a whole number >= 1, or a share of the pool such as '5%'.\n",
        ),
        (arguments(labeled=None), "Without --labeled there is nothing to select by."),
        (arguments(preprocess="some"), "'some' is not one of"),
        (["selekt"], "No such command 'selekt'"),
    ],
)
def test_a_wrong_command_line_is_the_callers_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], line: list[str], says: str
) -> None:
    assert run(monkeypatch, line) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert says in err


def test_a_learner_that_fails_is_the_callers_error(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("batch.csv").write_text("the batch of last week\n")
    line = arguments(learner="sklearn.naive_bayes:GaussianNB", features="sepal_length,color")
    assert run(monkeypatch, line) == 1
    err = capsys.readouterr().err
    assert err.startswith(
        "minmargin: The base model failed to fit on 30 rows (classes 'setosa': 10, 'versicolor': 10, "
        "'virginica': 10): ValueError: could not convert string to float: 'red'"
    )
    assert Path("batch.csv").read_text() == "the batch of last week\n"

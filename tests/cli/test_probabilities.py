"""`minmargin select --probabilities`: no labels, no learner."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import minmargin as mm


@pytest.fixture
def predicted(tmp_path, monkeypatch):
    """Two models of three classes, in columns and in lists, with ids and embeddings."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    members, vectors = rng.dirichlet(np.ones(3), size=(2, 300)), rng.normal(size=(300, 4))
    columns = {"id": [f"r{row}" for row in range(300)], "embedding": list(vectors)}
    for k, member in enumerate(members):
        columns |= {f"m{k}_{name}": member[:, c] for c, name in enumerate(("cat", "dog", "owl"))}
        columns[f"list{k}"] = list(member)
    parquet.write_table(pa.Table.from_pandas(pd.DataFrame(columns)), "predicted.parquet")
    return members, vectors


def select(run_command, *options):
    return run_command(
        "select",
        "--probabilities",
        "predicted.parquet",
        "--batch-size",
        9,
        "--out",
        "b.csv",
        "--seed",
        4,
        *options,
    )


@pytest.mark.parametrize("columns", [("m0_*", "m1_*"), ("m0_cat,m0_dog,m0_owl", "m1_cat,m1_dog,m1_owl")])
def test_columns(predicted, run_command, columns):
    code, out, err = select(
        run_command, "--columns", columns[0], "--columns", columns[1], "--id-column", "id"
    )
    assert (code, err) == (0, "")
    expected = mm.select_from_probabilities(predicted[0], 9, random_state=4).rows.tolist()
    batch = pd.read_csv("b.csv")
    assert batch["row"].tolist() == expected
    assert batch["id"].tolist() == [f"r{row}" for row in expected]
    assert set(batch["first_class"]) <= (
        {"cat", "dog", "owl"} if "*" in columns[0] else {"m0_cat", "m0_dog", "m0_owl"}
    )
    assert out.startswith("Picked 9 of 300 rows by min-margin (2 members, no labeled set, seed 4)")


def test_lists_features_and_a_report(predicted, run_command):
    members, vectors = predicted
    code, _, err = select(
        run_command,
        "--columns",
        "list*",
        "--features",
        "embedding",
        "--strategy",
        "spread",
        "--report",
        "r.html",
    )
    assert (code, err) == (0, "")
    expected = mm.select_from_probabilities(members, 9, strategy="spread", features=vectors, random_state=4)
    assert pd.read_csv("b.csv")["row"].tolist() == expected.rows.tolist()
    assert "<svg" in Path("r.html").read_text()


def test_one_model_in_json(predicted, run_command):
    code, out, _ = select(
        run_command, "--columns", "m1_*", "--base", "m0_*", "--strategy", "margin", "--json"
    )
    assert code == 0
    manifest = json.loads(out)
    assert manifest["labeled"] is None
    assert manifest["settings"]["learner"] == "given probabilities"
    expected = mm.select_from_probabilities(predicted[0][0], 9, strategy="margin", random_state=4)
    assert pd.read_csv("b.csv")["row"].tolist() == expected.rows.tolist()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--columns", "m0_cat,m0_dog"),
            "minmargin: Pool row 0: the probabilities sum up to 0.98848, not to 1.",
        ),
        (
            ("--columns", "m0_*", "--learner", "mlp"),
            "minmargin: --learner is of no use with --probabilities. Leave it out.",
        ),
        (("--columns", "m0_*", "--values", "odds"), "minmargin: --values odds must be one of"),
    ],
)
def test_what_cannot_be_meant(predicted, run_command, options, message):
    code, out, err = select(run_command, *options)
    assert (code, out) == (1, "")
    assert err.startswith(message)


def test_nothing_to_select_by(run_command, tmp_path):
    code, _, err = run_command("select", "--batch-size", 3, "--out", tmp_path / "b.csv", "--pool", "p.csv")
    assert code == 1
    assert err == (
        "minmargin: Without --labeled and --label-column there is nothing to select by. Give --labeled and "
        "--label-column, or --probabilities of your own.\n"
    )


def test_columns_are_for_probabilities(run_command, tmp_path):
    code, _, err = run_command("select", "--batch-size", 3, "--out", tmp_path / "b.csv", "--columns", "p_*")
    assert (code, err) == (1, "minmargin: --columns is for --probabilities. Leave it out.\n")


def test_arrays_beside_a_table(predicted, run_command):
    members, vectors = predicted
    for name, array in (("a", members[0]), ("b", members[1]), ("base", members.mean(axis=0)), ("e", vectors)):
        np.save(f"{name}.npy", array)
    ids = pd.DataFrame(
        {"id": [f"r{row}" for row in range(300)], "text": [f"text {row}" for row in range(300)]}
    )
    ids.to_csv("rows.csv", index=False)
    arrays = (
        "--probabilities",
        "a.npy",
        "--probabilities",
        "b.npy",
        "--base",
        "base.npy",
        "--features",
        "e.npy",
    )
    files = (*arrays, "--pool", "rows.csv", "--id-column", "id", "--keep", "text")
    more = ("--strategy", "spread", "--seed", 4, "--batch-size", 9, "--report", "r.html")
    code, _, err = run_command("select", *files, *more, "--out", "b.csv")
    assert (code, err) == (0, "")
    expected = mm.select_from_probabilities(
        members,
        9,
        base=members.mean(axis=0),
        features=vectors,
        strategy="spread",
        pool=ids,
        id_column="id",
        keep="text",
        random_state=4,
    )
    assert expected.to_csv(Path("c.csv")).read_text() == Path("b.csv").read_text()
    code, _, err = run_command("select", *files, *more, "--out", "a.npy")
    assert (code, err) == (
        1,
        (
            "minmargin: 'a.npy' ends in no format a batch can be written in. Use one of '.parquet', '.csv', "
            "'.jsonl', '.feather'.\n"
        ),
    )
    code, _, err = run_command("select", *files, *more, "--out", "rows.csv")
    assert (code, err) == (
        1,
        "minmargin: --out rows.csv lies among the files of 'rows.csv'. Write the batch elsewhere.\n",
    )


def test_a_table_beside_a_table_is_refused(predicted, run_command):
    code, _, err = select(run_command, "--columns", "m0_*", "--pool", "predicted.parquet")
    assert (code, err) == (
        1,
        (
            "minmargin: The pool is for arrays of probabilities. Frames and files have their other columns "
            "themselves: leave it out.\n"
        ),
    )

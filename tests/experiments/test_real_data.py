"""The main job on real tables and texts, where the folder of real data is at hand."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import minmargin as mm
from minmargin import cli


def test_an_ordinary_csv_goes_through_the_command_line(shared_data, tmp_path, monkeypatch, capsys):
    with gzip.open(shared_data / "tabular" / "bank-marketing.csv.gz", "rt") as file:
        lines = file.read().splitlines()
    rows = np.random.default_rng(0).permutation(np.arange(1, len(lines)))
    (tmp_path / "labeled.csv").write_text("\n".join([lines[0], *(lines[i] for i in rows[:500])]))
    (tmp_path / "pool.csv").write_text("\n".join([lines[0], *(lines[i] for i in rows[500:5500])]))
    monkeypatch.chdir(tmp_path)
    files = ["--labeled", "labeled.csv", "--label-column", "y", "--pool", "pool.csv", "--out", "batch.csv"]
    settings = ["--batch-size", "100", "--n-models", "5", "--seed", "0", "--keep", "job"]
    monkeypatch.setattr("sys.argv", ["minmargin", "select", *files, *settings])
    assert cli.run() == 0
    assert "Picked 100 of 5,000 rows by min-margin" in " ".join(capsys.readouterr().out.split())
    batch = pd.read_csv("batch.csv")
    assert list(batch) == [
        "rank",
        "row",
        "score",
        "member",
        "first_class",
        "second_class",
        "predicted",
        "job",
    ]
    assert batch["first_class"].isin(["yes", "no"]).all()
    assert lines[rows[500 + batch["row"][0]]].split(",")[1] == batch["job"][0]


def test_a_text_pipeline_goes_through_select(shared_data):
    table = pd.read_csv(shared_data / "banking77" / "train.csv.gz")
    table = table[table["category"].isin(table["category"].unique()[:8])].sample(frac=1, random_state=0)
    batch = mm.select(
        table["text"][:150],
        table["category"][:150],
        table["text"][150:],
        20,
        learner=make_pipeline(TfidfVectorizer(), LogisticRegression()),
        n_models=5,
        random_state=0,
    )
    assert len(batch) == 20
    assert set(batch.top_classes.ravel()) <= set(table["category"])

"""`minmargin select --distinct`: copies of picked rows are passed over, and the summary and the report say how many."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from parsed_page import ParsedPage

ROWS = np.random.default_rng(1).normal(size=(20, 2)).round(2)


@pytest.fixture
def run(tmp_path, monkeypatch, run_command):
    """Run `minmargin select` on a pool of 20 rows, each five times; return what is printed."""
    monkeypatch.chdir(tmp_path)
    labeled = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 2)), columns=["u", "v"])
    labeled.assign(y=np.where(labeled.u > 0, "yes", "no")).to_csv("labeled.csv", index=False)
    pd.DataFrame(np.tile(ROWS, (5, 1)), columns=["u", "v"]).to_csv("pool.csv", index=False)

    def run(*more, batch_size=15):
        line = "select --labeled labeled.csv --label-column y --pool pool.csv --out batch.csv --n-models 3 --seed 0"
        code, out, err = run_command(*line.split(), "--batch-size", batch_size, *more)
        return out if code == 0 else err

    return run


def test_distinct_rows_are_picked_and_copies_are_counted(run):
    said = run("--distinct", "--report", "report.html", "--manifest", "manifest.json")
    assert len({row % 20 for row in pd.read_csv("batch.csv")["row"]}) == 15
    manifest = json.loads(Path("manifest.json").read_text())
    n_copies = manifest["copies_passed_over"]
    assert manifest["settings"]["distinct"] is True
    assert n_copies >= 14 * 4
    assert f"Copies: at least {n_copies} rows were passed over." in said
    assert f"copies passed over{n_copies}" in ParsedPage(Path("report.html")).sentences()


def test_without_it_copies_are_rows_like_any_others(run):
    said = run("--no-distinct", "--report", "report.html")
    assert len({row % 20 for row in pd.read_csv("batch.csv")["row"]}) < 15
    assert "Copies" not in said
    assert "copies passed over" not in ParsedPage(Path("report.html")).sentences()


def test_too_few_distinct_rows_are_told_with_the_flag(run):
    assert run("--distinct", batch_size=21) == (
        "minmargin: --batch-size 21 is larger than the number of distinct rows (20 among 100 rows in pool.csv). "
        "Use --batch-size <= 20, or --no-distinct.\n"
    )

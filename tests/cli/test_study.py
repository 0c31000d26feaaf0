"""`minmargin study`: packs problems, plays draws, and writes a page."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest


@pytest.fixture
def packed(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=600)
    X = rng.normal(size=(600, 3)) + y[:, np.newaxis]
    folder = tmp_path / "packed"
    folder.mkdir()
    np.savez(
        folder / "phoneme.npz", X=X.astype(np.float16), y=y.astype(np.int16), names=np.array(["no", "yes"])
    )
    return folder


def test_a_study_is_played_and_shown(run_command, packed, tmp_path):
    asked = (
        "study",
        "--packed",
        packed,
        "--out",
        tmp_path / "out",
        "--problems",
        "phoneme",
        "--ways",
        "logistic",
    )
    asked += ("--strategies", "min-margin,random", "--draws", "2", "--n-jobs", "1", "--time-limit", "5m")
    code, shown, _ = run_command(*asked)
    assert code == 0
    assert f"Played 2 of 2 draws that were left: {tmp_path / 'out'}" in shown
    assert re.search(
        r"on logistic: committees [\d.]+ s, picking [\d.]+ s, final\s+models [\d.]+ s, metrics [\d.]+ s",
        shown,
    )
    assert (tmp_path / "out" / "logistic.parquet").exists()
    assert "## Logistic regression" in (tmp_path / "out" / "study.md").read_text()
    code, shown, _ = run_command(*asked, "--json")
    assert json.loads(shown) == {
        "asked": 0,
        "played": 0,
        "refused": [],
        "seconds": {},
        "results": [str(tmp_path / "out" / "logistic.parquet")],
        "page": str(tmp_path / "out" / "study.md"),
    }


def test_a_page_is_written_without_playing(run_command, tmp_path):
    code, shown, _ = run_command("study", "--page", "--out", tmp_path)
    assert code == 0
    assert f"What they show: {tmp_path / 'study.md'}" in shown
    assert "Played" not in shown


def test_what_is_packed_is_told(run_command, packed):
    code, shown, _ = run_command("study", "--pack", "--packed", packed, "--problems", "phoneme")
    assert code == 0
    assert shown.replace("\n", " ").split() == f"Problems packed: 1 (0.0 MiB), in {packed}".split()
    code, shown, _ = run_command("study", "--pack", "--packed", packed, "--problems", "phoneme", "--json")
    path = packed / "phoneme.npz"
    assert json.loads(shown) == {"problems": [str(path)], "bytes": path.stat().st_size}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--draws", "5:5"),
            "--draws 5:5 must be a number of draws, or a first draw and an end, such as 0:50.",
        ),
        (("--time-limit", "9"), "--time-limit 9 must be a number with s, m or h, such as 90s, 9m or 2h."),
        (
            ("--strategies", "true-margin"),
            "Strategy 'true-margin' needs the function that gives the true margin.",
        ),
        (("--ways", "forest"), "There is no way of learning 'forest'"),
        (("--problems", "iris"), "There is no problem 'iris'"),
    ],
)
def test_what_cannot_be_played_is_said(run_command, packed, tmp_path, arguments, message):
    usual = {"--problems": "phoneme", "--ways": "logistic", "--draws": "1", **dict([arguments])}
    given = [each for pair in usual.items() for each in pair]
    code, _, told = run_command("study", "--packed", packed, "--out", tmp_path / "out", *given)
    assert code == 1
    assert message in told

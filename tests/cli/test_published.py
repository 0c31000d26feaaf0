"""`minmargin published`: packs sets, plays games, and writes a page."""

from __future__ import annotations

import json

import numpy as np
import pytest


@pytest.fixture
def packed(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=80)
    folder = tmp_path / "packed"
    folder.mkdir()
    np.savez(folder / "phoneme.npz", X=rng.normal(size=(80, 3)) + y[:, np.newaxis], y=y.astype(np.int16))
    return folder


def test_a_table_is_played_and_shown(run_command, packed, tmp_path):
    out = tmp_path / "out"
    asked = ("published", "rebenchmark", "--packed", packed, "--out", out, "--problems", "phoneme")
    asked += ("--strategies", "margin,random", "--draws", "2", "--batch-sizes", "10,50", "--n-jobs", "1")
    code, shown, _ = run_command(*asked, "--time-limit", "5m")
    assert code == 0
    assert f"Played 8 of 8 games that were left: {out}" in shown.replace("\n", " ").replace("  ", " ")
    assert "| phoneme, margin |" in (out / "published.md").read_text()
    code, shown, _ = run_command(*asked, "--json")
    assert json.loads(shown) == {
        "asked": 0,
        "played": 0,
        "refused": [],
        "results": [str(out / "rebenchmark.parquet")],
        "page": str(out / "published.md"),
    }


def test_what_is_packed_is_told(run_command, packed):
    asked = ("published", "rebenchmark", "--pack", "--packed", packed, "--problems", "phoneme")
    code, shown, _ = run_command(*asked)
    assert code == 0
    assert shown.replace("\n", " ").split() == f"Sets packed: 1 (0.0 MiB), in {packed}".split()
    code, shown, _ = run_command(*asked, "--json")
    path = packed / "phoneme.npz"
    assert json.loads(shown) == {"sets": [str(path)], "bytes": path.stat().st_size}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("iris",), "There is no table 'iris' (names: 'rebenchmark', 'alpbench')."),
        (
            ("rebenchmark", "--batch-sizes", "ten"),
            "--batch-sizes ten must be whole numbers, such as 10 or 10,50.",
        ),
        (
            ("rebenchmark", "--draws", "5:5"),
            "--draws 5:5 must be a number of draws, or a first draw and an end, such as 0:50.",
        ),
        (
            ("rebenchmark", "--time-limit", "9"),
            "--time-limit 9 must be a number with s, m or h, such as 90s, 9m or 2h.",
        ),
    ],
)
def test_what_cannot_be_played_is_said(run_command, packed, tmp_path, arguments, message):
    code, _, told = run_command("published", *arguments, "--packed", packed, "--out", tmp_path / "out")
    assert code == 1
    assert message in told

"""Whatever a command prints fits a terminal of 60 or of 80 columns, and its tables stay in line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from sklearn.datasets import load_iris

from minmargin.experiments import digits
from minmargin.experiments.datasets import DataFile, FileStatus

NARROW = [60, 80]
Run = Callable[..., list[str]]
NAMES = {
    0: "setosa of the stony shore",
    1: "versicolor of the wet meadow",
    2: "virginica of the far south",
}


@pytest.fixture(params=NARROW)
def width(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture
def run(
    width: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    run_command: Callable[..., tuple[int, str, str]],
) -> Run:
    """Run a command in a folder with labeled rows and a pool; return the lines that a terminal would show."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("minmargin.cli.show._WIDE", width)
    frame = load_iris(as_frame=True).frame
    frame["name of the plant"] = [f"plant-{row:06d}-of-the-garden" for row in range(150)]
    frame["note"] = "found beside the path, with leaves of a darker green"
    labeled = frame.assign(target=frame["target"].map(NAMES))
    labeled.iloc[::3].to_csv("labeled.csv", index=False)
    frame.drop(columns="target").to_csv("pool.csv", index=False)

    def lines(*line: str) -> list[str]:
        code, out, err = run_command(*line)
        assert code == 0, err
        return [each.rstrip() for each in out.splitlines()]

    return lines


FILES = ("--labeled", "labeled.csv", "--label-column", "target", "--pool", "pool.csv")
BATCH = ("--batch-size", "8", "--id-column", "name of the plant", "--keep", "note", "--n-models", "2")
BATCH = (*BATCH, "--drop", "note", "--seed", "0")
BLOCKS = {
    60: ["rank row id score member", "rank first_class", "rank second_class", "rank predicted"],
    80: ["rank row id score member", "rank first_class second_class", "rank predicted"],
}


def blocks_of(lines: list[str]) -> list[str]:
    """Return the headings of each part of the table of picks."""
    return [" ".join(line.split()) for line in lines if line.startswith("rank ")]


def assert_fits(lines: list[str], width: int) -> None:
    assert [line for line in lines if len(line) > width] == []
    assert lines


@pytest.mark.filterwarnings("default")
def test_of_a_batch_and_of_a_campaign(run: Run, width: int) -> None:
    lines = run("select", *FILES, *BATCH, "--out", "batch.csv")
    assert_fits(lines, width)
    assert blocks_of(lines) == BLOCKS[width]
    assert_fits(run("campaign", "init", "plants", *FILES, *BATCH, "--audit", "2"), width)
    lines = run("campaign", "next", "plants")
    assert_fits(lines, width)
    assert blocks_of(lines) == BLOCKS[width]
    picked = pd.read_parquet("plants/batches/round-001.parquet")
    labels = picked[["id"]].assign(label=NAMES[0]).rename(columns={"id": "name of the plant"})
    labels.to_csv("labels.csv", index=False)
    for line in (["add-labels", "plants", "labels.csv", "--label-column", "label"], ["status", "plants"]):
        assert_fits(run("campaign", *line), width)


@pytest.mark.filterwarnings("default")
def test_of_a_comparison_and_an_inspection(run: Run, width: int) -> None:
    assert_fits(run("inspect", "labeled.csv", "pool.csv", "--label-column", "target"), width)
    drawn = ("--n-labeled", "9", "--n-draws", "2", "--batch-sizes", "4,8", "--n-models", "2", "--n-jobs", "1")
    drop = ("--id-column", "name of the plant", "--scoring", "accuracy,neg_log_loss")
    assert_fits(run("compare", *FILES[:4], *drop, *drawn, "--seed", "0", "--out", "curves"), width)


def test_of_the_lists(run: Run, width: int) -> None:
    for line in (["strategies"], ["data", "list"], ["doctor"]):
        assert_fits(run(*line), width)


def test_of_the_demo(run: Run, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digits, "N_DRAWS", 2)
    monkeypatch.setattr(digits, "BATCH_SIZE", 20)
    monkeypatch.setattr(digits, "STRATEGIES", ("margin", "random"))
    lines = run("demo", "--out", "demo")
    assert_fits(lines, width)
    bars = [line.count("█") for line in lines if "█" in line]
    assert len(bars) == 3
    assert max(bars) > bars[0], "longer bars for more, none cut to the same length"
    assert not any("…" in line for line in lines)


def test_of_files_that_are_verified(run: Run, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    file = DataFile("images.csv.gz", 10, "0" * 64, ())
    found = [FileStatus(file, "ok", Path("/a folder/" + "deep/" * 30 + file.name), "0" * 64)]
    monkeypatch.setattr("minmargin.cli.data.verify_dataset", lambda *_: found)
    assert_fits(run("data", "verify", "fashion-mnist"), width)

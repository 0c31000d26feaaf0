"""`--strategy-option NAME=VALUE`: a strategy's own settings on the command line, and how wrong ones are told."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import minmargin as mm

FILES = ["--labeled", "labeled.csv", "--label-column", "y", "--pool", "pool.csv", "--batch-size", "5"]


@pytest.fixture
def run(tmp_path, monkeypatch, run_command):
    """Run a command in a folder with a labeled set and a pool; return what it prints, an error without its prefix."""
    monkeypatch.chdir(tmp_path)
    labeled, pool = (pd.DataFrame(rows(seed), columns=["u", "v"]) for seed in (0, 1))
    labeled.assign(y=np.where(labeled.u > 0, "yes", "no")).to_csv("labeled.csv", index=False)
    pool.to_csv("pool.csv", index=False)

    def run(*words):
        code, out, err = run_command(*words)
        assert code in {0, 1}, err
        return out if code == 0 else err.removeprefix("minmargin: ").strip()

    return run


def rows(seed):
    return np.random.default_rng(seed).normal(size=(60, 2)).round(2)


def select(run, strategy, *options, more=()):
    given = [part for option in options for part in ("--strategy-option", option)]
    line = ["select", *FILES, "--n-models", "3", "--seed", "0", "--out", "batch.csv", "--json"]
    return run(*line, "--strategy", strategy, *given, *more)


@pytest.mark.parametrize(
    ("strategy", "options"),
    [
        (mm.Spread(oversample=2), ["oversample=2"]),
        (mm.PowerMargin(sharpness=2.5), ["sharpness=2.5"]),
        (mm.SoftRank(sharpness=2, memory_limit=None), ["sharpness=2", "memory_limit=none"]),
        (mm.ClusterMargin(n_clusters=2, oversample=3), [" n_clusters = 2", "oversample=3"]),
        (mm.KCenters(include_labeled=False, memory_limit=1e9), ["include_labeled=False", "memory_limit=1e9"]),
        (mm.KCenters(include_labeled=True, prefilter=20), ["include_labeled=true", "prefilter=20"]),
    ],
)
def test_options_reach_the_strategy(run, strategy, options):
    manifest = json.loads(select(run, strategy.name, *options))
    labeled, pool = pd.read_csv("labeled.csv"), pd.read_csv("pool.csv")
    expected = mm.select(
        labeled, "y", pool, 5, strategy=strategy, n_models=3, random_state=0, preprocess="auto"
    )
    assert pd.read_csv("batch.csv")["row"].tolist() == expected.rows.tolist()
    assert manifest["settings"]["strategy_options"] == expected.manifest["settings"]["strategy_options"]


def test_they_go_with_a_prefilter(run):
    manifest = json.loads(select(run, "balanced-margin", "balance=1", more=["--prefilter", "9"]))
    assert manifest["settings"]["strategy_options"] == {"prefilter": 9, "balance": 1}


@pytest.mark.parametrize(
    ("strategy", "options", "message"),
    [
        (
            "spread",
            ["oversample"],
            "--strategy-option oversample is not NAME=VALUE. Strategy 'spread' has 'oversample'.",
        ),
        (
            "cluster-margin",
            ["n_cluster=3"],
            (
                "--strategy-option n_cluster=3 is no option of the strategy. "
                "Strategy 'cluster-margin' has 'oversample', 'n_clusters', 'memory_limit'. Did you mean 'n_clusters'?"
            ),
        ),
        (
            "margin",
            ["sharpness=2"],
            "--strategy-option sharpness=2 is no option of the strategy. Strategy 'margin' has no options.",
        ),
        (
            "spread",
            ["oversample=lots"],
            (
                "--strategy-option oversample=lots gives 'lots', which is neither a number nor true, false or none. "
                "Strategy 'spread' has 'oversample'."
            ),
        ),
        (
            "power-margin",
            ["sharpness=inf"],
            (
                "--strategy-option sharpness=inf gives 'inf', which is neither a number nor true, false or none. "
                "Strategy 'power-margin' has 'sharpness'."
            ),
        ),
        (
            "spread",
            ["oversample=2", "oversample=3"],
            "--strategy-option oversample=3 gives 'oversample' a second time. Give it once.",
        ),
        (
            "spread",
            ["oversample=0"],
            "--strategy-option oversample=0 must be a whole number >= 1; 4 is usual.",
        ),
        (
            "spread",
            ["oversample=2.5"],
            "--strategy-option oversample=2.5 must be a whole number >= 1; 4 is usual.",
        ),
        (
            "cluster-margin",
            ["n_clusters=true"],
            "--strategy-option n_clusters=true must be a whole number >= 1.",
        ),
        (
            "power-margin",
            ["sharpness=none"],
            "--strategy-option sharpness=none must lie between 0 (chance alone) and 1e6 (hardly any); 1 is usual.",
        ),
        (
            "balanced-margin",
            ["balance=1.5"],
            "--strategy-option balance=1.5 must lie between 0 (only diversity) and 1 (only margin).",
        ),
        (
            "balanced-margin",
            ["balance=none"],
            "--strategy-option balance=none must lie between 0 (only diversity) and 1 (only margin).",
        ),
        ("k-centers", ["include_labeled=2"], "--strategy-option include_labeled=2 must be True or False."),
        (
            "badge",
            ["memory_limit=-1"],
            "--strategy-option memory_limit=-1 must be a number of bytes > 0, or None.",
        ),
        (
            "soft-rank",
            ["memory_limit=100"],
            (
                "Strategy 'soft-rank' ranks all candidates in memory: 60 rows need about 0.0 MB and 0.0 MB may be "
                "used. Raise --strategy-option memory_limit, or use --strategy power-margin, which keeps no more than "
                "the batch."
            ),
        ),
        (
            "true-margin",
            ["function=3"],
            (
                "Strategy 'true-margin' needs the function that gives the true margin. "
                "Use strategy=mm.TrueMargin(function)."
            ),
        ),
    ],
)
def test_what_cannot_be_used_is_told_with_the_flag(run, strategy, options, message):
    assert select(run, strategy, *options) == message
    assert not Path("batch.csv").exists()


def test_a_prefilter_is_given_in_one_way(run):
    assert select(run, "k-centers", "prefilter=20", more=["--prefilter", "9"]) == (
        "--strategy-option prefilter=20 gives 'prefilter' a second time. Give it once."
    )


def test_a_strategy_that_nobody_knows_is_told_first(run):
    assert select(run, "spred", "oversample=2").startswith(
        "There is no strategy 'spred' (names: 'min-margin', "
    )


def test_a_campaign_keeps_them(run):
    line = ["campaign", "init", "cards", *FILES, "--n-models", "3", "--strategy", "spread"]
    assert run(*line, "--strategy-option", "oversample=0") == (
        "--strategy-option oversample=0 must be a whole number >= 1; 4 is usual."
    )
    run(*line, "--strategy-option", "oversample=2")
    assert json.loads(Path("cards/settings.json").read_text())["strategy_options"] == {"oversample": 2}
    assert json.loads(run("campaign", "next", "cards", "--json"))["settings"]["strategy_options"] == {
        "oversample": 2
    }

"""`minmargin campaign` for models that live elsewhere, from beginning to page, and errors that name flags."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pandas as pd
import pytest

import minmargin as mm
from campaign.flowers import TRUTH
from campaign.told import CLASSES, ROUNDS, predicted

INIT = (
    *("init", "told", "--learner", "given", "--classes", ",".join(CLASSES), "--pool", "pool/*.parquet"),
    *("--id-column", "row_id", "--keep", "a", "--batch-size", "5", "--seed", "0"),
)
COLUMNS = ("--columns", "m0_*", "--columns", "m1_*")


@pytest.fixture
def run(here, run_command):
    """Run a command line in a folder with a pool and files of probabilities; return its code, output and errors."""
    for number, members in enumerate(ROUNDS, start=1):
        predicted(members).sample(frac=1, random_state=number).to_parquet(f"predicted-{number}.parquet")
    return partial(run_command, "campaign")


def write_labels(number: int) -> None:
    batch = pd.read_parquet(f"told/batches/round-{number:03d}.parquet")
    batch.assign(label=[TRUTH[each] for each in batch["id"]])[["id", "label"]].to_csv("l.csv", index=False)


def test_a_campaign_from_beginning_to_page(run):
    assert run(*INIT) == (
        0,
        (
            "A campaign begins in told (seed 0), with 3 classes.\n"
            "Next: minmargin campaign next told --probabilities probabilities.parquet --columns 'p_*'\n"
        ),
        "",
    )
    code, out, err = run(
        "next", "told", "--probabilities", "predicted-1.parquet", *COLUMNS, "--report", "r.html"
    )
    assert (code, err) == (0, "")
    assert out.startswith("Round 1\nPicked 5 of 150 rows by min-margin (2 members, no labeled set, seed ")
    assert out.endswith(
        "Next: minmargin campaign push told  (to label in Label Studio)\n"
        "  or: minmargin campaign add-labels told labels.csv  (with labels from elsewhere)\n"
    )
    assert "<svg" in Path("r.html").read_text()
    write_labels(1)
    code, out, err = run("add-labels", "told", "l.csv")
    assert (code, err) == (0, "")
    assert out == (
        "Labels: 5 new.\n1 round, 5 labels.\n"
        "Next: minmargin campaign next told --probabilities probabilities.parquet --columns 'm0_*' --columns 'm1_*'\n"
    )
    code, out, err = run("next", "told", "--probabilities", "predicted-2.parquet", *COLUMNS, "--json")
    assert (code, err) == (0, "")
    made = json.loads(out)
    assert (made["round"], made["excluded"]) == (2, {"asked": 5, "rows": 5})
    campaign = mm.Campaign.open("told")
    first, second = (
        mm.select_from_probabilities(
            ROUNDS[number - 1],
            5,
            exclude=exclude,
            random_state=campaign.settings.seed_of(number),
        ).rows.tolist()
        for number, exclude in ((1, None), (2, campaign.batch(1)["row"].to_numpy()))
    )
    assert campaign.batch(1)["row"].to_pylist() == first
    assert campaign.batch(2)["row"].to_pylist() == second
    pd.DataFrame({"id": campaign.batch(2)["id"][:2].to_pylist(), "label": "setosa"}).to_csv(
        "l.csv", index=False
    )
    code, out, _ = run("add-labels", "told", "l.csv")
    assert out.splitlines()[-1] == (
        "  or: minmargin campaign next told --probabilities probabilities.parquet --columns 'm0_*' --columns 'm1_*' "
        "--even-so  (without them)"
    )
    code, out, _ = run("status", "told")
    assert "agreement" in out
    assert "accuracy  " not in out
    code, out, _ = run("report", "told")
    assert (code, out) == (0, "Written to told/report.html.\n")


def test_errors_name_flags(run):
    run(*INIT)
    assert run("next", "told") == (
        1,
        "",
        (
            "minmargin: Campaign 'told' trains no models: it picks by what yours say. Give their probabilities with "
            "--probabilities.\n"
        ),
    )
    assert run(
        "next", "told", "--probabilities", "predicted-1.parquet", "--columns", "m0_setosa,m0_virginica"
    ) == (
        1,
        "",
        (
            "minmargin: The probabilities are of 'm0_setosa', which is no class of this campaign ('setosa', "
            "'versicolor', 'virginica'). Did you mean 'setosa'? Name the classes, in the order of their columns, with "
            "--classes NAMES.\n"
        ),
    )
    assert run("init", "other", "--pool", "pool/*.parquet", "--batch-size", "5") == (
        1,
        "",
        (
            "minmargin: A campaign that trains models begins with labeled rows. Give --labeled and --label-column, or "
            "use --learner given to pick by probabilities of models elsewhere.\n"
        ),
    )
    assert run(*INIT[:1], "other", *INIT[2:], "--preprocess", "auto") == (
        1,
        "",
        "minmargin: --preprocess is of no use with --learner given, which trains nothing. Leave it out.\n",
    )


def test_a_campaign_that_trains_has_no_use_for_probabilities(run):
    files = ("--labeled", "labeled.csv", "--label-column", "y", "--pool", "pool/*.parquet")
    run(
        "init",
        "flowers",
        *files,
        "--id-column",
        "row_id",
        "--batch-size",
        "5",
        "--n-models",
        "2",
        "--folds",
        "0",
    )
    assert run("next", "flowers", "--probabilities", "predicted-1.parquet") == (
        1,
        "",
        (
            "minmargin: Campaign 'flowers' trains its own models, and has no use for probabilities. Leave it out, or "
            "begin a campaign with --learner given.\n"
        ),
    )

"""Batch sizes as shares of the pool: what they come to, and what is no share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import minmargin as mm
from minmargin.checks import rows_in_share

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
Y = (X.sum(axis=1) > 0).astype(int)
POOL = rng.normal(size=(210, 3))
QUICK: dict[str, Any] = {"n_models": 2, "random_state": 0, "n_jobs": 1}


@pytest.mark.parametrize(
    ("share", "n_rows", "rows"), [("5%", 210, 10), ("7%", 100, 7), ("2.5 %", 400, 10), ("100%", 3, 3)]
)
def test_a_share_is_rounded_down(share: str, n_rows: int, rows: int) -> None:
    assert rows_in_share("batch_size", share, n_rows) == rows


@pytest.mark.parametrize(
    ("share", "message"),
    {
        "5": "batch_size='5' must be a whole number >= 1, or a share of the pool such as '5%'.",
        "five%": "batch_size='five%' must be a whole number >= 1, or a share of the pool such as '5%'.",
        "-5%": "batch_size='-5%' must be a whole number >= 1, or a share of the pool such as '5%'.",
        "0%": "batch_size='0%' must be more than 0% and at most 100% of the pool.",
        "101%": "batch_size='101%' must be more than 0% and at most 100% of the pool.",
        "0.1%": "batch_size='0.1%' of 210 rows is less than one row. Use a larger share, or batch_size=1.",
    }.items(),
)
def test_what_is_no_share(share: str, message: str) -> None:
    with pytest.raises(mm.InputError) as error:
        mm.select(X, Y, POOL, share, **QUICK)
    assert str(error.value) == message


def test_every_way_of_selecting_takes_a_share(tmp_path: Path) -> None:
    right = mm.select(X, Y, POOL, 10, **QUICK)
    batch = mm.select(X, Y, POOL, "5%", **QUICK)
    assert batch.rows.tolist() == right.rows.tolist()
    assert batch.manifest["settings"]["batch_size"] == 10
    committee = mm.fit_committee(X, Y, n_models=2, random_state=0)
    assert len(committee.select(POOL, "5%")) == 10
    probabilities = committee.predict_proba(POOL)
    assert len(mm.select_from_probabilities(probabilities, "5%")) == 10


def test_rows_that_are_left_out_count_but_labeled_ones_of_one_table_do_not() -> None:
    assert len(mm.select(X, Y, POOL, "5%", exclude=range(100), **QUICK)) == 10
    table, labels = np.vstack([X, POOL]), [*Y.tolist(), *[None] * 210]
    assert len(mm.select(table, labels, None, "5%", **QUICK)) == 10


def test_a_csv_file_is_counted(tmp_path: Path) -> None:
    names = ["a", "b", "c"]
    path = tmp_path / "pool.csv"
    pd.DataFrame(POOL, columns=names).to_csv(path, index=False)
    assert len(mm.select(pd.DataFrame(X, columns=names), Y, path, "5%", **QUICK)) == 10


def test_a_stream_cannot_be_counted() -> None:
    with pytest.raises(mm.InputError) as error:
        mm.select(X, Y, iter([POOL]), "5%", **QUICK)
    assert str(error.value) == (
        "batch_size='5%' is a share, and how many rows an iterable has is known at its end only. Use a number of rows."
    )


def test_a_comparison_takes_shares_of_the_rows_that_can_be_picked() -> None:
    found = mm.compare(
        POOL,
        (POOL.sum(axis=1) > 0).astype(int),
        n_labeled=10,
        test_size=100,
        batch_sizes=["5%", 20],
        strategies=["random"],
        n_draws=2,
        n_models=2,
        random_state=0,
    )
    assert found.settings["batch_sizes"] == [5, 20]


def test_a_campaign_picks_so_many_in_each_round(tmp_path: Path) -> None:
    table = pd.DataFrame(POOL, columns=["a", "b", "c"]).assign(id=range(210))
    table.to_csv(tmp_path / "pool.csv", index=False)
    labeled = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=Y)
    campaign = mm.Campaign.init(
        tmp_path / "c",
        labeled=labeled,
        label_column="y",
        pool=str(tmp_path / "pool.csv"),
        id_column="id",
        batch_size="5%",
    )
    assert campaign.settings.batch_size == 10
    partly = pd.concat([labeled.assign(id=range(210, 270)), table])
    partly.to_csv(tmp_path / "partly.csv", index=False)
    one_table = mm.Campaign.init(
        tmp_path / "d",
        labeled=str(tmp_path / "partly.csv"),
        label_column="y",
        pool=None,
        id_column="id",
        batch_size="5%",
    )
    assert one_table.settings.batch_size == 10

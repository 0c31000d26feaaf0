"""Rows that are in a labeled set more than once: what they say of ids, and of labels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import minmargin as mm

RNG = np.random.default_rng(0)
N = 300
IDS = RNG.permutation(9_000)[:N] + 10
LABELED = pd.DataFrame({"age": RNG.integers(18, 90, N), "plan": ["basic", "plus"] * (N // 2)}).assign(
    y=["no", "no", "yes"] * (N // 3)
)
TWICE = [3, 7, 30, 55]


def doubled(table: pd.DataFrame, rows: list[int]) -> pd.DataFrame:
    return pd.concat([table, table.iloc[rows]], ignore_index=True)


def said(table: pd.DataFrame, pool: pd.DataFrame | None = None) -> list[str]:
    found = mm.inspect(table, "y", pool)
    return [each.message for each in found.findings if each.column is not None]


@pytest.mark.parametrize("rows", [TWICE, TWICE[:1], list(range(15))])
def test_an_id_used_as_a_feature_is_pointed_out_where_some_rows_are_there_twice(rows: list[int]) -> None:
    table = doubled(LABELED.assign(customer_id=IDS), rows)
    (message,) = said(table)
    assert message == (
        "Column 'customer_id' is a feature, and has a different whole number in nearly every labeled row, 300 in "
        f"{N + len(rows)}. If it identifies rows, name it as id_column, or use drop=['customer_id']."
    )


@pytest.mark.parametrize("name", ["income", "balance", "customer_id"])
def test_whole_numbers_that_repeat_are_no_ids(name: str) -> None:
    """Incomes and balances of few rows are nearly all different, and are no ids by their names."""
    incomes = RNG.integers(10_000, 90_000, N)
    table = doubled(LABELED.assign(**{name: incomes}), [0] if name != "customer_id" else list(range(40)))
    assert said(table) == []


def test_what_repeats_in_the_pool_is_no_id() -> None:
    """The number of a house is different in nearly every one of few rows."""
    table = doubled(LABELED.assign(row=IDS), TWICE)
    pool = table.assign(row=RNG.integers(0, 9_000, len(table)) % 100)
    assert not [each for each in said(table, pool) if "is a feature" in each]

"""Rows that are in a labeled set more than once: what they say of ids, and of labels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

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
    return [each.message for each in found.findings if "of an earlier one" not in each.message]


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


# Labels of copies

ROWS = LABELED.assign(income=RNG.integers(10_000, 90_000, N) / 7)
MEND = "No model can learn both: mend one of them, or drop both."


def all_said(table: pd.DataFrame, **how: object) -> list[str]:
    return [each.message for each in mm.inspect(table, "y", **how).findings]  # type: ignore[arg-type]


def test_copies_are_told_with_how_many() -> None:
    assert all_said(doubled(ROWS, TWICE)) == [
        (
            "4 labeled rows are copies of an earlier one in all features and in the label, such as row 300 of row 3 of "
            "those with a label. Copies count more than once: drop them, if they are of one thing."
        )
    ]


def test_one_or_two_copies_may_be_chance_where_columns_go_together() -> None:
    X, y = load_iris(return_X_y=True)
    flowers = pd.DataFrame(X, columns=list("abcd")).assign(y=y)
    assert flowers.duplicated().sum() == 1
    assert all_said(flowers) == []


def test_a_row_with_two_labels_is_told_apart_from_copies() -> None:
    table = doubled(ROWS, TWICE)
    table.loc[N, "y"] = "yes"
    contrary, same = all_said(table)
    assert contrary == (
        "1 labeled row has the features of an earlier one, and another label, such as rows 3 and 300 of those with a "
        f"label ('no' and 'yes'). {MEND}"
    )
    assert same.startswith("3 labeled rows are copies of an earlier one in all features and in the label")


def test_ids_with_two_labels_are_told() -> None:
    table = doubled(ROWS.assign(customer=IDS), TWICE)
    table.loc[N, ["age", "y"]] = [0, "yes"]
    assert all_said(table, id_column="customer") == [
        (
            f"Column 'customer' identifies rows, and in the labeled set 1 id has several labels, such as {IDS[3]} with "
            f"'no' and 'yes'. {MEND}"
        ),
        (
            "Column 'customer' identifies rows, and in the labeled set 3 ids are there more than once with one label, "
            f"such as {IDS[7]}. Copies count more than once: drop them."
        ),
    ]


@pytest.mark.parametrize(
    "table",
    [
        LABELED,  # ages and plans: equal by chance
        pd.concat([LABELED["y"], pd.get_dummies(RNG.integers(0, 150, N))], axis=1),
        LABELED.assign(region=RNG.integers(0, 12, N), zip=RNG.integers(0, 20, N)).drop(columns="age"),
        ROWS,
    ],
    ids=["few values", "flags", "codes", "none"],
)
def test_rows_that_are_equal_by_chance_are_not_told(table: pd.DataFrame) -> None:
    table.columns = table.columns.map(str)
    assert all_said(table) == []


def test_select_warns_of_a_row_with_two_labels() -> None:
    table = doubled(ROWS, TWICE[:1])
    table.loc[N, "y"] = "yes"
    with pytest.warns(mm.DataWarning) as caught:
        mm.select(table, "y", ROWS, 3, preprocess="auto", n_models=2, random_state=0)
    assert [str(each.message) for each in caught] == [
        (
            "1 labeled row has the features of an earlier one, and another label, such as rows 3 and 300 of those with "
            f"a label ('no' and 'yes'). {MEND}"
        )
    ]

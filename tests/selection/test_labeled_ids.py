"""Rows of the pool that are labeled already are left out, where both tables have the id column."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import minmargin as mm

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {"id": [f"r{i:03}" for i in range(200)], "a": RNG.normal(size=200), "b": RNG.normal(size=200)}
)
LABELED = TABLE[:50].assign(y=np.where(TABLE.a[:50] > 0, "yes", "no"))


def pick(labeled: Any = LABELED, pool: Any = TABLE, **settings: Any) -> mm.Batch:
    return mm.select(
        labeled,
        "y",
        pool,
        20,
        **{"id_column": "id", "n_models": 3, "random_state": 0, "n_jobs": 1, **settings},
    )


def test_labeled_rows_are_not_picked_again_and_are_counted() -> None:
    batch = pick()
    assert not set(batch.ids) & set(LABELED.id)
    assert batch.manifest["excluded"] == {"asked": 0, "rows": 50, "labeled_ids": 50}
    assert pick(exclude=LABELED.id.tolist(), keep_labeled=True).rows.tolist() == batch.rows.tolist()


def test_they_may_be_picked_if_that_is_asked_for() -> None:
    batch = pick(keep_labeled=True)
    assert set(batch.ids) & set(LABELED.id)
    assert batch.manifest.get("excluded") is None


def test_others_may_be_excluded_besides() -> None:
    others = pick().ids[:5].tolist()
    batch = pick(exclude=others)
    assert not set(batch.ids) & {*others, *LABELED.id}
    assert batch.manifest["excluded"] == {"asked": 5, "rows": 55, "labeled_ids": 50}


def test_ids_in_csv_files_are_taken_as_they_stand_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    numbered = TABLE.assign(id=[f"{i:04}" if i % 2 else str(i) for i in range(200)])
    numbered[:50].assign(y=LABELED.y).to_csv("labeled.csv", index=False)
    numbered.to_csv("pool.csv", index=False)
    batch = pick("labeled.csv", "pool.csv")
    assert batch.manifest["excluded"] == {"asked": 0, "rows": 50, "labeled_ids": 50}
    assert batch.rows.tolist() == pick().rows.tolist()


def test_ids_that_cannot_be_compared_are_warned_of() -> None:
    with pytest.warns(mm.DataWarning) as said:
        batch = pick(LABELED.assign(id=RNG.normal(size=50)))
    assert str(said[0].message) == (
        "The ids of the labeled set in column 'id' cannot be compared with what names the pool's rows, so a row that "
        "is labeled may be picked again. Give both ids of one type, or use keep_labeled=True."
    )
    assert batch.manifest.get("excluded") is None


def test_a_labeled_set_without_the_id_column_leaves_nothing_out() -> None:
    assert pick(LABELED.drop(columns="id")).manifest.get("excluded") is None


def test_missing_ids_of_labeled_rows_name_nothing() -> None:
    some = LABELED.assign(id=LABELED.id.where(LABELED.index % 2 == 0))
    assert pick(some).manifest["excluded"] == {"asked": 0, "rows": 25, "labeled_ids": 25}


def test_excluded_ids_that_the_pool_lacks_are_warned_of_beside_labeled_ones() -> None:
    with pytest.warns(mm.DataWarning) as said:
        batch = pick(exclude=["r190", "nowhere"])
    assert [str(each.message) for each in said] == [
        "exclude holds 2 ids, and 1 of them is not in column 'id' of the pool (such as 'nowhere')."
    ]
    assert batch.manifest["excluded"] == {"asked": 2, "rows": 51, "labeled_ids": 50}


@pytest.mark.parametrize(
    ("respell", "shown"),
    [
        (lambda each: each.removeprefix("r").lstrip("0") or "0", "'0' and '000'"),
        (lambda each: str(int(each[1:])) + ".0", "'0.0' and '000'"),
        (lambda each: " " + each.removeprefix("r"), "' 000' and '000'"),
        (lambda each: each.removeprefix("r") + " ", "'000 ' and '000'"),
    ],
)
def test_ids_that_are_spelled_in_two_ways_are_warned_of(respell, shown) -> None:
    pool = TABLE.assign(id=TABLE.id.str.removeprefix("r"))
    with pytest.warns(mm.DataWarning) as said:
        pick(LABELED.assign(id=LABELED.id.map(respell)), pool)
    (warning,) = said
    assert str(warning.message) == (
        f"50 labeled rows are in the pool under another spelling of their id in column 'id', such as {shown}: with "
        "other zeros, blanks or capitals. They are not known as labeled, and may be picked. Write ids alike in both."
    )


def test_ids_that_are_alike_but_for_zeros_may_be_two_ids() -> None:
    ids = [f"{i // 2}" if i % 2 else f"0{i // 2}" for i in range(200)]  # all are there in both spellings
    table = TABLE.assign(id=ids)
    batch = pick(table[:50].assign(y=LABELED.y), table)
    assert batch.manifest["excluded"] == {"asked": 0, "rows": 50, "labeled_ids": 50}


# In files, where ids are texts


def in_files(respell: Any, ids: Any = range(200)) -> None:
    """Write the labeled set with respelled ids, and the pool, as CSV files."""
    numbered = TABLE.assign(id=list(ids))
    numbered[:50].assign(y=LABELED.y, id=numbered.id[:50].map(respell)).to_csv("labeled.csv", index=False)
    numbered.to_csv("pool.csv", index=False)


def begin(**settings: Any) -> mm.Campaign:
    return mm.Campaign.init(
        "campaign",
        labeled="labeled.csv",
        label_column="y",
        pool="pool.csv",
        batch_size=20,
        id_column="id",
        n_models=3,
        random_state=0,
        **settings,
    )


@pytest.fixture
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("_elsewhere")
@pytest.mark.parametrize(("of_labeled", "of_pool"), [("{}.0", "{}"), ("{}", "{}.0"), ("{}.00", "{}.0")])
def test_whole_numbers_are_the_same_ids_with_point_zero_and_without(of_labeled: str, of_pool: str) -> None:
    in_files(lambda each: of_labeled.format(each.split(".")[0]), map(of_pool.format, range(200)))
    batch = pick("labeled.csv", "pool.csv")
    assert batch.rows.tolist() == pick().rows.tolist()
    assert batch.manifest["excluded"] == {"asked": 0, "rows": 50, "labeled_ids": 50}
    assert pick("labeled.csv", pd.read_csv("pool.csv")).rows.tolist() == batch.rows.tolist()
    assert not {*begin().next().rows.tolist()} & {*range(50)}
    excluded = pick(exclude=Path("labeled.csv"), pool="pool.csv", keep_labeled=True)
    assert excluded.rows.tolist() == batch.rows.tolist()
    found = mm.inspect("labeled.csv", "y", "pool.csv", id_column="id")
    assert found.findings == ()
    assert found.title == (
        "50 labeled rows (yes 27, no 23) and 200 rows of the pool. 50 rows of the pool have the id of a labeled row, "
        "and are not picked again."
    )


@pytest.mark.usefixtures("_elsewhere")
@pytest.mark.parametrize(
    ("respell", "form", "shown"),
    [
        (lambda each: f" {each}", "{}", "' 0' and '0'"),
        (lambda each: f"{each} ", "{}", "'0 ' and '0'"),
        (lambda each: f"00{each}", "{}", "'000' and '0'"),
        (str.upper, "a{}", "'A0' and 'a0'"),
        (lambda each: each if int(each[1:]) < 40 else each.upper(), "a{}", "'A40' and 'a40'"),
    ],
)
def test_ids_in_files_that_are_spelled_in_two_ways_are_warned_of(respell: Any, form: str, shown: str) -> None:
    in_files(lambda each: respell(str(each)), [form.format(i) for i in range(200)])
    n = 10 if "40" in shown else 50
    message = (
        f"{n} labeled rows are in the pool under another spelling of their id in column 'id', such as {shown}: with "
        "other zeros, blanks or capitals. They are not known as labeled, and may be picked. Write ids alike in both."
    )
    found = mm.inspect("labeled.csv", "y", "pool.csv", id_column="id")
    assert [each.message for each in found.findings] == [message]
    for work in (lambda: pick("labeled.csv", "pool.csv"), begin):
        with pytest.warns(mm.DataWarning) as said:
            work()
        assert [str(each.message) for each in said] == [message]


@pytest.mark.usefixtures("_elsewhere")
def test_inspect_and_campaigns_say_how_many_rows_are_labeled_already() -> None:
    in_files(str)
    told: list[mm.Inspection] = []
    begin(inspected=told.append)
    told.append(mm.inspect("labeled.csv", "y", "pool.csv", id_column="id"))
    pick("labeled.csv", "pool.csv", inspected=told.append)
    assert [each.n_labeled_in_pool for each in told] == [50, 50, 50]
    pick("labeled.csv", "pool.csv", inspected=told.append, keep_labeled=True)
    assert told[-1].n_labeled_in_pool == 0


def test_inspect_says_that_ids_cannot_be_compared() -> None:
    found = mm.inspect(LABELED.assign(id=RNG.normal(size=50)), "y", TABLE, id_column="id")
    assert [each.message for each in found.findings] == [
        (
            "The ids of the labeled set in column 'id' cannot be compared with what names the pool's rows, so a row "
            "that is labeled may be picked again. Give both ids of one type, or use keep_labeled=True."
        )
    ]

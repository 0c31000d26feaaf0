"""Columns whose type does not tell what they hold: Python objects, sparse ones, and pandas's own types."""

from __future__ import annotations

import datetime as dt
import uuid
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import minmargin as mm
from minmargin.data.schema import as_rows, schema_of

N = 150  # more than the first hundred values, by which narwhals tells what a column of objects holds
A = np.random.default_rng(0).normal(size=N).round(3)
FRAME = pd.DataFrame({"a": A})
LABELS = ["p" if row % 3 else "q" for row in range(N)]
DAYS = [dt.date(2024, 1, 1) + dt.timedelta(days=row * 7 % 40) for row in range(N)]
MOMENTS = [dt.datetime(2024, 1, 1, 5) + dt.timedelta(hours=row * 7 % 90) for row in range(N)]


def objects(values: list[Any]) -> pd.DataFrame:
    return FRAME.assign(t=pd.Series(values, dtype=object))


def pick(labeled: Any, pool: Any = None, labels: Any = LABELS, **settings: Any) -> Any:
    settings = {"n_models": 3, "random_state": 0, "preprocess": "auto", **settings}
    return mm.select(labeled, labels, labeled if pool is None else pool, 4, **settings)


def refusal(make: Any) -> str:
    with pytest.raises(mm.InputError) as caught:
        make()
    return str(caught.value)


def with_gaps(values: list[Any], gap: Any = None) -> list[Any]:
    """The first hundred and ten are missing."""
    return [gap] * 110 + values[110:]


# What databases give


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize(
    "values",
    [
        [Decimal(row * 7 % 60) / 4 for row in range(N)],
        DAYS,
        MOMENTS,
        [each.replace(tzinfo=dt.timezone(dt.timedelta(hours=2))) for each in MOMENTS],
        [bool(row * 7 % 5 % 2) for row in range(N)],
        [row * 7 % 60 for row in range(N)],
        [row * 7 % 60 / 8 for row in range(N)],
    ],
    ids=["decimals", "days", "moments", "moments with a zone", "booleans", "whole numbers", "floats"],
)
def test_objects_are_read_for_what_they_are_as_arrow_and_polars_do(values: list[Any], gaps: bool) -> None:
    frame = objects(with_gaps(values) if gaps else values)
    table = pa.table({"a": A, "t": pa.array(frame["t"], from_pandas=True)})
    expected = pick(table).rows.tolist()
    assert pick(frame).rows.tolist() == expected
    assert pick(table, frame).rows.tolist() == expected
    assert pick(frame, table).rows.tolist() == expected
    assert pick(frame, pl.from_arrow(table)).rows.tolist() == expected
    if not gaps:  # else the first chunks would have another type than the others
        assert pick(frame, (frame[start : start + 40] for start in range(0, N, 40))).rows.tolist() == expected
    seen = mm.inspect(frame, LABELS, frame)
    told = next(line for line in str(seen).splitlines() if line.startswith("t "))
    assert told.rstrip().endswith("yes")
    assert ("date" if isinstance(values[0], dt.date) else "number") in told


def test_numbers_that_arrow_has_no_one_type_for_are_numbers() -> None:
    plain = [float(row * 7 % 60) for row in range(N)]
    mixed = [Decimal(int(each)) if row % 2 else each for row, each in enumerate(plain)]
    assert pick(objects(mixed)).rows.tolist() == pick(FRAME.assign(t=plain)).rows.tolist()


def test_decimals_among_numbers_need_no_preprocessing() -> None:
    plain = [row * 7 % 60 / 4 for row in range(N)]
    settings = {"preprocess": "none"}
    objects_of = objects([Decimal(str(each)) for each in plain])
    assert pick(objects_of, **settings).rows.tolist() == pick(FRAME.assign(t=plain), **settings).rows.tolist()


def test_decimals_are_kept_and_identify_rows_as_decimals() -> None:
    frame = objects([Decimal(row) / 4 for row in range(N)])
    batch = pick(FRAME, frame, id_column="t", exclude=[Decimal("0.25")])
    assert batch.to_arrow()["id"].to_pylist() == [Decimal(row) / 4 for row in batch.rows.tolist()]
    assert batch.manifest["excluded"]["rows"] == 1


@pytest.mark.parametrize(
    "container", [pd.DataFrame, pa.Table.from_pandas, lambda frame: pl.DataFrame({"a": A, "t": [None] * N})]
)
def test_dates_that_are_all_missing_in_the_pool_are_missing(container: Any) -> None:
    frame = objects(list(DAYS))
    pool = container(FRAME.assign(t=pd.Series([None] * N, dtype=object)))
    with pytest.warns(mm.DataWarning, match="has no value in any row of the pool"):
        assert len(pick(frame, pool).rows) == 4


# Values of several types


TO_MOMENTS = "pd.to_datetime(..., utc=True)"
MIXED = ["A0", *(row if row % 2 else f"A{row}" for row in range(1, N))]
LATE = [*(f"A{row}" for row in range(N - 1)), 7]  # beyond what narwhals looks at


@pytest.mark.parametrize(
    ("values", "what"),
    [
        (MIXED, "row 0 holds 'A0', a text, and row 1 holds 1, a number. Use .astype(str)"),
        ([None, *MIXED[1:]], "row 1 holds 1, a number, and row 2 holds 'A2', a text. Use .astype(str)"),
        (LATE, "row 0 holds 'A0', a text, and row 149 holds 7, a number. Use .astype(str)"),
        (
            [True, *(row for row in range(1, N))],
            "row 0 holds True, a boolean, and row 1 holds 1, a number. Use .astype(float)",
        ),
        (
            [*DAYS[:5], *MOMENTS[5:]],
            f"row 0 holds {DAYS[0]!r}, a day, and row 5 holds {MOMENTS[5]!r}, a moment. Use {TO_MOMENTS}",
        ),
        (
            [b"x", *(f"A{row}" for row in range(1, N))],
            "row 0 holds b'x', a bytes, and row 1 holds 'A1', a text. Use .astype(str)",
        ),
    ],
    ids=["texts and numbers", "with a gap", "one at the end", "booleans", "days and moments", "bytes"],
)
def test_a_feature_or_id_that_mixes_types_is_named_with_an_example_of_both(
    values: list[Any], what: str
) -> None:
    frame = objects(values)
    of_labeled = f"Column 't' of the labeled set mixes types: {what}, so that all are of one type."
    of_pool = of_labeled.replace("the labeled set", "the pool")
    assert refusal(lambda: pick(frame)) == of_labeled
    assert refusal(lambda: pick(frame, preprocess="none")) == of_labeled
    assert refusal(lambda: pick(frame, reading=mm.Reading(category="t"))) == of_labeled
    assert refusal(lambda: mm.inspect(frame, LABELS)) == of_labeled
    assert refusal(lambda: mm.fit_committee(frame, LABELS, preprocess="auto")) == of_labeled
    assert refusal(lambda: mm.compare(frame, LABELS, n_labeled=30, preprocess="auto")) == of_labeled
    assert refusal(lambda: pick(FRAME, frame, id_column="t")) == of_pool
    assert refusal(lambda: mm.inspect(FRAME, LABELS, frame, id_column="t")) == of_pool


def test_a_pool_that_mixes_types_is_told_before_anything_is_trained() -> None:
    labeled = objects([f"A{row % 3}" for row in range(N)])
    assert refusal(lambda: pick(labeled, objects(LATE))) == (
        "Column 't' of the pool mixes types: row 0 holds 'A0', a text, and row 149 holds 7, a number. Use "
        ".astype(str), so that all are of one type."
    )


def test_a_column_that_mixes_types_may_be_there_and_is_kept_as_texts() -> None:
    frame = objects(MIXED)
    batch = pick(frame, features=["a"], keep="t")
    assert batch.to_arrow()["t"].to_pylist() == [str(MIXED[row]) for row in batch.rows]
    assert batch.rows.tolist() == pick(FRAME).rows.tolist()
    assert "'t'" not in str(mm.inspect(frame, LABELS, features=["a"]).findings)


# Types of pandas and polars


def test_sparse_columns_are_numbers() -> None:
    codes = pd.Series([f"c{row * 7 % 5}" for row in range(N)])
    plain, sparse = (
        pd.concat([FRAME, pd.get_dummies(codes, sparse=kept, dtype=float)], axis=1) for kept in (False, True)
    )
    for settings in ({}, {"preprocess": "none"}):
        expected = pick(plain, **settings).rows.tolist()
        assert pick(sparse, **settings).rows.tolist() == expected
        assert pick(sparse, plain, **settings).rows.tolist() == expected
    assert str(mm.inspect(sparse, LABELS)) == str(mm.inspect(plain, LABELS))
    batch = pick(sparse, keep="c0")
    assert batch.to_arrow()["c0"].to_pylist() == plain["c0"][batch.rows].tolist()


def test_sparse_labels_are_labels() -> None:
    flags = [row % 3 // 2 for row in range(N)]
    sparse = pd.Series(pd.arrays.SparseArray(flags))
    assert pick(FRAME, labels=sparse).rows.tolist() == pick(FRAME, labels=flags).rows.tolist()


def test_intervals_of_cut_are_categories() -> None:
    cut = FRAME.assign(t=pd.cut(FRAME["a"], 4))
    expected = pick(cut.assign(t=cut["t"].astype(str))).rows.tolist()
    assert pick(cut).rows.tolist() == expected
    batch = pick(cut, keep="t")
    assert batch.to_arrow()["t"].to_pylist() == cut["t"][batch.rows].astype(str).tolist()
    assert "category" in str(mm.inspect(cut, LABELS))


OWN = [
    (pd.period_range("2024-01", periods=N, freq="M"), "period[M]", "use .dt.to_timestamp()"),
    (pd.interval_range(0, N), "interval[int64, right]", "use .astype(str)"),
    (np.arange(N) * 1j, "complex128", "use its real and its imaginary part"),
    (pd.Series([uuid.UUID(int=row) for row in range(N)], dtype=object), "UUID", "derive numbers from it"),
    (pd.Series([{"u": row} for row in range(N)], dtype=object), "dict", "derive numbers from it"),
]


@pytest.mark.parametrize(("values", "name", "mend"), OWN, ids=[name for _, name, _ in OWN])
def test_other_types_are_named_as_features_and_are_carried_along(values: Any, name: str, mend: str) -> None:
    frame = FRAME.assign(t=values)
    assert refusal(lambda: pick(frame)) == (
        f"Column 't' is {name}, which preprocess='auto' cannot turn into numbers. Leave it out with features=[...], or "
        f"{mend}."
    )
    assert refusal(lambda: pick(frame, preprocess="none")) == (
        f"Column 't' is {name}, which is not a number. Leave it out with features=[...], or use a scikit-learn "
        "pipeline that encodes it."
    )
    (finding,) = mm.inspect(frame, LABELS).findings
    assert finding.message == (
        f"Column 't' is {name}, which no learner of ours reads. Leave it out with drop=['t'], or {mend}."
    )
    batch = pick(frame, features=["a"], keep="t")
    kept = [str(each) for each in batch.to_arrow()["t"].to_pylist()]
    assert kept == [str(frame["t"][row]) for row in batch.rows]


#: Arrow knows UUIDs since version 18; before, they are refused as ids.
PLACES = {"periods": 0, "intervals": 1, **({"uuids": 3} if hasattr(pa, "uuid") else {})}


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_values_that_have_a_text_identify_rows(place: int) -> None:
    pool = FRAME.assign(t=OWN[place][0])
    first = pick(FRAME, pool, id_column="t")
    assert first.to_arrow()["id"].to_pylist() == [str(pool["t"][row]) for row in first.rows]
    more = pick(FRAME, pool, id_column="t", exclude=first)
    assert not set(more.rows) & set(first.rows)


def test_values_that_are_no_single_ones_do_not_identify_rows() -> None:
    pool = FRAME.assign(t=OWN[4][0])
    assert refusal(lambda: pick(FRAME, pool, id_column="t")) == (
        "id_column='t' names a column of dict, and one value a row is needed. Name another column, or make texts of it."
    )
    complex_ids = FRAME.assign(t=OWN[2][0])
    assert refusal(lambda: pick(FRAME, complex_ids, id_column="t")) == (
        "Column 't' is complex128, which cannot be read. Leave it out, or use its real and its imaginary part."
    )


def test_values_of_several_parts_are_no_categories_and_no_labels() -> None:
    frame = FRAME.assign(t=OWN[4][0])
    assert refusal(lambda: pick(frame, reading=mm.Reading(category="t"))) == (
        "Column 't' is dict, which has several values a row. Leave it out with drop=['t'], or make texts or numbers of "
        "it."
    )
    assert refusal(lambda: pick(FRAME, labels=frame["t"])) == (
        "Labeled row 0 has the label {'u': 0}, a dict, and such values have no order. Make labels strings or numbers."
    )


def test_whole_numbers_of_128_bits_are_numbers() -> None:
    whole = pl.Series([row * 7 % 60 for row in range(N)])
    plain, wide = (
        pl.DataFrame({"a": A, "t": whole.cast(kind), "key": pl.Series(range(N), dtype=kind)})
        for kind in (pl.Int64, pl.Int128)
    )
    settings = {"features": ["a", "t"], "keep": "t"}
    expected = pick(plain, **settings)
    batch = pick(wide, **settings)
    assert batch.rows.tolist() == expected.rows.tolist()
    assert batch.to_arrow()["t"].to_pylist() == expected.to_arrow()["t"].to_pylist()
    assert pick(pl.DataFrame({"a": A}), wide, id_column="key").to_arrow()["id"].type == pa.int64()
    large = wide.with_columns(key=pl.lit(2**70, dtype=pl.Int128))
    if large["key"].max() != 2**70:  # the oldest polars that is allowed makes another number of it
        return
    assert refusal(lambda: pick(pl.DataFrame({"a": A}), large, id_column="key")) == (
        "Column 'key' is Int128, which cannot be read. Leave it out, or cast it to Float64 or String."
    )


def test_objects_of_polars_are_named() -> None:
    frame = pl.DataFrame({"a": A, "t": pl.Series([object() for _ in range(N)], dtype=pl.Object)})
    assert refusal(lambda: pick(frame)) == (
        "Column 't' is Object, which preprocess='auto' cannot turn into numbers. Leave it out with features=[...], or "
        "derive numbers from it."
    )
    assert refusal(lambda: pick(pl.DataFrame({"a": A}), frame, id_column="t")) == (
        "Column 't' is Object, which cannot be read. Leave it out, or make texts of its values."
    )


def test_a_type_of_arrow_without_a_name_is_not_taken_for_nothing() -> None:
    days = pa.array([pa.MonthDayNano([1, row, 0]) for row in range(3)])
    (column,) = schema_of(as_rows(pa.table({"t": days}), "The pool")).columns or ()
    assert (column.kind, column.type_name) == ("other", "month_day_nano_interval")

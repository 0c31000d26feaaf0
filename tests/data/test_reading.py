"""How columns are read, where the caller says so: the same in every container, and for every row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import minmargin as mm

RNG = np.random.default_rng(0)
AGE = RNG.integers(18, 90, 400)
INCOME = RNG.normal(40_000, 9_000, 400).round(2)
ZIP = RNG.integers(1_000, 1_006, 400)
DAY = pd.Timestamp("2020-01-01") + pd.to_timedelta(RNG.integers(0, 1_500, 400), "D")
JOB = RNG.choice(["a", "b", ""], 400)
CHURNED = np.where(INCOME + 300 * AGE > 55_000, "yes", "no")
#: As a program would write it.
PLAIN = pd.DataFrame(
    {"age": AGE, "income": INCOME, "zip": ZIP.astype(str), "day": DAY, "job": np.where(JOB == "", None, JOB)}
)
#: As a spreadsheet in Germany would.
SPREADSHEET = pd.DataFrame(
    {
        "age": AGE.astype(str),
        "income": [f"{each:,.2f}".translate(str.maketrans(",.", ".,")) for each in INCOME],
        "zip": ZIP.astype(str),
        "day": DAY.strftime("%d.%m.%Y"),
        "job": np.where(JOB == "", "?", JOB),
    }
)
READING = mm.Reading(category="zip", date="day", decimal=",", thousands=".", missing=["?"])


def pick(labeled: Any, pool: Any, **settings: Any) -> mm.Batch:
    return mm.select(
        labeled,
        "churned",
        pool,
        20,
        **{"preprocess": "auto", "n_models": 5, "random_state": 0, "reading": READING, **settings},
    )


def halves(table: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    return table[:100].assign(churned=CHURNED[:100]), table[100:].reset_index(drop=True)


def complaint(*args: Any, **settings: Any) -> str:
    with pytest.raises(mm.InputError) as caught:
        pick(*args, **settings)
    return str(caught.value)


@pytest.fixture
def expected() -> list[int]:
    return pick(*halves(PLAIN), reading=None).rows.tolist()


@pytest.mark.parametrize("kept_in", ["pandas", "arrow", "csv", "parquet", "csv in two"])
def test_a_spreadsheet_gives_the_batch_of_the_plain_table(
    kept_in: str, expected: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    labeled, pool = halves(SPREADSHEET)
    given: tuple[Any, Any] = (labeled, pool)
    if kept_in == "arrow":
        given = pa.Table.from_pandas(labeled), pa.Table.from_pandas(pool)
    elif kept_in == "parquet":
        labeled.to_parquet("labeled.parquet")
        pq.write_table(pa.Table.from_pandas(pool), "pool.parquet", row_group_size=77)
        given = "labeled.parquet", "pool.parquet"
    elif kept_in.startswith("csv"):
        labeled.to_csv("labeled.csv", sep=";", index=False)
        for number, part in enumerate([pool[:150], pool[150:]] if kept_in == "csv in two" else [pool]):
            part.to_csv(f"pool-{number}.csv", sep=";", index=False)
        given = "labeled.csv", "pool-*.csv"
    assert pick(*given).rows.tolist() == expected


def test_a_saved_committee_reads_columns_as_it_did(expected: list[int], tmp_path: Path) -> None:
    labeled, pool = halves(SPREADSHEET)
    committee = mm.fit_committee(
        labeled, "churned", preprocess="auto", n_models=5, random_state=0, reading=READING
    )
    committee.save(tmp_path / "committee")
    again = mm.load_committee(tmp_path / "committee")
    assert again.select(pool, 20).rows.tolist() == expected
    assert again.select(pool, 20, chunk_size=64).rows.tolist() == expected


def test_one_table_with_labels_for_some_rows_is_read_so_too(expected: list[int]) -> None:
    labels = np.where(np.arange(400) < 100, CHURNED, "?")
    batch = pick(SPREADSHEET.assign(churned=labels), None)
    assert (batch.rows - 100).tolist() == expected


def test_columns_that_are_dropped_are_no_features() -> None:
    labeled, pool = halves(PLAIN)
    noisy = [each.assign(batch=RNG.normal(size=len(each))) for each in (labeled, pool)]
    dropped = pick(*noisy, reading=mm.Reading(drop=["batch", "job"]))
    without = pick(labeled, pool, reading=None, features=["age", "income", "zip", "day"])
    assert dropped.rows.tolist() == without.rows.tolist()


def test_free_text_is_for_the_text_learner_and_left_out_by_others() -> None:
    labeled, pool = halves(
        PLAIN.assign(note=[f"aged {each // 7} {each % 7 + 10} of {ZIP[each]}" for each in range(400)])
    )
    reading = mm.Reading(text="note")
    assert (
        pick(labeled, pool, reading=reading).rows.tolist()
        == pick(labeled, pool, reading=mm.Reading(drop="note")).rows.tolist()
    )
    read = pick(labeled, pool, reading=reading, learner="text", preprocess="none")
    assert (
        read.rows.tolist()
        == pick(labeled, pool, features="note", learner="text", preprocess="none", reading=None).rows.tolist()
    )
    only = complaint(labeled[["note", "churned"]], pool, reading=reading)
    assert only == "There is no feature left but free text ('note'). Use learner='text'."


def test_a_pipeline_of_ones_own_gets_the_values_as_they_are_read() -> None:
    model = make_pipeline(
        make_column_transformer((StandardScaler(), ["age", "income"]), (OneHotEncoder(), ["zip"])),
        LogisticRegression(),
    )
    rows = [
        pick(
            *halves(table),
            reading=reading,
            learner=model,
            preprocess="none",
            features=["age", "income", "zip"],
        )
        for table, reading in (
            (PLAIN, None),
            (SPREADSHEET, mm.Reading(decimal=",", thousands=".", category="zip")),
        )
    ]
    assert rows[0].rows.tolist() == rows[1].rows.tolist()


def test_a_value_of_the_pool_that_cannot_be_read_is_named() -> None:
    labeled, pool = halves(SPREADSHEET)
    pool.loc[7, "income"] = "about 3.000"
    assert complaint(labeled, pool) == (
        "Pool row 7, column 'income', holds 'about 3.000', which is no number with ',' before decimals and '.' between "
        "thousands. Mend it, or declare what it stands for with missing=[...]."
    )


def test_numbers_of_the_labeled_set_that_cannot_be_read_are_named() -> None:
    labeled, pool = halves(SPREADSHEET)
    assert complaint(labeled, pool, reading=mm.Reading(number="job")) == (
        "Labeled row 0, column 'job', holds 'a', which is no number with '.' before decimals. Mend it, or declare what "
        "it stands for with missing=[...]."
    )


def test_dates_that_may_be_read_in_two_ways_are_asked_about() -> None:
    labeled, pool = halves(PLAIN.assign(day="03/04/2024"))
    assert complaint(labeled, pool, reading=mm.Reading(date="day")) == (
        "Column 'day' has dates such as '03/04/2024', which may be of the form '%m/%d/%Y', '%d/%m/%Y'. Say which, with "
        "date={'day': '%m/%d/%Y'}."
    )
    assert len(pick(labeled, pool, reading=mm.Reading(date={"day": "%d/%m/%Y"}))) == 20


@pytest.mark.parametrize(
    ("reading", "message"),
    [
        (
            mm.Reading(category="plz"),
            "Column 'plz' is not in the labeled set (columns: 'age', 'income', 'zip', 'day', 'job', 'churned').",
        ),
        (
            mm.Reading(date="job"),
            (
                "Column 'job' is declared a date, and its values, such as 'a', are of no form that is known without "
                "being told. Say which, with date={'job': '%d %b %Y'}."
            ),
        ),
    ],
)
def test_what_cannot_be_as_it_is_declared_is_an_error(reading: mm.Reading, message: str) -> None:
    assert complaint(*halves(PLAIN), reading=reading) == message


def test_a_column_is_declared_once() -> None:
    with pytest.raises(mm.InputError) as caught:
        mm.Reading(number=["age"], category=["zip", "age"])
    assert str(caught.value) == "Column 'age' is declared twice. Declare each column once."


def test_an_array_has_no_columns_to_declare() -> None:
    with pytest.raises(mm.InputError) as caught:
        mm.select(np.eye(4), [0, 1, 0, 1], np.eye(4), 1, reading=mm.Reading(drop="a"))
    assert str(caught.value) == (
        "How columns are read was declared, but the labeled set is an array without column names. Pass a data frame or "
        "files."
    )


def test_days_of_a_csv_file_are_features_without_being_declared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    labeled, pool = halves(PLAIN.drop(columns="zip"))
    labeled.to_csv("labeled.csv", index=False)
    pool.to_csv("pool.csv", index=False)
    late = pd.Timestamp("2021-12-01") < DAY
    pd.read_csv("labeled.csv").assign(churned=late[:100]).to_csv("labeled.csv", index=False)
    committee = mm.fit_committee("labeled.csv", "churned", preprocess="auto", n_models=2, random_state=0)
    told = committee.class_scores("pool.csv").argmax(axis=1)
    assert (told == late[100:]).mean() > 0.95
    with pytest.raises(mm.InputError) as caught:
        mm.fit_committee("labeled.csv", "churned", features=["age", "day"])
    assert str(caught.value) == (
        "Column 'day' is Datetime(time_unit='us', time_zone=None), which is not a number. Use preprocess='auto', which "
        "makes numbers of dates, leave it out with features=[...], or use a scikit-learn pipeline that encodes it."
    )


@pytest.mark.parametrize("missing", [99, [99], 99.0, [np.int64(99)], "99", ["99"]])
def test_numbers_that_stand_for_a_missing_value_are_their_texts(missing: Any) -> None:
    assert mm.Reading(missing=missing).missing == ("99",)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"category": 3}, "category=3 has to name columns, by texts. Use category=['3'], say."),
        ({"number": ["a", 1]}, "number=['a', 1] has to name columns, by texts. Use number=['1'], say."),
        ({"text": 2.5}, "text=2.5 has to name columns, by texts. Use text=['2.5'], say."),
        ({"date": ["a", 1]}, "date=['a', 1] has to name columns, by texts. Use date=['1'], say."),
        ({"date": {1: "unix"}}, "date={1: 'unix'} has to name columns, by texts. Use date=['1'], say."),
        (
            {"date": {"a": 1}},
            "date has the form 1 for column 'a', which is no text. Use date={'a': '%Y-%m-%d'}, say.",
        ),
        ({"drop": None}, "drop=None has to name columns, by texts. Use drop=['None'], say."),
        ({"decimal": 1}, "decimal=1 must be '.' or ','."),
        ({"decimal": ["."]}, "decimal=['.'] must be '.' or ','."),
        (
            {"thousands": ["."]},
            "thousands=['.'] must be one of '.', ',', \"'\" and ' ', and not the decimal mark ('.').",
        ),
        *(
            (
                {"missing": [value]},
                (
                    f"missing=[{value!r}] has {value!r}, which is no text and no number. Give the texts that stand for "
                    "a missing value, such as missing=['?']; None and NaN are missing anyway."
                ),
            )
            for value in (None, float("nan"), True, ("a",))
        ),
    ],
)
def test_what_names_no_columns_and_no_texts_is_refused(said: dict[str, Any], message: str) -> None:
    with pytest.raises(mm.InputError) as caught:
        mm.Reading(**said)
    assert str(caught.value) == message

"""Flags on how columns are read: those of `Reading`, and errors that name them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import minmargin as mm

RNG = np.random.default_rng(0)
AGE, WAGE = RNG.integers(18, 90, 200), RNG.normal(40, 9, 200).round(2)
SHEET = pd.DataFrame(
    {
        "wage": [str(each).replace(".", ",") for each in WAGE],
        "code": RNG.integers(1, 5, 200),
        "day": (pd.Timestamp("2024-01-01") + pd.to_timedelta(AGE, "D")).strftime("%d/%m/%Y"),
        "noise": RNG.normal(size=200),
        "y": np.where(RNG.random(200) < 0.1, "n/a", np.where(WAGE > 40, "yes", "no")),
    }
)
FLAGS = [
    "--decimal",
    ",",
    "--missing",
    "?,n/a",
    "--category",
    "code",
    "--date",
    "day=%d/%m/%Y",
    "--drop",
    "noise",
]


@pytest.fixture
def sheets(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    SHEET[:80].query("y != 'n/a'").to_csv("labeled.csv", sep=";", index=False)
    SHEET[80:].drop(columns="y").to_csv("pool.csv", sep=";", index=False)


def select(*flags):
    line = "select --labeled labeled.csv --label-column y --pool pool.csv --batch-size 9 --out batch.csv --seed 0"
    return [*line.split(), "--n-models", "5", *flags]


def test_flags_are_the_arguments_of_reading(sheets, run_command):
    code, _, err = run_command(*select(*FLAGS))
    assert (code, err) == (0, "")
    reading = mm.Reading(
        decimal=",", missing=["?", "n/a"], category="code", date={"day": "%d/%m/%Y"}, drop="noise"
    )
    same = mm.select(
        "labeled.csv", "y", "pool.csv", 9, preprocess="auto", reading=reading, n_models=5, random_state=0
    )
    assert pd.read_csv("batch.csv")["row"].tolist() == same.rows.tolist()


def test_compare_takes_them_too_and_its_settings_record_them(sheets, run_command):
    line = "compare --labeled labeled.csv --label-column y --out curves --n-draws 2 --n-labeled 20 --batch-sizes 5"
    code, out, err = run_command(
        *line.split(), "--n-models", "2", "--strategies", "margin,random", "--json", *FLAGS
    )
    assert (code, err) == (0, "")
    assert '"decimal": ","' in out


def test_numbers_that_are_texts_in_the_pool_are_refused(sheets, run_command):
    labeled = pd.read_csv("labeled.csv", sep=";", decimal=",")
    labeled.to_csv("labeled.csv", sep=";", index=False)
    pool = pd.read_csv("pool.csv", sep=";", decimal=",").astype({"wage": str})
    pool.loc[100, "wage"] = "41,5"
    pool.to_csv("pool.csv", sep=";", index=False)
    code, _, err = run_command(*select("--drop", "day"))
    assert code == 1
    assert err == (
        "minmargin: Column 'wage' is Float64 in the labeled set, and row 100 of the pool has '41,5' there. Write "
        "decimals alike in both, or use --drop wage.\n"
    )
    assert run_command(*select("--drop", "day,wage"))[0] == 0


@pytest.mark.parametrize(
    ("labeled", "text", "fix", "flags"),
    [
        ("{}", "41,5", "If this is a number, use --decimal ','.", ["--decimal", ","]),
        (
            "{}.5",
            "1,041.5",
            "If this is a number with a mark between thousands, use --thousands ','.",
            ["--thousands", ","],
        ),
        (
            "{}",
            "n/k",
            "If it stands for a missing value, use --missing n/k; if the column is one of names, --category wage.",
            ["--missing", "n/k"],
        ),
    ],
)
def test_the_first_text_among_numbers_of_the_pool_is_named_with_the_flag(
    labeled, text, fix, flags, tmp_path, monkeypatch, run_command
):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"wage": [labeled.format(i % 7) for i in range(40)], "y": ["no", "yes"] * 20}).to_csv(
        "labeled.csv", index=False
    )
    pd.DataFrame({"wage": ["3", "4", text] * 10}).to_csv("pool.csv", index=False)
    code, _, err = run_command(*select())
    what = "Float64" if "." in labeled else "Int64"
    assert (code, err) == (
        1,
        f"minmargin: Column 'wage' is {what} in the labeled set, and row 2 of the pool has {text!r} there. {fix}\n",
    )
    code, _, err = run_command(*select("--no-distinct", *flags))
    assert code == 0, err


def test_dates_of_two_forms_are_asked_about_with_the_flag(sheets, run_command):
    pd.read_csv("labeled.csv", sep=";").assign(day="03/04/2024").to_csv("labeled.csv", sep=";", index=False)
    code, _, err = run_command(*select("--decimal", ",", "--date", "day"))
    assert code == 1
    assert err == (
        "minmargin: Column 'day' has dates such as '03/04/2024', which may be of the form '%m/%d/%Y', '%d/%m/%Y'. Say "
        "which, with --date day=%m/%d/%Y.\n"
    )


def test_a_date_column_is_named_once(sheets, run_command):
    code, _, err = run_command(*select("--date", "day,day=%d"))
    assert (code, err) == (1, "minmargin: --date names 'day' twice. Name each column once.\n")


@pytest.mark.parametrize("names", ["", ",noise"])
def test_a_column_without_a_name_can_be_dropped(names, sheets, run_command):
    """Such as the index that pandas writes."""
    for name in ("labeled.csv", "pool.csv"):
        pd.read_csv(name, sep=";", decimal=",").to_csv(name)
    code, out, err = run_command(
        "inspect", "labeled.csv", "pool.csv", "--label-column", "y", "--drop", names, "--date", "day=%d/%m/%Y"
    )
    assert (code, err) == (0, "")
    assert "!" not in out
    assert [line.split()[-1] for line in out.splitlines() if line.startswith("noise")] == (
        ["no"] if names else ["yes"]
    )


def test_a_form_of_dates_may_have_commas_and_blanks(sheets, run_command):
    for name in ("labeled.csv", "pool.csv"):
        table = pd.read_csv(name, sep=";", decimal=",")
        table.assign(day=pd.to_datetime(table["day"], dayfirst=True).dt.strftime("%b %d, %Y")).to_csv(
            name, index=False
        )
    look = ("inspect", "labeled.csv", "pool.csv", "--label-column", "y")
    _, out, _ = run_command(*look)
    assert "If they are, use --date 'day=%b %d, %Y'." in out
    code, out, _ = run_command(*look, "--date", "day=%b %d, %Y")
    assert (code, "!" in out) == (0, False)

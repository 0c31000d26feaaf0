"""Campaigns on tables that need a word: how columns are read is kept in the settings, and holds in every round."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import minmargin as mm

RNG = np.random.default_rng(0)
N_ROWS = 160
WAGE = RNG.normal(40, 9, N_ROWS).round(2)
TRUTH = np.where(WAGE > 40, "yes", "no")
PLAIN = pd.DataFrame(
    {
        "id": [f"r{i:03}" for i in range(N_ROWS)],
        "wage": WAGE,
        "code": RNG.integers(1, 5, N_ROWS).astype(str),
        "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(RNG.integers(0, 300, N_ROWS), "D"),
    }
)
SHEET = PLAIN.assign(
    wage=[str(each).replace(".", ",") for each in WAGE],
    day=PLAIN.day.dt.strftime("%d.%m.%Y"),
    noise=RNG.normal(size=N_ROWS).round(3),
)
READING = mm.Reading(decimal=",", missing="?", category="code", date="day", drop="noise")


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    SHEET[:40].assign(y=TRUTH[:40]).to_csv("sheet.csv", sep=";", index=False)
    SHEET[40:].to_csv("sheet-pool.csv", sep=";", index=False)
    PLAIN[:40].assign(y=TRUTH[:40]).to_parquet("plain.parquet")
    PLAIN[40:].to_parquet("plain-pool.parquet")


def play(folder: str, labeled: str, pool: str, reading: mm.Reading | None) -> list[list[str]]:
    """Return the ids that three rounds pick."""
    campaign = mm.Campaign.init(
        folder,
        labeled=labeled,
        label_column="y",
        pool=pool,
        id_column="id",
        batch_size=10,
        n_models=3,
        folds=2,
        preprocess="auto",
        reading=reading,
        random_state=0,
    )
    picked = []
    for _ in range(3):
        campaign = mm.Campaign.open(folder)
        ids = campaign.next(n_jobs=1).ids.tolist()
        picked.append(ids)
        campaign.add_labels({each: TRUTH[int(each[1:])] for each in ids}, n_jobs=1)
    return picked


def test_a_spreadsheet_gives_the_rounds_of_the_plain_table() -> None:
    expected = play("plain", "plain.parquet", "plain-pool.parquet", None)
    assert play("sheet", "sheet.csv", "sheet-pool.csv", READING) == expected


def test_settings_keep_what_was_said_of_features() -> None:
    play("sheet", "sheet.csv", "sheet-pool.csv", READING)
    settings = json.loads(Path("sheet/settings.json").read_text())
    assert settings["features"] == ["wage", "code", "day"]
    assert settings["reading"] == {
        "category": ["code"],
        "date": {"day": ""},
        "decimal": ",",
        "missing": ["?"],
    }


def test_a_reading_that_is_none_is_refused() -> None:
    play("sheet", "sheet.csv", "sheet-pool.csv", READING)
    path = Path("sheet/settings.json")
    path.write_text(path.read_text().replace('"decimal": ","', '"decimal": ";"'))
    with pytest.raises(mm.InputError) as caught:
        mm.Campaign.open("sheet")
    assert str(caught.value) == (
        '\'sheet/settings.json\' has reading={"category": ["code"], "date": {"day": ""}, "decimal": ";", '
        '"missing": ["?"]}, and reading must be an object of what Reading takes, or null.'
    )


def test_what_looks_wrong_is_said_at_the_beginning() -> None:
    with pytest.warns(mm.DataWarning) as said:
        mm.Campaign.init(
            "sheet",
            labeled="sheet.csv",
            label_column="y",
            pool="sheet-pool.csv",
            id_column="id",
            batch_size=10,
            preprocess="auto",
            features=["wage", "code"],
        )
    assert [str(each.message) for each in said if "decimal" in str(each.message)] == [
        (
            "Column 'wage' of the labeled set is read as a category, and its 40 values look like numbers, such as "
            f"{min(SHEET.wage[:40])!r}. If they are, use decimal=','."
        )
    ]

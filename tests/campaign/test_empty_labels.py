"""A campaign begins with labeled files in which some rows have no label."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import minmargin as mm


@pytest.mark.parametrize("empty", ["", " ", "?"])
def test_rows_without_a_label_are_left_out_and_may_be_picked(tmp_path: Path, empty: str) -> None:
    table = pd.DataFrame(
        {"id": [f"0{i:02}" for i in range(30)], "x": range(30), "y": ["no", "yes", empty] * 10}
    )
    table.to_csv(tmp_path / "labeled.csv", index=False)
    table.drop(columns="y").to_csv(tmp_path / "pool.csv", index=False)
    with pytest.warns(mm.DataWarning) as said:
        campaign = mm.Campaign.init(
            tmp_path / "campaign",
            labeled=tmp_path / "labeled.csv",
            label_column="y",
            pool=str(tmp_path / "pool.csv"),
            id_column="id",
            batch_size=10,
            n_models=2,
            reading=mm.Reading(missing="?"),
            random_state=0,
        )
    assert str(said[0].message) == (
        "10 of 30 labeled rows have no label in column 'y', such as row 2, so they are left out. Label "
        "such rows, or move them to the pool if they may be picked."
    )
    assert sorted(campaign.next().ids.tolist()) == table["id"][2::3].tolist()

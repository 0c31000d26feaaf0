"""A small campaign's files: irises in two pool files, and some labeled ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import minmargin as mm
from campaign.flowers import IDS, NAMES, SPECIES, X
from campaign.told import CLASSES


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with labeled.csv, held-out.csv and a pool of two Parquet files."""
    monkeypatch.chdir(tmp_path)
    rows = pd.DataFrame(X, columns=NAMES).assign(row_id=IDS)
    rows.assign(y=SPECIES).iloc[::10].to_csv("labeled.csv", index=False)
    rows.assign(y=SPECIES).iloc[5::10].to_csv("held-out.csv", index=False)
    Path("pool").mkdir()
    rows.iloc[:70].to_parquet("pool/0.parquet")
    rows.iloc[70:].to_parquet("pool/1.parquet")
    return tmp_path


@pytest.fixture
def begin(here: Path) -> Callable[..., mm.Campaign]:
    """Begin a campaign with the usual settings, some of them changed."""

    def begin(folder: str = "flowers", **changed: Any) -> mm.Campaign:
        usual = {
            "labeled": "labeled.csv",
            "label_column": "y",
            "pool": "pool/*.parquet",
            "id_column": "row_id",
            "batch_size": 7,
            "n_models": 3,
            "random_state": 0,
            "folds": 0,
        }
        return mm.Campaign.init(folder, **{**usual, **changed})

    return begin


@pytest.fixture
def begin_given(here: Path) -> Callable[..., mm.Campaign]:
    """Begin a campaign without a learner and with the usual settings, some of them changed."""

    def begin_given(folder: str = "told", **changed: Any) -> mm.Campaign:
        usual = {
            "pool": "pool/*.parquet",
            "id_column": "row_id",
            "classes": CLASSES,
            "batch_size": 7,
            "learner": "given",
            "random_state": 0,
        }
        return mm.Campaign.init(folder, **{**usual, **changed})

    return begin_given

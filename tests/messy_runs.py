"""Whatever reads tables, on the small ones of messy_tables: each in the folder where they were written."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import minmargin as mm
from messy_tables import Messy
from minmargin.cli import run


def write(table: Messy) -> None:
    for name, text in (("labeled.csv", table.labeled()), ("pool.csv", table.pool())):
        with open(name, "w", encoding="utf-8") as file:  # noqa: PTH123 - as everybody does
            file.write(text)


def said_by(work: Callable[[], Any]) -> list[str]:
    """Return what is warned of, or the error."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            work()
        except mm.InputError as error:
            return [str(error)]
    return [str(each.message) for each in said]


def select(**settings: Any) -> mm.Batch:
    return mm.select(
        "labeled.csv",
        "y",
        "pool.csv",
        3,
        preprocess="auto",
        n_models=2,
        random_state=0,
        n_jobs=1,
        **settings,
    )


def compare(**settings: Any) -> Any:
    return mm.compare(
        "labeled.csv",
        "y",
        strategies=["margin", "random"],
        batch_sizes=[4],
        n_labeled=10,
        n_draws=2,
        preprocess="auto",
        random_state=0,
        n_jobs=1,
        **settings,
    )


def begin(**settings: Any) -> mm.Campaign:
    return mm.Campaign.init(
        "campaign",
        labeled="labeled.csv",
        label_column="y",
        pool="pool.csv",
        batch_size=3,
        n_models=2,
        preprocess="auto",
        random_state=0,
        **settings,
    )


def command(line: str, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(sys, "argv", ["minmargin", *line.split()])
    return run()

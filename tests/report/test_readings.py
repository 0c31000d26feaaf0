"""How a page tells of the way in which a table was read: what was declared, and what looked wrong."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

import minmargin as mm
from minmargin.report.readings import N_FINDINGS, table_as_read
from parsed_page import ParsedPage

N = 60
LABELED = pd.DataFrame({f"level{k}": ["low", "high", "low"] * 20 for k in range(6)}).assign(
    size=[k % 10 for k in range(N)], age=[f"{k},5" for k in range(N)], y=["no", "yes"] * 30
)
READING = mm.Reading(decimal=",", category=["size"])


@pytest.fixture(scope="module")
def batch() -> mm.Batch:
    """A batch of a pool whose texts are spelled otherwise, each in its own way."""
    pool = LABELED.drop(columns="y")
    with pytest.warns(UserWarning, match="categories that the labeled set does not have"):
        return mm.select(
            LABELED,
            "y",
            pool.assign(**{f"level{k}": pool[f"level{k}"].str.upper() for k in range(2)}),
            10,
            n_models=2,
            random_state=0,
            preprocess="auto",
            reading=READING,
        )


def test_the_manifest_has_what_was_declared_and_what_was_said(batch: mm.Batch) -> None:
    assert batch.manifest["reading"] == {"category": ["size"], "decimal": ","}
    assert batch.manifest["inspection"]["summary"].startswith(
        "Read 60 labeled rows (no 30, yes 30) and 60 pool rows."
    )
    told = table_as_read(batch.manifest, str)
    assert told is not None
    assert told.declared == [("categories", "'size'"), ("before decimals", "','")]
    assert told.findings == [each["message"] for each in batch.manifest["inspection"]["findings"]]
    assert ["age", "number", "", "0.5 to 59.5", "0.5 to 59.5", "yes"] in told.columns
    assert ["level0", "category", "", "low, high", "LOW, HIGH; 100.0% unknown", "yes"] in told.columns


def test_in_python_a_page_names_arguments(batch: mm.Batch, tmp_path: Path) -> None:
    page = ParsedPage(batch.report(tmp_path / "report.html"))
    section = page.text.partition("How the table was read")[2]
    assert "or use drop=['level0']" in section
    assert "reading=minmargin.Reading(category=['size'], decimal=',')," in section


def test_what_is_long_is_folded(batch: mm.Batch, tmp_path: Path) -> None:
    short = batch.report(tmp_path / "short.html").read_text()
    assert " more</summary>" not in short
    found = batch.manifest["inspection"]
    many = [{"column": None, "message": f"Fault {k}.", "others": ()} for k in range(N_FINDINGS + 3)]
    batch = replace(batch, manifest={**batch.manifest, "inspection": {**found, "findings": many}})
    long = batch.report(tmp_path / "long.html").read_text()
    assert "<summary>3 more</summary>" in long
    assert "<li>Fault 6.</li>" in long


def test_of_a_clean_table_nothing_looked_wrong(tmp_path: Path) -> None:
    batch = mm.select(LABELED[["level0", "level1", "y"]], "y", LABELED[["level0", "level1"]], 2, n_models=2,
                      preprocess="auto", random_state=0)  # fmt: skip
    page = batch.report(tmp_path / "report.html").read_text()
    assert "Nothing looked wrong." in page
    assert "What was declared" not in page
    assert "<details open>\n<summary>Column by column</summary>" in page


def test_of_arrays_and_of_manifests_without_it_there_is_no_such_section() -> None:
    assert table_as_read({}, str) is None
    assert table_as_read({"inspection": {"columns": [], "findings": []}}, str) is None

"""What IPython itself makes of our objects, and what a real kernel leaves in a notebook.

`make notebooks` runs these in the environment of the pages; where IPython is not installed they are skipped.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris

import minmargin as mm

formatters = pytest.importorskip("IPython.core.formatters", reason="IPython is not installed")
nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")

X, y = load_iris(return_X_y=True)

TEXTS = ["my card was stolen", "I lost my card", "my transfer is pending", "the transfer failed"]

SHOW_PROGRESS = """
import minmargin as mm
with mm.show_progress() as report:
    report("training", 1, 2)
    print("said meanwhile")
"""


def shown(value: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what IPython sends to a notebook for the last value of a cell, by type, and what it says of each."""
    data, about = formatters.DisplayFormatter().format(value)
    return data, about


@pytest.fixture(scope="module")
def found() -> mm.Comparison:
    """A small comparison."""
    return mm.compare(
        X,
        y,
        strategies=["min-margin", "random"],
        n_labeled=20,
        batch_sizes=[10],
        n_draws=2,
        n_models=2,
        random_state=0,
    )


def test_tables_are_shown_as_tables(found: mm.Comparison) -> None:
    for value in (
        found,
        found.curves,
        found.differences(),
        mm.fit_committee(X, y, n_models=1, random_state=0),
    ):
        data, _ = shown(value)
        assert set(data) == {"text/plain", "text/html"}
        assert data["text/html"].count("<table>") == 1
        assert data["text/plain"] == repr(value)


def test_a_batch_shows_its_texts() -> None:
    batch = mm.select(
        TEXTS, ["card"] * 2 + ["transfer"] * 2, ["<i>card</i>"], 1, learner="text", n_models=1, random_state=0
    )
    data, _ = shown(batch)
    assert "<td>&lt;i&gt;card&lt;/i&gt;</td>" in data["text/html"]
    assert data["text/plain"].endswith("  <i>card</i>")


def test_a_campaign_is_shown_as_a_table(tmp_path: Any) -> None:
    pool = tmp_path / "pool.csv"
    np.savetxt(pool, X, delimiter=",", header="a,b,c,d", comments="")
    labeled = tmp_path / "labeled.csv"
    np.savetxt(labeled, np.column_stack([X, y])[::10], delimiter=",", header="a,b,c,d,y", comments="")
    campaign = mm.Campaign.init(
        tmp_path / "irises",
        labeled=labeled,
        label_column="y",
        pool=pool,
        batch_size=5,
        folds=0,
        random_state=0,
    )
    for value in (campaign, campaign.status()):
        data, _ = shown(value)
        assert data["text/html"].startswith("<p><b>Campaign</b>: 0 rounds, 15 labels.</p><table>")
    assert shown(campaign)[0]["text/html"].endswith("<p>Next: pick round 1 with next().</p>")


def test_a_plot_is_shown_as_a_picture_of_its_width(found: mm.Comparison) -> None:
    data, about = shown(found.plot())
    assert set(data) == {"text/plain", "image/png"}
    assert data["image/png"][:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", data["image/png"][16:24])
    assert width > height > 500
    assert about["image/png"] == {"width": 883}


@pytest.mark.parametrize("fails", [False, True])
def test_bars_vanish_from_a_real_notebook_unless_it_fails(fails: bool) -> None:
    source = SHOW_PROGRESS + ("    raise RuntimeError" if fails else "")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3", allow_errors=fails).execute()
    display, said, *_ = notebook.cells[0].outputs
    assert said["text"] == "said meanwhile\n"
    bars, line = (
        '<div><progress max="2" value="1"></progress> training: 1 of 2 models</div>',
        "training: 1 of 2 models",
    )
    assert display["data"] == {"text/html": bars if fails else "", "text/plain": line if fails else ""}

"""The pages of comparisons and campaigns in a real browser, made of classes that mean harm."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.datasets import load_iris

import minmargin as mm
from browser.conftest import HOSTILE, PHONE, SETTINGS

pytestmark = pytest.mark.browser

X, y = load_iris(return_X_y=True)
CLASSES = np.array([HOSTILE[0], HOSTILE[1], HOSTILE[7]], dtype=object)[y]
Visit = Callable[..., Any]


@pytest.fixture(scope="module")
def comparison_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    comparison = mm.compare(
        X, CLASSES, n_labeled=20, n_draws=3, batch_sizes=[5, 20], rounds=(1, 2), **SETTINGS
    )
    return comparison.report(tmp_path_factory.mktemp("comparison") / "report.html")


@pytest.fixture(scope="module")
def campaign_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("campaign")
    ids = [f"r{row}" for row in range(150)]
    table = pa.table({**{f"f{place}": X[:, place] for place in range(4)}, "id": ids})
    pq.write_table(table, folder / "pool.parquet")
    campaign = mm.Campaign.init(
        folder / HOSTILE[7].replace("/", ""),
        labeled=table.append_column("y", pa.array(CLASSES.tolist())).take(np.arange(0, 150, 10)),
        label_column="y",
        pool=str(folder / "pool.parquet"),
        id_column="id",
        batch_size=10,
        n_models=5,
        audit=8,
        stop_hints=True,
        random_state=0,
    )
    return played(campaign, dict(zip(ids, CLASSES.tolist(), strict=True)), n_rounds=4)


@pytest.fixture(scope="module")
def skewed_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a campaign on customers of whom one in ten says yes, with audits and held-out rows."""
    folder = tmp_path_factory.mktemp("skewed")
    rng = np.random.default_rng(2)
    features = rng.normal(size=(2_000, 3))
    answers = np.where(features[:, 0] + rng.normal(size=2_000) / 2 > 1.5, "yes", "no").tolist()
    ids = [f"k{row}" for row in range(2_000)]
    table = pa.table({**{f"f{place}": features[:, place] for place in range(3)}, "id": ids})
    pq.write_table(table.slice(460), folder / "pool.parquet")
    labeled = table.append_column("y", pa.array(answers))
    campaign = mm.Campaign.init(
        folder / "bank",
        labeled=labeled.slice(0, 60),
        held_out=labeled.slice(60, 400),
        label_column="y",
        pool=str(folder / "pool.parquet"),
        id_column="id",
        batch_size=20,
        n_models=5,
        audit=60,
        stop_hints=True,
        random_state=0,
    )
    return played(campaign, dict(zip(ids, answers, strict=True)), n_rounds=4)


def played(campaign: mm.Campaign, truth: dict[str, Any], n_rounds: int) -> Path:
    """Return the page of a campaign after some rounds."""
    for _ in range(n_rounds):
        batch = campaign.next(n_jobs=1)
        campaign.add_labels({each: truth[each] for each in batch.ids.tolist()}, n_jobs=1)
    return campaign.report(campaign.folder.parent / "report.html")


@pytest.fixture(params=["comparison_page", "campaign_page", "skewed_page"])
def path(request: pytest.FixtureRequest) -> Path:
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_opens_without_complaint_and_harms_nobody(visit: Visit, path: Path, scheme: str) -> None:
    page = visit(path, color_scheme=scheme)
    assert page.evaluate("window.harmed") is None
    assert page.get_by_role("img").count() >= 2
    assert page.locator("table").first.is_visible()


def test_on_a_phone_only_tables_scroll_sideways(visit: Visit, path: Path) -> None:
    page = visit(path, viewport=PHONE, is_mobile=True, has_touch=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_hostile_classes_stay_text(visit: Visit, campaign_page: Path) -> None:
    page = visit(campaign_page)
    assert page.get_by_text(HOSTILE[1][:20]).count() > 0
    assert page.locator("img[src=x]").count() == 0


# Audits, forecasts and hints


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("page_of", ["campaign_page", "skewed_page"])
def test_audits_forecast_and_hints_are_there_and_can_be_read(
    visit: Visit, request: pytest.FixtureRequest, page_of: str, width: int
) -> None:
    page = visit(request.getfixturevalue(page_of), viewport={"width": width, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    section = page.locator("section", has=page.get_by_role("heading", name="Audit", exact=True))
    leads = "Balanced accuracy" if page_of == "skewed_page" else "Accuracy"
    chart = section.get_by_role("img")
    assert chart.get_attribute("aria-label").startswith(f"{leads} by audit, by number of labels: ")
    said = section.locator("figcaption").inner_text()
    of_several = (
        "Over the last 3 audits, " if page_of == "skewed_page" else "The mean of the last 3 audited models "
    )
    for beginning in ("Audit: the model with ", of_several, "Forecast: "):
        assert beginning in said
    assert "redictions" in said, "how far successive models agree"
    assert section.locator("th").all_inner_texts() == [
        "class",
        "rows",
        "recall",
        "taken for it",
        "precision",
    ]
    cells = section.locator("tbody tr").first.locator("td").all_inner_texts()
    assert re.fullmatch(r"\d+\.\d% \(\d+\.\d% to \d+\.\d%\)", cells[2])


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("page_of", ["campaign_page", "skewed_page"])
def test_words_in_charts_are_large_enough_whole_and_apart(
    visit: Visit, request: pytest.FixtureRequest, page_of: str, width: int
) -> None:
    page = visit(request.getfixturevalue(page_of), viewport={"width": width, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for heading in ("Learning curve", "Audit"):
        section = page.locator("section", has=page.get_by_role("heading", name=heading, exact=True))
        chart = section.get_by_role("img")
        frame = chart.bounding_box()
        words = chart.locator("text").evaluate_all(
            """(all) => all.map((text) => {
                const box = text.getBoundingClientRect();
                return [text.textContent, box.left, box.right, box.top, box.bottom];
            })"""
        )
        for text, left, right, top, bottom in words:
            assert frame["x"] - 1 <= left < right <= frame["x"] + frame["width"] + 1, f"{text} is cut off"
            assert bottom - top >= 9, f"{text} is too small to be read"
        for (one, *first), (other, *second) in itertools.combinations(words, 2):
            beside = first[1] <= second[0] + 1 or second[1] <= first[0] + 1
            below = first[3] <= second[2] + 2 or second[3] <= first[2] + 2
            assert beside or below, f"{one!r} and {other!r} overlap"


def test_with_skewed_classes_the_page_names_the_constant_guess_and_leads_with_balanced_accuracy(
    visit: Visit, skewed_page: Path
) -> None:
    page = visit(skewed_page)
    assert page.get_by_text("Balanced accuracy leads, since ").first.is_visible()
    assert page.get_by_text("Always saying 'no' would be right in ").first.is_visible()
    assert page.locator("dl dt").all_inner_texts()[3:6] == [
        "balanced accuracy",
        "accuracy",
        "balanced accuracy by the last audit",
    ]
    assert page.get_by_text("accuracy of always naming the most common class").count() == 2
    assert page.get_by_text("Recall of 'yes' is ").first.is_visible()

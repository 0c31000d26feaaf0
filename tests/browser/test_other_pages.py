"""The pages of comparisons and campaigns in a real browser, made of classes that mean harm."""

from __future__ import annotations

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
        random_state=0,
    )
    truth = dict(zip(ids, CLASSES.tolist(), strict=True))
    for _ in range(2):
        batch = campaign.next(n_jobs=1)
        campaign.add_labels({each: truth[each] for each in batch.ids.tolist()}, n_jobs=1)
    return campaign.report(folder / "report.html")


@pytest.fixture(params=["comparison_page", "campaign_page"])
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

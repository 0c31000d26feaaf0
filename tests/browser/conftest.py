"""A real Chromium, and pages opened in it that are watched: whatever they complain of or ask for fails the test.

`make test-browser` runs these in an environment of their own; where Playwright is not installed they are not collected.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn.datasets import load_digits, load_iris

import minmargin as mm

collect_ignore_glob = ["test_*.py"] if find_spec("playwright") is None else []

SETTINGS: dict[str, Any] = {"n_models": 5, "random_state": 0, "n_jobs": 1}
PHONE = {"width": 360, "height": 740}

HOSTILE = [
    "<script>window.harmed = 'script'</script>",
    "<img src=x onerror=\"window.harmed = 'onerror'\">",
    "javascript:window.harmed='url'",
    "{{ 7 * 7 }}{% raw %}",
    "</script></td></table></body>",
    "zero\u200bwidth\ufeff",
    "\u202eright to left\u202c العربية",
    '&lt;b&gt; <b>"bold"</b> \'`${1}`',
]


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - not installed everywhere

    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.fail("There is no Chromium. Use apt-get install chromium.")
    as_root = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=as_root)
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium: Any) -> Iterator[Callable[..., Any]]:
    """Opens a file in a new window, with the options of Playwright's `new_context`."""
    contexts: list[Any] = []
    complaints: list[str] = []
    asked_for: list[str] = []

    def visit(path: Path, **options: Any) -> Any:
        context = chromium.new_context(**{"viewport": {"width": 1100, "height": 800}, **options})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("console", lambda message: complaints.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
        page.on("requestfailed", lambda request: complaints.append(f"failed: {request.url[:80]}"))
        page.on("dialog", lambda dialog: (complaints.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: asked_for.append(request.url))
        page.goto(path.as_uri())
        return page

    yield visit
    for context in contexts:
        context.close()
    assert complaints == []
    assert [url for url in asked_for if not url.startswith(("file:", "data:"))] == []
    assert len([url for url in asked_for if url.startswith("file:")]) == len(contexts), asked_for


@pytest.fixture(scope="session")
def digits_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of 60 digits, with pictures and a map of principal components."""
    digits, numbers = load_digits(return_X_y=True)
    batch = mm.select(digits[:100], numbers[:100], digits[100:], 60, **SETTINGS)
    return batch.report(tmp_path_factory.mktemp("digits") / "report.html", image_shape=(8, 8))


@pytest.fixture(scope="session")
def iris_batch() -> mm.Batch:
    """Forty rows of two features, with ids, numbers with holes, and long texts."""
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    pool = pa.table(
        {
            "length": X[:, 2],
            "width": X[:, 3],
            "id": [f"r{row}" for row in range(150)],
            "price": [None if row % 7 == 0 else 10.0 * row for row in range(150)],
            "text": [f"row {row}: " + "many words " * 12 for row in range(150)],
        }
    )
    labeled = pool.select(["length", "width"]).take(np.arange(0, 150, 5))
    return mm.select(labeled, names[::5], pool, 40, id_column="id", keep=["price", "text"], **SETTINGS)


@pytest.fixture(scope="session")
def spreadsheet_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows of a spreadsheet: numbers with decimal commas, dates with the day first, a mark for nothing."""
    folder = tmp_path_factory.mktemp("spreadsheet")
    X, y = load_iris(return_X_y=True)
    lines = [
        ";".join(
            (
                f"r{row}",
                "?" if row % 7 == 1 else f"{1000 * X[row, 2] - 4000:.2f}".replace(".", ","),
                f"{row % 28 + 1:02d}.{row % 12 + 1:02d}.{2020 + row % 5}",
                str(y[row]),
            )
        )
        for row in range(150)
    ]
    heading = "row_id;paid;day;y"
    (folder / "labeled.csv").write_text("\n".join([heading, *lines[::5]]) + "\n")
    (folder / "pool.csv").write_text("\n".join([heading, *lines]) + "\n")
    batch = mm.select(
        folder / "labeled.csv",
        "y",
        folder / "pool.csv",
        40,
        id_column="row_id",
        keep_labeled=True,
        preprocess="auto",
        reading=mm.Reading(decimal=",", date={"day": "%d.%m.%Y"}, missing=["?"]),
        **SETTINGS,
    )
    return batch.report(folder / "report.html")


@pytest.fixture(scope="session")
def iris_report(iris_batch: mm.Batch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return iris_batch.report(tmp_path_factory.mktemp("iris") / "report.html")


@pytest.fixture(scope="session")
def wide_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a table of sixteen columns, names and numbers, one of which is a word without an end."""
    X, y = load_iris(return_X_y=True)
    jobs = ["management", "self-employed", "entrepreneur"]
    pool = pa.table(
        {
            **{f"number{place}": X[:, place % 4] for place in range(8)},
            **{f"name{place}": [jobs[(row + place) % 3] for row in range(150)] for place in range(7)},
            "endless": ["x" * 80] * 150,
        }
    )
    labeled = pool.take(np.arange(0, 150, 5))
    kept = [f"name{place}" for place in range(7)] + ["endless"]
    features = [f"number{place}" for place in range(8)]
    answers = np.array(["no", "yes", "no"])[y][::5]
    batch = mm.select(labeled, answers, pool, 20, features=features, keep=kept, **SETTINGS)
    return batch.report(tmp_path_factory.mktemp("wide") / "report.html")


@pytest.fixture(scope="session")
def long_batch() -> mm.Batch:
    """130 rows of numbers, categories and dates, for two answers; some of the pool come twice, nearly."""
    rng = np.random.default_rng(0)
    ages = rng.integers(18, 90, 600)
    pool = pa.table(
        {
            "age": np.concatenate([ages, ages[:40] + 0.001]),
            "income": np.concatenate([1000.0 * ages, 1000.0 * ages[:40]]) + np.tile(np.arange(40.0), 16),
            "job": [["cook", "clerk", None, "nurse"][row % 4] for row in [*range(600), *range(40)]],
            "day": np.datetime64("2026-01-01") + np.array([*range(600), *range(40)]).astype("timedelta64[D]"),
            **{f"number{place}": np.tile(rng.normal(size=320), 2) for place in range(6)},
        }
    )
    answers = np.where(ages[:60] + 20 * rng.normal(size=60) > 50, "yes", "no")
    return mm.select(
        pool.slice(0, 60), answers, pool.slice(60), 130, strategy="spread", preprocess="auto", **SETTINGS
    )


@pytest.fixture(scope="session")
def long_report(long_batch: mm.Batch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return long_batch.report(tmp_path_factory.mktemp("long") / "report.html")


@pytest.fixture(scope="session")
def hostile_batch() -> mm.Batch:
    """Twenty rows whose cells, columns and classes all mean harm."""
    X, y = load_iris(return_X_y=True)
    names = [f"{place} {text}" for place, text in enumerate(HOSTILE)]
    pool = pa.table(
        {
            **{f"f{place}": X[:, place] for place in range(4)},
            **{name: [HOSTILE[row % len(HOSTILE)] for row in range(150)] for name in names},
        }
    )
    labeled = pool.select([f"f{place}" for place in range(4)]).take(np.arange(0, 150, 5))
    classes = np.array([HOSTILE[0], HOSTILE[1], HOSTILE[7]], dtype=object)[y]
    return mm.select(labeled, classes[::5], pool, 20, keep=names, **SETTINGS)


@pytest.fixture(scope="session")
def hostile_report(hostile_batch: mm.Batch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hostile") / "report.html"
    return hostile_batch.report(path, command=f"minmargin select {HOSTILE[0]}")

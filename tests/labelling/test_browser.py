"""Label Studio's own page in a real browser: the row, the classes and the guess are there, and keys label."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

import playwright.sync_api as playwright
import pytest

from made_up_batch import PNG, made_up_batch
from minmargin.integrations.items import Showing
from minmargin.integrations.label_studio import pull, push

HOSTILE = "<img src=x onerror=\"window.harmed = 'yes'\"> {{ 7 * 7 }}"
KINDS: dict[str, tuple[dict[str, list[Any]], dict[str, Any], str]] = {
    "text": ({"text": [HOSTILE] * 2}, {"text_column": "text"}, HOSTILE),
    "image": (
        {"picture": [PNG] * 2, "note": ["one pixel"] * 2},
        {"image_column": "picture", "columns": ["note"]},
        "one pixel",
    ),
    "table": ({HOSTILE: [1, 2]}, {}, HOSTILE),
}
FEW = ["card", "<b>cash</b>"]
MANY = [f"class {place:02d}" for place in range(77)]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.fail("There is no Chromium. Use apt-get install chromium.")
    as_root = ["--no-sandbox"] if os.geteuid() == 0 else []
    playwright.expect.set_options(timeout=60_000)
    with playwright.sync_playwright() as running:
        chromium = running.chromium.launch(executable_path=program, args=as_root)
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser: Any, server: Any) -> Iterator[Any]:
    """A page that somebody has signed in with. It may ask nobody but the server."""
    window = browser.new_page()
    window.set_default_timeout(60_000)
    elsewhere: list[str] = []
    window.on("request", lambda request: elsewhere.append(request.url))
    window.goto(f"{server.url}/user/login/")
    window.fill("input[name=email]", server.owner)
    window.fill("input[name=password]", server.password)
    window.click("button[type=submit]")
    window.wait_for_url(lambda url: "/user/login" not in url)
    yield window
    window.close()
    assert [url for url in elsewhere if not url.startswith((server.url, "data:", "blob:"))] == []


@pytest.mark.parametrize("classes", [FEW, MANY], ids=["few", "many"])
@pytest.mark.parametrize("kind", KINDS)
def test_people_see_the_row_and_the_guess_and_label_with_keys(
    server: Any, page: Any, title: str, kind: str, classes: list[str]
) -> None:
    kept, asked, text = KINDS[kind]
    batch = made_up_batch(2, kept=kept, classes=classes)
    pushed = push(Showing.of(batch, **asked), url=server.url, project=title, token=server.token)
    page.goto(f"{pushed.address}/data?labeling=1")
    chosen = page.locator("input[type=checkbox]:checked")
    for rank, guess in enumerate(classes[:2], start=1):
        playwright.expect(page.get_by_text(f"Rank {rank} by min-margin")).to_be_visible()
        playwright.expect(page.get_by_text(text, exact=True)).to_be_visible()
        playwright.expect(chosen).to_have_attribute("name", guess)
        if guess != classes[1]:  # the key of what is chosen would take it back
            page.keyboard.press("2")
        playwright.expect(chosen).to_have_attribute("name", classes[1])
        with page.expect_response(
            lambda answer: "/annotations" in answer.url and answer.request.method == "POST"
        ):
            page.keyboard.press("Control+Enter")
    assert page.evaluate("window.harmed") is None
    labels = pull(url=server.url, project=title, token=server.token).labels["label"].to_pylist()
    assert labels == [classes[1], classes[1]]

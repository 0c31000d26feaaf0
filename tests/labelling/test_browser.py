"""Label Studio's own page in a real browser: the row, the classes and the guess are there, and keys label.

With many classes one is found by typing, and no key sends a class that nobody chose.
"""

from __future__ import annotations

import io
import itertools
import os
import shutil
from collections.abc import Iterator
from typing import Any

import playwright.sync_api as playwright
import pytest
from PIL import Image

from made_up_batch import PNG, made_up_batch
from minmargin.integrations.items import Showing
from minmargin.integrations.label_studio import pull, push

HOSTILE = "<img src=x onerror=\"window.harmed = 'yes'\"> {{ 7 * 7 }}"
KINDS: dict[str, tuple[dict[str, list[Any]], dict[str, Any], str]] = {
    "text": ({"text": [HOSTILE] * 2}, {"text_column": "text"}, HOSTILE),
    "image": (
        {"picture": [PNG] * 2, "note": ["one pixel"] * 2},
        {"image_column": "picture", "columns": ["note"]},
        "note: one pixel",
    ),
    "table": ({HOSTILE: [HOSTILE] * 2}, {}, f"{HOSTILE}: {HOSTILE}"),
}
BANK = {
    "age": 58,
    "job": "management",
    "marital": "married",
    "education": "tertiary",
    "default": "no",
    "balance": 2143,
    "housing": "yes",
    "loan": "no",
    "contact": "unknown",
    "day": 5,
    "month": "may",
    "duration": 261,
    "campaign": 1,
    "pdays": -1,
    "previous": 0,
    "poutcome": "unknown",
}
FEW = ["card", "<b>cash</b>"]
MANY = sorted(
    f"{verb} {noun} {place:02d}"
    for place, (verb, noun) in enumerate(
        itertools.product(
            ["activate", "block", "cancel", "change", "find", "pay with", "replace"],
            [
                "card",
                "cash",
                "code",
                "currency",
                "exchange",
                "fee",
                "limit",
                "name",
                "rate",
                "refund",
                "transfer",
            ],
        )
    )
)


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


def submits(page: Any) -> Any:
    """Wait for an annotation that is on its way to the server."""
    return page.expect_response(
        lambda answer: "/annotations" in answer.url and answer.request.method == "POST"
    )


@pytest.mark.parametrize("kind", KINDS)
def test_people_see_the_row_and_the_guess_and_label_with_keys(
    server: Any, page: Any, title: str, kind: str
) -> None:
    kept, asked, text = KINDS[kind]
    classes = FEW
    batch = made_up_batch(2, kept=kept, classes=classes)
    pushed = push(Showing.of(batch, **asked), url=server.url, project=title, token=server.token)
    page.goto(f"{pushed.address}/data?labeling=1")
    chosen = page.locator("input[type=checkbox]:checked")
    for rank, guess in enumerate(classes[:2], start=1):
        playwright.expect(page.get_by_text(f"Row {rank} of 2, the most useful first.")).to_be_visible()
        playwright.expect(page.get_by_text(text, exact=True)).to_be_visible()
        playwright.expect(chosen).to_have_attribute("name", guess)
        if guess != classes[1]:  # the key of what is chosen would take it back
            page.keyboard.press("2")
        playwright.expect(chosen).to_have_attribute("name", classes[1])
        with submits(page):
            page.keyboard.press("Control+Enter")
    assert page.evaluate("window.harmed") is None
    labels = pull(url=server.url, project=title, token=server.token).labels["label"].to_pylist()
    assert labels == [classes[1], classes[1]]


def bank_rows(n: int, classes: list[str]) -> Showing:
    batch = made_up_batch(n, kept={name: [value] * n for name, value in BANK.items()}, classes=classes)
    return Showing.of(batch, question="Will they subscribe?")


def box_of(locator: Any) -> dict[str, float]:
    """Return where something is, which must be in the window as it was opened."""
    playwright.expect(locator).to_be_in_viewport(ratio=1)
    return dict(locator.bounding_box())


def test_the_classes_of_a_square_image_are_in_sight(server: Any, page: Any, title: str) -> None:
    page.set_viewport_size({"width": 1366, "height": 680})
    content = io.BytesIO()
    Image.new("L", (160, 160)).save(content, "PNG")
    batch = made_up_batch(1, kept={"picture": [content.getvalue()]}, classes=list(range(10)))
    pushed = push(
        Showing.of(batch, image_column="picture"), url=server.url, project=title, token=server.token
    )
    page.goto(f"{pushed.address}/data?labeling=1")
    page.wait_for_function("document.querySelector('img[alt=image]')?.clientHeight === 400")
    submit = box_of(page.get_by_role("button", name="Submit current annotation"))
    for name in range(10):
        choice = box_of(page.locator("label", has_text=str(name)))
        assert 400 < choice["y"] < choice["y"] + choice["height"] <= submit["y"]


@pytest.mark.parametrize("classes", [FEW, MANY], ids=["buttons", "list"])
def test_a_wide_row_is_seen_whole_below_the_question_the_guess_and_the_classes(
    server: Any, page: Any, title: str, classes: list[str]
) -> None:
    page.set_viewport_size({"width": 1366, "height": 680})  # a laptop's, less the browser's own bars
    pushed = push(bank_rows(1, classes), url=server.url, project=title, token=server.token)
    page.goto(f"{pushed.address}/data?labeling=1")
    question = box_of(page.get_by_text("Will they subscribe?"))
    guess = box_of(page.get_by_text(f"The model's guess: “{classes[0]}”."))
    row = page.locator(".of-row .lsf-richtext__container")
    shown = box_of(row)
    assert row.inner_text().splitlines() == [f"{name}: {value}" for name, value in BANK.items()]
    if classes is FEW:
        choices = [box_of(page.locator("label", has_text=name)) for name in classes]
    else:
        page.locator(".htx-taxonomy").click()
        opened = box_of(page.locator(".htx-taxonomy-dropdown"))
        assert opened["x"] + opened["width"] <= shown["x"], "the open list covers nothing of the row"
        choices = [box_of(page.locator(".htx-taxonomy"))]
    assert question["y"] < guess["y"] < min(choice["y"] for choice in choices) < shown["y"]


def test_the_key_of_the_guess_takes_it_back_and_a_submitted_row_can_be_corrected(
    server: Any, page: Any, title: str
) -> None:
    def labels() -> list[Any]:
        return list(pull(url=server.url, project=title, token=server.token).labels["label"].to_pylist())

    pushed = push(bank_rows(1, FEW), url=server.url, project=title, token=server.token)
    page.goto(f"{pushed.address}/data?labeling=1")
    chosen = page.locator("input[type=checkbox]:checked")
    playwright.expect(chosen).to_have_attribute("name", FEW[0])
    page.keyboard.press("1")
    playwright.expect(chosen).to_have_count(0)
    page.keyboard.press("Control+Enter")
    playwright.expect(page.get_by_text('Checkbox "label" is required.')).to_be_visible()
    page.get_by_role("button", name="OK").click()
    page.keyboard.press("1")
    playwright.expect(chosen).to_have_attribute("name", FEW[0])
    with submits(page):
        page.keyboard.press("Control+Enter")
    assert labels() == [FEW[0]]
    page.goto(f"{pushed.address}/data")
    page.get_by_text("r0", exact=True).first.click()
    playwright.expect(chosen).to_have_attribute("name", FEW[0])
    page.keyboard.press("2")
    playwright.expect(chosen).to_have_attribute("name", FEW[1])
    with page.expect_response(
        lambda answer: answer.request.method == "PATCH" and "/annotations" in answer.url
    ):
        page.keyboard.press("Control+Enter")
    assert labels() == [FEW[1]]


def size_of(locator: Any) -> float:
    """Return the size of letters, in pixels."""
    return float(locator.evaluate("shown => parseFloat(getComputedStyle(shown).fontSize)"))


def find(page: Any, beginning: str, name: str) -> None:
    """Open the list of classes with the keyboard, type, and choose the one that is left."""
    playwright.expect(page.locator(".htx-taxonomy")).to_be_visible()
    field = page.get_by_role("combobox")
    while not field.evaluate("field => field === document.activeElement"):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    playwright.expect(page.get_by_test_id("taxonomy-search")).to_be_focused()
    page.keyboard.type(beginning)
    playwright.expect(
        page.locator(".htx-taxonomy-dropdown .ant-select-tree-treenode-leaf-last")
    ).to_have_text(name)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")


def leave(page: Any) -> None:
    """Leave the list of classes, which fades away."""
    page.keyboard.press("Escape")
    playwright.expect(page.get_by_test_id("taxonomy-search")).to_be_hidden()


def test_one_of_many_classes_is_found_by_typing_and_sent_by_keys(server: Any, page: Any, title: str) -> None:
    batch = made_up_batch(2, kept={"text": ["My card is gone.", "The machine took my card."]}, classes=MANY)
    pushed = push(Showing.of(batch, text_column="text"), url=server.url, project=title, token=server.token)
    page.goto(f"{pushed.address}/data?labeling=1")
    chosen = page.locator(".htx-taxonomy .ant-select-selection-item")
    for rank, (text, beginning) in enumerate(
        (("My card is gone.", "block car"), ("The machine took", "replace ca"))
    ):
        reason = page.get_by_text(f"The model's guess: “{MANY[rank]}”.")
        playwright.expect(reason).to_be_visible()
        shown = page.get_by_text(text)
        assert size_of(shown) > size_of(page.locator(".htx-taxonomy")) > size_of(reason)
        playwright.expect(chosen).to_have_count(0)
        wanted = next(name for name in MANY if name.startswith(beginning))
        find(page, wanted, wanted)
        playwright.expect(chosen).to_have_text(wanted)
        leave(page)
        with submits(page):
            page.keyboard.press("Control+Enter")
    labels = pull(url=server.url, project=title, token=server.token).labels["label"].to_pylist()
    assert [label.rsplit(" ", 1)[0] for label in labels] == ["block card", "replace card"]


def test_keys_that_are_pressed_too_soon_send_no_class_that_nobody_chose(
    server: Any, page: Any, title: str
) -> None:
    batch = made_up_batch(1, kept={"text": ["My card is gone."]}, classes=MANY)
    pushed = push(Showing.of(batch, text_column="text"), url=server.url, project=title, token=server.token)
    page.goto(f"{pushed.address}/data?labeling=1")
    playwright.expect(page.get_by_text("My card is gone.")).to_be_visible()
    page.keyboard.type("card 1234567890 qwetasdfgzxcvbyiopjklnm")
    page.keyboard.press("Control+Enter")
    playwright.expect(page.get_by_text('Taxonomy "label" is required.')).to_be_visible()
    page.keyboard.press("Escape")
    find(page, MANY[20], MANY[20])
    page.keyboard.press("Control+Enter")  # in the field: it takes the choice back, and sends nothing
    leave(page)
    page.keyboard.press("Control+Enter")
    playwright.expect(page.get_by_text('Taxonomy "label" is required.')).to_be_visible()
    assert pull(url=server.url, project=title, token=server.token).n_waiting == 1
